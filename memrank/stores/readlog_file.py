"""What marks an SQLite file as a read log: its schema, its salt, and the hashes that are made with it."""

import hashlib
import sqlite3
from pathlib import Path

from memrank.errors import StoreError
from memrank.fileio import canonical_json
from memrank.stores import sqlite_door
from memrank.stores.sqlite_door import Kind

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "INSERT INTO meta VALUES ('salt', lower(hex(randomblob(16)))), ('generation', '0'), ('unswept', '0')",
        "CREATE TABLE specs (sha256 TEXT PRIMARY KEY, body TEXT NOT NULL)",
        # A row without a record: its text is not recorded, or was forgotten. Rows of forgotten texts stay: what is
        # still on its way to the log finds them, and its text is not written again.
        "CREATE TABLE texts (key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, namespace TEXT, id TEXT NOT NULL, "
        "record TEXT, redacted INTEGER NOT NULL, forgotten INTEGER NOT NULL DEFAULT 0)",
        "CREATE INDEX texts_id ON texts (id)",
        # What was read, once however often it was read: the same read has the same id.
        "CREATE TABLE records (read_id TEXT PRIMARY KEY, context BLOB NOT NULL, query BLOB, asked TEXT, "
        "redacted INTEGER NOT NULL, namespace TEXT, as_of TEXT NOT NULL, spec TEXT NOT NULL, store_version TEXT NOT "
        "NULL, memrank TEXT NOT NULL, analyzer TEXT NOT NULL, judge TEXT NOT NULL, model TEXT NOT NULL, prompts TEXT, "
        "validation TEXT NOT NULL, limits TEXT NOT NULL, candidates BLOB NOT NULL, numbers BLOB NOT NULL, holding BLOB "
        "NOT NULL, visible INTEGER NOT NULL, idf TEXT NOT NULL, time TEXT NOT NULL, pool TEXT NOT NULL, pool_notes "
        "TEXT NOT NULL, notes TEXT NOT NULL, summaries TEXT, reasons TEXT NOT NULL, judged INTEGER NOT NULL, returned "
        "INTEGER NOT NULL, dropped INTEGER NOT NULL, stale_high INTEGER NOT NULL, mean_decay REAL, top_score REAL, "
        "scores TEXT NOT NULL)",
        "CREATE TABLE reads (number INTEGER PRIMARY KEY, read_id TEXT NOT NULL, at REAL NOT NULL, as_of TEXT NOT NULL, "
        "query_id TEXT, latency_ms REAL NOT NULL, cached INTEGER NOT NULL)",
        "CREATE INDEX reads_id ON reads (read_id)",
        "CREATE INDEX reads_at ON reads (at)",
        "CREATE TABLE used (number INTEGER PRIMARY KEY, read_id TEXT NOT NULL, namespace TEXT, ids TEXT NOT NULL, "
        "session TEXT, at REAL NOT NULL)",
        "CREATE INDEX used_read ON used (read_id)",
        "CREATE TABLE review (number INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, read_id TEXT NOT NULL, kind "
        "TEXT NOT NULL, subject TEXT, reasons TEXT NOT NULL, at REAL NOT NULL, decision TEXT NOT NULL DEFAULT "
        "'undecided', decided_at REAL, who TEXT, comment TEXT, labels TEXT)",
        "CREATE INDEX review_read ON review (read_id)",
    ),
    (  # what a model said for each candidate, by its place; what it was asked, and what it answered
        "ALTER TABLE records ADD COLUMN said TEXT",
        "CREATE TABLE prompts (hash BLOB PRIMARY KEY, messages TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE exchanges (number INTEGER PRIMARY KEY, read_id TEXT NOT NULL, model TEXT NOT NULL, attempt "
        "INTEGER NOT NULL, outcome TEXT NOT NULL, prompt BLOB NOT NULL, asked TEXT, answer TEXT)",
        "CREATE INDEX exchanges_read ON exchanges (read_id)",
    ),
)

READLOG = Kind(
    noun="read log",
    application_id=0x6D726C67,  # `mrlg`
    migrations=lambda: MIGRATIONS,
    make="a read by a spec whose `reads.log` names {path}",
    patience=2.0,  # reads go on meanwhile, and their records wait in memory
)


def create(path: Path) -> None:
    """Make a read log; see `sqlite_door.create`."""
    sqlite_door.create(path, READLOG)


def door(path: Path, *, at_exit: bool = True) -> sqlite_door.Door:
    """The way to a log's file; `at_exit` as in `Door`."""
    return sqlite_door.Door(path, READLOG, at_exit=at_exit)


def damaged(path: Path, what: str) -> StoreError:
    """The error for a log that is not what was written."""
    return sqlite_door.damaged(path, READLOG.noun, what)


def read_salt(connection: sqlite3.Connection) -> bytes:
    """What the log mixes into its hashes, so that hashes of two logs tell nothing about each other."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'salt'").fetchone()
    if found is None:
        raise sqlite3.DatabaseError("the salt of the read log is missing")
    return bytes.fromhex(str(found[0]))


def salted(salt: bytes, digest: bytes) -> bytes:
    """The hash under which the log knows what has this digest."""
    return hashlib.sha256(salt + digest).digest()


def digest(text: str) -> bytes:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def named(namespace: str | None, identity: str) -> bytes:
    """The digest of a memory's name, which tells nothing of its text."""
    return digest(canonical_json([namespace, identity]))


def generation(connection: sqlite3.Connection) -> str:
    """Changes when rows of texts are deleted, so that a writer who knows their keys looks them up again."""
    return str(connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0])


def next_generation(connection: sqlite3.Connection) -> None:
    """Tell writers that keys of texts may be gone."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")
