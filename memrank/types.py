"""The values that cross boundaries: memories, queries, moments and notes. Frozen, keyword only, little behaviour.

Times are aware UTC. Scores are float64 in [0, 1]. Nothing here knows dspy, YAML, files or the clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""A column: float64, shape (n,), one value a candidate."""

Bools: TypeAlias = NDArray[np.bool_]

Level: TypeAlias = Literal["info", "repair", "failure"]


class Sensitivity(StrEnum):
    """How much the age of a memory matters to a query."""

    REAL_TIME = "real-time"
    RECENT = "recent"
    HISTORICAL = "historical"
    TIME_AGNOSTIC = "time-agnostic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point in time as precisely as it was given: an instant (`start == end`), or a coarse period such as `2026-03`.

    `end` is exclusive: the first instant after the period. Ages count from `end`, so that "2026" never looks older
    than it may be; validity counts from `start`.
    """

    start: datetime
    end: datetime
    text: str
    """ISO 8601 as it is shown and exported: `2026-03-20T09:00:00Z`, `2026-03`, `2026`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A span of time that a query names: `start` inclusive, `end` exclusive; None is open on that side."""

    start: datetime | None
    end: datetime | None
    text: str
    """The words of the query that name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOfQuery:
    """A query's relation to time. `evidence` is a short sentence for people; its wording is no contract."""

    sensitivity: Sensitivity
    period: Period | None
    asks_previous: bool
    """Whether the query asks for an earlier value, which the newest one has replaced."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered record. Fields and their aliases: see `records`."""

    id: str
    content: str
    created_at: Moment | None = None
    event_date: Moment | None = None
    updated_at: Moment | None = None
    last_accessed_at: Moment | None = None
    access_count: int = 0
    counts_retrievals: bool = False
    """Whether `access_count` was imported as `retrieval_count`: how often it was found, not how often it was of use."""
    importance: float | None = None
    confidence: float | None = None
    authority: float | None = None
    memory_type: str | None = None
    valid_at: Moment | None = None
    invalid_at: Moment | None = None
    expires_at: Moment | None = None
    superseded_by: str | None = None
    pinned: bool = False
    namespace: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    task_type: str | None = None
    tags: tuple[str, ...] = ()
    source_kind: str | None = None
    role: str | None = None
    turn: int | None = None
    speaker: str | None = None
    aliases: tuple[str, ...] = ()
    embedding: tuple[float, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    position: int = 0
    """Place in the file or store it was read from; neighbours without a turn number are found by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One read: a text, the moment that "now" means for it, and what it may see."""

    text: str
    as_of: datetime
    id: str = "query"
    namespace: str | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Field (or `metadata.KEY`) to the values it may have; all must hold."""
    domain: str | None = None
    phase: str | None = None
    observations: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A repair, fallback or skip that happened on the way. Never silent, always in the result."""

    level: Level
    stage: str
    code: str
    detail: str
    count: int = 1


class Notes:
    """Collects notes; those of one (level, stage, code) are counted together under the first detail."""

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        self._notes: dict[tuple[str, str, str], Note] = {}
        self.extend(notes)

    def add(self, level: Level, stage: str, code: str, detail: str, count: int = 1) -> None:
        key = (level, stage, code)
        seen = self._notes.get(key)
        if seen is not None:
            detail, count = seen.detail, seen.count + count
        self._notes[key] = Note(level=level, stage=stage, code=code, detail=detail, count=count)

    def extend(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self.add(note.level, note.stage, note.code, note.detail, note.count)

    def as_tuple(self) -> tuple[Note, ...]:
        return tuple(self._notes.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call of a language model with its texts. No key stands in it."""

    model: str
    attempt: int
    """1 for the first try."""
    outcome: str
    """`answered`, or the code of the error."""
    messages: tuple[tuple[str, str], ...] = field(repr=False)
    """Role and text of each."""
    answer: str | None = field(repr=False)
    """The text as it came; None where none did."""
