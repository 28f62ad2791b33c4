"""One server of a client, in the shape of `.pml.json`: the same program, its keys elsewhere.

Every client spells variables in its own way; what PML has no word for is a reason to leave the
server with its client. Above: `importing.py`. Literal values that may be keys go to the vault.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pml.config.expansion import escape
from pml.config.spots import shown
from pml.onboarding import secrets
from pml.onboarding.clients import Surroundings
from pml.onboarding.errors import NotTakenError
from pml.onboarding.keeping import Vault, names_for, own_names_for

_WRITTEN = re.compile(r"\$\{(?P<inside>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?:env:)?(?P<name>[A-Za-z_]\w*)(?P<default>:-.*)?", re.ASCII | re.DOTALL)
_WORDS = {
    "workspaceFolder": "${workspace}", "CLAUDE_PROJECT_DIR": "${workspace}",
    "userHome": "${HOME}", "pathSeparator": "/", "/": "/",
}  # fmt: skip
_HERE = ("", ".", "${workspace}", "${workspaceFolder}", "${CLAUDE_PROJECT_DIR}")
_LAUNCHERS = frozenset(("npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "uv", "uvx", "pipx"))
"""They download and start programs: without both grants none of their servers starts."""

_REFUSED = {
    "envFile": "its variables are in a file of their own (`envFile`)",
    "headersHelper": "a program makes its headers (`headersHelper`)",
    "auth": "it logs in by OAuth",
    "oauth": "it logs in by OAuth",
}
_SSE = "it speaks the old SSE transport; many such servers speak http too, at /mcp"
_OFF = "it is switched off there"
_ELSEWHERE = "it starts in another folder (`cwd`), and PML starts servers in the workspace"
_NO_SERVER = "it has neither a `command` nor a `url`"


def translated(
    name: str, raw: Mapping[str, Any], around: Surroundings, vault: Vault
) -> dict[str, Any]:
    """Give the entry; raises `NotTakenError` with the reason why there is none."""
    _check(raw, around)
    if "url" in raw and "command" not in raw:
        return _Translating(name, around, vault).remote(raw)
    if "command" not in raw:
        raise NotTakenError(_NO_SERVER)
    return _Translating(name, around, vault).local(raw)


def _check(raw: Mapping[str, Any], around: Surroundings) -> None:
    if raw.get("disabled") is True or raw.get("enabled") is False:
        raise NotTakenError(_OFF)
    if raw.get("type") in ("sse", "ws"):
        raise NotTakenError(_SSE)
    for key, reason in _REFUSED.items():
        if raw.get(key):
            raise NotTakenError(reason)
    if raw.get("cwd", "") not in (*_HERE, str(around.workspace)):
        raise NotTakenError(_ELSEWHERE)


class _Translating:
    """The values of one server."""

    def __init__(self, name: str, around: Surroundings, vault: Vault) -> None:
        self._name = name
        self._around = around
        self._vault = vault

    def local(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        command = self._words(_text(raw["command"], "command"))
        args = [self._words(_text(one, "args")) for one in _list(raw.get("args"), "args")]
        env = {key: self._value(key, text) for key, text in self._strings(raw, "env").items()}
        env |= {key: f"${{{key}}}" for key in _forwarded(raw.get("env_vars"))}
        entry: dict[str, Any] = {
            "command": self._argument(command, ""),
            "args": [self._argument(one, before) for before, one in pairwise(("", *args))],
        }
        if env:
            entry["env"] = env
        if command.rpartition("/")[2] in _LAUNCHERS:
            entry["sandbox"] = {"net": True, "spawn": True}
        return entry

    def remote(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        url = self._address(self._words(_text(raw["url"], "url")))
        given = self._strings(raw, "headers") | self._strings(raw, "http_headers")
        headers = {key: self._header(key, text) for key, text in given.items()}
        for key, variable in self._strings(raw, "env_http_headers").items():
            headers[key] = f"${{{variable}}}"
        if raw.get("bearer_token_env_var"):
            variable = _text(raw["bearer_token_env_var"], "bearer_token_env_var")
            headers["Authorization"] = f"Bearer ${{{variable}}}"
        return {"type": "http", "url": url, **({"headers": headers} if headers else {})}

    def _strings(self, raw: Mapping[str, Any], key: str) -> dict[str, str]:
        block = raw.get(key) or {}
        if not isinstance(block, dict):
            raise NotTakenError(f"its `{key}` is no object")
        return {name: self._words(_scalar(value, key)) for name, value in block.items()}

    def _words(self, text: str) -> str:
        """Spell variables as PML does."""
        if "\0" in text:
            raise NotTakenError("it has a NUL character")

        def spelled(match: re.Match[str]) -> str:
            inside = match["inside"]
            if inside is None:
                return "$${"
            if inside == "workspaceFolderBasename":
                return escape(self._around.workspace.name)
            found = _VARIABLE.fullmatch(inside)
            if inside in _WORDS or (found and found["name"] == "CLAUDE_PROJECT_DIR"):
                return _WORDS.get(inside, "${workspace}")
            if found is None:
                raise NotTakenError(f"it asks for ${{{shown(inside)}}}, which only its client has")
            return f"${{{found['name']}{found['default'] or ''}}}"

        return _WRITTEN.sub(spelled, text)

    def _kept(self, names: Sequence[str], text: str) -> str:
        """Give the variable that stands for a key; a key that is half a variable has none."""
        if secrets.VARIABLE.search(text):
            raise NotTakenError(f"{names[0]} mixes a variable with what may be a key")
        return f"${{{self._vault.keep(names, text.replace('$${', '${'))}}}"

    def _value(self, key: str, text: str) -> str:
        if secrets.is_plain_value(key, text):
            return text
        return self._kept(names_for(self._name, key), text)

    def _header(self, key: str, text: str) -> str:
        if secrets.is_plain_header(key, text):
            return text
        scheme = secrets.SCHEME.match(text)
        start = scheme.end() if scheme else 0
        return text[:start] + self._kept(own_names_for(self._name, key), text[start:])

    def _address(self, url: str) -> str:
        base, mark, query = url.partition("?")
        if not secrets.is_plain_address(base):
            return self._kept(own_names_for(self._name, "url"), url)
        pairs = [self._pair(pair) for pair in query.split("&")] if query else []
        return f"{base}{mark}{'&'.join(pairs)}"

    def _pair(self, pair: str) -> str:
        key, equals, value = pair.partition("=")
        if equals and secrets.is_plain_value(key, value):
            return pair
        if not equals:
            return self._kept(own_names_for(self._name, "query"), pair)
        return f"{key}={self._kept(own_names_for(self._name, key), value)}"

    def _argument(self, text: str, before: str) -> str:
        if secrets.is_key_flag(before) and not text.startswith("-"):
            is_plain = secrets.is_word(text)
            return text if is_plain else self._kept(own_names_for(self._name, before), text)
        setting = secrets.SETTING.fullmatch(text)
        if setting:
            return self._setting(setting)
        header = secrets.HEADER.fullmatch(text)
        if header and before in ("-H", "--header"):
            start = text[: header.start("value")]
            return start + self._header(header["name"], header["value"])
        if secrets.is_plain_argument(text):
            return text
        return self._kept(own_names_for(self._name, "argument"), text)

    def _setting(self, setting: re.Match[str]) -> str:
        """Judge `--flag=value`, and `NAME=value` as containers are given variables."""
        name, value = setting["name"], setting["value"]
        if not name.startswith("-"):
            return f"{name}={self._value(name, value)}"
        is_plain = not secrets.is_key_flag(name) and secrets.is_plain_argument(value)
        if is_plain or secrets.is_word(value):
            return f"{name}={value}"
        return f"{name}={self._kept(own_names_for(self._name, name), value)}"


def _forwarded(given: Any) -> list[str]:
    """Give the variables that Codex hands on; those of another machine have no place here."""
    names = []
    for one in _list(given, "env_vars"):
        if isinstance(one, dict) and one.get("source", "local") != "local":
            raise NotTakenError("it runs on another machine")
        names.append(_text(one.get("name") if isinstance(one, dict) else one, "env_vars"))
    return names


def _list(value: Any, key: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise NotTakenError(f"its `{key}` is no list")
    return value


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise NotTakenError(f"its `{key}` is no text")
    return value


def _scalar(value: Any, key: str) -> str:
    """Give the text of a value; clients take numbers and booleans too."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else _text(value, key)
