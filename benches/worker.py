"""Measures one subject in a process of its own: `python -m benches.worker MEASUREMENT SUBJECT`.

A process each, so that no subject pays for another's memory, threads or crash. Prints the samples
as JSON.
"""

import argparse
import inspect
import json

import anyio

from benches.catalogue import MEASUREMENTS, OURS, PEERS
from benches.harness import Plan, Samples


def measure(measurement: str, subject: str, plan: Plan) -> Samples:
    """Run one subject's function."""
    if subject == OURS:
        function = MEASUREMENTS[measurement].pml
    else:
        function = PEERS[subject].MEASURES[measurement]
    if inspect.iscoroutinefunction(function):
        return anyio.run(function, plan)
    samples: Samples = function(plan)
    return samples


def main() -> None:
    """Read which, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("measurement", choices=MEASUREMENTS)
    parser.add_argument("subject", choices=[OURS, *PEERS])
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    plan = Plan(quick=chosen.quick)
    # flushed: a peer that aborts while the process ends must not take the samples with it
    print(json.dumps(measure(chosen.measurement, chosen.subject, plan)), flush=True)


if __name__ == "__main__":
    main()
