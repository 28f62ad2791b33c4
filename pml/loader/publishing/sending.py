"""Sending a publication to one registry: `PUT {url}/mcp/{fqdn}`, and what its answer means.

The hash was computed here, from what is sent. A registry that answers with another one keeps
something else, and that is an error: nothing it says is believed. No redirect is followed.
"""

import json
from collections.abc import Mapping
from typing import Any

from pml.errors import PmlError
from pml.loader.errors import RegistryOfflineError
from pml.loader.fetch import Put, Response
from pml.loader.metadata import McpType
from pml.loader.publishing.errors import (
    PublicationForbiddenError,
    PublicationRefusedError,
    PublishedOtherwiseError,
)
from pml.loader.publishing.publication import Draft, Outcome, Publication
from pml.loader.registry import Registry
from pml.loader.registry.client import CODE, JSON, KEY_HEADER
from sandbox_host.errors import printable

MOST_ANSWER_BYTES = 64 << 10
"""Of the answer: a name and a hash, or a sentence."""

_OK, _CREATED = 200, 201
_UNAUTHORIZED, _FORBIDDEN, _TOO_LARGE, _TRY_LATER = 401, 403, 413, 429
_NOT_THERE = frozenset({404, 405, 501})
_REDIRECTS = range(300, 400)
_SERVER_ERRORS = 500
_WORDS = 300  # characters of a registry's own words

_REASONS = {
    _TOO_LARGE: "it is larger than the registry takes",
    _TRY_LATER: "it was asked too often: wait a little",
}


class Publisher:
    """Publishes to one registry."""

    def __init__(self, registry: Registry, put: Put) -> None:
        """Send nothing yet."""
        self.url = registry.url.rstrip("/")
        self._key = registry.key
        self._put = put

    async def publish(self, draft: Draft) -> Outcome:
        """Send a draft; give what it changed.

        Raises a `PublishingError`, `RegistryOfflineError` or `RegistryRefusedError`. After the
        first, or a line that broke, publishing again is safe: the same content is one version.
        """
        what = draft.publication
        headers = {
            "Accept": JSON,
            "Content-Type": CODE if what.kind is McpType.DENO else JSON,
            **({} if self._key is None else {KEY_HEADER: self._key}),
        }
        answer = await self._put.put(
            f"{self.url}/mcp/{what.fqdn.base}",
            headers,
            draft.content,
            most_bytes=MOST_ANSWER_BYTES,
        )
        if answer.status not in (_OK, _CREATED):
            raise self._refusal(what, answer)
        return self._outcome(what, answer)

    def _outcome(self, what: Publication, answer: Response) -> Outcome:
        said = _object(answer)
        sent = str(what.version), what.integrity
        answered = _text(said, "fqdn"), _text(said, "integrity")
        if answered != sent:
            raise PublishedOtherwiseError(self.url, sent, answered)
        told = _text(said, "outcome")
        if told in {one.value for one in Outcome}:
            return Outcome(told)
        return Outcome.PUBLISHED if answer.status == _CREATED else Outcome.UNCHANGED

    def _refusal(self, what: Publication, answer: Response) -> PmlError:
        """Say what an answer without a publication means."""
        status, name = answer.status, str(what.fqdn)
        if status == _FORBIDDEN:
            return PublicationForbiddenError(self.url, name, what.fqdn.org)
        if status >= _SERVER_ERRORS and status not in _NOT_THERE:
            return RegistryOfflineError(self.url, f"it answers {status}")
        reason, hint = self._reason(answer)
        return PublicationRefusedError(self.url, name, reason, hint)

    def _reason(self, answer: Response) -> tuple[str, str | None]:
        status = answer.status
        if status == _UNAUTHORIZED and self._key is None:
            hint = "your key goes to the `cloud` of `.pml.json` alone: name this registry there"
            return "it takes a key, and was sent none", hint
        if status == _UNAUTHORIZED:
            return "it does not know your key", "look at PML_API_KEY: it may have been revoked"
        if status in _REDIRECTS:
            return f"it redirects ({status}), which is not followed", "configure where it is"
        if status in _REASONS:
            return _REASONS[status], None
        words = printable(_text(_object(answer), "message"), _WORDS)
        if status in _NOT_THERE or not words:
            return f"it answers {status} without saying why: is it a registry?", None
        return words, None


def _object(answer: Response) -> Mapping[str, Any]:
    if answer.media_type != JSON:
        return {}
    try:
        said = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""
