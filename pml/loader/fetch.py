"""The ports through which registries are spoken to: one request, one bounded answer.

Whoever implements it (`pml.backends.http.fetching`) judges the address, follows no redirect, takes
no compressed answer and reads no more than it is told to. Raises `RegistryOfflineError` if nobody
answers, `RegistryRefusedError` for an address or an answer that must not be used.
"""

import dataclasses
from collections.abc import Mapping
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Response:
    """An answer, as it came."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""

    body: bytes = dataclasses.field(default=b"", repr=False)

    def header(self, name: str) -> str:
        """Give a header's value; empty if there is none."""
        return self.headers.get(name, "")

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()


class Fetch(Protocol):
    """Who asks."""

    async def get(self, url: str, headers: Mapping[str, str], *, most_bytes: int) -> Response:
        """Ask once; a redirect is an answer like any other."""


class Put(Protocol):
    """Who sends."""

    async def put(
        self, url: str, headers: Mapping[str, str], content: bytes, *, most_bytes: int
    ) -> Response:
        """Send once, and read no more than `most_bytes` of the answer."""
