"""The two things that are asked of a server: its tools, and to call one.

A listing is remembered by the session until the server says that it changed. In the stateless era
a call mirrors marked arguments into headers, which takes the listing; and a server that needs
input answers with what it needs and is called again with it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pml.backends.errors import ServerProtocolError, ServerRefusedError
from pml.backends.http.answering import NotAnsweredError
from pml.backends.http.headers import Headers, mark_fault, mirrored
from pml.backends.http.hearing import MOST_QUESTIONS
from pml.backends.http.messages import HEADER_MISMATCH, Message, params_of
from pml.backends.http.session import Session
from pml.backends.listing import MOST_LISTING_BYTES, MOST_TOOLS, listing_of
from pml.model import Listing, SkippedTool
from pml.ports import OnProgress
from sandbox_host.errors import printable

MOST_PAGES = 100
"""Of one listing: a hundred pages of one tool each are a joke already."""

MOST_ROUNDS = 10
"""How often a server may ask for more input during one call."""


async def current_listing(session: Session) -> Listing:
    """Give the server's tools, asking for them only if they may have changed."""
    async with session.listing_lock:
        changes = session.hearing.changes
        if session.listing is None or session.listed_changes != changes:
            session.listing = await _listed(session)
            session.listed_changes = changes
        return session.listing


async def call(
    session: Session, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress | None
) -> Message:
    """Call a tool and give its result as it came."""
    original = {"name": tool, "arguments": dict(arguments)}
    params = original
    for _ in range(MOST_ROUNDS):
        result = await _once(session, params, on_progress)
        if not session.stateless or _kind(session, result) == "complete":
            return result
        params = {**original, **await _input(session, result)}
    raise ServerProtocolError(session.server, f"it asks for input more than {MOST_ROUNDS} times")


async def _listed(session: Session) -> Listing:
    definitions: list[Any] = []
    size, cursor, pages = 0, None, 0
    while pages == 0 or cursor is not None:
        if pages == MOST_PAGES or len(definitions) > MOST_TOOLS or size > MOST_LISTING_BYTES:
            break
        page = await session.request("tools/list", {} if cursor is None else {"cursor": cursor})
        pages, size = pages + 1, size + page.size
        definitions += _tools(session, page.result)
        cursor = _cursor(session, page.result)
    listing = listing_of(session.server, definitions)
    if cursor is not None and len(definitions) <= MOST_TOOLS:
        reason = f"the list goes on after {pages} pages, more than are read"
        more = SkippedTool(session.server, f"#{len(definitions) + 1}", reason)
        listing = dataclasses.replace(listing, skipped=(*listing.skipped, more))
    return _without_bad_marks(listing) if session.stateless else listing


def _tools(session: Session, page: Message) -> list[Any]:
    tools = page.get("tools")
    if not isinstance(tools, list):
        raise ServerProtocolError(session.server, "its list of tools is not a list")
    return tools


def _cursor(session: Session, page: Message) -> str | None:
    cursor = page.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ServerProtocolError(session.server, "the cursor of its list is not text")
    return cursor


def _without_bad_marks(listing: Listing) -> Listing:
    """Leave out the tools whose marks for headers are wrong, as the specification demands."""
    faults = {tool.name: mark_fault(tool.input_schema) for tool in listing.tools}
    bad = (
        SkippedTool(tool.server, tool.name, fault)
        for tool in listing.tools
        if (fault := faults[tool.name]) is not None
    )
    good = tuple(tool for tool in listing.tools if faults[tool.name] is None)
    return Listing(good, (*listing.skipped, *bad))


async def _once(session: Session, params: Message, on_progress: OnProgress | None) -> Message:
    """Make one request; again if the server says that the headers were of an old listing."""
    headers = await _mirrored(session, params)
    try:
        answer = await session.request(
            "tools/call", params, on_progress=on_progress, headers=headers
        )
    except ServerRefusedError as error:
        if not session.stateless or error.rpc_code != HEADER_MISMATCH:
            raise
        session.hearing.changes += 1
        answer = await session.request(
            "tools/call", params, on_progress=on_progress, headers=await _mirrored(session, params)
        )
    return answer.result


async def _mirrored(session: Session, params: Message) -> Headers:
    if not session.stateless:
        return ()
    tools = (await current_listing(session)).tools
    found = next((tool for tool in tools if tool.name == params["name"]), None)
    return () if found is None else mirrored(found.input_schema, params["arguments"])


def _kind(session: Session, result: Message) -> str:
    kind = result.get("resultType", "complete")
    if kind not in ("complete", "input_required"):
        shown = printable(str(kind), 40)
        raise ServerProtocolError(session.server, f"its result is of the unknown type {shown}")
    return str(kind)


async def _input(session: Session, result: Message) -> Message:
    """Gather what a result asks for."""
    asked = result.get("inputRequests", {})
    if not isinstance(asked, dict) or len(asked) > MOST_QUESTIONS:
        raise ServerProtocolError(session.server, "what it asks for cannot be read")
    given: Message = {}
    if asked:
        given["inputResponses"] = {
            key: await _answered(session, question) for key, question in asked.items()
        }
    if "requestState" in result:
        given["requestState"] = result["requestState"]
    return given


async def _answered(session: Session, question: object) -> Mapping[str, Any]:
    facts = question if isinstance(question, dict) else {}
    method = facts.get("method")
    try:
        return await session.hearing.answering.answer(method, params_of(facts))
    except NotAnsweredError as error:
        shown = printable(str(method), 100)
        words = f"it asks for `{shown}` before it answers: {error.words}"
        raise ServerRefusedError(session.server, error.code, words) from error
