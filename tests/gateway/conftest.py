"""A workspace with a counting server, and a client that speaks JSON-RPC to the real `pml stdio`."""

import contextlib
import datetime
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

from pml.keys import Keys, environ_with
from pml.trust import trust_workspace

COUNTER = Path(__file__).parents[1] / "servers" / "counter_server.py"
MODERN = "2026-07-28"
ELICITS = {"elicitation": {}}
SECRET = "sk-of-the-hostile-server-0123456789"

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: `pml stdio` runs on it."""
    return "asyncio"


class Workspace:
    """A project folder, its configuration, and the user's state beside it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "project"
        self.state = folder / "state"
        self.path.mkdir()
        (self.path / ".git").mkdir()
        self.servers: dict[str, Any] = {
            "counter": {
                "command": sys.executable,
                "args": [str(COUNTER), "${workspace}/effects"],
                "sandbox": {"fsWrite": ["${workspace}"]},
            }
        }

    def configure(self, *, trust: bool = True, **more: Any) -> "Workspace":
        """Write `.pml.json`; say the human's yes to it."""
        content = json.dumps({"mcpServers": self.servers, **more}, indent=2)
        (self.path / ".pml.json").write_text(content, encoding="utf-8")
        if trust:
            self.trust()
        return self

    def trust(self) -> None:
        keys = Keys(self.environ, self.path)
        now = datetime.datetime.now(datetime.UTC)
        trust_workspace(self.path, environ_with(keys), Path.home(), now, keys)

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "PML_STATE": str(self.state)}

    @property
    def effects(self) -> list[str]:
        path = self.path / "effects"
        return sorted(path.read_text(encoding="utf-8").split()) if path.exists() else []

    def held(self) -> dict[str, bytes]:
        """Give all that a model must not change: rules, trust, keys, locks."""
        names = [self.path / ".pml.json", self.path / ".env", self.path / ".pml" / "mcp.lock"]
        names += [self.state / "key", *self.state.glob("workspaces/*/trust.json")]
        names += self.state.glob("workspaces/*/*.key")
        return {str(path): path.read_bytes() for path in names if path.exists()}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path.resolve())


class Client:
    """Speaks either era, by hand: what is sent and what comes is plain JSON."""

    def __init__(self, process: anyio.abc.Process, *, modern: bool, answer: Answer | None) -> None:
        self.process = process
        self._modern = modern
        self._answer = answer
        self._next = 0
        self._waiting: dict[int, anyio.Event] = {}
        self._results: dict[int, Any] = {}
        self.asked: list[Mapping[str, Any]] = []
        self.notified: list[Mapping[str, Any]] = []
        self.stderr = ""

    async def send(self, message: Mapping[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        await self.process.stdin.send(raw)

    async def begin(self, method: str, params: Mapping[str, Any]) -> int:
        self._next += 1
        number = self._next
        self._waiting[number] = anyio.Event()
        given = dict(params)
        if self._modern:
            prefix = "io.modelcontextprotocol/"
            meta = {
                f"{prefix}protocolVersion": MODERN,
                f"{prefix}clientInfo": {"name": "test", "version": "1"},
                f"{prefix}clientCapabilities": ELICITS if self._answer else {},
            }
            given["_meta"] = {**meta, **given.get("_meta", {})}
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": given})
        return number

    async def end(self, number: int) -> Any:
        with anyio.fail_after(60):
            await self._waiting[number].wait()
        message = self._results.pop(number)
        return message.get("result", message)

    def expect(self, number: int) -> Awaitable[Any]:
        """Wait for the answer to a message that is sent by hand."""
        self._waiting[number] = anyio.Event()
        return self.end(number)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        return await self.end(await self.begin(method, params or {}))

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; a 2026 client answers what is asked of it and tries again."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        result = await self.request("tools/call", params)
        while result.get("resultType") == "input_required" and self._answer:
            responses = {}
            for key, asked in result["inputRequests"].items():
                self.asked.append(asked["params"])
                responses[key] = self._answer(asked["params"])
            again = {**params, "inputResponses": responses, "requestState": result["requestState"]}
            result = await self.request("tools/call", again)
        return result

    async def facts(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and give its structured content, which its text must repeat."""
        result = await self.call(tool, **arguments)
        [block] = result["content"]
        if tool != "discover":
            assert json.loads(block["text"]) == result["structuredContent"]
        return result["structuredContent"]

    async def start(self) -> Any:
        if self._modern:
            return await self.request("server/discover")
        capabilities = ELICITS if self._answer else {}
        info = {"name": "test", "version": "1"}
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": info,
        }
        result = await self.request("initialize", params)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    async def read(self) -> None:
        assert self.process.stdout is not None
        rest = b""
        async for chunk in self.process.stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                await self._take(json.loads(line))

    async def _take(self, message: Mapping[str, Any]) -> None:
        if "method" not in message:
            self._results[message["id"]] = message
            self._waiting[message["id"]].set()
        elif "id" in message:
            assert message["method"] == "elicitation/create"
            assert self._answer is not None
            self.asked.append(message["params"])
            result = self._answer(message["params"])
            await self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self.notified.append(message)

    async def read_stderr(self) -> None:
        assert self.process.stderr is not None
        async for chunk in self.process.stderr:
            self.stderr += chunk.decode()

    async def hang_up(self) -> int:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with anyio.fail_after(20):
            return await self.process.wait()


Connect = Callable[..., contextlib.AbstractAsyncContextManager[Client]]


@contextlib.asynccontextmanager
async def connected(
    workspace: Workspace, *options: str, modern: bool = False, answer: Answer | None = None
) -> AsyncIterator[Client]:
    """Start `pml stdio` and shake hands; hang up at the end, and see it go."""
    command = [sys.executable, "-m", "pml", "stdio", *options]
    async with (
        await anyio.open_process(command, cwd=workspace.path, env=workspace.environ) as process,
        anyio.create_task_group() as tasks,
    ):
        client = Client(process, modern=modern, answer=answer)
        tasks.start_soon(client.read)
        tasks.start_soon(client.read_stderr)
        try:
            await client.start()
            yield client
            if process.returncode is None:
                assert await client.hang_up() == 0, client.stderr
        finally:
            if process.returncode is None:
                process.kill()
            tasks.cancel_scope.cancel()


def accepting(word: str) -> Answer:
    """A human who fills the form in with this word."""
    return lambda _: {"action": "accept", "content": {"verdict": word}}


@pytest.fixture
def hostile(workspace: Workspace) -> Workspace:
    """The workspace, with a server that answers as no server should, and its key."""
    server = Path(__file__).with_name("hostile_server.py")
    env = {"HOSTILE_KEY": SECRET}
    command = {"command": sys.executable, "args": [str(server)], "env": env}
    workspace.servers["hostile"] = command
    return workspace
