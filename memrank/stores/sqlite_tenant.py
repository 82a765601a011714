"""What is held in memory of one namespace of an SQLite store, brought up to date by the rows that have changed."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memrank.errors import DataError
from memrank.indexing import Analysed, Vocabulary
from memrank.records import read_record
from memrank.stores.sqlite_file import change_number, damaged, descends_from
from memrank.tenant import Indexed, Tenant, TermIds
from memrank.text.tokens import Language
from memrank.types import Memory, Note, Notes

_TERM, _PART = np.dtype("<i4"), np.dtype("<f2")

_CHANGED = "SELECT seq, id, record, terms, vector FROM memories WHERE namespace IS ? AND changed > ?"


def parse_record(record: str, seq: int, path: Path) -> tuple[Memory, list[Note]]:
    """The memory of a row, and what was repaired. Its position is its place in the store, from 0 on."""
    try:
        return read_record(json.loads(record), position=seq - 1)
    except (ValueError, TypeError, RecursionError, DataError) as error:
        raise damaged(path, f"row {seq} holds no memory") from error


def pack_terms(ids: Sequence[int]) -> bytes:
    """Term ids as 32-bit little-endian numbers."""
    return np.array(ids, dtype=_TERM).tobytes()


def unpack_terms(packed: bytes) -> NDArray[np.int32]:
    """What `pack_terms` was given. Raises ValueError for what is cut off."""
    return np.frombuffer(packed, dtype=_TERM)


def pack_vector(found: Analysed) -> bytes | None:
    """A unit vector as 16-bit floats: embedders give values that survive this unchanged."""
    return None if found.vector is None else found.vector.astype(_PART).tobytes()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as it was read; `terms` are the ids of the store."""

    seq: int
    memory: Memory
    notes: list[Note]
    terms: NDArray[np.int32]
    vector: NDArray[np.float16] | None


class Namespace:
    """The memories of one namespace and the tenant made of them. Not safe to share; a tenant it gave never changes."""

    def __init__(self, name: str | None, language: Language, path: Path) -> None:
        self._name = name
        self._language: Language = language
        self._path = path
        self._clear()
        self.version = ""
        self.tenant = Tenant.build(name, [], self._vocabulary, language)
        self.notes: tuple[Note, ...] = ()

    def refresh(self, connection: sqlite3.Connection, version: str) -> None:
        """Read what has changed up to `version`, the one that the connection's transaction sees.

        After an error this object must not be used again.
        """
        since = change_number(self.version) if self.version else 0
        if since and not descends_from(connection, self.version):  # a copy was put in its place: nothing held is sure
            self._clear()
            since = 0
        changed = self._read(connection, since)
        (count,) = connection.execute("SELECT count(*) FROM memories WHERE namespace IS ?", (self._name,)).fetchone()
        if count != len(self._indexed):  # some were removed: rows that are gone cannot say so
            self._clear()
            self._read(connection, 0)
            changed = True
        if changed or since == 0:
            self._build()
        self.version = version

    def _build(self) -> None:
        if len({None if item.vector is None else len(item.vector) for item in self._indexed.values()}) > 1:
            raise damaged(self._path, "vectors of different lengths")
        order = sorted(self._indexed.values(), key=lambda item: item.memory.position)
        self.tenant = Tenant.build(self._name, order, self._vocabulary, self._language)
        notes = Notes()
        for found in self._notes.values():
            notes.extend(found)
        self.notes = notes.as_tuple()

    def _clear(self) -> None:
        self._indexed: dict[str, Indexed] = {}
        self._notes: dict[str, list[Note]] = {}
        self._vocabulary = Vocabulary()
        self._own: dict[int, int] = {}
        """Term id of the store to that of the tenant: only terms that the tenant uses take up room in its index."""

    def _read(self, connection: sqlite3.Connection, since: int) -> bool:
        """Take in the rows that were written after change `since`; whether there are any."""
        cursor = connection.execute(_CHANGED, (self._name, since))
        rows = sorted((self._parse(*row) for row in cursor), key=lambda row: row.seq)
        for row, terms in zip(rows, self._own_terms(connection, [row.terms for row in rows]), strict=True):
            identity = row.memory.id
            self._indexed[identity] = Indexed(memory=row.memory, terms=terms, vector=row.vector)
            if row.notes:
                self._notes[identity] = row.notes
            else:
                self._notes.pop(identity, None)
        return bool(rows)

    def _parse(self, seq: int, identity: str, record: str, terms: bytes, vector: bytes | None) -> _Row:
        memory, notes = parse_record(record, seq, self._path)
        if memory.id != identity or memory.namespace != self._name:
            raise damaged(self._path, f"row {seq} holds another memory than it says")
        try:
            parts = None if vector is None else np.frombuffer(vector, dtype=_PART)
            row = _Row(seq, memory, notes, np.frombuffer(terms, dtype=_TERM), parts)
        except (ValueError, TypeError) as error:
            raise damaged(self._path, f"the index of row {seq} is cut off") from error
        if parts is not None and not np.isfinite(parts).all():
            raise damaged(self._path, f"the vector of row {seq} is not finite")
        return row

    def _own_terms(self, connection: sqlite3.Connection, documents: list[NDArray[np.int32]]) -> list[TermIds]:
        """The tenant's ids of the terms of each document; terms new to it get the next ones, in order of first use."""
        if not documents:
            return []
        flat = np.concatenate(documents)
        used, first, place = np.unique(flat, return_index=True, return_inverse=True)
        new = [number for number in used[np.argsort(first)].tolist() if number not in self._own]
        if new:
            vocabulary = Vocabulary(self._vocabulary)  # a copy: tenants that were given out keep theirs
            for number in new:
                found = connection.execute("SELECT term FROM vocabulary WHERE id = ?", (number,)).fetchone()
                if found is None or found[0] in vocabulary:
                    raise damaged(self._path, f"the vocabulary has no term {number}")
                self._own[number] = vocabulary[found[0]] = len(vocabulary)
            self._vocabulary = vocabulary
        own = np.array([self._own[number] for number in used.tolist()], dtype=np.int32)[place.reshape(-1)]
        stops = np.cumsum([len(document) for document in documents])
        return [own[stop - len(document) : stop] for stop, document in zip(stops.tolist(), documents, strict=True)]
