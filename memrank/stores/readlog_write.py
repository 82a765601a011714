"""Writes reads into a log: each text once, and nothing that was forgotten; old reads are deleted."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memrank.errors import StoreError
from memrank.fileio import canonical_json
from memrank.stores import readlog_exchanges, readlog_file
from memrank.stores.readlog_entry import Entry, Origin, TextPolicy, cleaned_record, without_summaries
from memrank.stores.readlog_file import named, salted
from memrank.text.redact import Redactor
from memrank.types import Memory

PRUNED_EVERY = 1_000
"""Reads between two looks for records that are older than the log keeps."""
KNOWN = 100_000
"""Texts of which a writer knows that the log has them."""
SWEPT_AT = 50
"""One record in so many has gone: time to look for texts that nobody needs."""


@dataclass(frozen=True, slots=True)
class _Key:
    """A row of `texts`."""

    number: int
    forgotten: bool


class Recorder:
    """Writes into one log. For one thread at a time; several processes may write at once."""

    def __init__(self, path: Path, policy: TextPolicy, redactor: Redactor, keep: float) -> None:
        """`keep`: seconds, counted from the newest read, that a read is kept."""
        self._path = path
        self._policy: TextPolicy = policy
        self._redactor = redactor
        self._keep = keep
        # `close` is called when the process ends, by who knows that no thread is writing any more.
        self._door = readlog_file.door(path, at_exit=False)
        self._generation = ""
        self._keys: dict[bytes, _Key] = {}
        self._since_pruning = PRUNED_EVERY

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._door.close()

    def write(self, entries: Sequence[Entry], origin: Origin) -> None:
        """Record reads in one transaction, all or none; the file is made where there is none. Raises StoreError."""
        self._make()
        fresh: dict[bytes, _Key] = {}
        with self._door.transaction(write=True) as connection:
            now = f"{self._door.opened} {readlog_file.generation(connection)}"
            if now != self._generation or len(self._keys) > KNOWN:
                self._keys, self._generation = {}, now
            salt = readlog_file.read_salt(connection)
            connection.execute("INSERT OR IGNORE INTO specs VALUES (?, ?)", (origin.spec_sha256, origin.spec))
            for entry in entries:
                if entry.row:
                    self._record(connection, entry, fresh, salt)
                self._called(connection, entry)
            self._since_pruning += len(entries)
            if self._since_pruning >= PRUNED_EVERY:
                _prune(connection, self._keep)
                self._since_pruning = 0
        self._keys |= fresh  # only what was committed is known to be there

    def _make(self) -> None:
        try:
            there = self._path.exists() and self._path.stat().st_size > 0
        except OSError as error:
            raise StoreError(f"{self._path}: the read log cannot be opened: {error.strerror or error}") from error
        if not there or not self._door.opened:  # what is there may be another process's, and not yet whole
            readlog_file.create(self._path)

    def _record(self, connection: sqlite3.Connection, entry: Entry, fresh: dict[bytes, _Key], salt: bytes) -> None:
        found = []
        for memory, plain in zip(entry.memories, entry.digests, strict=True):
            # Without any hash of a text, a memory is known by its name alone.
            known_by = plain if self._policy != "off" else named(memory.namespace, memory.id)
            key = self._keys.get(known_by) or fresh.get(known_by)
            if key is None:
                hashed = salted(salt, known_by)
                key = fresh[known_by] = _text_key(connection, memory, hashed, self._policy, self._redactor)
            found.append(key)
        row = dict(entry.row)
        for name in ("context", "query"):
            plain_digest = row[name]
            row[name] = None if not isinstance(plain_digest, bytes) else salted(salt, plain_digest)
        row["candidates"] = np.array([key.number for key in found], dtype="<i8").tobytes()
        gone = {k for k, key in enumerate(found) if key.forgotten}
        if entry.row["summaries"] is not None:
            row["summaries"] = without_summaries(str(entry.row["summaries"]), gone)
        if gone:  # what a model said of others may quote what is forgotten
            row["said"] = None
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        insert = f"INSERT OR IGNORE INTO records ({columns}) VALUES ({marks})"  # noqa: S608 - names of ours
        fresh_record = connection.execute(insert, tuple(row.values())).rowcount > 0
        if entry.exchanges is not None and fresh_record:
            read_id = str(row["read_id"])
            readlog_exchanges.write(connection, read_id, entry.exchanges, texts=not gone)
        _queue(connection, entry)

    @staticmethod
    def _called(connection: sqlite3.Connection, entry: Entry) -> None:
        call = entry.call
        row = (call.read_id, call.at.timestamp(), call.as_of.isoformat(), call.query_id, call.latency_ms, call.cached)
        insert = "INSERT INTO reads (read_id, at, as_of, query_id, latency_ms, cached) VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(insert, row)


def _text_key(
    connection: sqlite3.Connection, memory: Memory, known_by: bytes, policy: TextPolicy, redactor: Redactor
) -> _Key:
    """A memory's row, which is made where there is none. What was forgotten stays so, in whatever version it comes."""
    row = connection.execute("SELECT key, record IS NULL, forgotten FROM texts WHERE hash = ?", (known_by,)).fetchone()
    if row is not None and (policy != "full" or row[2] or not row[1]):
        return _Key(row[0], bool(row[2]))
    gone = "SELECT 1 FROM texts WHERE id = ? AND namespace IS ? AND forgotten LIMIT 1"
    forgotten = connection.execute(gone, (memory.id, memory.namespace)).fetchone() is not None
    keep = policy == "full" and not forgotten
    record, redacted = cleaned_record(memory, redactor) if keep else (None, False)
    if row is not None:
        connection.execute("UPDATE texts SET record = ?, redacted = ? WHERE key = ?", (record, redacted, row[0]))
        return _Key(row[0], forgotten)
    insert = "INSERT INTO texts (hash, namespace, id, record, redacted, forgotten) VALUES (?, ?, ?, ?, ?, ?)"
    made = connection.execute(insert, (known_by, memory.namespace, memory.id, record, redacted, forgotten)).lastrowid
    if made is None:
        raise StoreError("the read log gave no key to a row")
    return _Key(made, forgotten)


def _queue(connection: sqlite3.Connection, entry: Entry) -> None:
    """Put what asks for a person into the review queue, once."""
    insert = "INSERT OR IGNORE INTO review (identity, read_id, kind, subject, reasons, at) VALUES (?, ?, ?, ?, ?, ?)"
    call, at = entry.call, entry.call.at.timestamp()
    if entry.row["reasons"] != "[]":
        row: tuple[object, ...] = (f"read:{call.read_id}", call.read_id, "triggered", None, entry.row["reasons"], at)
        connection.execute(insert, row)
    for one in entry.left_out:
        identity = f"{one.kind}:{call.read_id}:{one.id}"
        row = (identity, call.read_id, one.kind, one.id, canonical_json([one.reason]), at)
        connection.execute(insert, row)
    for name in entry.checks:
        identity = f"check:{canonical_json([entry.namespace, name])}"
        connection.execute(insert, (identity, call.read_id, "check", name, '["old_but_high"]', at))


def _prune(connection: sqlite3.Connection, keep: float) -> None:
    """Delete calls older than `keep` seconds before the newest, and what only they needed.

    Texts that no record needs any more are looked for when enough records have gone: it takes reading all others.
    """
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
    (newest,) = connection.execute("SELECT max(at) FROM reads").fetchone()
    if newest is None or not connection.execute("DELETE FROM reads WHERE at < ?", (newest - keep,)).rowcount:
        return
    left = "read_id NOT IN (SELECT read_id FROM reads)"
    for table in ("used", "review", "exchanges"):
        connection.execute(f"DELETE FROM {table} WHERE {left}")  # noqa: S608 - names of ours
    gone = connection.execute(f"DELETE FROM records WHERE {left}").rowcount  # noqa: S608 - as above
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + ? WHERE key = 'unswept'", (gone,))
    select = "SELECT CAST(value AS INTEGER), (SELECT count(*) FROM records) FROM meta WHERE key = 'unswept'"
    unswept, records = connection.execute(select).fetchone()
    if unswept * SWEPT_AT >= records:
        _sweep(connection)


def _sweep(connection: sqlite3.Connection) -> None:
    """Delete texts and specs that no record needs; what was forgotten keeps its row."""
    needed: set[int] = set()
    for (packed,) in connection.execute("SELECT candidates FROM records"):
        needed.update(np.frombuffer(packed, dtype="<i8").tolist())
    rows = connection.execute("SELECT key FROM texts WHERE NOT forgotten").fetchall()
    connection.executemany("DELETE FROM texts WHERE key = ?", [row for row in rows if row[0] not in needed])
    readlog_exchanges.sweep(connection)
    connection.execute("DELETE FROM specs WHERE sha256 NOT IN (SELECT spec FROM records)")
    connection.execute("UPDATE meta SET value = '0' WHERE key = 'unswept'")
    readlog_file.next_generation(connection)
