"""An SQLite file of memrank: its schema, its connections and transactions, and SQLite's errors translated.

Write-ahead log, synchronous=FULL: a transaction that has returned survives a kill and a loss of power, a reader sees
one committed state, and writers of several processes take turns.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memrank.errors import StoreError

BUSY_SECONDS = 30.0
"""How long one writer waits for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a file is for: what people call it, what marks it, and how its schema grows."""

    noun: str
    application_id: int
    """Marks an SQLite file as one of this kind."""
    migrations: Callable[[], tuple[tuple[str, ...], ...]]
    """Statements that lead from each schema version to the next; the version of a file is its `user_version`."""
    make: str
    """How a new one is made, with `{path}` in it."""
    patience: float = BUSY_SECONDS
    """Seconds that one writer waits for another."""


# On macOS only a full fsync reaches the disk itself; the pragma does nothing elsewhere.
_SETTINGS = ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF", f"journal_size_limit = {1 << 24}")

_WRITABLE = "the file and its folder must be writable, even to read it: SQLite keeps its log there"

_inherited: list[sqlite3.Connection] = []


def create(path: Path, kind: Kind) -> None:
    """Make a file of this kind of a missing or empty one; one that is there already is left as it is.

    Raises StoreError for any other file, and where it cannot be written.
    """
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be created", hint=f"create the folder {path.parent} first")
    if path.is_dir():
        raise _not_one(path, kind, "it is a folder")
    with translated(path, kind):
        connection = _open(path, "rwc", kind)
        try:
            if _is_blank(connection, path, kind):
                _enter_wal(connection)
                with transaction(connection, write=True):
                    if _is_blank(connection, path, kind):  # no other process was quicker
                        connection.execute(f"PRAGMA application_id = {kind.application_id}")
                        _migrate(connection, kind, 0)
        finally:
            connection.close()


def connect(path: Path, kind: Kind) -> sqlite3.Connection:
    """A connection to a file that exists, its schema brought up to date. Never creates a file.

    Raises StoreError for a missing file and for what is of another kind, is damaged or was written by a newer memrank.
    """
    _check_file(path, kind)
    with translated(path, kind):
        connection = _open(path, "rw", kind)
        try:
            if _is_blank(connection, path, kind):
                raise _not_one(path, kind, "it is an SQLite database without a schema")
            if _schema(connection, path, kind) < len(kind.migrations()):
                with transaction(connection, write=True):
                    _migrate(connection, kind, _schema(connection, path, kind))
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
    """The one way to a file for many threads: a connection that is opened when first used, and its lock."""

    def __init__(self, path: Path, kind: Kind, *, at_exit: bool = True) -> None:
        """`at_exit`: whether the end of the process closes the file; no, where a thread may be using it even then."""
        self._path = path
        self._kind = kind
        self._at_exit = at_exit
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int, int] | None = None
        self._release: weakref.finalize[[sqlite3.Connection, int], Door] | None = None
        self.opened = 0
        """How often a connection was opened; when it has grown, this may be another file than before."""

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection within a transaction, held by this thread alone. Raises StoreError."""
        with self._lock, translated(self._path, self._kind):
            connection = self._current()
            with transaction(connection, write=write):
                yield connection

    def close(self) -> None:
        """Close the file; the next transaction opens it again."""
        with self._lock, translated(self._path, self._kind):
            if self._release is not None:
                self._release()
            self._connection = self._identity = self._release = None

    def _current(self) -> sqlite3.Connection:
        identity = (os.getpid(), *_check_file(self._path, self._kind))
        if self._connection is None or identity != self._identity:
            self.close()
            self._connection = connect(self._path, self._kind)
            self._identity = identity
            self._release = weakref.finalize(self, _close, self._connection, os.getpid())
            self._release.atexit = self._at_exit
            self.opened += 1
        return self._connection


@contextmanager
def translated(path: Path, kind: Kind) -> Iterator[None]:
    """Turns the errors of SQLite into StoreError. Wrong calls of its interface are defects and stay as they are."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _store_error(path, kind, error) from error
    except UnicodeDecodeError as error:  # a damaged schema, which SQLite quotes in a message that Python decodes
        raise damaged(path, kind.noun, "a text in it is not UTF-8") from error


def damaged(path: Path, noun: str, what: str) -> StoreError:
    """The error for a file that is not what was written."""
    hint = "restore it from a copy"
    return StoreError(f"{path}: the {noun} is damaged: {what}", hint=hint)


def _store_error(path: Path, kind: Kind, error: sqlite3.Error) -> StoreError:
    noun = kind.noun
    name = str(getattr(error, "sqlite_errorname", "")).removeprefix("SQLITE_").partition("_")[0]
    match name:
        case "BUSY" | "LOCKED":
            hint = "wait until the other process has finished writing, and try again"
            return StoreError(f"{path}: another process has held the {noun} for {kind.patience:g} seconds", hint=hint)
        case "READONLY" | "PERM":
            return StoreError(f"{path}: the {noun} cannot be written", hint=_WRITABLE)
        case "CANTOPEN":
            return StoreError(f"{path}: the {noun} cannot be opened", hint=_WRITABLE)
        case "FULL":
            return StoreError(f"{path}: the disk is full; nothing of this write was kept", hint="make room and retry")
        case "CORRUPT":
            return damaged(path, noun, str(error))
        case "NOTADB":
            return StoreError(f"{path}: not a memrank {noun}: it is no SQLite database")
    return StoreError(f"{path}: SQLite reports: {error}")


def _not_one(path: Path, kind: Kind, why: str) -> StoreError:
    return StoreError(f"{path}: not a memrank {kind.noun}: {why}", hint=f"{kind.make.format(path='PATH')} makes one")


def _check_file(path: Path, kind: Kind) -> tuple[int, int]:
    """Device and number of the file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise StoreError(f"{path}: there is no such {kind.noun}", hint=kind.make.format(path=path)) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: the {kind.noun} cannot be opened: {error}") from error
    if not path.is_file():
        raise _not_one(path, kind, "it is a folder" if path.is_dir() else "it is no file")
    if found.st_size == 0:
        raise _not_one(path, kind, "it is empty")
    return found.st_dev, found.st_ino


def _open(path: Path, mode: Literal["rw", "rwc"], kind: Kind) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=kind.patience,
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


def _is_blank(connection: sqlite3.Connection, path: Path, kind: Kind) -> bool:
    """Whether nothing was ever put into the database. Raises StoreError if something of another kind was."""
    application = _pragma(connection, "application_id")
    if application == kind.application_id:
        return False
    if application or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise _not_one(path, kind, "it is the SQLite database of another application")
    return True


def _schema(connection: sqlite3.Connection, path: Path, kind: Kind) -> int:
    """The schema version of the file. Raises StoreError for one that this memrank does not know."""
    version = _pragma(connection, "user_version")
    if version > len(kind.migrations()):
        known = f"{kind.noun} schema {version}, and this one knows up to {len(kind.migrations())}"
        raise StoreError(f"{path}: the {kind.noun} was written by a newer memrank ({known})", hint="upgrade memrank")
    if version < 1:
        raise damaged(path, kind.noun, f"it has schema version {version}")
    return version


def _migrate(connection: sqlite3.Connection, kind: Kind, version: int) -> None:
    """Lead the schema from `version` to the newest, within the transaction of the caller."""
    for statements in kind.migrations()[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(kind.migrations())}")


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
