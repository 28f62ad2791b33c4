"""Reads and writes the file's format: strictly, with the place of whatever is wrong. Pure.

    {"version": 1, "entries": {"pml.mcp.tavily.server.d7e8": {"integrity": "sha256-...", ...}}}

Written in one way only, sorted, so that the same entries are the same bytes and a diff is short.
"""

import datetime
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pml.config import names
from pml.config.reader import Document, read_json
from pml.config.spots import JsonPath
from pml.fqdn import Fqdn, NamingError, checked_integrity
from pml.loader.lockfile.entries import TYPES, LockEntry
from pml.loader.lockfile.errors import LockfileInvalidError, LockfileVersionError
from pml.routing import Routing

VERSION = 1
MOST_BYTES = 16 << 20
"""Thousands of servers with all their tools; an endless file must not fill our memory."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_PACKAGE = re.compile(r"(npm|pypi):[A-Za-z0-9@._/-]{1,214}@[A-Za-z0-9.+!_-]{1,128}")
_MOST_TOOL_CHARACTERS = 128
_TOP = ("version", "entries")
_REQUIRED = ("integrity", "fetchedAt", "type", "routing")
_OPTIONAL = ("metadata", "package", "definitions", "permissions", "url")


def parse(content: bytes, path: Path) -> dict[str, LockEntry]:
    """Give the entries by their names without hashes; raises `LockfileInvalidError`."""
    document = _document(content, path)
    reading = _Reading(document)
    top = reading.object((), _TOP, ())
    version = top["version"]
    if version != VERSION or not isinstance(version, int) or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        raise LockfileVersionError(document.spot(("version",)), VERSION, newer=newer)
    found: dict[str, LockEntry] = {}
    for key in reading.mapping(("entries",)):
        name, entry = reading.entry(key)
        if name.base in found:
            raise reading.error(("entries", key), f"{name.base} is locked twice", of_key=True)
        found[name.base] = entry
    return found


def written(entries: Mapping[str, LockEntry]) -> bytes:
    """Give the file with these entries."""
    names_and_facts = {str(_named(base, entry)): entry.plain() for base, entry in entries.items()}
    document = {"version": VERSION, "entries": dict(sorted(names_and_facts.items()))}
    return f"{json.dumps(document, indent=2)}\n".encode()


def _named(base: str, entry: LockEntry) -> Fqdn:
    return Fqdn.parse(base).with_hash(entry.integrity.removeprefix("sha256-"))


def _document(content: bytes, path: Path) -> Document:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        document = read_json("", path)
        fact = f"is not UTF-8 text: the byte at position {error.start} cannot be read"
        raise LockfileInvalidError(fact, document.spot(())) from None
    document = read_json(text, path)
    if document.errors:
        first = document.errors[0]
        raise LockfileInvalidError(first.fact, first.spot)
    return document


class _Reading:
    """Takes values out of a document and says where one is not what it must be."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def error(self, path: JsonPath, fact: str, *, of_key: bool = False) -> LockfileInvalidError:
        return LockfileInvalidError(fact, self._document.spot(path, of_key=of_key))

    def entry(self, key: str) -> tuple[Fqdn, LockEntry]:
        at = ("entries", key)
        facts = self.object(at, _REQUIRED, _OPTIONAL)
        integrity = self._text((*at, "integrity"), _integrity)
        entry = LockEntry(
            integrity,
            self._text((*at, "fetchedAt"), _time),
            self._text((*at, "type"), _type),
            Routing.read(self._text((*at, "routing"), _routing)),
            metadata=self._text((*at, "metadata"), _integrity) if "metadata" in facts else None,
            package=self._text((*at, "package"), _package) if "package" in facts else None,
            definitions=self._definitions(at) if "definitions" in facts else {},
            permissions=self._permissions(at) if "permissions" in facts else (),
            url=self._text((*at, "url"), _url) if "url" in facts else None,
        )
        return self._name(at, key, integrity), entry

    def object(
        self, path: JsonPath, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> Mapping[str, Any]:
        """Give an object that has all of these keys, perhaps those, and no other."""
        value = self.mapping(path)
        for name in value:
            if name not in (*required, *optional):
                raise self.error((*path, name), "unknown key", of_key=True)
        for name in required:
            if name not in value:
                raise self.error(path, f"`{name}` is missing")
        return value

    def mapping(self, path: JsonPath) -> Mapping[str, Any]:
        value = self._value(path)
        if not isinstance(value, dict):
            raise self.error(path, "an object is needed")
        return value

    def _value(self, path: JsonPath) -> Any:
        node = self._document.node(path)
        return node.value if node else None

    def _text(self, path: JsonPath, complaint: Callable[[str], str | None]) -> str:
        value = self._value(path)
        fact = complaint(value) if isinstance(value, str) else "a string is needed"
        if fact is not None:
            raise self.error(path, fact)
        return str(value)

    def _name(self, at: JsonPath, key: str, integrity: str) -> Fqdn:
        try:
            name = Fqdn.parse(key)
        except NamingError as error:
            raise self.error(at, error.message, of_key=True) from None
        if name.hash is None or not name.fits(integrity):
            fact = "the hash in this name is not that of its integrity"
            raise self.error(at, fact, of_key=True)
        return name

    def _definitions(self, at: JsonPath) -> dict[str, str]:
        path = (*at, "definitions")
        for tool in self.mapping(path):
            if not 0 < len(tool) <= _MOST_TOOL_CHARACTERS:
                fact = f"a tool's name has 1 to {_MOST_TOOL_CHARACTERS} characters"
                raise self.error((*path, tool), fact, of_key=True)
        return {tool: self._text((*path, tool), _integrity) for tool in self.mapping(path)}

    def _permissions(self, at: JsonPath) -> tuple[str, ...]:
        path = (*at, "permissions")
        value = self._value(path)
        if not isinstance(value, list):
            raise self.error(path, "a list is needed")
        return tuple(self._text((*path, index), _tool_id) for index in range(len(value)))


def _integrity(text: str) -> str | None:
    try:
        checked_integrity(text)
    except NamingError:
        return "not `sha256-` and 64 hexadecimal digits in lower case"
    return None


def _time(text: str) -> str | None:
    try:
        fine = bool(_TIME.fullmatch(text)) and bool(datetime.datetime.fromisoformat(text))
    except ValueError:
        fine = False
    return None if fine else "not a time such as 2026-01-07T12:00:00Z"


def _type(text: str) -> str | None:
    return None if text in TYPES else f"a type is one of {', '.join(TYPES)}"


def _routing(text: str) -> str | None:
    return None if text in ("client", "server", "local", "cloud") else "not `client` or `server`"


def _package(text: str) -> str | None:
    return None if _PACKAGE.fullmatch(text) else "not a package such as npm:name@1.2.3"


def _tool_id(text: str) -> str | None:
    found = names.tool_id(text)
    return found.fact if found else None


def _url(text: str) -> str | None:
    found = names.url(text, needs_tls=True)
    return found.fact if found else None
