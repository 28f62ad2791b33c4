"""A fresh process: import the package, run the first program. The caches are warm.

Warm are the cache of compiled wasm, and Python's bytecode, which an installed package has and a
source tree may not: `run` sets a folder aside for it.
`first_*` counts from the first line of Python to the value, `process_*` is the whole process as
its parent sees it, the interpreter's own start and end included.
"""

import subprocess
import sys
import time
from collections.abc import Sequence

from benches.harness import Figure, Plan, Samples, Target

FIGURES = (
    Figure("first_js", "import + first JavaScript program", "ms", Target(p50=150)),
    Figure("process_js", "the same, whole process", "ms"),
    Figure("first_ts", "import + first TypeScript program", "ms", Target(p50=150)),
    Figure("process_ts", "the same, whole process", "ms"),
    Figure("bare_process", "a Python process that does nothing", "ms"),
)

_CHILD = """
import time; began = time.perf_counter()
import anyio
from sandbox_host import Sandbox

async def host(call):
    return None

async def main():
    async with Sandbox() as sandbox:
        outcome = await sandbox.run({program!r}, host=host)
        assert outcome.value == 2, outcome

anyio.run(main)
print(time.perf_counter() - began)
"""


def fresh_processes(command: Sequence[str], count: int) -> tuple[list[float], list[float]]:
    """Start a command again and again; it prints its own seconds. Give those, and the whole."""
    own, whole = [], []
    for number in range(count + 1):
        began = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        ended = time.perf_counter()
        if number:  # the first one warms the caches
            own.append(float(done.stdout))
            whole.append(ended - began)
    return own, whole


def fresh_pythons(script: str, count: int) -> tuple[list[float], list[float]]:
    """Start Python processes."""
    return fresh_processes([sys.executable, "-c", script], count)


def pml(plan: Plan) -> Samples:
    """JavaScript needs no eraser, TypeScript does."""
    count = plan.count(20, 2)
    javascript, whole_javascript = fresh_pythons(_CHILD.format(program="1+1"), count)
    program = "const n: number = 1; return n + 1"
    typescript, whole_typescript = fresh_pythons(_CHILD.format(program=program), count)
    return {
        "first_js": javascript,
        "process_js": whole_javascript,
        "first_ts": typescript,
        "process_ts": whole_typescript,
        "bare_process": fresh_pythons("print(0)", count)[1],
    }
