"""One target under Atheris, in a process of its own: `python -m tests.fuzz.fuzzing NAME ...`.

What follows the name are libFuzzer's own options and folders. Only our packages are instrumented:
what libraries do inside is theirs, and slow.
"""

import random
import sys

import atheris

with atheris.instrument_imports(include=["pml", "sandbox_host"]):
    from .corpus import seeds, target
    from .editing import drawn, edited

    CHOSEN = target(sys.argv[1])

_OURS = 0.6  # of the mutations; the others are libFuzzer's own


def _mutated(data: bytes, most_bytes: int, seed: int) -> bytes:
    chance = random.Random(seed)  # noqa: S311 - it must come out the same again
    if chance.random() > _OURS:
        return bytes(atheris.Mutate(data, most_bytes))
    return edited(data, drawn(chance), CHOSEN.WORDS)[:most_bytes]


def main() -> None:
    """Check the seeds, then fuzz until libFuzzer ends the process."""
    name, *options = sys.argv[1:]
    for seed in seeds(name):
        CHOSEN.one(seed)
    atheris.Setup([name, *options], CHOSEN.one, custom_mutator=_mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
