"""From the bytes of a `.pml.json` to its statement; the file was found good before.

Reads the same shapes that the configuration is built from, so that the two cannot disagree on what
a key means. Imported only when there is a file: the shapes bring pydantic.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pml.config import Permissions
from pml.config.reader import Document, read_json
from pml.config.servers import ServerShape, check_servers
from pml.config.shapes import (
    CloudShape,
    FileShape,
    HttpShape,
    InstallShape,
    PrivateHttpShape,
    PrivateStdioShape,
    SandboxShape,
    StdioShape,
    chosen_builtins,
)
from pml.trust.guarding import Guard, variables
from pml.trust.statement import Entry, SandboxStatement, ServerStatement, Statement

DotEnv = Callable[[str], str | None]
"""Gives what the workspace's own `.env` fills in for a variable, if it does."""


def stated(content: bytes, file: Path, guard: Guard, dotenv: DotEnv) -> Statement:
    """Say what a file says; raises `ValueError` for one that `load_config` would refuse."""
    document = read_json(content.decode(), file)
    top = document.root.value if document.root else None
    if not isinstance(top, dict):
        raise TypeError(top)
    shape = FileShape.model_validate({k: v for k, v in top.items() if k != "$schema"})
    stating = _Stating(shape.env, guard, dotenv)
    given = shape.permissions
    return Statement(
        workspace=shape.workspace,
        permissions=Permissions(tuple(given.allow), tuple(given.ask), tuple(given.deny)),
        servers=_servers(document, stating),
        registries=tuple(shape.registries),
        cloud=stating.cloud(shape.cloud) if shape.cloud else {},
        env={name: guard.value(name, text) for name, text in shape.env.items()},
        limits=shape.limits.model_dump(by_alias=True, exclude_none=True),
        expose=tuple(shape.expose),
        builtins=chosen_builtins(shape.builtins),
        approvals=shape.approvals,
        require=shape.sandbox.require,
    )


def _servers(document: Document, stating: "_Stating") -> dict[str, ServerStatement]:
    found = {}
    for at, shape in check_servers(document):
        if isinstance(shape, list):
            raise shape[0]
        found[str(at[-1])] = stating.server(shape)
    return found


class _Stating:
    """Says what the parts of one file say."""

    def __init__(self, block: Mapping[str, str], guard: Guard, dotenv: DotEnv) -> None:
        self._block = block
        self._guard = guard
        self._dotenv = dotenv

    def server(self, shape: ServerShape) -> ServerStatement:
        match shape:
            case StdioShape():
                identity = self._program(shape.command, shape.args, shape.env)
                return ServerStatement("mcpServers", identity, self._sandbox(shape.sandbox))
            case PrivateStdioShape():
                identity = self._private(shape) | self._installed(shape.install, shape.env)
                return ServerStatement("privateMcps", identity, self._sandbox(shape.sandbox))
            case PrivateHttpShape():
                return ServerStatement("privateMcps", self._private(shape) | self._remote(shape))
        return ServerStatement("mcpServers", self._remote(shape))

    def cloud(self, shape: CloudShape) -> dict[str, Any]:
        key = shape.api_key
        kept = {"apiKey": self._guard.value("apiKey", key)} if key else {}
        if shape.keys:  # which ones: their values are the user's to change
            kept["keys"] = ", ".join(sorted(shape.keys))
        return {"url": self._guard.text(shape.url), **kept, **self._filled([key or ""])}

    def _program(
        self, command: str, args: Sequence[str], env: Mapping[str, str]
    ) -> dict[str, Any]:
        return {
            "command": command,
            "args": self._guard.arguments(args),
            "env": {name: self._guard.value(name, text) for name, text in env.items()},
            **self._filled([command, *args, *env.values()]),
        }

    def _installed(self, install: InstallShape, env: Mapping[str, str]) -> dict[str, Any]:
        required = [f"${{{name}}}" for name in install.env_required]
        known = self._program(install.command, install.args, env)
        asked = [install.command, *install.args, *env.values(), *required]
        return known | {"envRequired": sorted(install.env_required)} | self._filled(asked)

    def _remote(self, shape: HttpShape) -> dict[str, Any]:
        headers = shape.headers
        return {
            "url": self._guard.text(shape.url),
            "headers": {name: self._guard.value(name, text) for name, text in headers.items()},
            **self._filled([shape.url, *headers.values()]),
        }

    @staticmethod
    def _private(shape: PrivateStdioShape | PrivateHttpShape) -> dict[str, Any]:
        return {"description": shape.description, "tools": sorted(shape.tools)}

    def _sandbox(self, shape: SandboxShape) -> SandboxStatement:
        net = shape.net
        return SandboxStatement(
            mode=shape.mode,
            require=shape.require,
            fs_read=tuple(self._entry(text) for text in shape.fs_read),
            fs_write=tuple(self._entry(text) for text in shape.fs_write),
            net=net if isinstance(net, bool) else tuple(host.lower() for host in net),
            env=tuple(self._entry(name, f"${{{name}}}") for name in shape.env),
            spawn=shape.spawn,
            limits=shape.limits.model_dump(by_alias=True, exclude_none=True),
        )

    def _entry(self, text: str, template: str | None = None) -> Entry:
        return Entry(text, tuple(sorted(self._bound([template or text]).items())))

    def _filled(self, texts: Iterable[str]) -> dict[str, Any]:
        bound = self._bound(texts)
        return {"variables": bound} if bound else {}

    def _bound(self, texts: Iterable[str]) -> dict[str, str]:
        """Give what the workspace fills into texts: the file's `env` block, and `.env`."""
        asked = _asked(texts)
        filled = {name: self._block[name] for name in asked if name in self._block}
        below = [name for name in asked if name not in filled] + _asked(filled.values())
        bound = {name: self._guard.value(name, text) for name, text in filled.items()}
        for name in below:
            value = self._dotenv(name)
            if value is not None:
                bound[f"{name} in .env"] = self._guard.literal(name, value)
        return bound


def _asked(texts: Iterable[str]) -> list[str]:
    return [name for text in texts for name in variables(text)]
