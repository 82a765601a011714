"""One SQLite file as a memrank store: its schema, its connections and transactions, and SQLite's errors translated.

Write-ahead log, synchronous=FULL: a transaction that has returned survives a kill and a loss of power, a reader sees
one committed state, and writers of several processes take turns.
"""

import os
import re
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from memrank.errors import StoreError

APPLICATION_ID = 0x6D726E6B
"""`mrnk`: marks an SQLite file as a memrank store."""

BUSY_SECONDS = 30.0
"""How long one writer waits for another."""

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
)
"""Statements that lead from each schema version to the next; the version of a file is its `user_version`."""

# On macOS only a full fsync reaches the disk itself; the pragma does nothing elsewhere.
_SETTINGS = ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF", f"journal_size_limit = {1 << 24}")

_WRITABLE = "the file and its folder must be writable, even to read it: SQLite keeps its log there"

REMEMBERED = 1_000
"""Versions that a store remembers having had; a reader that is further behind reads everything again."""

_VERSION = re.compile(r"[0-9]{1,18}-[0-9a-f]+")

_inherited: list[sqlite3.Connection] = []


def create(path: Path) -> None:
    """Make a store of a missing or empty file; a store that is there already is left as it is.

    Raises StoreError for any other file, and where it cannot be written.
    """
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be created", hint=f"create the folder {path.parent} first")
    if path.is_dir():
        raise _not_a_store(path, "it is a folder")
    with translated(path):
        connection = _open(path, "rwc")
        try:
            if _is_blank(connection, path):
                _enter_wal(connection)
                with transaction(connection, write=True):
                    if _is_blank(connection, path):  # no other process was quicker
                        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                        _migrate(connection, 0)
        finally:
            connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a store that exists, its schema brought up to date. Never creates a file.

    Raises StoreError for a missing file and for what is no store, is damaged or was written by a newer memrank.
    """
    _check_file(path)
    with translated(path):
        connection = _open(path, "rw")
        try:
            if _is_blank(connection, path):
                raise _not_a_store(path, "it is an SQLite database without a schema")
            if _schema(connection, path) < len(MIGRATIONS):
                with transaction(connection, write=True):
                    _migrate(connection, _schema(connection, path))
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool = False) -> Iterator[None]:
    """All or nothing. A writing transaction waits for its turn at the beginning, and never fails for it later."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Door:
    """The one way to a store's file for many threads: a connection that is opened when first used, and its lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int, int] | None = None
        self._release: weakref.finalize[[sqlite3.Connection, int], Door] | None = None
        self.opened = 0
        """How often a connection was opened; when it has grown, this may be another file than before."""

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection within a transaction, held by this thread alone. Raises StoreError."""
        with self._lock, translated(self._path):
            connection = self._current()
            with transaction(connection, write=write):
                yield connection

    def close(self) -> None:
        """Close the file; the next transaction opens it again."""
        with self._lock, translated(self._path):
            if self._release is not None:
                self._release()
            self._connection = self._identity = self._release = None

    def _current(self) -> sqlite3.Connection:
        identity = (os.getpid(), *_check_file(self._path))
        if self._connection is None or identity != self._identity:
            self.close()
            self._connection = connect(self._path)
            self._identity = identity
            self._release = weakref.finalize(self, _close, self._connection, os.getpid())
            self.opened += 1
        return self._connection


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


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns the errors of SQLite into StoreError. Wrong calls of its interface are defects and stay as they are."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _store_error(path, error) from error
    except UnicodeDecodeError as error:  # a damaged schema, which SQLite quotes in a message that Python decodes
        raise damaged(path, "a text in it is not UTF-8") from error


def damaged(path: Path, what: str) -> StoreError:
    """The error for a store whose file is not what was written."""
    return StoreError(f"{path}: the store is damaged: {what}", hint="restore it from a copy, or import an export of it")


def _store_error(path: Path, error: sqlite3.Error) -> StoreError:
    name = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_").partition("_")[0]
    match name:
        case "BUSY" | "LOCKED":
            hint = "wait until the other process has finished writing, and try again"
            return StoreError(f"{path}: another process has held the store for {BUSY_SECONDS:g} seconds", hint=hint)
        case "READONLY" | "PERM":
            return StoreError(f"{path}: the store cannot be written", hint=_WRITABLE)
        case "CANTOPEN":
            return StoreError(f"{path}: the store cannot be opened", hint=_WRITABLE)
        case "FULL":
            return StoreError(f"{path}: the disk is full; nothing of this write was kept", hint="make room and retry")
        case "CORRUPT":
            return damaged(path, str(error))
        case "NOTADB":
            return _not_a_store(path, "it is no SQLite database")
    return StoreError(f"{path}: SQLite reports: {error}")


def _not_a_store(path: Path, why: str) -> StoreError:
    return StoreError(f"{path}: not a memrank store: {why}", hint="memrank store import FILE --to PATH makes one")


def _check_file(path: Path) -> tuple[int, int]:
    """Device and number of the file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise StoreError(f"{path}: there is no such store", hint=f"memrank store import FILE --to {path}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: the store cannot be opened: {error}") from error
    if not path.is_file():
        raise _not_a_store(path, "it is a folder" if path.is_dir() else "it is no file")
    if found.st_size == 0:
        raise _not_a_store(path, "it is empty")
    return found.st_dev, found.st_ino


def _open(path: Path, mode: Literal["rw", "rwc"]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _close(connection: sqlite3.Connection, owner: int) -> None:
    if os.getpid() == owner:
        connection.close()
    else:  # carried over a fork: closing it would disturb the process that opened it
        _inherited.append(connection)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _is_blank(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing was ever put into the database. Raises StoreError if something else than a store was."""
    application = _pragma(connection, "application_id")
    if application == APPLICATION_ID:
        return False
    if application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise _not_a_store(path, "it is the SQLite database of another application")
    return True


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    """The schema version of the file. Raises StoreError for one that this memrank does not know."""
    version = _pragma(connection, "user_version")
    if version > len(MIGRATIONS):
        known = f"store schema {version}, and this one knows up to {len(MIGRATIONS)}"
        raise StoreError(f"{path}: the store was written by a newer memrank ({known})", hint="upgrade memrank")
    if version < 1:
        raise damaged(path, f"it has schema version {version}")
    return version


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    """Lead the schema from `version` to the newest, within the transaction of the caller."""
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite does not wait here when two processes switch at once; this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
