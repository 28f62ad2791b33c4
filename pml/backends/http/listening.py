"""The stream on which a server speaks outside of calls: GET in 2025, a subscription in 2026.

Few servers offer it, and none must. When it breaks, it is opened again, and the tools count as
changed, since nobody heard what was said meanwhile; when it keeps breaking, it is let be.
"""

import anyio

from pml.backends.errors import BackendError
from pml.backends.http.judging import EVENT_STREAM
from pml.backends.http.messages import written
from pml.backends.http.session import Place, Session
from pml.backends.http.wire import ExchangeError

MOST_FAILURES = 3
"""In a row: streams that could not be opened or ended without a word."""

LEAST_PAUSE_SECONDS = 1.0
"""Between two streams, whatever the server says."""

_OK = 200
_NO_REQUEST = -1  # an id that no request has


async def listen(session: Session) -> None:
    """Hear the server until it offers no stream any more; never raises."""
    place, failures = Place(), 0
    while failures < MOST_FAILURES:
        before = (place.last_id, session.hearing.changes)
        try:
            if not await _heard(session, place):
                return
        except (ExchangeError, BackendError):
            pass
        failures = failures + 1 if before == (place.last_id, session.hearing.changes) else 0
        session.hearing.changes += 1
        await anyio.sleep(max(place.retry_seconds, LEAST_PAUSE_SECONDS))


async def _heard(session: Session, place: Place) -> bool:
    """Hear one stream to its end; False if the server offers none."""
    if session.stateless:
        return _announces_changes(session) and await _subscribed(session, place)
    resume = (("Last-Event-ID", place.last_id),) if place.last_id else ()
    head = (*session.headers("", accept=EVENT_STREAM), *resume)
    async with session.wire.exchange("GET", head) as reply:
        if reply.status != _OK or reply.media_type != EVENT_STREAM:
            return False
        await session.followed(reply, _NO_REQUEST, place)
    return True


async def _subscribed(session: Session, place: Place) -> bool:
    method, wanted = "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    message = session.message(method, wanted, session.take_id())
    head = session.headers(method)
    async with session.wire.exchange("POST", head, written(message)) as reply:
        if reply.status != _OK or reply.media_type != EVENT_STREAM:
            return False
        await session.followed(reply, message["id"], place)
    return True


def _announces_changes(session: Session) -> bool:
    tools = session.capabilities.get("tools")
    return isinstance(tools, dict) and tools.get("listChanged") is True
