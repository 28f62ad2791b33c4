# Every target sets up what it needs: Python 3.11 or newer and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
FUZZ_READY := $(VENV)/.fuzz-ready
SECONDS ?= 20
GUEST_INPUTS := $(shell find guest_runtime -type f -not -path '*/__pycache__/*')

.PHONY: demo test check bench fuzz clean

demo: $(READY)          ## run an example through the sandbox
	$(BIN)/pml run examples/hello.ts

test: check             ## linters, then the tests
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

check: $(READY)         ## linters, types, import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH_READY)   ## measure, beside the peers
	$(BIN)/python -m benches

fuzz: $(FUZZ_READY)     ## hostile input for every reader, SECONDS for each
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(TARGETS)

clean:                  ## remove what was built here (the cache in the home folder stays)
	rm -rf $(VENV) sandbox_host/_guest dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

# Repeated only when what was installed may have changed.
$(READY): pyproject.toml constraints.txt hatch_build.py $(GUEST_INPUTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "error: Python 3.11 or newer is needed; hint: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing (the first time a minute or two: the guest is compiled)"
	@$(PIP) --editable '.[dev]'
	@touch $@

$(BENCH_READY): $(READY)
	@$(PIP) --editable '.[dev,bench]'
	@touch $@

$(FUZZ_READY): $(READY)
	@$(PIP) --editable '.[dev,fuzz]'
	@touch $@
