"""What marks an SQLite file as a memrank store: its schema, and the versions of what it holds."""

import re
import secrets
import sqlite3
from pathlib import Path

from memrank.errors import StoreError
from memrank.stores import sqlite_door, sqlite_uses
from memrank.stores.sqlite_door import Kind

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)",
        "CREATE TABLE memories (seq INTEGER PRIMARY KEY, namespace TEXT, id TEXT NOT NULL, record TEXT NOT NULL, "
        "terms BLOB NOT NULL, vector BLOB, changed INTEGER NOT NULL)",
        # An empty blob equals no text, so that "no namespace" is one value like any other.
        "CREATE UNIQUE INDEX memories_identity ON memories (ifnull(namespace, x''), id)",
        "CREATE INDEX memories_changed ON memories (namespace, changed)",
        "INSERT INTO meta VALUES ('version', '0-0')",
    ),
    sqlite_uses.MIGRATION,
)


STORE = Kind(
    noun="store",
    application_id=0x6D726E6B,  # `mrnk`
    migrations=lambda: MIGRATIONS,
    make="memrank store import FILE --to {path}",
)

REMEMBERED = 1_000
"""Versions that a store remembers having had; a reader that is further behind reads everything again."""

_VERSION = re.compile(r"[0-9]{1,18}-[0-9a-f]+")


def create(path: Path) -> None:
    """Make a store; see `sqlite_door.create`."""
    sqlite_door.create(path, STORE)


def door(path: Path) -> sqlite_door.Door:
    """The way to a store's file."""
    return sqlite_door.Door(path, STORE)


def damaged(path: Path, what: str) -> StoreError:
    """The error for a store whose file is not what was written."""
    return sqlite_door.damaged(path, STORE.noun, what)


def read_version(connection: sqlite3.Connection) -> str:
    """The version of what the store holds: the number of its last change and a random part.

    The random part tells apart the changes of two copies of one store.
    """
    found = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    if found is None or not _VERSION.fullmatch(str(found[0])):
        raise sqlite3.DatabaseError("the version of the store is missing")
    return str(found[0])


def change_number(version: str) -> int:
    """The number of the change that led to a version."""
    return int(version.partition("-")[0])


def write_version(connection: sqlite3.Connection, number: int) -> None:
    """Give the store the version that change `number` leads to, and remember it among its last."""
    value = f"{number}-{secrets.token_hex(4)}"
    connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (value,))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_version_key(number), value))
    connection.execute("DELETE FROM meta WHERE key = ?", (_version_key(number - REMEMBERED),))


def descends_from(connection: sqlite3.Connection, version: str) -> bool:
    """Whether the store is known to have had this version: its number alone could be that of a copy that diverged."""
    key = _version_key(change_number(version))
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return found is not None and found[0] == version


def _version_key(number: int) -> str:
    return f"version {number}"
