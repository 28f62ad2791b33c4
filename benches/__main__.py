"""`python -m benches`: measure, print the table, keep the results, draw the picture."""

import argparse
import sys
from pathlib import Path

from benches import picture, report
from benches.catalogue import MEASUREMENTS
from benches.run import Results, from_json, run

ROOT = Path(__file__).resolve().parent.parent
LATEST = ROOT / "benches" / "results" / "latest.json"
PICTURE = ROOT / "docs" / "benchmarks.svg"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def main() -> None:
    """Read what is wanted and do it."""
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples, about half a minute")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="may be repeated")
    parser.add_argument("--draw", action="store_true", help="draw the latest results, no new run")
    chosen = parser.parse_args()
    if chosen.draw:
        _publish(from_json(LATEST.read_text()))
        return
    results = run(chosen.only or MEASUREMENTS, quick=chosen.quick, progress=_progress)
    _progress("")
    print(report.table(results))
    if not chosen.only:
        _keep(results)


def _keep(results: Results) -> None:
    """Keep the JSON; only a full run is worth showing."""
    path = LATEST.with_name("quick.json") if results.quick else LATEST
    path.parent.mkdir(exist_ok=True)
    path.write_text(results.as_json())
    if not results.quick and not results.facts["code_changed"]:
        _publish(results)


def _publish(results: Results) -> None:
    PICTURE.write_text(picture.draw(results))
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{report.markdown(results)}\n{END}{after}")


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
