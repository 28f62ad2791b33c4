"""Speaks to one cloud: MCP over Streamable HTTP, with the API key.

The user's own keys that a call needs go with it, in one header that goes nowhere else. There is a
connection for each set of keys, so a key is sent only with calls of tools that need it. Nothing is
connected before the first call.
"""

import base64
import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc

from pml.backends.cloud.errors import (
    CloudKeyMissingError,
    CloudOfflineError,
    CloudRefusedError,
    OwnKeysMissingError,
)
from pml.backends.errors import (
    BackendError,
    ServerEndedError,
    ServerProtocolError,
    ServerStartError,
)
from pml.backends.http import HttpBackend
from pml.backends.http.addresses import endpoint_of

NAME = "cloud"
START_SECONDS = 5.0
"""A cloud that is away is told soon."""

MOST_CONNECTIONS = 16
"""Sets of keys in use at once; the one that was used longest ago goes first."""

_CREDENTIALS = frozenset({401, 403})
_TOO_MANY = 429

OwnKeys = Callable[[Sequence[str]], Mapping[str, str]]
"""Gives those of the named keys that the user lets a cloud have."""


@dataclasses.dataclass(frozen=True, slots=True)
class CloudAccess:
    """Where a cloud is, and the key to it."""

    url: str
    api_key: str | None = dataclasses.field(default=None, repr=False)


class Cloud:
    """One cloud; an async context manager, used from any task inside it."""

    def __init__(
        self, access: CloudAccess, own_keys: OwnKeys, *, allowed_hosts: Collection[str] = ()
    ) -> None:
        """Check the address; raises `RemoteRefusedError`."""
        self._url = f"{access.url.rstrip('/')}/mcp"
        self._endpoint = endpoint_of(NAME, self._url, allowed_hosts=allowed_hosts)
        self._api_key = access.api_key
        self._own_keys = own_keys
        self._allowed_hosts = tuple(allowed_hosts)
        self._kept: OrderedDict[str, _Line] = OrderedDict()
        self._lock = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None

    @property
    def host(self) -> str:
        """Where it is, for people."""
        return self._endpoint.authority

    @property
    def has_key(self) -> bool:
        """Whether it can be spoken to at all."""
        return self._api_key is not None

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        needs: Sequence[str] = (),
        timeout_seconds: float,
    ) -> Mapping[str, Any]:
        """Call a tool by its id; `needs` names the user's keys that go with it."""
        if self._api_key is None:
            raise CloudKeyMissingError
        keys = self._own_keys(needs) if needs else {}
        missing = [name for name in needs if name not in keys]
        if missing:
            raise OwnKeysMissingError(tool, missing)
        connection = await self._connection({name: keys[name] for name in needs})
        try:
            return await connection.call_tool(tool, arguments, timeout_seconds=timeout_seconds)
        except (ServerStartError, ServerEndedError) as error:
            raise self._translated(error) from None

    async def facts(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Call one of the cloud's own tools; give its facts, those of an error included."""
        result = await self.call(tool, arguments, **more)
        found = result.get("structuredContent")
        if not isinstance(found, dict):
            raise ServerProtocolError(NAME, f"`{tool}` answers without facts")
        return found

    async def __aenter__(self) -> Self:
        """Make it ready; nothing is connected."""
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close all connections, in the task that entered."""
        with anyio.CancelScope(shield=True):
            for line in self._kept.values():
                await line.backend.aclose()
        self._kept.clear()
        if self._tasks is None:
            return
        self._tasks.cancel_scope.cancel()
        # Told of an error, the group would wrap it.
        if isinstance(error, anyio.get_cancelled_exc_class()):
            await self._tasks.__aexit__(kind, error, traceback)
        else:
            await self._tasks.__aexit__(None, None, None)

    async def _connection(self, keys: Mapping[str, str]) -> HttpBackend:
        """Give the connection that carries these keys and no others."""
        header = encoded_keys(keys)
        async with self._lock:
            kept = self._kept.pop(header, None)
            if kept is None:
                kept = await self._opened(header)
            self._kept[header] = kept
            if len(self._kept) > MOST_CONNECTIONS:
                _, oldest = self._kept.popitem(last=False)
                oldest.ended.set()
            return kept.backend

    async def _opened(self, header: str) -> "_Line":
        if self._tasks is None:
            raise ServerEndedError(NAME, "it is not open")
        headers = {"X-Api-Key": self._api_key or "", "X-PML-Client": "package"}
        backend = HttpBackend(
            NAME,
            self._url,
            {**headers, "X-PML-Keys": header} if header else headers,
            allowed_hosts=self._allowed_hosts,
            start_timeout_seconds=START_SECONDS,
        )
        line = _Line(backend, anyio.Event())
        await self._tasks.start(line.live)
        return line

    def _translated(self, error: BackendError) -> BackendError:
        status = getattr(error.__cause__, "status", None)
        reason = getattr(error.__cause__, "reason", None) or error.message
        if status in _CREDENTIALS:
            return CloudRefusedError(self.host, "does not accept PML_API_KEY")
        if status == _TOO_MANY:
            return CloudRefusedError(self.host, "was asked too often: wait a little")
        return CloudOfflineError(self.host, str(reason))


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    """A connection, owned by a task of its own."""

    backend: HttpBackend
    ended: anyio.Event

    async def live(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Keep it open until it is to end, or the cloud is closed."""
        async with self.backend:
            task_status.started()
            await self.ended.wait()


def encoded_keys(keys: Mapping[str, str]) -> str:
    """Give keys as the header carries them; empty if there are none."""
    if not keys:
        return ""
    text = json.dumps(dict(sorted(keys.items())), separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()
