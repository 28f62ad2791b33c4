"""One built-in capability: each call runs its program in a sandbox of its own.

Checks the arguments, grants the workspace as far as the tool needs it, and turns the function's
value into a result of the shape that MCP servers give. Decides nothing: policy comes before.
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import anyio

from pml.backends.errors import CallTimeoutError, ServerStartError, ToolUnknownError
from pml.backends.listing import listing_of
from pml.backends.std.arguments import fault
from pml.backends.std.capability import (
    STD_FOLDER,
    STD_NAMES,
    Access,
    BuiltinTool,
    Capability,
    load_capability,
)
from pml.backends.std.hashing import Hashing
from pml.backends.std.workspace import Workspace
from pml.backends.std.zones import Zones
from pml.model import Listing, ServerState, ServerStatus
from pml.places import refuse_state
from pml.ports import OnProgress
from sandbox_host import (
    Call,
    Completed,
    LimitExceeded,
    Limits,
    Mount,
    MountInvalid,
    Outcome,
    Sandbox,
    SandboxError,
    ToolError,
    UncaughtError,
)

MOST_CPU_SECONDS = 10.0
"""Of one call: a search of a large tree; a regular expression that explodes ends here."""

MEMORY_BYTES = 256 << 20
"""A text of 16 MiB is read, decoded, changed and written as JSON: several copies."""

OUTPUT_BYTES = 16 << 20
"""Of a result."""

MOST_AT_ONCE = 16
"""Calls of one capability; the rest wait. Together they may take 4 GiB, if all misbehave."""

_WORDS = 4000  # characters of an error


class _Service(Protocol):
    """What a built-in may ask of the host."""

    async def answer(self, call: Call) -> Any: ...


_SERVICES: Mapping[str, Callable[[], _Service]] = {"zones": Zones, "hashing": Hashing}


class StdBackend:
    """Answers the calls to one built-in capability."""

    def __init__(
        self, name: str, workspace: Path, state: Path, *, folder: Path = STD_FOLDER
    ) -> None:
        """Read nothing yet. `state` is PML's own, which no tool may see."""
        self.name = name
        self._workspace = workspace
        self._state = state
        self._folder = folder
        self._slots = anyio.CapacityLimiter(MOST_AT_ONCE)

    @functools.cached_property
    def _capability(self) -> Capability:
        return load_capability(self.name, self._folder)

    async def list_tools(self) -> Listing:
        """Give the tools."""
        return self._listing

    @functools.cached_property
    def _listing(self) -> Listing:
        return listing_of(self.name, self._capability.definitions)

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,  # noqa: ARG002 - there is none to tell
    ) -> Mapping[str, Any]:
        """Run a tool in a fresh sandbox; what goes wrong in it is a result with `isError`."""
        known = self._capability.tools.get(tool)
        if known is None:
            raise ToolUnknownError(f"{self.name}:{tool}", [])
        wrong = fault(arguments, known.input_schema)
        if wrong is not None:
            return _error(f"Invalid arguments for tool {tool}: {wrong}")
        call = self._call(tool, known, arguments)
        with anyio.move_on_after(timeout_seconds):
            async with self._slots:
                return await self._run(call, timeout_seconds)
        raise CallTimeoutError(self.name, tool, timeout_seconds)

    def _call(self, name: str, tool: BuiltinTool, arguments: Mapping[str, Any]) -> "_BuiltinCall":
        place = self._place(tool)
        services = {ask: _SERVICES[ask]() for ask in self._capability.asks}
        if place is not None:
            services["workspace"] = place
        return _BuiltinCall(self._capability.source, name, tool, arguments, place, services)

    def _place(self, tool: BuiltinTool) -> Workspace | None:
        if tool.access is Access.NONE:
            return None
        refuse_state(self._workspace, self._state)
        return Workspace(self._workspace, self._workspace.resolve())

    async def _run(self, call: "_BuiltinCall", timeout_seconds: float) -> Mapping[str, Any]:
        limits = Limits(
            memory_bytes=MEMORY_BYTES,
            cpu_seconds=min(MOST_CPU_SECONDS, timeout_seconds),
            wall_seconds=timeout_seconds,
            output_bytes=OUTPUT_BYTES,
        )
        try:
            async with Sandbox(limits=limits, mounts=call.mounts()) as sandbox:
                outcome = await sandbox.run(
                    call.source, host=call.answer, args=dict(call.arguments), call=call.name
                )
                refused = sandbox.refused_files
        except MountInvalid as error:
            raise ServerStartError(self.name, error.message) from None
        except SandboxError as error:
            return _error(_words(error, ()))
        if _is_late(outcome):
            raise CallTimeoutError(self.name, call.name, timeout_seconds)
        return _result(outcome, refused, media=call.tool.media)

    def caution(self, tool: str) -> str | None:  # noqa: ARG002 - the port's
        """Nothing is asked about beyond what the policy says."""
        return None

    def status(self) -> ServerStatus:
        """Say whether a call is under way."""
        busy = self._slots.borrowed_tokens > 0
        state = ServerState.RUNNING if busy else ServerState.IDLE
        return ServerStatus(self.name, "builtin", state, "wasm", tools=len(self._capability.tools))

    async def aclose(self) -> None:
        """Nothing outlives a call."""


@dataclasses.dataclass(frozen=True, slots=True)
class _BuiltinCall:
    """One call, with what it may see."""

    source: str
    name: str
    tool: BuiltinTool
    arguments: Mapping[str, Any]
    place: Workspace | None
    services: Mapping[str, _Service]

    def mounts(self) -> tuple[Mount, ...]:
        if self.place is None:
            return ()
        return (self.place.mount(self.arguments, writable=self.tool.access is Access.WRITE),)

    async def answer(self, call: Call) -> Any:
        service = self.services.get(call.tool.partition(":")[0])
        if service is None:
            raise ToolError(f"a built-in cannot call `{call.tool}`")  # noqa: TRY003 - as a guest sees it
        return await service.answer(call)


def std_backends(workspace: Path, state: Path) -> tuple[StdBackend, ...]:
    """Give all built-in capabilities, nothing of them read yet."""
    return tuple(StdBackend(name, workspace, state) for name in STD_NAMES)


def _is_late(outcome: Outcome) -> bool:
    error = getattr(outcome, "error", None)
    return isinstance(error, LimitExceeded) and error.code == "wall_limit"


def _result(outcome: Outcome, refused: tuple[str, ...], *, media: bool) -> Mapping[str, Any]:
    """Give what a server would: `content` beside the same as `structuredContent`."""
    if not isinstance(outcome, Completed):
        error = getattr(outcome, "error", None)
        return _error(_words(error, refused) if error else "the tool did not end")
    value = outcome.value
    content = value.get("content")
    if media:
        return {"content": content, "structuredContent": value}
    text = content if isinstance(content, str) else json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": value}


def _error(text: str) -> Mapping[str, Any]:
    return {"isError": True, "content": [{"type": "text", "text": text[:_WORDS]}]}


def _words(error: SandboxError, refused: tuple[str, ...]) -> str:
    """Give an error's message as its function wrote it, and which file the sandbox refused."""
    words = error.message
    if isinstance(error, UncaughtError):
        words = words.removeprefix(f"{error.name}: ")
    if error.hint:
        words = f"{words}\nhint: {error.hint}"
    if refused:
        words = f"{words}\nrefused by the sandbox: {refused[-1]}"
    return words
