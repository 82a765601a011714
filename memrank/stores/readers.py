"""Reads the memories of a file, whatever system wrote it, and writes memories as JSON Lines."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from memrank.errors import DataError
from memrank.records import read_record, write_record
from memrank.stores.formats import MISSING, iter_items
from memrank.stores.shapes import Shaper
from memrank.types import Memory, Note, Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The memories of a file in its order, what was repaired on the way, and the SHA-256 of its bytes."""

    memories: tuple[Memory, ...]
    notes: tuple[Note, ...]
    sha256: str
    file_notes: tuple[Note, ...] = ()
    """The notes about the file, and about records that nobody can use."""
    tenant_notes: Mapping[str | None, tuple[Note, ...]] = field(default_factory=dict)
    """Namespace to the notes about its memories: they name ids, which other tenants must not see."""


def read_memories(path: str | os.PathLike[str], *, importance_scale: float = 1.0, missing: str = MISSING) -> Loaded:
    """Read every memory of a JSON Lines, JSON or CSV file.

    Formats are told apart by suffix and content: plain records, envelopes (`results`, `memories`, `data`, `items`,
    `messages`), mem0 exports, LangGraph store items, MCP memory graphs, LongMemEval haystacks, chat logs. A record
    that cannot be used is left out with a note; of records with one id in one namespace the last counts.
    `importance_scale` as in `read_record`; `missing` is the hint where there is no such file. An empty file holds no
    memories.

    Raises DataError if the file cannot be read, is in no known format, or has records but none that can be used.
    """
    digest, notes, about = hashlib.sha256(), Notes(), dict[str | None, Notes]()
    shaper = Shaper(notes)
    memories: dict[tuple[str | None, str], Memory] = {}
    first_fault: DataError | None = None
    position = 0
    for item in iter_items(Path(path), digest.update, notes, missing=missing):
        if item.fault:
            fault = DataError(f"{item.where}: {item.fault}", hint="a line holds one JSON object")
            first_fault = first_fault or fault
            notes.add("repair", "read", "bad_line", f"{fault.message}; the line was left out")
            continue
        for record in shaper.records(item.value):
            try:
                memory, found = read_record(record, position=position, importance_scale=importance_scale)  # type: ignore[arg-type]
            except DataError as error:
                fault = DataError(f"{item.where}: {error.message}", hint=error.hint)
                first_fault = first_fault or fault
                notes.add("repair", "read", "bad_record", f"{fault.message}; the record was left out")
            else:
                own = about.setdefault(memory.namespace, Notes())
                for note in found:
                    own.add(note.level, note.stage, note.code, f"{item.where}: {note.detail}")
                key = (memory.namespace, memory.id)
                if memories.pop(key, None) is not None:
                    detail = f"{item.where}: an id is repeated; the last record with it counts"
                    own.add("repair", "read", "repeated_id", detail)
                memories[key] = memory
            position += 1
    if first_fault is not None and not memories:
        raise DataError(f"no record can be used; the first fault: {first_fault.message}", hint=first_fault.hint)
    tenant_notes = {name: own.as_tuple() for name, own in about.items()}
    every = Notes(chain(notes.as_tuple(), *tenant_notes.values()))
    return Loaded(
        memories=tuple(memories.values()),
        notes=every.as_tuple(),
        sha256=digest.hexdigest(),
        file_notes=notes.as_tuple(),
        tenant_notes=tenant_notes,
    )


def read_elements_of(path: str | os.PathLike[str]) -> tuple[list[Mapping[str, object]], tuple[Note, ...]]:
    """The records of a conversation's file in its order, as they are, and what had to be left out.

    The forms are those of `read_memories`; a message without an id stays without one, for its place in the file is not
    its place in the conversation. Raises DataError if the file cannot be read, or nothing in it can be used.
    """
    notes = Notes()
    shaper = Shaper(notes, naming=False)
    records: list[Mapping[str, object]] = []
    for item in iter_items(Path(path), len, notes):
        found = [] if item.fault else [record for record in shaper.records(item.value) if isinstance(record, Mapping)]
        if not found:
            notes.add("repair", "read", "bad_line", f"{item.where}: {item.fault or 'no element'}; it was left out")
        records += found
    grave = notes.as_tuple()
    if grave and not records:
        raise DataError(f"{os.fspath(path)}: no element can be used", hint=grave[0].detail)
    return records, notes.as_tuple()


def dump_jsonl(memories: Iterable[Memory]) -> Iterator[str]:
    """The memories as lines of JSON, each with its line end; `read_memories` reads them as they were."""
    for memory in memories:
        yield json.dumps(write_record(memory), ensure_ascii=False, allow_nan=False) + "\n"
