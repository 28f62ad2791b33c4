"""`shell:exec`: one command in the workspace, held by the same OS sandbox as a server.

Its reach is what the wiring grants: the workspace to write, no network, no key, a home of its own;
files that look secret are hidden where the sandbox can hide them, and the words say where not.
It always asks unless a rule names it exactly: a pattern that allows much does not mean this.
"""

from collections.abc import Callable, Mapping
from typing import Any

import anyio

from pml.backends.errors import CallTimeoutError, ToolUnknownError
from pml.backends.listing import listing_of
from pml.backends.std.arguments import fault
from pml.backends.stdio.process import ServerProcess, opened
from pml.confinement import Confined
from pml.model import Listing, ServerState, ServerStatus
from pml.ports import OnProgress

NAME = "shell"
MOST_OUTPUT_BYTES = 256 << 10
"""Of one command; a model reads it. The rest is read and dropped, so that the command can end."""

MOST_AT_ONCE = 4
"""Commands; the rest wait."""

_EXEC = "exec"
_DEFAULT_SECONDS = 60.0
_REST_SECONDS = 0.5  # for what an ended command, or one it left behind, still writes
_CHUNK_BYTES = 1 << 16
_HIDES_SECRETS = "full"  # the one level that can
_READS_SECRETS = "it can read files of the workspace that look secret (.env, private keys)"
_DESCRIPTION = (
    "Run a shell command in the workspace, in an OS sandbox: it may write the workspace, has no "
    "network and {secrets}. Gives the exit code and the output, stdout and stderr as they came."
)
_DEFINITION: Mapping[str, Any] = {
    "name": _EXEC,
    "title": "Run a command",
    "inputSchema": {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "For /bin/sh -c."},
            "timeoutSeconds": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Then it is ended with all that it started; 60 if not given.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "exitCode": {"type": ["integer", "null"]},
            "output": {"type": "string"},
            "truncated": {"type": "boolean"},
            "timedOut": {"type": "boolean"},
        },
        "required": ["exitCode", "output", "truncated", "timedOut"],
    },
    "annotations": {"destructiveHint": True, "openWorldHint": False},
}


class ShellBackend:
    """Answers the calls to `shell`; nothing outlives a call."""

    name = NAME

    def __init__(self, confine: Callable[[str], Confined], level: str) -> None:
        """Start nothing. `confine` says how a command is started, or raises why it must not be."""
        self._confine = confine
        self._level = level
        self._missing = () if level == _HIDES_SECRETS else (_READS_SECRETS,)
        self._slots = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def list_tools(self) -> Listing:
        """Give the one tool; its words tell the truth of this machine."""
        secrets = "none of the user's keys: files that look secret (.env, private keys) are hidden"
        if self._missing:
            secrets = f"no key in its environment, but {_READS_SECRETS}"
        description = _DESCRIPTION.format(secrets=secrets)
        return listing_of(NAME, [{**_DEFINITION, "description": description}])

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,  # noqa: ARG002 - there is none to tell
    ) -> Mapping[str, Any]:
        """Run a command to its end, or end it."""
        if tool != _EXEC:
            raise ToolUnknownError(f"{NAME}:{tool}", [f"{NAME}:{_EXEC}"])
        wrong = fault(arguments, _DEFINITION["inputSchema"])
        if wrong is None and "\0" in arguments["command"]:
            wrong = "`command` has a character U+0000, which no command line can have"
        if wrong is not None:
            words = f"Invalid arguments for tool {tool}: {wrong}"
            return {"isError": True, "content": [{"type": "text", "text": words}]}
        seconds = float(arguments.get("timeoutSeconds") or min(_DEFAULT_SECONDS, timeout_seconds))
        with anyio.move_on_after(timeout_seconds):
            async with self._slots:
                return await self._run(arguments["command"], min(seconds, timeout_seconds))
        raise CallTimeoutError(NAME, tool, timeout_seconds)

    async def _run(self, command: str, seconds: float) -> Mapping[str, Any]:
        output = _Output()
        async with opened(NAME, self._confine(command)) as process:
            process.stdin.close()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(output.read, process)
                ended = await process.wait(seconds)
                if ended:
                    with anyio.move_on_after(_REST_SECONDS):
                        await output.ended.wait()
                tasks.cancel_scope.cancel()
        return output.result(process.exit_code if ended else None, timed_out=not ended)

    def caution(self, tool: str) -> str | None:  # noqa: ARG002 - there is one
        """Say why a pattern is not enough."""
        words = "it runs any command: only a rule that names `shell:exec` exactly allows it"
        return "; ".join((words, *self._missing))

    def status(self) -> ServerStatus:
        """Say whether a command runs."""
        busy = self._slots.borrowed_tokens > 0
        state = ServerState.RUNNING if busy else ServerState.IDLE
        return ServerStatus(NAME, "builtin", state, self._level, tools=1, missing=self._missing)

    async def aclose(self) -> None:
        """Nothing outlives a call."""


class _Output:
    """What a command wrote, as far as it is kept."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._truncated = False
        self.ended = anyio.Event()

    async def read(self, process: ServerProcess) -> None:
        try:
            while True:
                chunk = await process.stdout.receive(_CHUNK_BYTES)
                room = MOST_OUTPUT_BYTES - len(self._kept)
                self._truncated |= len(chunk) > room
                self._kept += chunk[:room]
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.ended.set()

    def result(self, exit_code: int | None, *, timed_out: bool) -> Mapping[str, Any]:
        text = self._kept.decode(errors="replace")
        facts = {
            "exitCode": exit_code,
            "output": text,
            "truncated": self._truncated,
            "timedOut": timed_out,
        }
        return {"content": [{"type": "text", "text": text}], "structuredContent": facts}
