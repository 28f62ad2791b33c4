"""Bodies and headers of answers. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from pml.cloud.records import Entry
from pml.loader.metadata import McpType

CODE = "application/typescript"
JSON = "application/json"
LIFETIME_SECONDS = 3600
"""How long anybody may keep an answer: a version never changes."""

_HEADERS = {"X-Content-Type-Options": "nosniff"}


def problem(
    status: int, error: str, message: str, headers: Mapping[str, str] | None = None, **facts: Any
) -> Response:
    """Give an error: a stable word and a sentence."""
    body = written({"error": error, "message": message, **facts})
    more = {**_HEADERS, "Cache-Control": "no-store", **(headers or {})}
    return Response(body, status, more, media_type=JSON)


def document(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Give JSON."""
    return Response(written(value), status, {**_HEADERS, **(headers or {})}, media_type=JSON)


def version(entry: Entry, *, as_metadata: bool, private: bool, known: str) -> Response:
    """Give one version, or 304 to whoever has it."""
    is_code = entry.kind is McpType.DENO and not as_metadata
    variant = "" if is_code or entry.kind is not McpType.DENO else "-metadata"
    headers = {
        **_HEADERS,
        "ETag": f'"{entry.sha256}{variant}"',
        "Cache-Control": cache_control(LIFETIME_SECONDS, private=private),
        "Vary": "Accept",
        "X-PML-Type": entry.kind.value,
        "X-PML-Routing": entry.routing.value,
    }
    if is_known(headers["ETag"], known):
        return Response(None, 304, headers)
    if is_code:
        return Response(entry.content, 200, headers, media_type=CODE)
    facts = entry.document
    if entry.kind is McpType.DENO:
        facts["codeUrl"] = f"/mcp/{entry.fqdn}"
    return Response(written(facts), 200, headers, media_type=JSON)


def cache_control(seconds: int, *, private: bool) -> str:
    """Say who may keep an answer: only the one who asked, if a key was needed."""
    return f"{'private' if private else 'public'}, max-age={seconds}"


def is_known(etag: str, known: str) -> bool:
    """Say whether `If-None-Match` names a tag; weak ones are as good."""
    tags = {one.strip().removeprefix("W/") for one in known.split(",")}
    return etag in tags or "*" in tags


def wants_metadata(accept: str) -> bool:
    """Say whether JSON is asked for, and not code."""
    return JSON in accept and CODE not in accept


def written(value: Any) -> bytes:
    """Give JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
