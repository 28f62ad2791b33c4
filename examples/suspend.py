"""A program that waits for a person on disk while its process is gone: python examples/suspend.py.

The first half runs in this process, the second in a new one. By hand:

    python examples/suspend.py start FOLDER
    python examples/suspend.py resume FOLDER yes
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from sandbox_host import SUSPEND, Call, Completed, Sandbox, Suspended

CODE = """
const [weather, verdict] = await Promise.all([
    mcp.weather.today({ city: 'Lyon' }),
    mcp.human.ask({ question: 'Send the report?' }),
]);
return verdict.answer === 'yes' ? `sent: ${weather.sky}` : 'not sent';
"""


def say(*words: object) -> None:
    """Print at once, so that the two processes' lines stay in order."""
    print(*words, flush=True)


async def host(call: Call) -> Any:
    """Answer what a machine can answer; what a person must answer has to wait."""
    say("asked:", call.tool)
    return SUSPEND if call.tool == "human:ask" else {"sky": "clear"}


async def start(folder: Path) -> None:
    """Run until only the person's answer is missing; then put the program away."""
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(CODE, host=host)
        if isinstance(outcome, Suspended):
            snapshot = sandbox.snapshot()
            (folder / "program.snapshot").write_bytes(snapshot)
            questions = {call.id: call.args["question"] for call in outcome.calls}
            (folder / "questions.json").write_text(json.dumps(questions))
            say("suspended:", *questions.values())


async def resume(folder: Path, answer: str) -> None:
    """Go on where it stopped, with no call made twice."""
    questions = json.loads((folder / "questions.json").read_text())
    snapshot = (folder / "program.snapshot").read_bytes()
    async with Sandbox.restore(snapshot) as sandbox:
        answers = {int(number): {"answer": answer} for number in questions}
        outcome = await sandbox.resume(answers, host=host)
        if isinstance(outcome, Completed):
            say("result:", outcome.value)


def main(arguments: list[str]) -> None:
    """Do one half, or both."""
    match arguments:
        case ["start", folder]:
            anyio.run(start, Path(folder))
        case ["resume", folder, answer]:
            anyio.run(resume, Path(folder), answer)
        case _:
            with tempfile.TemporaryDirectory() as folder:
                anyio.run(start, Path(folder))
                say("a new process goes on")
                again = [sys.executable, __file__, "resume", folder, "yes"]
                subprocess.run(again, check=True)  # noqa: S603 - this very file


if __name__ == "__main__":
    main(sys.argv[1:])
