"""An office with a store on disk, a policy of lists, tools that count, and a human who is scripted."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pml.backends.errors import ServerUnknownError
from pml.config import Permissions
from pml.execution.approvals import Approval, Verdict
from pml.execution.rights import Rights
from pml.execution.runner import Office
from pml.execution.workflows import RunStore
from pml.model import Need
from pml.policy import decide
from sandbox_host import ToolError

KEY = b"k" * 32


class Tools:
    """Remembers every effect."""

    def __init__(self) -> None:
        self.effects: list[tuple[str, Any]] = []

    def check(self, tool_id: str) -> None:
        if tool_id.startswith("missing:"):
            raise ServerUnknownError("missing", ["free"])

    def caution(self, tool_id: str) -> str | None:
        return "it runs anything" if tool_id == "free:risky" else None

    async def call_raw(self, tool_id: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        value = await self.call(tool_id.removesuffix("?"), arguments)
        return {"content": [], "structuredContent": value, "isError": tool_id.endswith("?")}

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        self.effects.append((tool_id, dict(arguments)))
        if tool_id.endswith(":fail"):
            raise ToolError("it broke", code="tool_error", data={"n": 1})
        return {"tool": tool_id, **arguments}


@dataclasses.dataclass
class Script:
    """A human who gives these verdicts by tool, and none otherwise."""

    verdicts: dict[str, Verdict] = dataclasses.field(default_factory=dict)
    value: Any = None
    asked: list[Approval] = dataclasses.field(default_factory=list)

    async def ask(self, questions: Sequence[Approval]) -> Mapping[str, tuple[Verdict, Any]]:
        self.asked += [one for one in questions if one.verdict is None]
        return {
            one.id: (self.verdicts[one.tool], self.value)
            for one in questions
            if one.tool in self.verdicts and one.verdict is None
        }


class Shown:
    def arguments(self, arguments: Mapping[str, Any]) -> str:
        return str(dict(arguments))

    def level(self, tool: str) -> str:
        return "full"


@dataclasses.dataclass
class Shelf:
    """What tools lack, in the order in which it is asked for, and what was brought."""

    needs: dict[str, list[Need]]
    brought: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    async def need(self, tool_id: str, *, starting: bool = True) -> Need | None:
        lacking = self.needs.get(tool_id)
        return lacking[0] if lacking else None

    async def provide(self, tool_id: str, token: str, on_progress: Any = None) -> None:
        lacking = self.needs.get(tool_id)
        if lacking and lacking[0].token != token:
            raise ServerUnknownError("another", ())
        self.brought.append((tool_id, token))
        if lacking:
            del lacking[0]


@dataclasses.dataclass
class Desk:
    """All that a run needs, with what it did."""

    folder: Path
    permissions: Permissions = dataclasses.field(
        default_factory=lambda: Permissions(allow=("free",), ask=("asked",), deny=("never",))
    )
    tools: Tools = dataclasses.field(default_factory=Tools)
    human: Script = dataclasses.field(default_factory=Script)
    lines: list[tuple[str, Mapping[str, Any]]] = dataclasses.field(default_factory=list)
    remembered: list[str] = dataclasses.field(default_factory=list)
    yes: bool = False
    shelf: "Shelf | None" = None

    def write(self, event: str, facts: Mapping[str, Any]) -> None:
        self.lines.append((event, facts))

    note = write

    @property
    def store(self) -> RunStore:
        return RunStore(self.folder, KEY)

    @property
    def rights(self) -> Rights:
        return Rights(
            self.tools,
            lambda tool: decide(tool, self.permissions),
            self,
            self.remembered.append,
            yes=self.yes,
            provisions=self.shelf,
        )

    @property
    def office(self) -> Office:
        return Office(self.store, self.human, Shown())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "runs")
