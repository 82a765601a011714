"""`sqlite.v1`: memories kept in one SQLite file with their text index and vectors; the default for keeping memories."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memrank.errors import DataError, StoreError, UsageError
from memrank.fields import LARGEST_COUNT, NAMES
from memrank.fileio import canonical_json
from memrank.indexing import Analyzer
from memrank.plain import plain_text
from memrank.records import read_record, record_text, write_record
from memrank.stores import sqlite_file, sqlite_uses
from memrank.stores.base import Snapshot, Uses, choose_namespace, visible
from memrank.stores.sqlite_tenant import Namespace, pack_terms, pack_vector, parse_record
from memrank.tenant import scored_text
from memrank.text.dates import parse_moment
from memrank.types import Memory, Moment

BATCH = 2_000
"""Memories that are read and written at a time within a transaction: bounds what is held in memory."""

HELD = 64
"""Namespaces that are held in memory, those last asked."""

_BY_ID = "FROM memories WHERE ifnull(namespace, x'') = ifnull(?, x'') AND id = ?"

_UPSERT = """
INSERT INTO memories (namespace, id, record, terms, vector, changed) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (ifnull(namespace, x''), id) DO UPDATE
SET record = excluded.record, terms = excluded.terms, vector = excluded.vector, changed = excluded.changed
"""

_REPLACE = "UPDATE memories SET record = ?, changed = ? WHERE seq = ?"
"""For changes that leave the text as it is."""

_ANNOTATE = "UPDATE memories SET record = ? WHERE seq = ?"
"""For changes of what was derived only: nobody who holds the memory has to read it again."""

# Steps from one namespace to the next through the index, instead of reading every entry of it.
_NAMESPACES = """
WITH RECURSIVE known (name) AS (
    SELECT min(namespace) FROM memories
    UNION ALL
    SELECT (SELECT min(namespace) FROM memories WHERE namespace > known.name) FROM known WHERE known.name IS NOT NULL
)
SELECT name FROM known WHERE name IS NOT NULL
UNION ALL SELECT NULL WHERE EXISTS (SELECT 1 FROM memories WHERE namespace IS NULL)
"""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A memory on its way into the store: as it will be read back, and its record."""

    memory: Memory
    record: str


class SqliteStore:
    """A store that is written and read, by several threads and processes at once.

    The record of a memory is kept as JSON and is the truth. Its term ids and its vector (as 16-bit floats) are kept
    beside it, so that text is read once: when it is new or has changed. A store belongs to the analyzer (language,
    embedder, model) of its first memory; reads and writes with another raise StoreError, because neither terms nor
    vectors of two analyzers can be compared, and a writer with other settings must not take a store from its readers.

    The file is opened when it is first needed, and only `create` makes one. After `close` the next call opens it again.
    """

    def __init__(self, path: Path, analyzer: Analyzer) -> None:
        self._path = path
        self._analyzer = analyzer
        # Two connections: a snapshot never waits for a write of the same process.
        self._reader = sqlite_file.door(path)
        self._writer = sqlite_file.door(path)
        # What the reader last saw; touched only within its transactions, which one thread has at a time.
        self._opened = 0
        self._version = ""
        self._known: tuple[str | None, ...] = ()
        self._namespaces: dict[str | None, Namespace] = {}

    @classmethod
    def create(cls, path: Path, analyzer: Analyzer) -> "SqliteStore":
        """The store at `path`, made if there is none. Raises StoreError where that is not possible."""
        sqlite_file.create(path)
        return cls(path, analyzer)

    def __deepcopy__(self, memo: object) -> "SqliteStore":
        return self

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._writer.close()

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        """See `Store`. The HELD namespaces last read stay in memory; of these only what has changed is read again."""
        with self._reader.transaction() as connection:
            version = sqlite_file.read_version(connection)
            if version != self._version or self._opened != self._reader.opened:
                self._look_again(connection, version)
            name = choose_namespace(namespace, self._known)
            held = self._namespaces.pop(name, None) or Namespace(name, self._analyzer.language, self._path)
            if held.version != version:
                self._check_analyzer(connection)
                held.refresh(connection, version)
            if name in self._known:
                self._namespaces[name] = held  # at the end: the first is the one that was asked longest ago
                if len(self._namespaces) > HELD:
                    del self._namespaces[next(iter(self._namespaces))]
            tenant, notes = held.tenant, held.notes
        return Snapshot(tenant=tenant, visible=visible(tenant, as_of, filters, tolerance), version=version, notes=notes)

    def store_version(self) -> str:
        """Grows with every change; equal for equal memories of this file and its copies, and for nothing else.

        What memrank derives (`records.DERIVED`) is no change: whoever holds the store open sees it with the next one.
        """
        with self._reader.transaction() as connection:
            return sqlite_file.read_version(connection)

    def count(self) -> int:
        """How many memories the store holds, of all namespaces."""
        with self._reader.transaction() as connection:
            return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])

    def export(self) -> Iterator[Memory]:
        """Every memory of every namespace in order of position, as of the moment of the first; read as it is asked for.

        Needs no analyzer: a store of other settings can be exported too.
        """
        door = sqlite_file.door(self._path)
        try:
            with door.transaction() as connection:
                for seq, record in connection.execute("SELECT seq, record FROM memories ORDER BY seq"):
                    yield parse_record(record, seq, self._path)[0]
        finally:
            door.close()

    def append(self, memories: Sequence[Memory]) -> int:
        """Add memories, or replace those with the same namespace and id; how many of the given are now in the store.

        One transaction, all or nothing, however many there are: an import that was interrupted has changed nothing.
        Text is read in batches of `BATCH`. New memories come after those that are there, whatever position they have;
        a replaced one keeps its place. A repeated id counts once, the last time. What is in the store as given, but for
        what memrank derived, is not written again, so that importing a file twice changes nothing.

        Raises DataError for a memory that cannot be kept as JSON, StoreError where the store cannot be written.
        """
        last: dict[tuple[str | None, str], Memory] = {}
        for memory in memories:
            last.pop((memory.namespace, memory.id), None)
            last[memory.namespace, memory.id] = memory
        given = list(last.values())
        analyzer = self._analyzer.id  # loads the model before others have to wait
        with self._writer.transaction(write=True) as connection:
            self._check_analyzer(connection)
            number = sqlite_file.change_number(sqlite_file.read_version(connection)) + 1
            written = 0
            for start in range(0, len(given), BATCH):
                drafts = [_draft(memory) for memory in given[start : start + BATCH]]
                written += self._write(connection, drafts, number)
            if written:
                connection.execute("INSERT OR IGNORE INTO meta VALUES ('analyzer', ?)", (analyzer,))
                sqlite_file.write_version(connection, number)
        return len(given)

    def record_use(
        self, namespace: str | None, ids: Sequence[str], at: datetime, *, session: str | None = None
    ) -> Uses:
        """Count one use of each memory at that time (without a zone: UTC); what became of each. One transaction.

        Being of use counts at most once a memory, session and UTC day; no session is one session of its own. So a call
        may be repeated, also by another process, and changes nothing more. The time of the last use only moves forward.
        The namespace is chosen as in a snapshot. What is remembered is bounded: see `sqlite_uses.KEPT`.
        """
        moment = parse_moment(at).moment
        session = None if session is None else plain_text(session)
        counted, limited, unknown = list[str](), list[str](), list[str]()
        with self._writer.transaction(write=True) as connection:
            name = choose_namespace(namespace, _known(connection))
            number = sqlite_file.change_number(sqlite_file.read_version(connection)) + 1
            for identity in dict.fromkeys(ids):
                row = connection.execute(f"SELECT seq, record {_BY_ID}", (name, plain_text(identity))).fetchone()
                if row is None:
                    unknown.append(identity)
                elif not sqlite_uses.mark(connection, row[0], session, moment.start):
                    limited.append(identity)
                else:
                    used = _used(parse_record(row[1], row[0], self._path)[0], moment)
                    connection.execute(_REPLACE, (_draft(used).record, number, row[0]))
                    counted.append(identity)
            if counted:
                sqlite_uses.forget(connection, moment.start)
                sqlite_file.write_version(connection, number)
        return Uses(counted=tuple(counted), limited=tuple(limited), unknown=tuple(unknown))

    def set_metadata(self, values: Iterable[tuple[str | None, str, Mapping[str, object]]]) -> int:
        """Set keys of the metadata of memories, each given as (namespace, id, key to value); how many that changed.

        One transaction. All else about a memory stays as it is; one that the store does not hold is passed over. The
        version of the store stays, too, where only what is derived changes (`records.DERIVED`): what was read of the
        store still holds.
        Raises UsageError for a key that is a name of a field, and keeps nothing then.
        """

        def adding(keys: Mapping[str, object]) -> Callable[[Memory], Memory]:
            named = keys.keys() & NAMES.keys()
            if named:
                raise UsageError(f"metadata cannot be given the keys {sorted(named)}: they are names of fields")
            return lambda memory: replace(memory, metadata={**memory.metadata, **keys})

        return self.edit((namespace, identity, adding(keys)) for namespace, identity, keys in values)

    def edit(self, edits: Iterable[tuple[str | None, str, Callable[[Memory], Memory]]]) -> int:
        """Put what `change` makes of a memory in its place, each given as (namespace, id, change); how many changed.

        One transaction, so that nothing written meanwhile is lost. The text that is scored must stay as it is; a memory
        that the store does not hold is passed over.
        """
        changed, stated = 0, False
        with self._writer.transaction(write=True) as connection:
            number = sqlite_file.change_number(sqlite_file.read_version(connection)) + 1
            for namespace, identity, change in edits:
                row = connection.execute(f"SELECT seq, record {_BY_ID}", (namespace, identity)).fetchone()
                if row is None:
                    continue
                memory, _ = parse_record(row[1], row[0], self._path)
                draft = _draft(change(memory))
                if draft.record == row[1]:
                    continue
                changed += 1
                if record_text(draft.memory) == record_text(memory):
                    connection.execute(_ANNOTATE, (draft.record, row[0]))
                else:
                    connection.execute(_REPLACE, (draft.record, number, row[0]))
                    stated = True
            if stated:
                sqlite_file.write_version(connection, number)
        return changed

    def _look_again(self, connection: sqlite3.Connection, version: str) -> None:
        if self._opened != self._reader.opened:  # it may be another file by now
            self._namespaces = {}
            self._opened = self._reader.opened
        self._known = _known(connection)
        for name in self._namespaces.keys() - set(self._known):
            del self._namespaces[name]
        self._version = version

    def _check_analyzer(self, connection: sqlite3.Connection) -> None:
        kept = connection.execute("SELECT value FROM meta WHERE key = 'analyzer'").fetchone()
        if kept is not None and kept[0] != self._analyzer.id:
            raise StoreError(
                f"{self._path}: the store was indexed as {kept[0]}, and this run asks for {self._analyzer.id}",
                hint="use its language and embedder under `index:`, or export the store and import it into a new one",
            )

    def _write(self, connection: sqlite3.Connection, drafts: Sequence[_Draft], number: int) -> int:
        """Write what is not in the store as it is, under the number of this change; how many that were."""
        rows: list[list[object]] = []
        unread: list[tuple[list[object], str]] = []
        for draft in drafts:
            memory, text = draft.memory, scored_text(draft.memory)
            select = f"SELECT record, terms, vector, seq {_BY_ID}"
            old = connection.execute(select, (memory.namespace, memory.id)).fetchone()
            if old is not None and old[0] == draft.record:
                continue
            there = None if old is None else parse_record(old[0], old[3], self._path)[0]
            if there is not None and record_text(there) == record_text(memory):
                continue
            row: list[object] = [memory.namespace, memory.id, draft.record, None, None, number]
            rows.append(row)
            if there is not None and scored_text(there) == text:
                row[3], row[4] = old[1], old[2]
            else:
                unread.append((row, text))
        ids: dict[str, int] = {}
        for (row, _), found in zip(unread, self._analyzer.analyse([text for _, text in unread]), strict=True):
            row[3], row[4] = pack_terms([_term_id(connection, ids, term) for term in found.terms]), pack_vector(found)
        connection.executemany(_UPSERT, rows)
        return len(rows)


def _known(connection: sqlite3.Connection) -> tuple[str | None, ...]:
    return tuple(name for (name,) in connection.execute(_NAMESPACES))


def _term_id(connection: sqlite3.Connection, ids: dict[str, int], term: str) -> int:
    """The store's id of a term, given out when it is first met and never changed; `ids` remembers it."""
    if term not in ids:
        found = connection.execute("SELECT id FROM vocabulary WHERE term = ?", (term,)).fetchone()
        if found is None:
            found = (connection.execute("INSERT INTO vocabulary (term) VALUES (?)", (term,)).lastrowid,)
        ids[term] = int(found[0])
    return ids[term]


def _used(memory: Memory, moment: Moment) -> Memory:
    last = memory.last_accessed_at
    return replace(
        memory,
        access_count=min(memory.access_count + 1, LARGEST_COUNT),
        last_accessed_at=moment if last is None or moment.start > last.end else last,
    )


def _draft(memory: Memory) -> _Draft:
    """The record of a memory, and the memory that will be read from it: its namespace and id are those that count."""
    try:
        record = canonical_json(write_record(memory))
        record.encode("utf-8")
        return _Draft(read_record(json.loads(record), position=memory.position)[0], record)
    except (ValueError, TypeError, RecursionError, DataError) as error:
        raise DataError(f"memory {memory.id!r:.80} cannot be kept: {error}") from error
