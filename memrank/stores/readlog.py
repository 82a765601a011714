"""The read log: one SQLite file that holds what every read was made of. Written by several processes at once."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memrank.errors import DataError, StoreError, UsageError
from memrank.fileio import canonical_json
from memrank.recorded import Recorded, unpack, unpack_counts
from memrank.records import read_record
from memrank.slate import Column, Limits
from memrank.stores import readlog_file
from memrank.stores.readlog_entry import Entry, Origin, TextPolicy, cleaned_record, without_summaries
from memrank.stores.readlog_file import damaged, digest, named, salted
from memrank.text.dates import parse_as_of
from memrank.text.redact import Redactor
from memrank.types import Memory, Note, Period, Query, Sensitivity, TimeOfQuery

SHORTEST_PREFIX = 8
"""Characters of a read's id by which it can be found."""

PRUNED_EVERY = 1_000
"""Reads between two looks for records that are older than the log keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A judged memory as the log knows it."""

    id: str
    namespace: str | None
    hash: bytes
    memory: Memory | None
    """None where its text was not recorded, or was forgotten."""
    forgotten: bool
    redacted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A read as it was recorded."""

    read_id: str
    recorded: Recorded
    """Where the log keeps no text of the query, its text is empty."""
    candidates: tuple[Candidate, ...]
    query_known: bool
    """Whether the text of the query is there, and whole."""
    query_hash: bytes | None
    spec_sha256: str
    spec: str | None
    store_version: str
    memrank: str
    analyzer: str
    judge: str
    model: str
    prompts: str | None
    """Version of what a language model was asked; None where none was."""
    validation: str
    """Whether the judge's answer was as asked for."""
    reasons: tuple[str, ...]
    seen: int
    """How often it was read."""
    first_at: float | None
    latency_ms: float | None


class ReadLog:
    """Reads and writes one log. Safe to share by threads."""

    def __init__(self, path: Path, *, at_exit: bool = True) -> None:
        self.path = path
        self._door = readlog_file.door(path, at_exit=at_exit)
        self._generation = ""
        self._keys: dict[bytes, _Key] = {}
        self._specs: set[str] = set()
        self._since_pruning = PRUNED_EVERY

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._door.close()

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction on the log. Raises StoreError."""
        with self._door.transaction(write=write) as connection:
            yield connection

    def write(
        self, entries: Sequence[Entry], origin: Origin, policy: TextPolicy, redactor: Redactor, keep: float
    ) -> None:
        """Record reads in one transaction, all or none; the file is made where there is none. Raises StoreError.

        Reads older than `keep` seconds, counted from the newest, are deleted now and then.
        """
        self._make()
        keys, specs = dict(self._keys), set(self._specs)
        with self.transaction(write=True) as connection:
            now = readlog_file.generation(connection) + str(self._door.opened)
            if now != self._generation:
                keys, specs = {}, set()
            salt = readlog_file.read_salt(connection)
            if origin.spec_sha256 not in specs:
                connection.execute("INSERT OR IGNORE INTO specs VALUES (?, ?)", (origin.spec_sha256, origin.spec))
                specs.add(origin.spec_sha256)
            for entry in entries:
                if entry.row:
                    self._record(connection, entry, keys, salt, policy, redactor)
                self._called(connection, entry)
            self._since_pruning += len(entries)
            if self._since_pruning >= PRUNED_EVERY:
                _prune(connection, keep)
                self._since_pruning = 0
        # Only what was committed is known to be there.
        self._generation, self._keys, self._specs = now, keys, specs

    def _make(self) -> None:
        try:
            there = self.path.exists() and self.path.stat().st_size > 0
        except OSError as error:
            raise StoreError(f"{self.path}: the read log cannot be opened: {error.strerror or error}") from error
        if not there:
            readlog_file.create(self.path)

    def _record(
        self,
        connection: sqlite3.Connection,
        entry: Entry,
        keys: dict[bytes, "_Key"],
        salt: bytes,
        policy: TextPolicy,
        redactor: Redactor,
    ) -> None:
        found = []
        for memory, plain in zip(entry.memories, entry.digests, strict=True):
            # Without any hash of a text, a memory is known by its name alone.
            known_by = plain if policy != "off" else named(memory.namespace, memory.id)
            key = keys.get(known_by)
            if key is None:
                key = keys[known_by] = _text_key(connection, memory, salted(salt, known_by), policy, redactor)
            found.append(key)
        row = dict(entry.row)
        for name in ("context", "query"):
            plain_digest = row[name]
            row[name] = None if not isinstance(plain_digest, bytes) else salted(salt, plain_digest)
        row["candidates"] = np.array([key.number for key in found], dtype="<i8").tobytes()
        if entry.row["summaries"] is not None:
            gone = {k for k, key in enumerate(found) if key.forgotten}
            row["summaries"] = without_summaries(str(entry.row["summaries"]), gone)
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        connection.execute(f"INSERT OR IGNORE INTO records ({columns}) VALUES ({marks})", tuple(row.values()))  # noqa: S608 - names of ours
        _queue(connection, entry)

    @staticmethod
    def _called(connection: sqlite3.Connection, entry: Entry) -> None:
        call = entry.call
        row = (call.read_id, call.at.timestamp(), call.as_of.isoformat(), call.query_id, call.latency_ms, call.cached)
        insert = "INSERT INTO reads (read_id, at, as_of, query_id, latency_ms, cached) VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(insert, row)

    def record_used(self, read_id: str, ids: Sequence[str], *, session: str | None, at: datetime) -> str | None:
        """Record which memories of a read were of use; the namespace that it read.

        Raises DataError for an unknown read and for ids that it did not judge.
        """
        with self.transaction(write=True) as connection:
            row = connection.execute(
                "SELECT namespace, candidates FROM records WHERE read_id = ?", (read_id,)
            ).fetchone()
            if row is None:
                raise unknown_read(read_id)
            judged = {found.id for found in self._candidates(connection, row[1])}
            others = sorted(set(ids) - judged)
            if others:
                raise DataError(f"read {read_id[:SHORTEST_PREFIX]} judged no memory {others[0]!r:.80}")
            connection.execute(
                "INSERT INTO used (read_id, namespace, ids, session, at) VALUES (?, ?, ?, ?, ?)",
                (read_id, row[0], json.dumps(list(dict.fromkeys(ids))), session, at.timestamp()),
            )
        namespace: str | None = row[0]
        return namespace

    def find(self, prefix: str) -> str:
        """The whole id of a read from its first characters.

        Raises UsageError for fewer than 8, DataError where no read or several begin so.
        """
        if len(prefix) < SHORTEST_PREFIX:
            raise UsageError(f"{prefix[:80]!r} is too short for the id of a read", hint="give 8 characters or more")
        with self.transaction() as connection:
            rows = connection.execute(
                "SELECT read_id FROM records WHERE substr(read_id, 1, ?) = ? LIMIT 2", (len(prefix), prefix)
            ).fetchall()
        if not rows:
            raise unknown_read(prefix)
        if len(rows) > 1:
            raise DataError(f"several reads begin with {prefix[:80]!r}", hint="give more characters of the id")
        return str(rows[0][0])

    def load(self, read_id: str) -> Kept:
        """A recorded read. Raises DataError for an unknown id, StoreError for a damaged record."""
        with self.transaction() as connection:
            cursor = connection.execute("SELECT * FROM records WHERE read_id = ?", (read_id,))
            values = cursor.fetchone()
            if values is None:
                raise unknown_read(read_id)
            row = dict(zip((column[0] for column in cursor.description), values, strict=True))
            spec = connection.execute("SELECT body FROM specs WHERE sha256 = ?", (row["spec"],)).fetchone()
            select = "SELECT count(*), min(at), min(latency_ms) FILTER (WHERE NOT cached) FROM reads WHERE read_id = ?"
            seen, first, latency = connection.execute(select, (read_id,)).fetchone()
            candidates = self._candidates(connection, row["candidates"])
        try:
            recorded = _recorded(row)
            if len(recorded.numbers[Column.SCORE]) != len(candidates):
                raise ValueError("columns and candidates differ")
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(self.path, f"read {read_id[:SHORTEST_PREFIX]} cannot be read") from error
        return Kept(
            read_id=read_id,
            recorded=recorded,
            candidates=candidates,
            query_known=row["asked"] is not None and not row["redacted"],
            query_hash=row["query"],
            spec_sha256=row["spec"],
            spec=None if spec is None else str(spec[0]),
            store_version=row["store_version"],
            memrank=row["memrank"],
            analyzer=row["analyzer"],
            judge=row["judge"],
            model=row["model"],
            prompts=row["prompts"],
            validation=row["validation"],
            reasons=tuple(json.loads(row["reasons"])),
            seen=seen,
            first_at=first,
            latency_ms=latency,
        )

    def hash_of(self, text: str) -> bytes:
        """The hash under which this log knows a text."""
        with self.transaction() as connection:
            return salted(readlog_file.read_salt(connection), digest(text))

    def _candidates(self, connection: sqlite3.Connection, packed: bytes) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for key in np.frombuffer(packed, dtype="<i8").tolist():
            select = "SELECT id, namespace, hash, record, forgotten, redacted FROM texts WHERE key = ?"
            row = connection.execute(select, (key,)).fetchone()
            if row is None:
                raise damaged(self.path, "a judged memory is missing")
            try:
                memory = None if row[3] is None else read_record(json.loads(row[3]), position=len(found))[0]
            except (ValueError, DataError) as error:
                raise damaged(self.path, "a judged memory cannot be read") from error
            found.append(
                Candidate(
                    id=row[0],
                    namespace=row[1],
                    hash=row[2],
                    memory=memory,
                    forgotten=bool(row[4]),
                    redacted=bool(row[5]),
                )
            )
        return tuple(found)


def unknown_read(read_id: str) -> DataError:
    """The error for an id that the log does not hold."""
    return DataError(f"the log holds no read {read_id[:80]!r}", hint="`memrank reads log` lists them")


@dataclass(frozen=True, slots=True)
class _Key:
    """A row of `texts`."""

    number: int
    forgotten: bool


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
        row = (f"read:{call.read_id}", call.read_id, "triggered", None, entry.row["reasons"], at)
        connection.execute(insert, row)
    for name in entry.checks:
        identity = f"check:{canonical_json([entry.namespace, name])}"
        connection.execute(insert, (identity, call.read_id, "check", name, '["old_but_high"]', at))


def _prune(connection: sqlite3.Connection, keep: float) -> None:
    """Delete calls older than `keep` seconds before the newest, and what only they needed."""
    (newest,) = connection.execute("SELECT max(at) FROM reads").fetchone()
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
    gone = connection.execute("DELETE FROM reads WHERE at < ?", (newest - keep,)).rowcount if newest else 0
    if not gone:
        return
    left = "read_id NOT IN (SELECT read_id FROM reads)"
    for table in ("records", "used", "review"):
        connection.execute(f"DELETE FROM {table} WHERE {left}")  # noqa: S608 - names of ours
    needed: set[int] = set()
    for (packed,) in connection.execute("SELECT candidates FROM records"):
        needed.update(np.frombuffer(packed, dtype="<i8").tolist())
    rows = connection.execute("SELECT key FROM texts WHERE NOT forgotten").fetchall()
    connection.executemany("DELETE FROM texts WHERE key = ?", [row for row in rows if row[0] not in needed])
    connection.execute("DELETE FROM specs WHERE sha256 NOT IN (SELECT spec FROM records)")
    readlog_file.next_generation(connection)


def _recorded(row: dict[str, Any]) -> Recorded:
    asked = {} if row["asked"] is None else json.loads(row["asked"])
    time = json.loads(row["time"])
    period = time["period"]
    return Recorded(
        query=Query(
            text=asked.get("text", ""),
            as_of=parse_as_of(row["as_of"]),
            id=asked.get("id", "query"),
            namespace=asked.get("namespace"),
            filters={name: tuple(values) for name, values in asked.get("filters", {}).items()},
            domain=asked.get("domain"),
            phase=asked.get("phase"),
            observations=tuple(asked.get("observations", ())),
            constraints=tuple(asked.get("constraints", ())),
        ),
        namespace=row["namespace"],
        limits=Limits(**json.loads(row["limits"])),
        pool_columns=tuple(map(Column, json.loads(row["pool"]))),
        numbers=unpack(row["numbers"]),
        holding=unpack_counts(row["holding"]),
        visible=row["visible"],
        idf=tuple(json.loads(row["idf"])),
        time=TimeOfQuery(
            sensitivity=Sensitivity(time["sensitivity"]),
            period=period and Period(start=_instant(period["start"]), end=_instant(period["end"]), text=period["text"]),
            asks_previous=time["asks_previous"],
            evidence=time["evidence"],
        ),
        pool_notes=tuple(Note(**note) for note in json.loads(row["pool_notes"])),
        notes=tuple(Note(**note) for note in json.loads(row["notes"])),
        summaries={int(k): text for k, text in json.loads(row["summaries"] or "{}").items()},
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
