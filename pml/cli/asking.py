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

from pml.cli.console import Console, shown
from pml.execution.approvals import Approval, Verdict

_TERMINAL = Path("/dev/tty")
_HASH_CHARACTERS = 12
_LINE_BYTES = 4096
_ALWAYS = "allow? [y]es, this call / [a]lways, this tool / [N]o: "
_ONCE = "allow? [y]es, this call / [N]o: "
_WORDS = {
    "call": (_ALWAYS, {
        "y": Verdict.YES, "yes": Verdict.YES, "a": Verdict.ALWAYS, "always": Verdict.ALWAYS,
    }),
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
            if question.verdict is None:
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
            return (Verdict.NO, None) if question.kind == "call" else None
        if verdict != Verdict.SKIP:
            return verdict, None
        self._console.ask("its value as JSON: ")
        try:
            return verdict, json.loads(await _line())
        except ValueError:
            self._console.error("this is no JSON: nothing was answered")
            return None


class Nobody:
    """No one is there: every run waits."""

    async def ask(
        self,
        questions: Sequence[Approval],  # noqa: ARG002 - the port's
    ) -> Mapping[str, tuple[Verdict, Any]]:
        """Give no verdict."""
        return {}


def described(question: Approval) -> str:
    """Give a question as lines for a terminal."""
    what = "may have been made" if question.kind == "uncertain" else "wants to be made"
    lines = [
        f"the call {shown(question.tool)} {what} (question {question.id}, run {question.run})",
        f"  arguments  {_flat(question.arguments)}",
        f"  rule       {_rule(question)}",
    ]
    if question.line:
        source = f": {_flat(question.source_line.strip())}" if question.source_line else ""
        lines.append(f"  program    line {question.line}{source}")
    lines.append(f"  code       {question.code_hash[:_HASH_CHARACTERS]}")
    lines.append(f"  sandbox    {question.level or 'unknown'}")
    return "\n".join(lines)


def _rule(question: Approval) -> str:
    if question.reason:
        return _flat(question.reason)
    if question.kind == "uncertain":
        return "the process ended while this call was under way"
    if question.rule is None:
        return "no rule fits, so it is asked"
    return f"{shown(question.rule)} in {question.place or '.pml.json'}"


def _flat(text: str) -> str:
    return shown(text).replace("\n", "\\n").replace("\t", " ")


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
