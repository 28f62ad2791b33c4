"""One run: every measurement, every subject, in rounds, so that a noisy minute meets them all."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benches import machine
from benches.catalogue import MEASUREMENTS, OURS, PEERS, kind
from benches.harness import Samples, Summary, summary

ROUNDS = 3
_WORKER_SECONDS = 180  # nothing takes that long unless it hangs


@dataclasses.dataclass(slots=True)
class Results:
    """What a run found."""

    facts: dict[str, Any]
    quick: bool
    figures: dict[str, dict[str, Summary]] = dataclasses.field(default_factory=dict)
    """By figure, then by subject."""

    missing: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    """By measurement, then by subject: why there is no number."""

    def as_json(self) -> str:
        """Give the results for a file."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"


def from_json(text: str) -> Results:
    """Read what `as_json` wrote."""
    said = json.loads(text)
    figures = {
        figure: {subject: Summary(**numbers) for subject, numbers in subjects.items()}
        for figure, subjects in said["figures"].items()
    }
    return Results(said["facts"], said["quick"], figures, said["missing"])


def run(names: Iterable[str], *, quick: bool, progress: Callable[[str], None]) -> Results:
    """Measure."""
    results = Results(machine.facts(), quick)
    with tempfile.TemporaryDirectory() as bytecode:
        environment = installed(bytecode)
        for name in names:
            gathered: dict[str, Samples] = {}
            for number in range(1 if quick else ROUNDS):
                for subject in _able(name, results):
                    progress(f"{name}: {subject}, round {number + 1}")
                    samples = _one(name, subject, results, environment)
                    for figure, values in samples.items():
                        gathered.setdefault(subject, {}).setdefault(figure, []).extend(values)
            for subject, samples in gathered.items():
                for figure, values in samples.items():
                    results.figures.setdefault(figure, {})[subject] = summary(values)
    results.facts["load_after"] = machine.load()
    results.facts["code_changed"] = machine.code() != results.facts["code"]
    return results


def _able(name: str, results: Results) -> Iterator[str]:
    """Give the subjects that can be measured; write down why the others cannot."""
    missing = results.missing.setdefault(name, {})
    if OURS not in missing:
        yield OURS
    for subject, peer in PEERS.items():
        if subject in missing or kind(peer) != kind(MEASUREMENTS[name]):
            continue
        if name not in peer.MEASURES:
            missing[subject] = peer.LACKS[name]
        elif results.facts["peers"][subject] is None:
            missing[subject] = "not installed"
        else:
            yield subject


def installed(bytecode: str) -> dict[str, str]:
    """Give an environment in which bytecode is kept, as for an installed package."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _one(name: str, subject: str, results: Results, environment: dict[str, str]) -> Samples:
    command = [sys.executable, "-m", "benches.worker", name, subject]
    if results.quick:
        command.append("--quick")
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True,
            timeout=_WORKER_SECONDS, env=environment,
        )  # fmt: skip
        # samples count even when the process then failed to end well, as some peers' do
        samples: Samples = json.loads(done.stdout or done.check_returncode() or "")
    except (subprocess.SubprocessError, ValueError) as error:
        results.missing[name][subject] = f"failed: {_reason(error)}"
        return {}
    return samples


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr).splitlines() if line.strip()]
        return lines[-1].strip()[:300] if lines else f"exit code {error.returncode}"
    return str(error)[:300]


def figures_of(results: Results) -> Iterator[tuple[str, Any]]:
    """Give each measured figure with the name of its measurement, in the report's order."""
    for name, module in MEASUREMENTS.items():
        for figure in module.FIGURES:
            if figure.name in results.figures:
                yield name, figure
