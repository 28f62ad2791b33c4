"""`make fuzz`: every target for some seconds, one after another, and what came of it.

    python -m tests.fuzz [--seconds N] [--counts FILE] [TARGET...]

A target goes on from the corpus of the last campaign, in the user's cache. The input of a crash,
a hang or too much memory is kept in `tests/fuzz/crashes/`, and the exit code is 1.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .corpus import CRASHES, HERE, names, seeds, target
from .editing import MOST_BYTES

_HANG_SECONDS = 20  # for one input; the slowest of ours, the eraser, has a deadline of 2
_MEMORY_MB = 1536
_GRACE_SECONDS = 120  # to start, to read the corpus, and to come to an end
_RUNS = re.compile(r"^#(\d+)\s", re.MULTILINE)
_DONE = re.compile(r"Done (\d+) runs")


class Count(NamedTuple):
    """What came of one target."""

    name: str
    runs: int
    corpus: int
    seconds: float
    crashes: int

    def __str__(self) -> str:
        """Give a line of the table."""
        return (
            f"{self.name:<16} {self.runs:>9} runs  corpus {self.corpus:>5}"
            f"  {self.seconds:>5.0f} s  {self.crashes} crashes"
        )


def main() -> int:
    """Fuzz, print the table, and say whether anything broke."""
    options = _options()
    crashes = 0
    for name in options.targets or names():
        count = _fuzzed(name, options.seconds)
        crashes += count.crashes
        print(count, flush=True)  # noqa: T201
        if options.counts:
            with options.counts.open("a") as file:
                file.write(f"{count}\n")
    return 1 if crashes else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--counts", type=Path, help="a file to add the table to")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    return parser.parse_args()


def _fuzzed(name: str, seconds: int) -> Count:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    corpus, found = cache / "pml-fuzz" / name, CRASHES / name
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    for seed in seeds(name):
        (corpus / hashlib.sha256(seed).hexdigest()[:40]).write_bytes(seed)
    words = corpus.with_suffix(".dict")
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target(name).WORDS))
    command = [
        sys.executable, "-m", f"{__package__}.fuzzing", name, f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}", f"-timeout={_HANG_SECONDS}", f"-rss_limit_mb={_MEMORY_MB}",
        f"-dict={words}", f"-artifact_prefix={found}{os.sep}", "-print_final_stats=1", str(corpus),
    ]  # fmt: skip
    before, began = set(found.iterdir()), time.monotonic()
    said, code = _run(command, seconds + _GRACE_SECONDS)
    runs = [int(number) for number in (*_RUNS.findall(said), *_DONE.findall(said))]
    (found / "log.txt").write_text(said[-20_000:])
    crashes = len({file for file in found.iterdir() if file.name != "log.txt"} - before)
    return Count(
        name, max(runs, default=0), len(list(corpus.iterdir())), time.monotonic() - began,
        max(crashes, int(code != 0)),
    )  # fmt: skip


def _run(command: list[str], most_seconds: float) -> tuple[str, int]:
    try:
        done = subprocess.run(
            command, cwd=HERE.parents[1], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=most_seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace"), 1
    return done.stdout.decode(errors="replace"), done.returncode


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    sys.exit(main())
