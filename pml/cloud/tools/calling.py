"""One call of a tool that runs at the cloud, with the caller's keys.

A remote server is asked with the headers that its metadata describes, the caller's keys in their
places; the session lives as long as the call, and so do the keys. A capability runs in a sandbox
of its own, and can call what its caller can.
"""

import ssl
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread

from pml.backends.capability.arguments import checker
from pml.backends.http import HttpBackend
from pml.backends.http.addresses import Endpoint, endpoint_of, is_local_name, kind_of
from pml.backends.results import value_of
from pml.backends.std import StdBackend
from pml.cloud.records import Entry
from pml.cloud.store import Registry
from pml.cloud.tools.caller import Caller
from pml.cloud.tools.errors import (
    ArgumentsInvalidError,
    CallerKeysMissingError,
    NotOfferedError,
    TooDeepError,
    UpstreamRefusedError,
)
from pml.cloud.tools.results import Result, of_error, of_value
from pml.errors import PmlError
from pml.loader.metadata import McpType
from pml.loader.publishing import filled, variables
from pml.redaction import Redactor
from sandbox_host import Call, Completed, Limits, Sandbox, SandboxError, ToolError

CALL_SECONDS = 60.0
"""Of one call."""

MOST_DEPTH = 8
"""Capabilities inside one another."""

LIMITS = Limits(memory_bytes=128 << 20, cpu_seconds=10.0, wall_seconds=CALL_SECONDS, calls=1_000)
"""Of one program or capability: it shares the machine with those of others."""

_AUTHORIZATION = "Authorization"


class Calls:
    """Carries out calls."""

    def __init__(
        self,
        registry: Registry,
        builtin: StdBackend,
        threads: anyio.CapacityLimiter,
        upstreams: tuple[str, ...],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Ask this registry who answers; `upstreams` may be at addresses that are not public."""
        self._registry = registry
        self._builtin = builtin
        self._threads = threads
        self._upstreams = frozenset(host.lower() for host in upstreams)
        self._tls = tls

    async def call(
        self, tool: str, arguments: Mapping[str, Any], caller: Caller, depth: int = 0
    ) -> Mapping[str, Any]:
        """Give the tool's result as it came; raises `PmlError`."""
        namespace, _, name = tool.partition(":")
        if namespace == self._builtin.name:
            return await self._builtin.call_tool(name, arguments, timeout_seconds=CALL_SECONDS)
        entry = await anyio.to_thread.run_sync(
            self._registry.offering, tool, limiter=self._threads
        )
        if entry is None:
            raise NotOfferedError(tool)
        if entry.kind is McpType.HTTP:
            return await self._remote(entry, name, arguments, caller)
        if depth >= MOST_DEPTH:
            raise TooDeepError(tool, MOST_DEPTH)
        return await self._capability(entry, tool, arguments, caller, depth)

    async def value(self, call: Call, caller: Caller, depth: int = 0) -> Any:
        """Answer a program's call; raises `ToolError`, without any key in its words."""
        redactor = Redactor(dict(caller.keys))
        try:
            result = await self.call(call.tool, call.args, caller, depth)
            return value_of(call.tool, result)
        except PmlError as error:
            words = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
            raise ToolError(redactor.text(words), code=error.code) from None

    async def _remote(
        self, entry: Entry, name: str, arguments: Mapping[str, Any], caller: Caller
    ) -> Mapping[str, Any]:
        headers = _headers(entry, name, caller)
        url = str(entry.metadata["proxyTo"])
        endpoint = endpoint_of(entry.fqdn.namespace, url, allowed_hosts=self._upstreams)
        self._judge(endpoint)
        backend = HttpBackend(
            entry.fqdn.namespace, url, headers, allowed_hosts=self._upstreams, tls=self._tls
        )
        async with backend:
            return await backend.call_tool(name, arguments, timeout_seconds=CALL_SECONDS)

    def _judge(self, endpoint: Endpoint) -> None:
        """Refuse addresses that mean our own machine or network, unless they are allowed.

        Names are judged again by the address they resolve to, when they are dialled.
        """
        if endpoint.host in self._upstreams:
            return
        literal = endpoint.literal
        kind = kind_of(literal) if literal is not None else None
        if kind is None and is_local_name(endpoint.host):
            kind = "this machine"
        if kind is not None:
            raise UpstreamRefusedError(endpoint.host, kind)

    async def _capability(
        self, entry: Entry, tool: str, arguments: Mapping[str, Any], caller: Caller, depth: int
    ) -> Result:
        _check_arguments(entry, tool, arguments)

        async def answer(call: Call) -> Any:
            return await self.value(call, caller, depth + 1)

        try:
            async with Sandbox(limits=LIMITS) as sandbox:
                outcome = await sandbox.run(
                    entry.content.decode(),
                    host=answer,
                    args=dict(arguments),
                    call=tool.partition(":")[2],
                )
        except SandboxError as error:
            return of_error(error)
        if isinstance(outcome, Completed):
            return of_value(outcome.value)
        failure = getattr(outcome, "error", None)
        return of_error(failure) if failure else {"isError": True, "content": []}


def _headers(entry: Entry, name: str, caller: Caller) -> dict[str, str]:
    """Give what a remote server is sent of the caller's keys: those it needs and no other."""
    wanted = entry.metadata.get("envRequired", [])
    missing = [one for one in wanted if one not in caller.keys]
    if missing:
        raise CallerKeysMissingError(f"{entry.fqdn.namespace}:{name}", missing)
    described = entry.metadata.get("headers")
    if described is None:
        return {_AUTHORIZATION: f"Bearer {caller.keys[wanted[0]]}"} if len(wanted) == 1 else {}
    needed = {one: caller.keys[one] for value in described.values() for one in variables(value)}
    return {header: filled(value, needed) for header, value in described.items()}


def _check_arguments(entry: Entry, tool: str, arguments: Mapping[str, Any]) -> None:
    schema = entry.metadata.get("parametersSchema")
    wrong = None if schema is None else checker(schema)(arguments)
    if wrong is not None:
        raise ArgumentsInvalidError(tool, wrong)
