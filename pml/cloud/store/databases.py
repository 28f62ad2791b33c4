"""SQLite and PostgreSQL behind one face: transactions in which SQL is executed.

SQL is written once, with `%s` for values. Synchronous: whoever serves calls it from a thread.
Drivers' exceptions leave as `DatabaseUnusableError`. Knows no table.
"""

import contextlib
import queue
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from pml.cloud.errors import DatabaseUnusableError, DriverMissingError
from pml.places import private_folder

Row = tuple[Any, ...]

MOST_CONNECTIONS = 8
"""Of one worker; as many threads use them."""

BUSY_SECONDS = 10.0
"""How long a writer waits for another, and a request for a connection."""

POSTGRES = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"


class Transaction(Protocol):
    """All of it happens, or nothing."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement; give its rows."""


class Database(Protocol):
    """Where the registry is kept; used from several threads, closed by whoever opened it."""

    bytes_type: str
    """The type of a column of bytes."""

    def reading(self) -> contextlib.AbstractContextManager[Transaction]:
        """Give a transaction that sees one state of everything."""

    def writing(self) -> contextlib.AbstractContextManager[Transaction]:
        """Give one that changes things, on the disk when it ends; an exception undoes it."""

    def alone(self) -> contextlib.AbstractContextManager[Transaction]:
        """Give one that no other process has at the same time: for making tables."""

    def close(self) -> None:
        """Close it; more than once does nothing."""


def opened(url: str) -> Database:
    """Open `postgresql://...`, `sqlite:///path` or the path of a file."""
    if url.startswith(POSTGRES):
        return PostgresDatabase(url)
    return SqliteDatabase(Path(url.removeprefix(SQLITE)))


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql.replace("%s", "?"), values).fetchall()


class SqliteDatabase:
    """A file; several processes on one machine may use it."""

    bytes_type = "BLOB"

    def __init__(self, path: Path) -> None:
        """Use this file, made if it is not there, for this user alone."""
        if not path.parent.exists():
            private_folder(path.parent)
        self._path = path
        self._free: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        if not path.exists():
            with contextlib.suppress(OSError):
                path.touch(mode=0o600)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin without locking anybody out: readers see the state of their first statement."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Begin as the only writer."""
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    alone = writing

    def close(self) -> None:
        """Close what nobody uses."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        try:
            connection = self._connection()
            try:
                connection.execute(begin)
                with _undone_on_error(connection):
                    yield _SqliteTransaction(connection)
            finally:
                self._free.put(connection)
        except sqlite3.Error as error:
            raise DatabaseUnusableError(str(error)) from None

    def _connection(self) -> sqlite3.Connection:
        with contextlib.suppress(queue.Empty):
            return self._free.get_nowait()
        made = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        made.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a writer
        made.execute("PRAGMA synchronous = FULL")  # what was answered with yes survives a crash
        made.execute("PRAGMA foreign_keys = ON")
        return made


@contextlib.contextmanager
def _undone_on_error(connection: Any) -> Iterator[None]:
    """Commit what the body did, or nothing of it."""
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class _PostgresTransaction:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(sql, values or None)
        return cursor.fetchall() if cursor.description is not None else []


class PostgresDatabase:
    """A server; any number of processes and machines may use it."""

    bytes_type = "BYTEA"

    def __init__(self, url: str) -> None:
        """Connect; a server that is away is an error now, and not at the first request."""
        try:
            import psycopg  # noqa: PLC0415 - an extra
            import psycopg_pool  # noqa: PLC0415
        except ImportError:
            raise DriverMissingError from None
        self._error = psycopg.Error
        try:  # the pool would try again and again, and never say why
            psycopg.connect(url, connect_timeout=int(BUSY_SECONDS)).close()
        except psycopg.Error as error:
            raise DatabaseUnusableError(str(error)) from None
        self._pool = psycopg_pool.ConnectionPool(
            url,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            timeout=BUSY_SECONDS,
            kwargs={"autocommit": True},
            check=psycopg_pool.ConnectionPool.check_connection,  # the server may have restarted
            open=False,
        )
        self._pool.open()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Begin at one state of everything."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._transaction(begin) as transaction:
            yield transaction

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Begin; writers of one row wait for each other."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextlib.contextmanager
    def alone(self) -> Iterator[Transaction]:
        """Begin while all others who ask for the same wait."""
        with self._transaction("BEGIN") as transaction:
            transaction.execute("SELECT pg_advisory_xact_lock(7077)")
            yield transaction

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        try:
            with self._pool.connection() as connection:
                connection.execute(begin)
                with _undone_on_error(connection):
                    yield _PostgresTransaction(connection)
        except self._error as error:
            raise DatabaseUnusableError(str(error)) from None
