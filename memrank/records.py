"""One record of a file or a caller as a Memory, and back: names and aliases, repairs with notes, nothing lost."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from operator import itemgetter
from typing import Any
from uuid import UUID

from memrank.errors import DataError
from memrank.fields import (
    ALIASES,
    NAMES,
    READERS,
    Reader,
    UnreadableError,
    is_absent,
    read_names,
    read_namespace,
    read_scale,
    read_share,
    read_tags,
    read_text,
)
from memrank.fileio import canonical_json
from memrank.plain import plain_json
from memrank.types import Level, Memory, Moment, Note

SCALE_KEY = "importance_scale"

_INNER = 1000
"""Added to the rank of a name inside `metadata`: every name at top level comes before it."""

RETRIEVALS = "retrieval_count"
"""The name under which a count says how often a memory was found, which boosts only where a spec asks for it."""
CURRENT, CURRENT_AS_OF = "current_importance", "current_importance_as_of"
DERIVED = frozenset((CURRENT, CURRENT_AS_OF))
"""Keys of metadata under which `memrank store decay` keeps what a memory is worth and since when. They follow from the
rest and the time: no part of what the memory states, and so of no content hash and no version of a store.
"""
_DEFAULTS = frozenset(("access_count", "pinned"))
"""Fields that are 0 or false where nothing is given."""

_Candidate = tuple[int, str, object]
"""Rank, name and value of one way in which a record gives a field."""

_EMPTY: tuple[object, ...] = ("", ())
"""Readings that give no value, such as that of a list of one empty text."""

_SCALARS = frozenset((str, int, bool))

_TEXTUAL = frozenset(
    field for field, reader in READERS.items() if reader in (read_text, read_namespace, read_tags, read_names)
) - {"id"}
"""Fields that any text can be read as, so that a value must be read as what it would be written as."""


def read_record(
    raw: Mapping[str, object], *, position: int, importance_scale: float = 1.0
) -> tuple[Memory, list[Note]]:
    """Read one record by the names and aliases of `fields`, at top level and one level inside `metadata`.

    Of several names of one field the first that can be read counts: top level before `metadata`, then the canonical
    name, then the listed aliases. The others stay in `metadata`, as do unknown keys and values that cannot be read
    (their field is then not given). Null and empty values are absent. Where a key of `metadata` has the same name as
    a top-level key that must be kept, it keeps its name and the other is kept as `record.NAME`.

    `importance_scale` is what importance is divided by (10 for a store that counts to 10); a key
    `importance_scale: 1-10` of the record itself goes before it.

    Raises DataError for what is no object, has no id, or has no content. Every other fault becomes a note that names
    the memory and the field, never a value.
    """
    if not isinstance(raw, Mapping):
        raise DataError(f"record {position}: not an object, but a {type(raw).__name__}")
    record = _Record(raw, position)
    scale = record.take_scale() or importance_scale
    identity = record.take("id", READERS["id"])
    if identity is None:
        raise DataError(f"record {position}: no id", hint=f"an id is a text or number named {_names('id')}")
    record.label = _label(identity)
    content = record.take("content", READERS["content"])
    values: dict[str, Any] = {"id": identity, "content": record.blank_content() if content is None else content}
    counted = min(record.found.get("access_count", ()), key=itemgetter(0), default=None)
    for field in list(record.found):
        reader = partial(read_share, scale=scale) if field == "importance" else READERS[field]
        value = record.take(field, reader)
        if value is not None:
            values[field] = value
    if "access_count" in values and counted is not None and counted[1] == RETRIEVALS:
        values["counts_retrievals"] = True
    return Memory(**values, metadata=record.metadata(), position=position), record.notes


def write_record(memory: Memory) -> dict[str, object]:
    """The record of a memory: canonical names, only what is set, dates as their text, all else under `metadata`.

    `read_record` reads it as the same memory, unless a key of `metadata` is a name of a field that is not set
    (such a key is then read as that field). Importance is written on the scale from 0 to 1.
    """
    record: dict[str, object] = {}
    for field, names in ALIASES.items():
        value = getattr(memory, field)
        if value is None or value == ():
            continue
        # A default is written only where a key of metadata would be read in its place.
        if not value and field in _DEFAULTS and memory.metadata.keys().isdisjoint((field, *names)):
            continue
        if isinstance(value, Moment):
            value = value.text
        name = RETRIEVALS if field == "access_count" and memory.counts_retrievals else field
        record[name] = list(value) if isinstance(value, tuple) else value
    if memory.metadata:
        record["metadata"] = plain_json(memory.metadata)[0]
    return record


def as_stated(memory: Memory) -> Memory:
    """The memory without what memrank has derived from it and a store keeps beside it."""
    if memory.metadata.keys().isdisjoint(DERIVED):
        return memory
    return replace(memory, metadata={key: value for key, value in memory.metadata.items() if key not in DERIVED})


def record_text(memory: Memory) -> str:
    """All that a memory states, as the canonical JSON of its record: what its content hash is made of."""
    return canonical_json(write_record(as_stated(memory)))


class _Record:
    """A raw record while it is read: the candidates of each field, what has to be kept, the notes."""

    __slots__ = ("_inner", "_outer", "blank", "found", "label", "notes")

    def __init__(self, raw: Mapping[str, object], position: int) -> None:
        self.notes: list[Note] = []
        self.label = f"record {position}"
        self.found: dict[str, list[_Candidate]] = {}
        self.blank = False
        self._outer: dict[str, object] = {}
        self._inner: dict[str, object] = {}
        self._sort(raw, 0, self._outer)
        if "metadata" in raw:
            self._open(raw["metadata"])

    def _open(self, nested: object) -> None:
        if isinstance(nested, Mapping):
            del self._outer["metadata"]
            self._sort(nested, _INNER, self._inner)
        elif is_absent(nested):
            del self._outer["metadata"]
        else:
            self.note("repair", "metadata_not_object", "metadata is no object; it is kept inside metadata")

    def _sort(self, mapping: Mapping[str, object], base: int, rest: dict[str, object]) -> None:
        for key, value in mapping.items():
            slot = NAMES.get(key)
            if slot is None:
                rest[key] = value
            elif not is_absent(value):
                self.found.setdefault(slot[0], []).append((base + slot[1], key, value))
            elif slot[0] == "content" and isinstance(value, str):
                self.blank = True

    def take(self, field: str, reader: Reader) -> Any:
        """The value of the first candidate that can be read, None without one. The other candidates are kept."""
        candidates = self.found.pop(field, ())
        if len(candidates) > 1:
            candidates = sorted(candidates, key=itemgetter(0))
        taken: object = None
        for rank, key, value in candidates:
            if taken is not None:
                self._keep(rank, key, value)
                continue
            try:
                reading = reader(value if type(value) in _SCALARS else self._native(field, key, value))
            except UnreadableError as error:
                self.note("repair", "value_unreadable", f"{key} cannot be read as {field}; allowed: {error}")
                self._keep(rank, key, value)
                continue
            if reading.code:
                self.note(reading.level, reading.code, f"{key}: {reading.detail}")
            if reading.keep:
                self._keep(rank, key, value)
            if reading.value in _EMPTY:
                self.blank = self.blank or field == "content"
            else:
                taken = reading.value
        return taken

    def take_scale(self) -> float | None:
        """The importance scale that the record declares, None if it declares none.

        No declaration that can be read is kept: importance is written on the scale from 0 to 1.
        """
        scales = []
        for mapping in (self._outer, self._inner):
            if mapping.get(SCALE_KEY) is None:
                continue
            scale = read_scale(mapping[SCALE_KEY])
            if scale is None:
                allowed = "`1-10`, `0-1` or a number from 1 on"
                self.note("repair", "value_unreadable", f"{SCALE_KEY} cannot be read; allowed: {allowed}")
            else:
                del mapping[SCALE_KEY]
                scales.append(scale)
        return scales[0] if scales else None

    def blank_content(self) -> str:
        if not self.blank:
            raise DataError(f"{self.label}: no content", hint=f"content is a text named {_names('content')}")
        self.note("info", "content_empty", "the content is empty")
        return ""

    def metadata(self) -> dict[str, object]:
        """All that is kept, as plain JSON: the keys of `metadata`, and those of the top level under a free name."""
        kept = self._inner
        for key, value in self._outer.items():
            name = key
            while name in kept:
                name = f"record.{name}"
            if name is not key:
                self.note("info", "key_renamed", f"a key of the top level is in metadata too; kept as {name!r:.80}")
            kept[name] = value
        if not kept:
            return kept
        plain, altered = plain_json(kept)
        if altered:
            self.note("repair", "metadata_altered", "values that JSON or UTF-8 cannot hold were kept as text")
        return plain  # type: ignore[return-value]  # a dict stays a dict

    def note(self, level: Level, code: str, text: str) -> None:
        self.notes.append(Note(level=level, stage="read", code=code, detail=f"{self.label}: {text}"))

    def _native(self, field: str, key: str, value: object) -> object:
        """The value in types of Python: numbers and arrays of numeric libraries, and what database drivers return."""
        if field in _TEXTUAL:
            plain, altered = plain_json(value)
            if altered:
                self.note("repair", "value_altered", f"{key}: what JSON or UTF-8 cannot hold was read as text")
            return plain
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Decimal):
            return float(value)
        return str(value) if isinstance(value, UUID) else value

    def _keep(self, rank: int, key: str, value: object) -> None:
        (self._outer if rank < _INNER else self._inner)[key] = value


def _names(field: str) -> str:
    return ", ".join((field, *ALIASES[field]))


def _label(identity: str) -> str:
    shown = repr(identity)
    return f"memory {shown}" if len(shown) <= 80 else f"memory {shown[:77]}..."
