"""The read log: one SQLite file that holds what every read was made of. What writes reads into it: `readlog_write`."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memrank.errors import DataError, UsageError
from memrank.plain import plain_text
from memrank.recorded import Recorded, unpack, unpack_counts
from memrank.records import read_record
from memrank.slate import Column, Limits
from memrank.stores import readlog_exchanges, readlog_file
from memrank.stores.readlog_exchanges import KeptExchange
from memrank.stores.readlog_file import damaged, digest, salted
from memrank.text.dates import parse_as_of
from memrank.types import Memory, Note, Period, Query, Sensitivity, TimeOfQuery

SHORTEST_PREFIX = 8
"""Characters of a read's id by which it can be found."""


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
    exchanges: tuple[KeptExchange, ...] = ()
    """What a model was asked in a read of high stakes, and answered."""
    reasons: tuple[str, ...]
    seen: int
    """How often it was read."""
    first_at: float | None
    latency_ms: float | None


class ReadLog:
    """Looks into one log, and adds what is said about its reads. Safe to share by threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._door = readlog_file.door(path)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._door.close()

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction on the log. Raises StoreError."""
        with self._door.transaction(write=write) as connection:
            yield connection

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
                (
                    read_id,
                    row[0],
                    json.dumps(list(dict.fromkeys(ids))),
                    session and plain_text(session),
                    at.timestamp(),
                ),
            )
        namespace: str | None = row[0]
        return namespace

    def find(self, prefix: str) -> str:
        """The whole id of a read from its first characters.

        Raises UsageError for fewer than 8, DataError where no read or several begin so.
        """
        prefix = plain_text(prefix)
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
            exchanges = self._exchanges(connection, read_id)
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
            exchanges=exchanges,
            reasons=tuple(json.loads(row["reasons"])),
            seen=seen,
            first_at=first,
            latency_ms=latency,
        )

    def hash_of(self, text: str) -> bytes:
        """The hash under which this log knows a text."""
        with self.transaction() as connection:
            return salted(readlog_file.read_salt(connection), digest(text))

    def _exchanges(self, connection: sqlite3.Connection, read_id: str) -> tuple[KeptExchange, ...]:
        try:
            return readlog_exchanges.load(connection, read_id)
        except (ValueError, TypeError) as error:
            raise damaged(self.path, "what a model was asked cannot be read") from error

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
        justifications={int(k): text for k, text in json.loads(row["said"] or "{}").items()},
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
