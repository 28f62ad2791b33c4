"""What a worker is told: plain values, handed to every process alike."""

import dataclasses

HOST = "127.0.0.1"
PORT = 8787

BODY_BYTES = 4 << 20
"""Of a request to the MCP face; what is published is bounded further."""

REQUEST_SECONDS = 120.0
"""For a whole request, its body and its answer; a run takes less."""

CONNECTIONS = 1_000
"""Of one worker; more are answered with 503."""

CALLS_PER_SECOND = 50.0
"""Of one key, in one worker."""

CALLS_AT_ONCE = 200
"""How many a key that rested may send in one go."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """One cloud, as its operator wants it."""

    database: str = dataclasses.field(repr=False)
    """A file, or a URL, which may hold a password."""

    host: str = HOST
    port: int = PORT
    workers: int = 1
    private: bool = False
    """Whether reading the registry takes a key."""

    upstreams: tuple[str, ...] = ()
    """Hosts that remote servers may have although they are at no public address."""

    connections: int = CONNECTIONS
    body_bytes: int = BODY_BYTES
    request_seconds: float = REQUEST_SECONDS
    calls_per_second: float = CALLS_PER_SECOND
    calls_at_once: int = CALLS_AT_ONCE
    certificate: str | None = None
    certificate_key: str | None = None
    """Files, for TLS without a proxy in front."""
