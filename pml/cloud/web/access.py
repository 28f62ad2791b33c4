"""Who asks, and whether they may: keys from a header, rates by key.

A key is looked up at every request, so revoking one holds at once in every worker.
"""

import time
from collections import OrderedDict

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from pml.cloud.store import ApiKey, Store
from pml.cloud.web.answers import problem

MOST_BUCKETS = 10_000
"""Keys whose rate is remembered."""

_BEARER = "bearer "


def given_key(request: Request) -> str:
    """Give the key that a request carries: `x-api-key`, or `Authorization: Bearer`."""
    plain = request.headers.get("x-api-key", "")
    authorization = request.headers.get("authorization", "")
    if not plain and authorization[: len(_BEARER)].lower() == _BEARER:
        return authorization[len(_BEARER) :].strip()
    return plain


async def recognised(
    request: Request, store: Store, threads: anyio.CapacityLimiter
) -> ApiKey | None:
    """Give whose key it is."""
    text = given_key(request)
    if not text:
        return None
    return await anyio.to_thread.run_sync(store.keys.recognised, text, limiter=threads)


def unauthorized() -> Response:
    """Ask for a key."""
    return problem(
        401,
        "unauthorized",
        "an API key is needed: the header `x-api-key`, or `Authorization: Bearer`",
        {"WWW-Authenticate": "Bearer"},
    )


def forbidden(scope: str) -> Response:
    """Name the right that a key lacks."""
    return problem(403, "forbidden", f"this key may not `{scope}`")


class Rates:
    """A bucket of tokens for each key."""

    def __init__(self, per_second: float, at_once: int) -> None:
        """Fill every bucket at this rate, up to this many."""
        self._per_second = per_second
        self._at_once = at_once
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def delay(self, key: str, now: float | None = None) -> float:
        """Take a token; give 0, or the seconds until there is one."""
        moment = time.monotonic() if now is None else now
        tokens, since = self._buckets.pop(key, (float(self._at_once), moment))
        tokens = min(self._at_once, tokens + (moment - since) * self._per_second)
        taken = tokens >= 1
        self._buckets[key] = (tokens - 1 if taken else tokens), moment
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - tokens) / self._per_second


def too_many(delay: float) -> Response:
    """Say when to come back."""
    seconds = str(max(1, round(delay)))
    words = "this key asks faster than it may"
    return problem(429, "too_many_requests", words, {"Retry-After": seconds})
