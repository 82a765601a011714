"""Golden pairs of memories, labelled by hand: does the newer one contradict the older one?"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from memrank.errors import DataError
from memrank.records import read_record
from memrank.stores.formats import iter_items
from memrank.types import Memory, Notes

HINT = "golden pairs are JSON Lines: id, label (true or false), older and newer (memories), domain, split_group, kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenPair:
    """One pair, and what a person says of it."""

    id: str
    where: str
    """File and line."""
    label: bool
    """Whether whoever acts on the older memory acts wrongly."""
    older: Memory = field(repr=False)
    newer: Memory = field(repr=False)
    domain: str
    group: str
    """Its `split_group`, else the pair."""
    kind: str
    """What makes it one, or what makes it look like one; may be empty."""


def read_pairs(path: Path, notes: Notes) -> tuple[GoldenPair, ...]:
    """The pairs of a file, in its order; repairs of their memories become notes.

    Raises DataError, with file and line, for what is no pair, and for an id that stands twice: nothing is left out.
    """
    found: dict[str, GoldenPair] = {}
    for item in iter_items(path, lambda _: None, notes):
        if item.fault or not isinstance(item.value, Mapping):
            raise DataError(f"{item.where}: {item.fault or 'not a JSON object'}", hint=HINT)
        pair = _pair(item.value, item.where, 2 * len(found), notes)
        if pair.id in found:
            raise DataError(f"{item.where}: the pair {pair.id[:80]!r} stands at {found[pair.id].where} already")
        found[pair.id] = pair
    return tuple(found.values())


def _pair(row: Mapping[str, object], where: str, position: int, notes: Notes) -> GoldenPair:
    identity = _text(row, "id", where)
    if not identity:
        _fault(where, "id", "a text")
    label = row.get("label")
    if not isinstance(label, bool):
        _fault(where, "label", "true or false")
    older, newer = (_memory(row, side, where, position + k, notes) for k, side in enumerate(("older", "newer")))
    return GoldenPair(
        id=identity,
        where=where,
        label=label,
        older=older,
        newer=newer,
        domain=_text(row, "domain", where),
        group=_text(row, "split_group", where) or identity,
        kind=_text(row, "kind", where),
    )


def _memory(row: Mapping[str, object], side: str, where: str, position: int, notes: Notes) -> Memory:
    given = row.get(side)
    if not isinstance(given, Mapping):
        _fault(where, side, "a memory")
    try:
        memory, repairs = read_record(given, position=position)
    except DataError as fault:
        raise DataError(f"{where}: {side}: {fault.message}", hint=fault.hint) from None
    notes.extend(repairs)
    return memory


def _text(row: Mapping[str, object], name: str, where: str) -> str:
    given = row.get(name)
    if given is not None and not isinstance(given, str):
        _fault(where, name, "a text")
    return given or ""


def _fault(where: str, name: str, wanted: str) -> NoReturn:
    raise DataError(f"{where}: {name} is not {wanted}", hint=HINT)
