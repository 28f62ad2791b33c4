"""API keys: made, listed, revoked, recognised. The secret is shown once and kept as a hash.

A key is `pml_ID_SECRET`. The secret has 256 random bits, so one round of sha256 is enough: there
is nothing to guess. What a key may do is a set of scopes: `read` a private registry, `call` tools,
see `metrics`, `publish:ORG`.
"""

import dataclasses
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime

from pml.cloud.errors import KeyUnknownError, ScopeInvalidError
from pml.cloud.store.databases import Database

READ, CALL, METRICS, PUBLISH = "read", "call", "metrics", "publish"
ANY_ORG = "*"

_ID_BYTES = 6
_SECRET_BYTES = 32
_KEY = re.compile(r"pml_(?P<id>[0-9a-f]{12})_(?P<secret>[A-Za-z0-9_-]{43})")
_SCOPE = re.compile(rf"{READ}|{CALL}|{METRICS}|{PUBLISH}:(\*|[A-Za-z0-9_-]{{1,64}})")


@dataclasses.dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key; not the key."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: str
    revoked_at: str | None = None

    def may(self, scope: str) -> bool:
        """Say whether it has a right."""
        return scope in self.scopes

    def may_publish(self, org: str) -> bool:
        """Say whether it may publish names of an organisation."""
        return self.may(f"{PUBLISH}:{org}") or self.may(f"{PUBLISH}:{ANY_ORG}")


class Keys:
    """All keys."""

    def __init__(self, database: Database) -> None:
        """Use a database that somebody else opens and closes."""
        self._database = database

    def create(self, name: str, scopes: Sequence[str], *, now: datetime) -> tuple[ApiKey, str]:
        """Make a key; give what is known of it, and the key itself: nobody can read it again."""
        for scope in scopes:
            if not _SCOPE.fullmatch(scope):
                raise ScopeInvalidError(scope)
        made = ApiKey(secrets.token_hex(_ID_BYTES), name, tuple(scopes), now.isoformat())
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        with self._database.writing() as transaction:
            transaction.execute(
                "INSERT INTO api_keys (id, name, secret_sha256, scopes, created_at)"
                " VALUES (%s, %s, %s, %s, %s)",
                (made.id, name, _hashed(secret), " ".join(made.scopes), made.created_at),
            )
        return made, f"pml_{made.id}_{secret}"

    def all(self) -> list[ApiKey]:
        """Give all keys, oldest first."""
        with self._database.reading() as transaction:
            rows = transaction.execute(
                "SELECT id, name, scopes, created_at, revoked_at FROM api_keys"
                " ORDER BY created_at, id"
            )
        return [
            ApiKey(key, name, tuple(scopes.split()), created, revoked)
            for key, name, scopes, created, revoked in rows
        ]

    def revoke(self, key: str, *, now: datetime) -> None:
        """End a key at once, in every worker; it stays in the list."""
        with self._database.writing() as transaction:
            found = transaction.execute("SELECT 1 FROM api_keys WHERE id = %s", (key,))
            if not found:
                raise KeyUnknownError(key)
            transaction.execute(
                "UPDATE api_keys SET revoked_at = %s WHERE id = %s AND revoked_at IS NULL",
                (now.isoformat(), key),
            )

    def recognised(self, text: str) -> ApiKey | None:
        """Give the key that a text is, None if it is none or was revoked."""
        parts = _KEY.fullmatch(text)
        if parts is None:
            return None
        with self._database.reading() as transaction:
            rows = transaction.execute(
                "SELECT name, secret_sha256, scopes, created_at FROM api_keys"
                " WHERE id = %s AND revoked_at IS NULL",
                (parts["id"],),
            )
        if not rows or not hmac.compare_digest(rows[0][1], _hashed(parts["secret"])):
            return None
        name, _, scopes, created = rows[0]
        return ApiKey(parts["id"], name, tuple(scopes.split()), created)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
