"""`GET /mcp`, `GET` and `PUT /mcp/{fqdn}`, `GET /api/v1/routing`: the registry.

A name without a hash redirects to the current version. A version is served as long as the database
lives, current or not: whoever pinned it keeps working. What is asked for is a stranger's text.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from pml.cloud.errors import CloudError, DatabaseUnusableError
from pml.cloud.records import Entry, Page
from pml.cloud.store import ApiKey
from pml.cloud.store.keys import CALL, READ
from pml.cloud.tools.directory import Directory
from pml.cloud.web import access, answers
from pml.cloud.web.services import Services
from pml.fqdn import Fqdn, FqdnInvalidError
from pml.loader.metadata import McpType
from pml.loader.publishing import (
    MOST_BYTES,
    Outcome,
    PublicationInvalidError,
    code_publication,
    metadata_publication,
)
from pml.routing.reading import table_content, table_etag
from sandbox_host.errors import printable

DEFAULT_LIMIT, MOST_LIMIT = 50, 100
"""Entries of a page."""

MOST_PAGE = 1_000_000
"""A number that every database can count with."""

CATALOGUE_SECONDS = 60
"""How long a page may be kept: it changes when something is published."""

_STREAM = "text/event-stream"
_SHOWN = 200  # characters of a name that nobody has
Result = TypeVar("Result")


class RegistryRoutes:
    """Answers those requests."""

    def __init__(self, services: Services, directory: Directory) -> None:
        """Work with these."""
        self._services = services
        self._directory = directory

    async def routing(self, request: Request) -> Response:
        """Say which tools run here, for packages that keep it."""
        refused = await self._refused(request)
        if refused is not None:
            return refused
        table = (await self._directory.now()).table
        headers = {"ETag": table_etag(table), "Cache-Control": "no-cache"}
        if answers.is_known(headers["ETag"], request.headers.get("if-none-match", "")):
            return Response(None, 304, headers)
        return Response(table_content(table), 200, headers, media_type=answers.JSON)

    async def catalogue(self, request: Request) -> Response:
        """Give a page of what is current."""
        if _STREAM in request.headers.get("accept", ""):
            words = "this server opens no stream of its own"
            return answers.problem(405, "method_not_allowed", words, {"Allow": "GET, POST"})
        refused = await self._refused(request)
        if refused is not None:
            return refused
        try:
            asked = _asked(request)
        except ValueError as error:
            return answers.problem(400, "invalid_query", str(error))
        body = await self._page(*asked)
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        private = self._services.settings.private
        control = answers.cache_control(CATALOGUE_SECONDS, private=private)
        headers = {"ETag": etag, "Cache-Control": control, "X-Content-Type-Options": "nosniff"}
        if answers.is_known(etag, request.headers.get("if-none-match", "")):
            return Response(None, 304, headers)
        return Response(body, 200, headers, media_type=answers.JSON)

    async def entry(self, request: Request) -> Response:
        """Give a version, or lead to the current one."""
        refused = await self._refused(request)
        if refused is not None:
            return refused
        text = request.path_params["fqdn"]
        try:
            name, stated = Fqdn.split(text)
        except FqdnInvalidError:
            return _not_found(printable(text, _SHOWN))
        found = await self._version(name.base, stated) if stated is not None else None
        if found is not None:
            return answers.version(
                found,
                as_metadata=answers.wants_metadata(request.headers.get("accept", "")),
                private=self._services.settings.private,
                known=request.headers.get("if-none-match", ""),
            )
        current = await self._asked(lambda: self._services.store.registry.current(name.base))
        if current is None:
            return _not_found(name.base)
        return _mismatch(name, stated, current) if stated is not None else _redirect(current)

    async def publish(self, request: Request) -> Response:
        """Make a version current, for a key that may."""
        key = await self._key(request)
        if key is None:
            return access.unauthorized()
        delay = self._services.rates.delay(key.id)
        if delay > 0:
            return access.too_many(delay)
        try:
            name = Fqdn.parse(request.path_params["fqdn"])
        except FqdnInvalidError as error:
            return answers.problem(400, error.code, error.message)
        if not key.may_publish(name.org):
            return access.forbidden(f"publish:{name.org}")
        content = await _body(request)
        if content is None:
            words = f"what is published has at most {MOST_BYTES >> 20} MiB"
            return answers.problem(413, "too_large", words)
        return await self._published(request, name, content, key)

    async def _published(
        self, request: Request, name: Fqdn, content: bytes, key: ApiKey
    ) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        read = {answers.CODE: code_publication, answers.JSON: metadata_publication}
        if media_type not in read:
            words = f"Content-Type is {answers.CODE} or {answers.JSON}"
            return answers.problem(415, "unsupported_media_type", words)
        registry, now = self._services.store.registry, datetime.now(UTC)
        try:
            what = read[media_type]("the body", content, name.base)
            made = await self._asked(lambda: registry.publish(what, by=key.id, now=now))
        except PublicationInvalidError as error:
            return answers.problem(400, error.code, error.message)
        except DatabaseUnusableError:
            raise
        except CloudError as error:
            return answers.problem(409, error.code, error.message)
        entry, outcome = made.entry, made.outcome
        self._services.journal.write(outcome.value, fqdn=str(entry.fqdn), key=key.id)
        facts = {"fqdn": str(entry.fqdn), "integrity": entry.integrity, "outcome": outcome.value}
        status = 201 if outcome is Outcome.PUBLISHED else 200
        return answers.document(facts, status, {"Location": f"/mcp/{entry.fqdn}"})

    async def _refused(self, request: Request) -> Response | None:
        """Ask for a key where the registry is private."""
        if not self._services.settings.private:
            return None
        key = await self._key(request)
        if key is None:
            return access.unauthorized()
        return None if key.may(READ) or key.may(CALL) else access.forbidden(READ)

    async def _key(self, request: Request) -> ApiKey | None:
        found = await access.recognised(request, self._services.store, self._services.threads)
        request.scope["pml_key"] = found.id if found else None
        return found

    async def _version(self, base: str, stated: str) -> Entry | None:
        known = self._services.versions.get((base, stated))
        if known is not None:
            return known
        found = await self._asked(lambda: self._services.store.registry.version(base, stated))
        if found is not None:
            self._services.versions.put((base, stated), found, len(found.content))
        return found

    async def _page(self, kind: McpType | None, number: int, limit: int) -> bytes:
        registry, asked = self._services.store.registry, (kind, number, limit)
        generation = await self._asked(registry.generation)
        known = self._services.pages.get(asked)
        if known is not None and known[0] == generation:
            return known[1]
        page = await self._asked(lambda: registry.page(kind, number, limit))
        body = answers.written(_listed(page, number, limit))
        self._services.pages.put(asked, (generation, body), len(body))
        return body

    async def _asked(self, question: Callable[[], Result]) -> Result:
        return await anyio.to_thread.run_sync(question, limiter=self._services.threads)


def _asked(request: Request) -> tuple[McpType | None, int, int]:
    """Read `type`, `page`, `limit`; raises `ValueError` in words."""
    query = request.query_params
    kinds = {**{one.value: one for one in McpType}, "cloud": McpType.HTTP}
    kind = query.get("type")
    if kind is not None and kind not in kinds:
        raise ValueError("`type` is deno, stdio or http")  # noqa: TRY003
    number = _number("page", query.get("page", "1"), MOST_PAGE)
    limit = _number("limit", query.get("limit", str(DEFAULT_LIMIT)), MOST_LIMIT)
    return kinds[kind] if kind else None, number, limit


def _number(name: str, text: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise ValueError(f"`{name}` is a number from 1 to {most}")  # noqa: TRY003
    return int(text[:9])


def _listed(page: Page, number: int, limit: int) -> dict[str, object]:
    items = [
        {
            "fqdn": one.fqdn,
            "type": one.kind,
            "routing": one.routing,
            "description": one.description,
        }
        for one in page.items
    ]
    return {"items": items, "total": page.total, "page": number, "limit": limit}


def _not_found(name: str) -> Response:
    return answers.problem(404, "not_found", f"MCP '{name}' not in registry")


def _mismatch(name: Fqdn, stated: str, current: Fqdn) -> Response:
    words = f"Hash '{stated}' does not match current hash '{current.hash}' for {name}"
    return answers.problem(404, "hash_mismatch", words, currentFqdn=str(current))


def _redirect(current: Fqdn) -> Response:
    # not to be kept: it says what is current now
    headers = {"Location": f"/mcp/{current}", "Cache-Control": "no-cache"}
    return Response(None, 302, {**headers, "X-PML-Current-FQDN": str(current)})


async def _body(request: Request) -> bytes | None:
    """Read what is published; None if it is too large, read no further."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            return None
    return bytes(content)
