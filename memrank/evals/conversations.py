"""Golden conversations: what was said, moments at which it is pruned, and what a person says of each."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from memrank.dialogue.elements import Element, read_elements
from memrank.errors import DataError
from memrank.evals.labels import SPLITS
from memrank.evals.manifest import tell_changes
from memrank.stores.formats import iter_items
from memrank.types import Note, Notes

HINT = "golden conversations are a JSON Lines file, or a folder with fit.jsonl, choose.jsonl or report.jsonl"
CLASSES = range(1, 6)
"""1 critical, 2 high, 3 medium, 4 low, 5 corrected or superseded."""
OWED = ("commitment", "open_question", "pending_action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One that comes up after a moment, with the ids of all the elements that it takes to answer it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A conversation at a moment at which it is pruned. Labels that were not given are empty."""

    conversation: str
    group: str
    """Its `split_group`, else the conversation: what is drawn together."""
    domain: str | None
    after: str
    """The last element so far."""
    elements: tuple[Element, ...] = field(repr=False)
    """Those so far."""
    message: str = field(repr=False)
    """The user's, which has just arrived."""
    phase: str | None
    classes: Mapping[str, int]
    """Id to one of CLASSES."""
    protected: Mapping[str, str]
    """Id to what it owes, one of OWED."""
    corrected: Mapping[str, str]
    """Id to the later one that corrects or replaces it."""
    later: tuple[Question, ...]

    @property
    def needed(self) -> set[str]:
        """Ids of what was said so far that some later question needs."""
        return {one for question in self.later for one in question.evidence} & {one.id for one in self.elements}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """A set of golden conversations, or a part of one."""

    name: str
    part: str
    """`all`, `fit`, `choose` or `report`."""
    count: int
    moments: tuple[Moment, ...] = field(repr=False)
    notes: tuple[Note, ...] = field(repr=False)
    sha256: str
    """Of the files read, in the order of the parts."""


def load_conversations(path: Path, part: str = "all") -> Conversations:
    """Read golden conversations: a file, or of a folder the file of a part (`all`: of every part that is there).

    A note says what of a folder is not as its manifest has it. Raises DataError, with file and line, for what is
    missing, is no JSON or does not fit together: nothing is left out.
    """
    files = [path] if path.is_file() else [path / f"{name}.jsonl" for name in SPLITS if part in ("all", name)]
    there = [file for file in files if file.is_file()]
    if not there:
        others = ", ".join(f"{name}.jsonl" for name in SPLITS if (path / f"{name}.jsonl").is_file())
        what = f"no {part}.jsonl there, but {others}" if others else "no golden conversations there"
        raise DataError(f"{path}: {what}", hint=HINT)
    notes, digest = Notes(), hashlib.sha256()
    seen: dict[str, str] = {}
    moments: list[Moment] = []
    for file in there:
        for item in iter_items(file, digest.update, notes):
            if item.fault or not isinstance(item.value, Mapping):
                raise DataError(f"{item.where}: {item.fault or 'not a JSON object'}", hint=HINT)
            identity = _text(item.value, "id", item.where)
            if identity in seen:
                raise DataError(f"{item.where}: the conversation {identity[:80]!r} stands at {seen[identity]} already")
            seen[identity] = item.where
            moments += _moments(item.value, identity, item.where, notes)
    if path.is_dir():
        tell_changes(path, notes)
    if not moments:
        raise DataError(f"{path}: no conversation with a moment there", hint=HINT)
    return Conversations(
        name=path.resolve().stem if path.is_file() else path.resolve().name,
        part="all" if path.is_file() else part,
        count=len(seen),
        moments=tuple(moments),
        notes=notes.as_tuple(),
        sha256=digest.hexdigest(),
    )


def _moments(row: Mapping[str, object], identity: str, where: str, notes: Notes) -> Iterator[Moment]:
    try:
        elements, repairs = read_elements(_objects(row, "elements", where))
    except DataError as fault:
        raise DataError(f"{where}: {fault.message}", hint=fault.hint) from None
    notes.extend(repairs)
    place = {element.id: i for i, element in enumerate(elements)}
    group = _optional(row, "split_group", where) or identity
    domain = _optional(row, "domain", where)
    for number, moment in enumerate(_objects(row, "moments", where)):
        at = f"{where}: moments[{number}]"
        after = _text(moment, "after", at)
        if after not in place:
            _fault(at, "after", "the id of an element")
        known = elements[: place[after] + 1]
        so_far = {element.id for element in known}
        yield Moment(
            conversation=identity,
            group=group,
            domain=domain,
            after=after,
            elements=known,
            message=_text(moment, "message", at),
            phase=_optional(moment, "phase", at),
            classes=_classes(moment, so_far, at),
            protected=_names(moment, "protected", so_far, OWED, f"an object of id to one of {', '.join(OWED)}", at),
            corrected=_names(moment, "corrected", so_far, so_far, "an object of id to the id that corrects it", at),
            later=tuple(_questions(moment, place, at)),
        )


def _classes(moment: Mapping[str, object], so_far: set[str], where: str) -> dict[str, int]:
    given = moment.get("classes") or {}
    if not isinstance(given, Mapping) or not set(given) <= so_far:
        _fault(where, "classes", "an object of id to class, of elements so far")
    if not all(type(value) is int and value in CLASSES for value in given.values()):
        _fault(where, "classes", "an object of id to a class from 1 to 5")
    return dict(given)


def _names(
    moment: Mapping[str, object], name: str, so_far: set[str], allowed: Collection[str], wanted: str, where: str
) -> dict[str, str]:
    given = moment.get(name) or {}
    if not isinstance(given, Mapping) or not set(given) <= so_far:
        _fault(where, name, "an object whose keys are ids of elements so far")
    if not all(isinstance(value, str) and value in allowed for value in given.values()):
        _fault(where, name, wanted)
    return dict(given)


def _questions(moment: Mapping[str, object], place: Mapping[str, int], where: str) -> Iterator[Question]:
    for number, row in enumerate(_objects(moment, "later", where) if moment.get("later") else []):
        at = f"{where}: later[{number}]"
        evidence = row.get("evidence")
        if not isinstance(evidence, list) or not evidence or not all(isinstance(one, str) for one in evidence):
            _fault(at, "evidence", "a list of ids, one at least")
        if not set(evidence) <= set(place):
            _fault(at, "evidence", "a list of ids of elements")
        yield Question(text=_text(row, "question", at), evidence=frozenset(evidence))


def _objects(row: Mapping[str, object], name: str, where: str) -> list[Mapping[str, object]]:
    given = row.get(name)
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        _fault(where, name, "a list of objects")
    return given


def _text(row: Mapping[str, object], name: str, where: str) -> str:
    found = _optional(row, name, where)
    if not found:
        _fault(where, name, "a text")
    return found


def _optional(row: Mapping[str, object], name: str, where: str) -> str | None:
    given = row.get(name)
    if given is not None and not isinstance(given, str):
        _fault(where, name, "a text")
    return given


def _fault(where: str, name: str, wanted: str) -> NoReturn:
    raise DataError(f"{where}: {name} is not {wanted}")
