"""What a reader makes of a foreign set: rows of `memories.jsonl` and `queries.jsonl`, and how they came about."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memrank.errors import DataError
from memrank.evals.readers.text import iso
from memrank.records import read_record, write_record
from memrank.types import Moment, Note, Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A foreign set as rows of an evalset."""

    form: str
    memories: list[dict[str, object]]
    queries: list[dict[str, Any]]
    notes: tuple[Note, ...]
    labels: tuple[str, ...]
    """What the labels mean, and what of them memrank has derived: a sentence or two each."""
    licence: str | None = None
    """As its publishers state it; None where that differs from set to set."""


class Pool:
    """The memories of a set in their order. Of those with one id the last counts, with a note."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._rows: dict[str, dict[str, object]] = {}
        self._times: dict[str, Moment | None] = {}

    def add(self, record: Mapping[str, object], where: str) -> None:
        """Read a record by memrank's rules. Raises DataError, naming `where`, for one that cannot be used."""
        try:
            memory, found = read_record(record, position=len(self._rows))
        except DataError as fault:
            raise DataError(f"{where}: {fault.message}", hint=fault.hint) from None
        for note in found:
            self._notes.add(note.level, note.stage, note.code, f"{where}: {note.detail}")
        if self._rows.pop(memory.id, None) is not None:
            what = f"{where}: an id is repeated; the last record with it counts"
            self._notes.add("repair", "read", "repeated_id", what)
        self._rows[memory.id] = write_record(memory)
        self._times[memory.id] = memory.created_at or memory.event_date

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def newest(self) -> datetime | None:
        """When the last of them was recorded, or happened where that is not stated; None where none has a date."""
        return max((time.end for time in self._times.values() if time is not None), default=None)

    def rows(self) -> list[dict[str, object]]:
        """Each with canonical names and dates."""
        return list(self._rows.values())


DATED = (
    "`query_time`: where documents state a date, that of the newest; it is made up. Else none is stated, and age does "
    "not count."
)
Grades = dict[str, dict[str, float]]
"""Query id to document id to grade."""


def relevant_of(grades: Mapping[str, float]) -> list[str] | dict[str, float]:
    """The field `relevant` of a query: ids where all grades are 1, else id to grade; 0 and less is not relevant."""
    found = {name: grade for name, grade in grades.items() if grade > 0}
    if all(grade == 1 for grade in found.values()):
        return list(found)
    return {name: int(grade) if grade == int(grade) else grade for name, grade in found.items()}


def judged(
    questions: Mapping[str, Mapping[str, Any]],
    grades: Grades,
    pool: Pool,
    place: str,
    notes: Notes,
) -> list[dict[str, Any]]:
    """Rows of the queries that have something relevant, in the order of `questions`.

    An empty `relevant` says that nothing answers; judgements never say so: who judges nothing relevant has seen a
    sample. Queries without judgements or without anything relevant are therefore left out, with a note. Where the
    memories are dated, each is asked when the newest was there, for no query states a time. Raises DataError where no
    query is left.
    """
    unasked = [name for name in grades if name not in questions]
    if unasked:
        what = f"{place}: {unasked[0]!r:.80} is judged, but no such query is there; its judgements were left out"
        notes.add("repair", "read", "unknown_query", what, len(unasked))
    newest = pool.newest()
    time = {} if newest is None else {"query_time": iso(newest)}
    rows = []
    for name, question in questions.items():
        if name not in grades:
            notes.add("info", "read", "query_unjudged", f"{place}: a query has no judgements; it was left out")
            continue
        known = {document: grade for document, grade in grades[name].items() if document in pool}
        strange = next((document for document in grades[name] if document not in known), None)
        if strange is not None:
            what = f"{place}: {strange!r:.80} is judged, but no such document is there; the judgement was left out"
            notes.add("repair", "read", "unknown_document", what, len(grades[name]) - len(known))
        relevant = relevant_of(known)
        if relevant:
            rows.append({"id": name, "query": question["query"], "relevant": relevant, **time, **question})
        else:
            what = f"{place}: a query has no relevant document; it was left out"
            notes.add("info", "read", "nothing_relevant", what)
    if not rows:
        raise DataError(f"{place}: no query has a relevant document", hint="are the ids those of the other files?")
    return rows
