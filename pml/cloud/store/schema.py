"""The tables, and how a database gets them. The same for SQLite and PostgreSQL but for a type.

`versions` is only ever added to; `entries` says which version of a name is current. `generation`
counts publications: what was computed at one is right until the next.
"""

VERSION = 1
"""Of the tables. An older database is brought up to date, a newer one is refused."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS state (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL,
        generation BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS versions (
        base TEXT NOT NULL,
        hash TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        kind TEXT NOT NULL,
        routing TEXT NOT NULL,
        tools TEXT NOT NULL,
        metadata TEXT NOT NULL,
        content {bytes} NOT NULL,
        published_at TEXT NOT NULL,
        published_by TEXT NOT NULL,
        PRIMARY KEY (base, hash))""",
    """CREATE TABLE IF NOT EXISTS entries (
        base TEXT PRIMARY KEY,
        hash TEXT NOT NULL,
        kind TEXT NOT NULL,
        routing TEXT NOT NULL,
        description TEXT NOT NULL,
        FOREIGN KEY (base, hash) REFERENCES versions (base, hash))""",
    "CREATE INDEX IF NOT EXISTS entries_by_kind ON entries (kind, base)",
    """CREATE TABLE IF NOT EXISTS namespaces (
        namespace TEXT PRIMARY KEY,
        owner TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS server_tools (
        tool TEXT PRIMARY KEY,
        base TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS api_keys (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        secret_sha256 TEXT NOT NULL,
        scopes TEXT NOT NULL,
        created_at TEXT NOT NULL,
        revoked_at TEXT)""",
)

FIRST_STATE = "INSERT INTO state (one, version, generation) VALUES (1, %s, 0)"
READ_STATE = "SELECT version FROM state WHERE one = 1"
