"""Deno (PyPI `deno`): a Worker with `permissions: "none"`, timed inside the Deno process."""

import importlib.metadata
import json
import subprocess
import tempfile
from pathlib import Path

from benches import first_program as first
from benches import json_megabyte
from benches.harness import Plan, Samples

TITLE = 'Deno Worker, permissions "none"'
LACKS = {
    "snapshot": "no snapshots",
    "thousand": "cannot pause",
    "erase": "not measured: no call for it alone",
    "cancel": "terminate() does not tell when the worker has stopped",
}

_SCRIPT = Path(__file__).parent / "deno_worker.js"


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("deno")
    except importlib.metadata.PackageNotFoundError:
        return None


def _command(*arguments: str) -> list[str]:
    import deno  # noqa: PLC0415 - a peer is imported only where it is measured

    # the script may look at its own memory, which Deno allows only with everything; the workers
    # that it measures may do nothing
    options = ("run", "--quiet", "--no-check", "--allow-all", "--unstable-worker-options")
    return [deno.find_deno_bin(), *options, str(_SCRIPT), *arguments]


def _measure(name: str, count: int, *arguments: str) -> Samples:
    command = _command(name, str(count), *arguments)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    samples: Samples = json.loads(done.stdout)
    return samples


def fresh(plan: Plan) -> Samples:
    """Start a worker, evaluate, terminate."""
    return _measure("fresh", plan.count(100, 20))


def warm(plan: Plan) -> Samples:
    """Evaluate in the same worker."""
    return _measure("warm", plan.count(1000))


def host_call(plan: Plan) -> Samples:
    """Ask the main thread by message."""
    return _measure("hostCall", plan.count(20, 5))


def parallel(plan: Plan) -> Samples:
    """Wait for all at once."""
    return _measure("parallel", plan.count(20, 5))


def json_(plan: Plan) -> Samples:
    """Objects in and out by structured clone."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json_megabyte.text(json_megabyte.rows()))
        file.flush()
        return _measure("json", plan.count(30, 8), file.name)


def memory(plan: Plan) -> Samples:
    """Keep workers after a program."""
    return _measure("memory", 50 if not plan.quick else 20)


def first_program(plan: Plan) -> Samples:
    """Start Deno, a worker in it, and evaluate."""
    own, whole = first.fresh_processes(_command("first", "1"), plan.count(20, 2))
    return {"first_js": own, "process_js": whole}


def heartbeat(plan: Plan) -> Samples:
    """Loop in a worker, and flood the main thread with calls."""
    return _measure("heartbeat", plan.count(5, 2), str(0 if plan.quick else 2))


MEASURES = {
    "fresh": fresh, "warm": warm, "host_call": host_call, "parallel": parallel,
    "json_megabyte": json_, "memory": memory, "first_program": first_program,
    "heartbeat": heartbeat,
}  # fmt: skip
