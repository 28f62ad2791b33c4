"""What an HTTP status means for whoever asked. Words of the server are left out of it."""

from pml.backends.http.messages import refusal_in
from pml.backends.http.wire import ExchangeError, Reply, Wire

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

_SUCCESS = range(200, 300)
_CREDENTIALS = frozenset({401, 403})
_NOT_FOUND = 404


class SessionLostError(ExchangeError):
    """The server does not know our session any more, so it did not look at the request either."""

    def __init__(self) -> None:
        """There is but one reason."""
        super().__init__("it no longer knows the session", status=_NOT_FOUND)


class HttpStatusError(ExchangeError):
    """An HTTP error without a JSON-RPC error in it."""

    def __init__(self, status: int, hint: str = "") -> None:
        """Name the status."""
        super().__init__(f"it answered HTTP {status}{hint}", status=status)


async def judge(reply: Reply, wire: Wire, *, in_session: bool) -> None:
    """Let success pass, and raise what anything else means.

    Raises `SessionLostError` for 404 in a session, as the specification has it; the server's own
    `ServerRefusedError` if the body holds one; else `HttpStatusError`.
    """
    if reply.status in _SUCCESS:
        return
    if reply.status == _NOT_FOUND and in_session:
        raise SessionLostError
    if reply.status in _CREDENTIALS:
        raise HttpStatusError(reply.status, _about_headers(reply, wire.header_names))
    is_json = reply.media_type == JSON
    refused = refusal_in(wire.server, await reply.body()) if is_json else None
    raise refused or HttpStatusError(reply.status)


def _about_headers(reply: Reply, names: tuple[str, ...]) -> str:
    """Say which header is probably missing: by name, since values are secret."""
    if any(name.lower() == "authorization" for name in names):
        return ": it did not accept the configured header `Authorization`"
    if not names:
        return ": the header `Authorization` is probably missing"
    sent = ", ".join(f"`{name}`" for name in names)
    if reply.header("www-authenticate"):
        return f": the header `Authorization` is probably missing; configured: {sent}"
    return f": it did not accept the configured headers {sent}"
