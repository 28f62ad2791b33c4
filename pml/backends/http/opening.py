"""Agreeing on a protocol: the 2025 handshake first, the stateless era if that is refused.

Servers that know both eras accept the handshake, and with it they can ask and notify; only a
server that refuses it is asked `server/discover`. A server that does not answer, or wants
credentials, has not refused it.
"""

from typing import Any

from pml.backends.errors import ServerProtocolError, ServerRefusedError
from pml.backends.http.judging import HttpStatusError
from pml.backends.http.session import STATELESS_VERSION, Session
from sandbox_host.errors import printable

HANDSHAKE_VERSION = "2025-11-25"
_KNOWN_VERSIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE_VERSION})
_REFUSING = frozenset({400, 404, 405, 406, 415, 422, 501})


async def open_session(session: Session) -> None:
    """Agree with the server, or raise what it refused; the session is then to be closed."""
    try:
        await _initialize(session)
    except (ServerRefusedError, HttpStatusError) as refused:
        if isinstance(refused, HttpStatusError) and refused.status not in _REFUSING:
            raise
        try:
            await _discover(session)
        except (ServerRefusedError, HttpStatusError):
            raise refused from None


async def _initialize(session: Session) -> None:
    offer = {
        "protocolVersion": HANDSHAKE_VERSION,
        "capabilities": session.hearing.answering.capabilities,
        "clientInfo": dict(session.client),
    }
    result = (await session.request("initialize", offer)).result
    version = result.get("protocolVersion")
    if not isinstance(version, str) or version not in _KNOWN_VERSIONS:
        shown = printable(str(version), 40)
        raise ServerProtocolError(session.server, f"it wants the unknown version {shown}")
    session.version = version
    session.capabilities = _capabilities(result)
    await session.post({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def _discover(session: Session) -> None:
    session.session_id = ""
    session.stateless = True
    session.version = STATELESS_VERSION
    session.hearing.takes_questions = False
    result = (await session.request("server/discover", {})).result
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS_VERSION not in versions:
        raise ServerProtocolError(session.server, f"it does not speak {STATELESS_VERSION}")
    session.capabilities = _capabilities(result)


def _capabilities(result: dict[str, Any]) -> dict[str, Any]:
    found = result.get("capabilities")
    return found if isinstance(found, dict) else {}
