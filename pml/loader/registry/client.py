"""One registry: `GET {url}/mcp/{fqdn}`, and what its answers mean.

A name without a hash is redirected to the current version; only there, on the same origin and for
the same name, is a redirect followed. The key goes to the registry's own origin and nowhere else,
because nothing else is ever asked.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from pml.errors import PmlError
from pml.fqdn import Fqdn
from pml.loader.errors import (
    HashMismatchError,
    NotInRegistryError,
    RegistryOfflineError,
    RegistryRefusedError,
)
from pml.loader.fetch import Fetch, Response
from pml.loader.lockfile.errors import IntegrityError
from pml.loader.metadata import McpType, Metadata, metadata_of_code, read_metadata
from pml.loader.registry.redirects import version_at
from sandbox_host.errors import printable

MOST_BYTES = 1 << 20
"""Of an answer: as much as the sandbox takes for a program."""

CODE = "application/typescript"
JSON = "application/json"

_ACCEPT = f"{CODE}, {JSON};q=0.9"
KEY_HEADER = "X-Api-Key"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK, _UNCHANGED, _NOT_FOUND = 200, 304, 404
_REFUSING = frozenset({401, 403})
_TRY_LATER = 429
_SERVER_ERRORS = 500
_MOST_ETAG = 200  # characters: a hash in quotes
_SHOWN = 80  # characters of a header in a message


@dataclasses.dataclass(frozen=True, slots=True)
class Registry:
    """Where a registry is, and the key that it is given."""

    url: str
    key: str | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """What a registry has under a name."""

    metadata: Metadata
    registry: str
    """Its address."""

    said: str
    """What it said beside the code, as JSON: from this and the code comes the metadata."""

    etag: str = ""
    code: bytes | None = dataclasses.field(default=None, repr=False)
    """Of a capability."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unchanged:
    """It is what it was when the ETag was given."""

    registry: str


class RegistryClient:
    """Asks one registry."""

    def __init__(self, registry: Registry, fetch: Fetch) -> None:
        """Ask nothing yet."""
        self.url = registry.url.rstrip("/")
        self._key = registry.key
        self._fetch = fetch

    async def describe(self, name: Fqdn, etag: str = "") -> Described | Unchanged:
        """Say what stands under a name; with an ETag, perhaps only that it has not changed.

        Raises `NotInRegistryError`, `HashMismatchError`, `RegistryOfflineError`,
        `RegistryRefusedError`, `MetadataInvalidError`, `WrongNameError`, `IntegrityError`.
        """
        answer = await self._get(name, etag)
        if answer.status in _REDIRECTS:
            found = version_at(self._address(name), answer.header("location"), name)
            if isinstance(found, str):
                raise self._refused(found)
            name = found
            answer = await self._get(name, etag)
        if answer.status == _UNCHANGED and etag:
            return Unchanged(self.url)
        if answer.status != _OK:
            raise self._refusal(name, answer)
        return await self._described(name, answer)

    async def _described(self, name: Fqdn, answer: Response) -> Described:
        etag = answer.header("etag")[:_MOST_ETAG]
        if answer.media_type == CODE:
            told = self._told(answer)
            found = metadata_of_code(answer.body, name, told)
            return Described(found, self.url, json.dumps(told), etag, answer.body)
        if answer.media_type != JSON:
            raise self._wrong_type(answer, f"{CODE} or {JSON}")
        found, said = read_metadata(answer.body, name), answer.body.decode()
        if found.type is not McpType.DENO:
            return Described(found, self.url, said, etag)
        code = await self._code(found.fqdn)
        return Described(_completed(code, found, said), self.url, said, etag, code)

    def _told(self, answer: Response) -> Mapping[str, str]:
        """Give what the headers say of code; it counts where the code is silent."""
        kind = answer.header("x-pml-type") or McpType.DENO.value
        if kind != McpType.DENO.value:
            what = f"it sends code and calls it `{printable(kind, _SHOWN)}`"
            raise self._refused(what)
        routing = answer.header("x-pml-routing")
        return {"routing": routing} if routing else {}

    async def _code(self, name: Fqdn) -> bytes:
        answer = await self._get(name, accept=CODE)
        if answer.status != _OK:
            raise self._refusal(name, answer)
        if answer.media_type != CODE:
            raise self._wrong_type(answer, CODE)
        return answer.body

    async def _get(self, name: Fqdn, etag: str = "", accept: str = _ACCEPT) -> Response:
        headers = {"Accept": accept}
        if etag:
            headers["If-None-Match"] = etag
        if self._key is not None:
            headers[KEY_HEADER] = self._key
        return await self._fetch.get(self._address(name), headers, most_bytes=MOST_BYTES)

    def _address(self, name: Fqdn) -> str:
        return f"{self.url}/mcp/{name}"

    def _refusal(self, name: Fqdn, answer: Response) -> PmlError:
        """Say what an answer without content means."""
        if answer.status == _NOT_FOUND:
            return self._absence(name, answer)
        if answer.status in _REFUSING:
            hint = "name its key in `cloud.apiKey`" if self._key is None else "look at its key"
            return self._refused(f"it does not let us in ({answer.status})", hint)
        if answer.status == _TRY_LATER or answer.status >= _SERVER_ERRORS:
            return RegistryOfflineError(self.url, f"it answers {answer.status}")
        return self._refused(f"it answers {answer.status}, which means nothing here")

    def _absence(self, name: Fqdn, answer: Response) -> PmlError:
        """Believe that there is nothing only if a registry says so, and not any web server."""
        said = _object(answer)
        match said.get("error"):
            case "not_found" | "no_code":
                return NotInRegistryError(str(name), [self.url])
            case "hash_mismatch":
                return HashMismatchError(str(name), _current(said.get("currentFqdn"), name))
        return self._refused("it answers 404 without saying what is missing: is it a registry?")

    def _wrong_type(self, answer: Response, wanted: str) -> RegistryRefusedError:
        kind = printable(answer.media_type, _SHOWN) or "no content type"
        return self._refused(f"it answers with {kind}, not with {wanted}")

    def _refused(self, what: str, hint: str | None = None) -> RegistryRefusedError:
        return RegistryRefusedError(self.url, what, hint)


def _completed(code: bytes, found: Metadata, said: str) -> Metadata:
    """Read the code beside its description, which counts where the code says nothing itself."""
    own = metadata_of_code(code, found.fqdn, json.loads(said))
    if own.integrity != found.integrity:
        raise IntegrityError(found.fqdn, found.integrity, own.integrity, reason="its code")
    return own


def _object(answer: Response) -> Mapping[str, Any]:
    if answer.media_type != JSON:
        return {}
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _current(said: object, name: Fqdn) -> str | None:
    """Give the version that a registry calls current, if it is one of the same name."""
    try:
        found = Fqdn.parse(said) if isinstance(said, str) else None
    except PmlError:
        return None
    return str(found) if found is not None and found.base == name.base else None
