"""The servers of all clients, as PML would have them; and those that stay where they are, and why.

Reads and decides; writes nothing. Identical servers of two clients are one; of two that differ
the first counts, and the user's own files come first.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.config import names
from pml.config.errors import ConfigError
from pml.config.reader import read_json
from pml.config.servers import check_servers
from pml.config.spots import shown
from pml.errors import PmlError
from pml.onboarding.clients import NAME, Surroundings, runs_pml
from pml.onboarding.errors import NotTakenError
from pml.onboarding.keeping import Vault
from pml.onboarding.places import Place, places, servers_at
from pml.onboarding.secrets import VARIABLE
from pml.onboarding.translating import translated

_BAD = re.compile(r"[^A-Za-z0-9_-]+|__+")
_THERE = "`.pml.json` has a server of this name already"


@dataclasses.dataclass(frozen=True, slots=True)
class Taken:
    """A server that can be taken over."""

    name: str
    entry: Mapping[str, Any]
    """As `.pml.json` has it: no key is in it."""

    place: Place
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Those of its variables that have their value from the place itself."""

    also: tuple[Place, ...] = ()
    """Where the same server stands too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """A server, or a whole file, that is left alone."""

    name: str
    """Capped and escaped; empty of a file."""

    place: Place
    reason: str
    hint: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What the clients have."""

    taken: tuple[Taken, ...] = ()
    left: tuple[Left, ...] = ()


def find_servers(around: Surroundings, vault: Vault, there: frozenset[str]) -> Found:
    """Give all servers; `there` are the names that `.pml.json` has, in lower case."""
    finding = _Finding(around, vault, there)
    for place in places(around):
        try:
            for name, raw in servers_at(place, around.workspace):
                finding.add(name, raw, place)
        except PmlError as error:
            finding.left.append(Left("", place, error.message, error.hint))
    return Found(tuple(finding.taken.values()), tuple(finding.left))


def needed_variables(value: Any) -> Iterator[str]:
    """Give the variables without a default that an entry, or a part of it, asks for."""
    if isinstance(value, str):
        found = VARIABLE.finditer(value)
        yield from (match["name"] for match in found if match["default"] is None)
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from needed_variables(one)


class _Finding:
    """What was found so far."""

    def __init__(self, around: Surroundings, vault: Vault, there: frozenset[str]) -> None:
        self._around = around
        self._vault = vault
        self._there = there
        self.taken: dict[str, Taken] = {}
        self._raw: dict[str, Any] = {}
        self.left: list[Left] = []

    def add(self, given: str, raw: Any, place: Place) -> None:
        """Take one server in, or say why not."""
        if isinstance(raw, dict) and (runs_pml(raw) or given == NAME):
            return
        name = _BAD.sub("-", given).strip("-")[:64]
        kept = dict(self._vault.added)
        try:
            self._add(name, raw, place)
        except PmlError as error:  # also of a `.env` that cannot be used
            self._vault.added = kept
            self.left.append(Left(shown(given), place, error.message, error.hint))

    def _add(self, name: str, raw: Any, place: Place) -> None:
        if not isinstance(raw, dict):
            raise NotTakenError("it is no object")
        key = name.lower()
        if key in self._there:
            raise NotTakenError(_THERE)
        first = self.taken.get(key)
        if first is not None:
            self._same(key, first, raw, place)
            return
        complaint = names.server_name(name)
        if complaint is not None:
            raise NotTakenError(complaint.fact, hint=complaint.hint)
        self._vault.handed = {}
        entry = translated(name, raw, self._around, self._vault)
        _check(name, entry)
        self.taken[key] = Taken(name, entry, place, self._vault.handed)
        self._raw[key] = raw

    def _same(self, key: str, first: Taken, raw: Mapping[str, Any], place: Place) -> None:
        """Merge a server that is there already; raise if it is another one."""
        if _essence(raw) != _essence(self._raw[key]):
            raise NotTakenError(f"another server has this name: that of {first.place}")
        self.taken[key] = dataclasses.replace(first, also=(*first.also, place))


def _essence(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Give what makes a server the one it is; clients differ in the rest."""
    keys = ("command", "args", "env", "url", "headers", "http_headers")
    return {key: raw[key] for key in keys if raw.get(key)}


def _check(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse what the reader of `.pml.json` would refuse."""
    document = read_json(json.dumps({"mcpServers": {name: entry}}), Path(".pml.json"))
    for error in _errors(check_servers(document)):
        raise NotTakenError(error.fact, hint=error.hint)
    url = entry.get("url", "")
    complaint = names.url(url, needs_tls=True) if url and "${" not in url else None
    if complaint is not None:
        raise NotTakenError(complaint.fact, hint=complaint.hint)


def _errors(checked: Iterator[Any]) -> Iterator[ConfigError]:
    for _, found in checked:
        if isinstance(found, list):
            yield from found
