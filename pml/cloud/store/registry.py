"""Publishing and looking up. A version is immutable; publishing is one transaction.

Content that was published before becomes current again and makes no new version. Names whose tools
run at the cloud own their namespace: callers' keys are sent by it.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from pml.cloud.errors import HashTakenError, NamespaceTakenError, ToolTakenError
from pml.cloud.records import Entry, Item, Made, Offer, Page
from pml.cloud.store.databases import Database, Row, Transaction
from pml.fqdn import Fqdn
from pml.loader.metadata import McpType
from pml.loader.publishing import Outcome, Publication
from pml.routing import Routing

_ENTRY = "base, hash, sha256, kind, routing, tools, metadata, content"


class Registry:
    """The published versions of all names."""

    def __init__(self, database: Database) -> None:
        """Use a database that somebody else opens and closes."""
        self._database = database

    def publish(self, what: Publication, *, by: str, now: datetime) -> Made:
        """Make a publication current; raises a `CloudError` and changes nothing."""
        fqdn = what.version
        with self._database.writing() as transaction:
            # the first statement, so that publications wait for each other
            transaction.execute("UPDATE state SET generation = generation + 1")
            _claim(transaction, what)
            is_new = _add(transaction, what, fqdn, (now.isoformat(), by))
            outcome = Outcome.PUBLISHED if is_new else _kept(transaction, fqdn)
            transaction.execute(
                "INSERT INTO entries (base, hash, kind, routing, description)"
                " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (base) DO UPDATE SET"
                " hash = excluded.hash, kind = excluded.kind, routing = excluded.routing,"
                " description = excluded.description",
                (what.fqdn.base, fqdn.hash, what.kind, what.routing, what.description),
            )
        facts = (what.kind, what.routing, what.tools, what.metadata, what.content)
        return Made(Entry(fqdn, what.sha256, *facts), outcome)

    def current(self, base: str) -> Fqdn | None:
        """Give the current version's name, None if there is no such name."""
        with self._database.reading() as transaction:
            found = transaction.execute("SELECT hash FROM entries WHERE base = %s", (base,))
        return Fqdn.parse(f"{base}.{found[0][0]}") if found else None

    def version(self, base: str, stated: str) -> Entry | None:
        """Give a version by the hash in its name, current or not."""
        with self._database.reading() as transaction:
            found = transaction.execute(
                f"SELECT {_ENTRY} FROM versions WHERE base = %s AND hash = %s",  # noqa: S608 constants
                (base, stated),
            )
        return _entry(found[0]) if found else None

    def generation(self) -> int:
        """Count the publications so far."""
        with self._database.reading() as transaction:
            return int(transaction.execute("SELECT generation FROM state")[0][0])

    def page(self, kind: McpType | None, number: int, limit: int) -> Page:
        """Give a page of what is current, by name; pages count from 1."""
        where, values = ("WHERE kind = %s", [kind.value]) if kind else ("", [])
        with self._database.reading() as transaction:
            total = transaction.execute(f"SELECT count(*) FROM entries {where}", values)[0][0]  # noqa: S608 constants
            rows = transaction.execute(
                f"SELECT base, hash, kind, routing, description FROM entries {where}"  # noqa: S608
                " ORDER BY base LIMIT %s OFFSET %s",
                [*values, limit, (number - 1) * limit],
            )
        return Page(tuple(_item(row) for row in rows), int(total))

    def offering(self, tool: str) -> Entry | None:
        """Give the current entry that answers calls of a tool at the cloud."""
        with self._database.reading() as transaction:
            found = transaction.execute(
                "SELECT " + ", ".join(f"v.{column}" for column in _ENTRY.split(", ")) +  # noqa: S608
                " FROM server_tools s JOIN entries e ON e.base = s.base"
                " JOIN versions v ON v.base = e.base AND v.hash = e.hash WHERE s.tool = %s",
                (tool,),
            )  # fmt: skip
        return _entry(found[0]) if found else None

    def offers(self) -> list[Offer]:
        """Give what is current of every name, without its code, by name."""
        with self._database.reading() as transaction:
            rows = transaction.execute(
                "SELECT v.base, v.hash, v.tools, v.metadata FROM entries e"
                " JOIN versions v ON v.base = e.base AND v.hash = e.hash ORDER BY e.base"
            )
        return [
            Offer(Fqdn.parse(f"{base}.{stated}"), tuple(json.loads(tools)), json.loads(metadata))
            for base, stated, tools, metadata in rows
        ]


def _claim(transaction: Transaction, what: Publication) -> None:
    """Take namespace and tools for a name that runs at the cloud; free those it leaves."""
    base = what.fqdn.base
    transaction.execute("DELETE FROM server_tools WHERE base = %s", (base,))
    if what.routing is not Routing.SERVER:
        return
    owner = f"{what.fqdn.org}.{what.fqdn.project}"
    transaction.execute(
        "INSERT INTO namespaces (namespace, owner) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (what.fqdn.namespace, owner),
    )
    having = transaction.execute(
        "SELECT owner FROM namespaces WHERE namespace = %s", (what.fqdn.namespace,)
    )
    if having[0][0] != owner:
        raise NamespaceTakenError(what.fqdn.namespace, having[0][0])
    _take(transaction, base, what.tools)


def _take(transaction: Transaction, base: str, tools: Sequence[str]) -> None:
    for tool in tools:
        taken = transaction.execute("SELECT base FROM server_tools WHERE tool = %s", (tool,))
        if taken:
            raise ToolTakenError(tool, taken[0][0])
        transaction.execute("INSERT INTO server_tools (tool, base) VALUES (%s, %s)", (tool, base))


def _kept(transaction: Transaction, fqdn: Fqdn) -> Outcome:
    """Say what publishing a version changes that is there."""
    found = transaction.execute("SELECT hash FROM entries WHERE base = %s", (fqdn.base,))
    is_current = bool(found) and found[0][0] == fqdn.hash
    return Outcome.UNCHANGED if is_current else Outcome.RESTORED


def _add(transaction: Transaction, what: Publication, fqdn: Fqdn, origin: tuple[str, str]) -> bool:
    """Add a version unless it is there, and say so; other content of that name is refused."""
    metadata = json.dumps(dict(what.metadata), ensure_ascii=False, sort_keys=True)
    found = transaction.execute(
        "SELECT sha256, metadata FROM versions WHERE base = %s AND hash = %s",
        (fqdn.base, fqdn.hash),
    )
    if found and tuple(found[0]) != (what.sha256, metadata):
        raise HashTakenError(fqdn)
    if found:
        return False
    transaction.execute(
        f"INSERT INTO versions ({_ENTRY}, published_at, published_by)"  # noqa: S608 constants
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            fqdn.base,
            fqdn.hash,
            what.sha256,
            what.kind.value,
            what.routing.value,
            json.dumps(what.tools),
            metadata,
            what.content,
            *origin,
        ),
    )
    return True


def _entry(row: Row) -> Entry:
    base, stated, sha256, kind, routing, tools, metadata, content = row
    return Entry(
        Fqdn.parse(f"{base}.{stated}"),
        sha256,
        McpType(kind),
        Routing(routing),
        tuple(json.loads(tools)),
        json.loads(metadata),
        bytes(content),
    )


def _item(row: Row) -> Item:
    base, stated, kind, routing, description = row
    return Item(f"{base}.{stated}", McpType(kind), Routing(routing), description)
