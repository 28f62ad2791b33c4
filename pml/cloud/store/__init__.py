"""What the cloud keeps: published versions, which is current, and keys. Synchronous.

    with opened_store("sqlite:///cloud.db") as store:
        made = store.registry.publish(publication, by="cli", now=...)
        key = store.keys.create("laptop", ("call",), now=...)

`databases.py` speaks SQL to SQLite or PostgreSQL, `schema.py` has the tables, `registry.py` and
`keys.py` are all that is asked of them. Knows nothing of HTTP or MCP.
"""

import contextlib
import dataclasses
from collections.abc import Iterator

from pml.cloud.errors import DatabaseUnusableError
from pml.cloud.store import schema
from pml.cloud.store.databases import Database, opened
from pml.cloud.store.keys import ApiKey, Keys
from pml.cloud.store.registry import Registry


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """The two things that are kept."""

    registry: Registry
    keys: Keys


@contextlib.contextmanager
def opened_store(url: str) -> Iterator[Store]:
    """Open a database, with its tables made if need be."""
    database = opened(url)
    try:
        _prepare(database)
        yield Store(Registry(database), Keys(database))
    finally:
        database.close()


def _prepare(database: Database) -> None:
    with database.alone() as transaction:
        for table in schema.TABLES:
            transaction.execute(table.format(bytes=database.bytes_type))
        found = transaction.execute(schema.READ_STATE)
        if not found:
            transaction.execute(schema.FIRST_STATE, (schema.VERSION,))
        elif found[0][0] > schema.VERSION:
            raise DatabaseUnusableError("a newer pml made its tables")  # noqa: TRY003 - the only one


__all__ = ["ApiKey", "Keys", "Registry", "Store", "opened_store"]
