"""A process that takes a program one pause further, saves it, and dies without a word.

Run by test_snapshot with a folder: program.ts, then paused.bin and calls.json between processes,
done.txt with every call that was performed, value.json at the end.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from sandbox_host import SUSPEND, Call, Completed, Outcome, Sandbox, Suspended, ToolError

FOLDER = Path(sys.argv[1])


def perform(call: Call) -> Any:
    with (FOLDER / "done.txt").open("a") as done:
        done.write(f"{call.args['n']}\n")
    value = call.args["v"] * 2 + call.args["n"]
    if call.tool == "t:fail":
        raise ToolError("failed", data=value)
    return value


async def host(call: Call) -> Any:
    return SUSPEND if call.args["ask"] else perform(call)


async def go_on() -> tuple[Outcome, bytes]:
    paused = FOLDER / "paused.bin"
    if not paused.exists():
        async with Sandbox() as sandbox:
            outcome = await sandbox.run((FOLDER / "program.ts").read_text(), host=host)
            return outcome, sandbox.snapshot() if isinstance(outcome, Suspended) else b""
    first = Call(**json.loads((FOLDER / "call.json").read_text()))
    try:
        value = perform(first)
    except ToolError as error:
        value = error
    async with Sandbox.restore(paused.read_bytes()) as sandbox:
        outcome = await sandbox.resume({first.id: value}, host=host)
        return outcome, sandbox.snapshot() if isinstance(outcome, Suspended) else b""


outcome, data = anyio.run(go_on)
(FOLDER / "done.txt").touch()
if isinstance(outcome, Suspended):
    first = outcome.calls[0]
    (FOLDER / "call.json").write_text(
        json.dumps({"id": first.id, "tool": first.tool, "args": first.args})
    )
    (FOLDER / "paused.bin").write_bytes(data)
    os.kill(os.getpid(), signal.SIGKILL)
assert isinstance(outcome, Completed), outcome
(FOLDER / "value.json").write_text(json.dumps(outcome.value))
