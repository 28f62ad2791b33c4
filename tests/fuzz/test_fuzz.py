"""The targets of `make fuzz` in the ordinary test run: seeds, what once broke them, and short generated runs."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .corpus import names, regressions, seeds, target
from .editing import KINDS, MOST_BYTES, MOST_REPEATS, Edit, edited

EXAMPLES = {"answers": 40, "declarations": 60, "programs": 60}
"""Of targets that enter a real guest or the real eraser; the others have more."""

edits = st.lists(
    st.builds(
        Edit,
        st.sampled_from(KINDS),
        st.integers(0, MOST_BYTES),
        st.integers(1, 300),
        st.integers(0, MOST_REPEATS),
    ),
    max_size=4,
)


@pytest.mark.parametrize("name", names())
def test_every_target_has_seeds_that_keep_its_promises(name):
    found = seeds(name)
    assert found
    for seed in found:
        target(name).one(seed)


@pytest.mark.parametrize("name", names())
def test_nothing_generated_breaks_a_promise(name):
    module = target(name)
    inputs = st.one_of(
        st.builds(edited, st.sampled_from(seeds(name)), edits, st.just(module.WORDS)),
        st.lists(st.sampled_from(module.WORDS), max_size=12).map(b"".join),
        st.binary(max_size=200),
    )

    # the same inputs at every run: a find in CI is one of the change, not of the day
    @settings(
        derandomize=True, database=None, deadline=None, max_examples=EXAMPLES.get(name, 150),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(inputs)
    def run(data):
        module.one(data)

    run()


@pytest.mark.parametrize(
    ("name", "file"), list(regressions()), ids=lambda one: getattr(one, "name", one)
)
def test_what_was_found_once_stays_fixed(name, file):
    target(name).one(file.read_bytes())
