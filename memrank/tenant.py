"""All memories of one namespace as arrays and indexes, built once a store version and shared by every read of it.

Arrays have shape (n,); times are seconds since 1970 in float64, NaN where there is none.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memrank.score.bm25 import Postings
from memrank.text.tokens import Language, tokenizer_of
from memrank.types import Bools, Floats, Memory, Moment

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
TermIds = NDArray[np.int32]

FILTERS = frozenset({"agent_id", "session_id", "task_type", "tags", "memory_type", "source_kind", "role", "speaker"})
"""Fields that a query may filter by, besides `metadata.KEY`."""

BYTES_PER_TOKEN = 4

MAX_DISTINCT = 256
"""Distinct terms of a memory that are compared word by word with a query."""


def count_tokens(text: str) -> int:
    """Tokens of a text, counted as four bytes of UTF-8 each and rounded up; 0 for empty text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def scored_text(memory: Memory) -> str:
    """What relevance reads of a memory: its speaker, its content and the other names of its subject."""
    parts = [memory.speaker or "", memory.content, *memory.aliases]
    return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """A memory with what is kept of its text: term ids (repeats kept), and a unit vector where there is an embedder."""

    memory: Memory
    terms: TermIds
    vector: Vectors | NDArray[np.float16] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of n memories. Coarse dates count from the end of their period where age matters."""

    created: Floats
    created_start: Floats
    event: Floats
    event_start: Floats
    accessed: Floats
    valid: Floats
    invalid: Floats
    expires: Floats

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> "Times":
        return cls(
            created=_ends(m.created_at for m in memories),
            created_start=_starts(m.created_at for m in memories),
            event=_ends(m.event_date for m in memories),
            event_start=_starts(m.event_date for m in memories),
            accessed=_ends(m.last_accessed_at for m in memories),
            valid=_starts(m.valid_at for m in memories),
            invalid=_ends(m.invalid_at for m in memories),
            expires=_ends(m.expires_at for m in memories),
        )


def _starts(moments: Iterable[Moment | None]) -> Floats:
    return np.array([np.nan if m is None else m.start.timestamp() for m in moments], dtype=np.float64)


def _ends(moments: Iterable[Moment | None]) -> Floats:
    return np.array([np.nan if m is None else m.end.timestamp() for m in moments], dtype=np.float64)


class WordTable:
    """Short vectors of a tenant's terms, read when they are first needed. Safe to share by threads."""

    def __init__(self, terms: tuple[str, ...]) -> None:
        self._terms = terms
        self._vectors: Vectors | None = None
        self._known = np.zeros(len(terms), dtype=np.bool_)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["WordTable"], tuple[tuple[str, ...]]]:
        # A pickle carries no lock, and the vectors are read again where they are needed.
        return WordTable, (self._terms,)

    def vectors(self, ids: TermIds, read: Callable[[Sequence[str]], Vectors]) -> Vectors:
        """Vectors of the terms with these distinct ids, shape (k, d); `read` gives those of terms that are new."""
        # Whole: two threads that each made the first table would lose what the other one had filled in.
        with self._lock:
            missing = ids[~self._known[ids]]
            if len(missing):
                new = read([self._terms[i] for i in missing.tolist()])
                if self._vectors is None:
                    self._vectors = np.zeros((len(self._terms), new.shape[1]), dtype=np.float32)
                self._vectors[missing] = new
                self._known[missing] = True
            if self._vectors is None:
                return np.zeros((len(ids), 0), dtype=np.float32)
            return self._vectors[ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One namespace of a store, ready to be searched."""

    namespace: str | None
    language: Language
    memories: tuple[Memory, ...]
    vocabulary: Mapping[str, int]
    """Term to id, of the terms of this tenant only."""
    postings: Postings
    vectors: Vectors | None
    """(n, d), unit rows; None without an embedder."""
    times: Times
    importance: Floats
    """0 to 1; NaN where it is not stated."""
    authority: Floats
    """0 to 1; 0.5 where it is not stated."""
    access_count: Floats
    use_count: Floats
    """As `access_count`, but 0 where it counts retrievals."""
    tokens: Floats
    pinned: Bools
    primary: Bools
    """Whether `source_kind` is primary."""
    turn: Bools
    """Whether the memory is a turn of a conversation: it has a role or a turn number."""
    numbered: Bools
    """Whether it has a turn number, so that its neighbours are certain."""
    distinct: TermIds
    """The distinct terms of every memory, one after the other, at most MAX_DISTINCT of each."""
    distinct_start: Rows
    """(n + 1,): memory i's distinct terms are `distinct[distinct_start[i]:distinct_start[i + 1]]`."""
    numeric: Bools
    """(v,): whether a term of the vocabulary begins with a digit."""
    year: Rows
    """(v,): the year that a term names, 0 for other terms."""
    aliases: Mapping[int, tuple[frozenset[str], ...]]
    """Row to the terms of each other name of its subject; only memories that have any."""
    aliased: Rows
    """Rows of those memories, rising."""
    words: "WordTable" = field(compare=False)
    linked: Bools
    """Whether it names a memory that supersedes it, known here or not."""
    successor: Rows
    """Row of the memory that explicitly supersedes it; -1 where there is none here."""
    previous: Rows
    """Row of the turn before it in the same sitting; -1 without one."""
    following: Rows
    types: tuple[str | None, ...]
    type_code: Rows
    """Index into `types`."""
    id_order: Rows
    """Place of each memory when sorted by id: the last tie-break."""
    _codes: dict[str, tuple[dict[str, int], list[NDArray[np.int64]]]] = field(default_factory=dict)

    @classmethod
    def build(
        cls, namespace: str | None, indexed: Sequence[Indexed], vocabulary: Mapping[str, int], language: Language
    ) -> "Tenant":
        """From the indexed memories of one namespace, in the order of their positions."""
        memories = tuple(item.memory for item in indexed)
        row = {memory.id: i for i, memory in enumerate(memories)}
        types = tuple(dict.fromkeys(m.memory_type for m in memories))
        code = {name: i for i, name in enumerate(types)}
        previous, following = _neighbours(memories)
        order = np.empty(len(memories), dtype=np.int64)
        order[sorted(range(len(memories)), key=lambda i: memories[i].id)] = np.arange(len(memories))
        distinct = [
            np.array(list(dict.fromkeys(item.terms.tolist()))[:MAX_DISTINCT], dtype=np.int32) for item in indexed
        ]
        aliases = _aliases(memories, language)
        vectors = None
        if indexed and all(item.vector is not None for item in indexed):
            vectors = np.stack([item.vector for item in indexed if item.vector is not None], dtype=np.float32)
        return cls(
            namespace=namespace,
            language=language,
            memories=memories,
            vocabulary=vocabulary,
            postings=Postings.build([item.terms for item in indexed], len(vocabulary)),
            vectors=vectors,
            times=Times.of(memories),
            importance=np.array([np.nan if m.importance is None else m.importance for m in memories], dtype=np.float64),
            authority=np.array([0.5 if m.authority is None else m.authority for m in memories], dtype=np.float64),
            access_count=np.array([m.access_count for m in memories], dtype=np.float64),
            use_count=np.array([0 if m.counts_retrievals else m.access_count for m in memories], dtype=np.float64),
            tokens=np.array([count_tokens(m.content) for m in memories], dtype=np.float64),
            pinned=np.array([m.pinned for m in memories], dtype=np.bool_),
            primary=np.array([m.source_kind == "primary" for m in memories], dtype=np.bool_),
            turn=np.array([m.role is not None or m.turn is not None for m in memories], dtype=np.bool_),
            numbered=np.array([m.turn is not None for m in memories], dtype=np.bool_),
            distinct=np.concatenate(distinct) if distinct else np.empty(0, dtype=np.int32),
            distinct_start=np.concatenate([[0], np.cumsum([len(ids) for ids in distinct])]).astype(np.int64),
            numeric=np.array([term[0].isdigit() for term in vocabulary], dtype=np.bool_),
            year=np.array([year_of(term) for term in vocabulary], dtype=np.int64),
            aliases=aliases,
            aliased=np.array(list(aliases), dtype=np.int64),
            words=WordTable(tuple(vocabulary)),
            linked=np.array([m.superseded_by not in (None, m.id) for m in memories], dtype=np.bool_),
            successor=np.array([_successor(m, row) for m in memories], dtype=np.int64),
            previous=previous,
            following=following,
            types=types,
            type_code=np.array([code[m.memory_type] for m in memories], dtype=np.int64),
            id_order=order,
        )

    def __deepcopy__(self, memo: object) -> "Tenant":
        return self

    def matching(self, name: str, values: Sequence[str]) -> Bools:
        """Which memories have one of the values in the field `name` (one of FILTERS, or `metadata.KEY`)."""
        table, rows = self._codes.get(name) or self._codes.setdefault(name, self._column(name))
        out = np.zeros(len(self.memories), dtype=np.bool_)
        for value in values:
            if value in table:
                out[rows[table[value]]] = True
        return out

    def _column(self, name: str) -> tuple[dict[str, int], list[NDArray[np.int64]]]:
        found: dict[str, list[int]] = {}
        for i, memory in enumerate(self.memories):
            value = memory.metadata.get(name[9:]) if name.startswith("metadata.") else getattr(memory, name)
            for item in value if isinstance(value, (tuple, list)) else (value,):
                if item is not None:
                    found.setdefault(filter_text(item), []).append(i)
        return {value: k for k, value in enumerate(found)}, [np.array(rows, dtype=np.int64) for rows in found.values()]


def _aliases(memories: Sequence[Memory], language: Language) -> dict[int, tuple[frozenset[str], ...]]:
    named = [(i, memory.aliases) for i, memory in enumerate(memories) if memory.aliases]
    if not named:
        return {}
    terms = tokenizer_of(language).terms
    found = {i: tuple(filter(None, (frozenset(terms(alias)) for alias in aliases))) for i, aliases in named}
    return {i: names for i, names in found.items() if names}


def year_of(term: str) -> int:
    """The year that a term names (1000 to 2199), 0 for any other term."""
    return int(term) if len(term) == 4 and term.isascii() and term.isdigit() and "1000" <= term < "2200" else 0


def filter_text(value: object) -> str:
    """A value as filters compare it: a text, or what a number or boolean is written as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _successor(memory: Memory, row: Mapping[str, int]) -> int:
    if memory.superseded_by is None or memory.superseded_by == memory.id:
        return -1
    return row.get(memory.superseded_by, -1)


def _neighbours(memories: Sequence[Memory]) -> tuple[Rows, Rows]:
    """Rows of the turn before and after each turn of the same sitting, by turn number, else by position; -1 for none.

    Only memories that name a session have neighbours: what merely stands next to another in a file need not belong
    to it.
    """
    previous = np.full(len(memories), -1, dtype=np.int64)
    following = np.full(len(memories), -1, dtype=np.int64)
    sittings: dict[str, list[int]] = {}
    for i, memory in enumerate(memories):
        if memory.session_id is not None:
            sittings.setdefault(memory.session_id, []).append(i)
    for rows in sittings.values():
        if all(memories[i].turn is not None for i in rows):
            rows.sort(key=lambda i: (memories[i].turn or 0, i))
        for before, after in pairwise(rows):
            following[before] = after
            previous[after] = before
    return previous, following
