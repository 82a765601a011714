"""Memories handed to a call instead of a store. Candidates come again and again, so what was read is remembered."""

import pickle
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Generic, TypeVar

from memrank.errors import DataError, UsageError
from memrank.fileio import sha256_hex
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.records import as_stated, read_record
from memrank.stores.base import Snapshot, choose_namespace, visible
from memrank.tenant import Tenant
from memrank.types import Memory, Note, Notes

_DATES = attrgetter(
    *("created_at", "event_date", "updated_at", "last_accessed_at", "valid_at", "invalid_at", "expires_at")
)
_OTHERS = attrgetter(
    *(
        "namespace",
        "id",
        "content",
        "access_count",
        "counts_retrievals",
        "importance",
        "confidence",
        "authority",
        "memory_type",
    ),
    *("superseded_by", "pinned", "agent_id", "session_id", "task_type", "tags", "source_kind", "role", "turn"),
    *("speaker", "aliases", "embedding", "metadata"),
)

LONGEST_LIST = 1_000
"""Records of a call of which anything is remembered: an agent's candidates are few, and what is kept stays bounded."""
LARGEST_RECORD = 10_000
"""Bytes of a record that is remembered."""
RECORDS, LISTS = 20_000, 8

_UNPICKLED = (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError)

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class _Newest(Generic[Key, Value]):
    """The entries last used, at most `capacity`; safe to share by threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        return self.get_all([key])[0]

    def get_all(self, keys: Sequence[Key | None]) -> list[Value | None]:
        """What is known by each key, None where nothing is, or where the key is None."""
        with self._lock:
            found = [None if key is None else self._kept.get(key) for key in keys]
            for key, value in zip(keys, found, strict=True):
                if key is not None and value is not None:
                    self._kept.move_to_end(key)
            return found

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Read:
    """A record as it was read; `said` is all that its memory says, but for its place."""

    memory: Memory
    notes: tuple[Note, ...]
    said: str


class Given:
    """Makes a store of the records of one call."""

    def __init__(self, analyzer: Analyzer, *, importance_scale: float = 1.0) -> None:
        self._analyzer = analyzer
        self._scale = importance_scale
        self._records: _Newest[bytes, _Read] = _Newest(RECORDS)
        self._lists: _Newest[tuple[int, ...], GivenStore] = _Newest(LISTS)

    def __deepcopy__(self, memo: object) -> "Given":
        return self

    def store(self, records: Sequence[Mapping[str, object]]) -> "GivenStore":
        """A store of these records.

        Raises DataError, with its place, for one without an id or content, UsageError for what is no list of records.
        """
        if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
            raise UsageError(f"memories is a {type(records).__name__}; it must be a list of records")
        given = list(records)
        short = len(given) <= LONGEST_LIST
        keys = [_key(record) if short else None for record in given]
        known = self._records.get_all(keys)
        # A memory is placed by its list, so the same one serves at any place; only a note may name the place.
        reads = [
            read if read is not None and (not read.notes or read.memory.position == i) else self._read(given[i], i, key)
            for i, (key, read) in enumerate(zip(keys, known, strict=True))
        ]
        # A remembered store holds on to its reads, so no other object can have their identities meanwhile.
        key = tuple(map(id, reads))
        store = self._lists.get(key) if short else None
        if store is None:
            store = GivenStore(reads, self._analyzer)
            if short:
                self._lists.put(key, store)
        return store

    def _read(self, record: Mapping[str, object], position: int, key: bytes | None) -> _Read:
        """Reads a record, and remembers it by its key if it has one."""
        try:
            memory, notes = read_record(record, position=position, importance_scale=self._scale)
        except DataError as fault:
            raise DataError(f"memories[{position}]: {fault.message}", hint=fault.hint) from None
        read = _Read(memory, tuple(notes), _said(memory))
        if key is not None:
            self._records.put(key, read)
        return read


class GivenStore:
    """The memories of one call; they never change."""

    def __init__(self, reads: Sequence[_Read], analyzer: Analyzer) -> None:
        self._reads = reads  # held, repeated ones too: `Given` knows this store by their identities
        self._analyzer = analyzer
        notes: dict[str | None, Notes] = {}
        kept: dict[tuple[str | None, str], _Read] = {}
        for read in reads:
            memory = read.memory
            own = notes.setdefault(memory.namespace, Notes())
            own.extend(read.notes)
            if kept.pop((memory.namespace, memory.id), None) is not None:
                own.add("repair", "read", "repeated_id", "an id stands more than once; the last one counts")
            kept[memory.namespace, memory.id] = read
        self._kept = tuple(kept.values())
        self._notes = {name: own.as_tuple() for name, own in notes.items()}
        self._tenants: dict[str | None, Tenant] = {}

    def store_version(self) -> str:
        """sha256 over all that the memories say. Their order counts only where turns are told apart by it."""
        return self._version

    @cached_property
    def _version(self) -> str:
        memories = [read.memory for read in self._kept]
        loose = {m.session_id for m in memories if m.turn is None and (m.session_id or m.role)}
        places = [i if m.session_id in loose else None for i, m in enumerate(memories)]
        said = [f"{read.said} {place}" for read, place in zip(self._kept, places, strict=True)]
        return sha256_hex("\n".join(sorted(said)))

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        """See `Store`."""
        name = choose_namespace(namespace, tuple(self._notes))
        tenant = self._tenants.get(name)
        if tenant is None:
            own = [read.memory for read in self._kept if read.memory.namespace == name]
            vocabulary = Vocabulary()
            indexed = index(own, self._analyzer, vocabulary, remember=True)
            tenant = self._tenants[name] = Tenant.build(name, indexed, vocabulary, self._analyzer.language)
        mask = visible(tenant, as_of, filters, tolerance)
        return Snapshot(tenant=tenant, visible=mask, version=self._version, notes=self._notes.get(name, ()))


def _key(record: Mapping[str, object]) -> bytes | None:
    """The bytes that a record is known by, None where it cannot be. Equal bytes mean equal values of equal types."""
    try:
        key = pickle.dumps(record, protocol=5)
    except _UNPICKLED:
        return None
    return key if len(key) <= LARGEST_RECORD else None


def _said(memory: Memory) -> str:
    memory = as_stated(memory)
    return repr((*(date and date.text for date in _DATES(memory)), *_OTHERS(memory)))
