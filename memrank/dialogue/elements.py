"""What a conversation is made of: turns, tool calls with their results, retrieved documents, in order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memrank.errors import DataError, UsageError
from memrank.fields import ALIASES, is_absent
from memrank.records import read_record
from memrank.types import Memory, Note, Notes

Kind = Literal["user", "assistant", "system", "tool_call", "tool_output", "document"]
KINDS: tuple[Kind, ...] = ("user", "assistant", "system", "tool_call", "tool_output", "document")

BELONGING: tuple[Kind, ...] = ("tool_call", "tool_output", "document")
"""What belongs to the turn in which it came up."""
CALL_KEYS = ("call_id", "tool_call_id")
_ROLES: Mapping[str, Kind] = {
    "user": "user",
    "human": "user",
    "customer": "user",
    "patient": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool_output",
    "function": "tool_output",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One element of a conversation."""

    id: str
    content: str
    kind: Kind
    turn: int
    """Counted from 0 without gaps; what belongs to a turn (calls, results, documents) has its number."""
    at: datetime | None
    call_id: str | None
    """Shared by a tool call and its result."""
    pinned: bool
    memory: Memory
    """The record that it was read from."""


def read_elements(records: Iterable[Mapping[str, object]]) -> tuple[tuple[Element, ...], tuple[Note, ...]]:
    """Elements in the order given, and what had to be repaired.

    A record has the fields of a memory: `id`, `content`, `role`, `turn`, `created_at`, `memory_type` (`tool_call`,
    `tool_output`, `document`), `pinned`, and `call_id`. Without an id it is named by its place (`#1`, `#2`; `##2` where
    another is called `#2`). Without a turn number, a user message opens a turn, and so does what answers it; a call, a
    result or a document belongs to the numbered turn before it. A repeated id counts once, at its last place, with a
    note; turn numbers or times that go backwards stay as given, with a note: the order given counts.
    Raises DataError, with its place, for a record without content, UsageError for what is no list of records.
    """
    given = listed(records)
    notes = Notes()
    named = {place: _memory(record, place, notes) for place, record in enumerate(given) if has_id(record)}
    taken = {memory.id for memory in named.values()}
    kept: dict[str, tuple[Memory, Kind]] = {}
    for place, record in enumerate(given):
        memory = named.get(place) or _memory({**record, "id": _free_name(place, taken)}, place, notes)
        if kept.pop(memory.id, None) is not None:
            notes.add("repair", "conversation", "repeated_id", "an id stands more than once; the last one counts")
        kept[memory.id] = memory, _kind(memory)
    return tuple(_numbered(list(kept.values()), notes)), notes.as_tuple()


def listed(records: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """The records of a caller. Raises UsageError for what is no list of records, DataError for what is no record."""
    if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
        raise UsageError(f"elements is a {type(records).__name__}; it must be a list of records")
    given = list(records)
    for place, record in enumerate(given):
        if not isinstance(record, Mapping):
            raise DataError(f"elements[{place}]: not an object, but a {type(record).__name__}")
    return given


def has_id(record: Mapping[str, object]) -> bool:
    """Whether a record names itself."""
    return any(not is_absent(record.get(name)) for name in ("id", *ALIASES["id"]))


def _free_name(place: int, taken: set[str]) -> str:
    """The name of an element's place, or, where another element is called so, with more signs before it."""
    name = f"#{place + 1}"
    while name in taken:
        name = f"#{name}"
    return name


def _memory(record: Mapping[str, object], place: int, notes: Notes) -> Memory:
    try:
        memory, found = read_record(record, position=place)
    except DataError as fault:
        raise DataError(f"elements[{place}]: {fault.message}", hint=fault.hint) from None
    notes.extend(found)
    return memory


def _kind(memory: Memory) -> Kind:
    named = (memory.memory_type or "").lower().replace("-", "_")
    if named in BELONGING:
        return named
    if named in ("tool_result", "function_result"):
        return "tool_output"
    role = (memory.role or "").lower()
    said = bool(role) or memory.speaker is not None or memory.turn is not None
    return _ROLES.get(role, "user" if said else "document")


def _numbered(read: Sequence[tuple[Memory, Kind]], notes: Notes) -> list[Element]:
    out: list[Element] = []
    turn, before, latest = 0, None, None
    for memory, kind in read:
        # Numbers of another session may start again. Without numbers, every user message opens a turn.
        mark = (memory.session_id, memory.turn) if memory.turn is not None else "user" if kind == "user" else "other"
        if mark == "other" and isinstance(before, tuple) and kind in BELONGING:
            mark = before
        if before is not None and (mark != before or mark == "user"):
            turn += 1
            if isinstance(mark, tuple) and isinstance(before, tuple) and mark[0] == before[0] and mark < before:
                notes.add("info", "conversation", "turns_backwards", "turn numbers fall; the order given counts")
        before = mark
        moment = memory.created_at or memory.event_date
        at = moment.start if moment else None
        if at is not None:
            if latest is not None and at < latest:
                notes.add("info", "conversation", "clock_backwards", "times fall; the order given counts")
            latest = at
        call = next(
            (str(memory.metadata[key]) for key in CALL_KEYS if memory.metadata.get(key) not in (None, "")), None
        )
        out.append(
            Element(
                id=memory.id,
                content=memory.content,
                kind=kind,
                turn=turn,
                at=at,
                call_id=call,
                pinned=memory.pinned,
                memory=memory,
            )
        )
    return out
