"""What a server may ask of its client, and who answers: refused unless it was offered.

`ping` always; `roots/list` if there is a root; sampling and elicitation through `ServerRequests`.
The same answers serve both eras: as requests of the server (2025), and as inputs that a result
asks for (2026).
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

from pml.backends.http.messages import METHOD_NOT_FOUND
from pml.errors import PmlError
from pml.ports import ServerRequests

_REFUSED = -1  # what the specification shows for "the user rejected it"


class NotAnsweredError(Exception):
    """A server's request that is refused: the code and words it is told."""

    def __init__(self, code: int, words: str) -> None:
        """Keep both."""
        super().__init__(words)
        self.code = code
        self.words = words


@dataclasses.dataclass(frozen=True, slots=True)
class Answering:
    """Who answers one server."""

    server: str
    requests: ServerRequests | None = None
    root: pathlib.Path | None = None
    """The workspace, if the server may know of it."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """What is offered to the server, which must ask for nothing else."""
        offered: dict[str, Any] = {}
        if self.root is not None:
            offered["roots"] = {}
        if self.requests is not None:
            offered |= {"sampling": {}, "elicitation": {}}
        return offered

    async def answer(self, method: object, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one request; raises `NotAnsweredError`."""
        try:
            return await self._answer(method, params)
        except PmlError as error:
            raise NotAnsweredError(_REFUSED, error.message) from error

    async def _answer(self, method: object, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if method == "ping":
            return {}
        if method == "roots/list" and self.root is not None:
            return {"roots": [{"uri": self.root.as_uri(), "name": self.root.name}]}
        if method == "sampling/createMessage" and self.requests is not None:
            return await self.requests.sample(self.server, params)
        if method == "elicitation/create" and self.requests is not None:
            return await self.requests.elicit(self.server, params)
        raise NotAnsweredError(METHOD_NOT_FOUND, "this client does not offer that")
