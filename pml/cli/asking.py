"""The human's word on a terminal: Enter means no.

A question shows the tool, its arguments (escaped, capped, secrets masked), the rule that asks, the
line of the program, the code's hash and the level of the server's OS sandbox. Answers are read
from the terminal itself, never from stdin, which may carry the program.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pml.cli.console import Console
from pml.execution.approvals import Approval, Verdict
from pml.execution.wording import described

_TERMINAL = Path("/dev/tty")
_LINE_BYTES = 4096
_ALWAYS = "allow? [y]es, this call / [a]lways, this tool / [N]o: "
_ONCE = "allow? [y]es, this call / [N]o: "
_YES = {"y": Verdict.YES, "yes": Verdict.YES}
_WORDS = {
    "call": (_ALWAYS, {**_YES, "a": Verdict.ALWAYS, "always": Verdict.ALWAYS}),
    "install": ("install it and make this call? [y]es / [N]o: ", _YES),
    "integrity": ("use what is new from now on, and make this call? [y]es / [N]o: ", _YES),
    "uncertain": ("[r]etry the call / [s]kip it with a value / [e]nd the run / [N]ot now: ", {
        "r": Verdict.YES, "retry": Verdict.YES, "s": Verdict.SKIP, "skip": Verdict.SKIP,
        "e": Verdict.NO, "end": Verdict.NO,
    }),
}  # fmt: skip


class TerminalHuman:
    """Asks one question after the other."""

    def __init__(self, console: Console) -> None:
        """Know where to write."""
        self._console = console

    async def ask(self, questions: Sequence[Approval]) -> Mapping[str, tuple[Verdict, Any]]:
        """Put each question that has no answer."""
        said: dict[str, tuple[Verdict, Any]] = {}
        for question in questions:
            if question.verdict is None and question.kind in _WORDS:
                answer = await self._ask(question)
                if answer is not None:
                    said[question.id] = answer
        return said

    async def _ask(self, question: Approval) -> tuple[Verdict, Any] | None:
        prompt, words = _WORDS[question.kind]
        if question.kind == "call" and not question.takes(Verdict.ALWAYS):
            prompt = _ONCE
        self._console.ask(f"{described(question)}\n{prompt}")
        said = await _line()
        if not said.endswith("\n"):  # nobody is there, or nobody wants to say anything
            return None
        verdict = words.get(said.strip().lower())
        if verdict is None or not question.takes(verdict):
            return (Verdict.NO, None) if question.kind != "uncertain" else None
        if verdict != Verdict.SKIP:
            return verdict, None
        self._console.ask("its value as JSON: ")
        try:
            return verdict, json.loads(await _line())
        except ValueError:
            self._console.error("this is no JSON: nothing was answered")
            return None


async def _line() -> str:
    """Read a line from the terminal; without its end, nobody has answered.

    No thread waits for it: one could not be interrupted, and `pml` would hang at its end.
    """
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    try:
        descriptor = os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return ""
    text = b""
    try:
        while not text.endswith(b"\n"):
            await anyio.wait_readable(descriptor)
            part = os.read(descriptor, _LINE_BYTES)
            if not part:
                break
            text += part
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return text.decode(errors="replace")
