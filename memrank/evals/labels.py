"""The labels of one golden query: what a pipeline should answer. A run never sees them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memrank.errors import DataError
from memrank.queryrows import Row, question
from memrank.types import Sensitivity

Split = Literal["fit", "choose", "report"]
SPLITS: tuple[Split, ...] = ("fit", "choose", "report")
FITS = 0.5
"""Relevance given by hand from which a memory counts as speaking to the question."""
MOST_GRADE = 1_000_000
"""Gains are grades: sums of larger ones would lose the small ones, or overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """What a person gives one memory for one query, each in [0, 1]; None where it was not given."""

    relevance: float | None = None
    freshness: float | None = None
    combined: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One golden query: what is asked, and what is known of its answer."""

    id: str
    asked: Mapping[str, Any] = field(repr=False)
    """Arguments of a pipeline, without any label."""
    relevant: Mapping[str, float]
    """Id to grade, above 0: what helps to answer. Empty: the right answer is nothing."""
    scores: Mapping[str, PairScores]
    stale: frozenset[str]
    """Earlier values that still read like an answer."""
    current: frozenset[str]
    """Those of `relevant` that replaced them: as labelled, else what is relevant and not stale."""
    must_not: frozenset[str]
    """What must not come back."""
    sensitivity: Sensitivity | None
    asks_previous: bool
    expected_actions: Mapping[str, frozenset[str]]
    """Id to the actions of a pruner that are right: `keep_full`, `summarize`, `drop`, `overwrite`."""
    category: str | None
    split: Split | None
    split_group: str | None
    """Queries of one group are never put on two sides of a split, and are drawn together."""
    annotated: bool = True
    """Whether anybody said what is relevant. Nothing is measured of a query without it."""

    def fits(self, name: str) -> bool:
        """Whether a memory speaks to the question, however old: scored by hand, relevance from FITS on; without such a
        score, what is relevant, and the outdated values that still read like an answer.
        """
        pair = self.scores.get(name)
        if pair is not None and pair.relevance is not None:
            return pair.relevance >= FITS
        return name in self.relevant or name in self.stale


def read_labels(row: Row, place: str) -> Labelled:
    """The labels of a row; those of `metadata` may stand at top level too. Raises DataError that names `place`."""
    fields = row.fields
    meta = fields.get("metadata") or {}
    if not isinstance(meta, Mapping):
        raise _fault(place, "metadata", "an object")
    both = {**meta, **fields}
    annotated = both.get("relevant") is not None
    relevant = _grades(both["relevant"], place) if annotated else {}
    stale = _ids(both, "stale", place)
    current = _ids(both, "current", place)
    return Labelled(
        id=row.id,
        asked=_asked(row, place),
        relevant=relevant,
        scores=_scores(both.get("scores"), place),
        stale=stale,
        current=current or frozenset(relevant) - stale,
        must_not=_ids(both, "must_not", place),
        sensitivity=_sensitivity(both.get("sensitivity"), place),
        asks_previous=bool(both.get("asks_previous", False)),
        expected_actions=_actions(both.get("expected_actions"), place),
        category=_text(both, "category", place),
        split=_split(both.get("split"), place),
        split_group=_text(both, "split_group", place),
        annotated=annotated,
    )


def _asked(row: Row, place: str) -> dict[str, Any]:
    try:
        return question(row)
    except DataError as fault:
        raise DataError(f"{place}: {fault.message}", hint=fault.hint) from None


def _fault(place: str, name: str, wanted: str) -> DataError:
    return DataError(f"{place}: {name} is not {wanted}")


def _grades(given: object, place: str) -> dict[str, float]:
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return dict.fromkeys(given, 1.0)
    if isinstance(given, Mapping) and all(_is_number(grade) and 0 <= grade <= MOST_GRADE for grade in given.values()):
        return {str(name): float(grade) for name, grade in given.items() if grade > 0}
    raise _fault(place, "relevant", f"a list of ids, or an object of id to grade (from 0 to {MOST_GRADE:,})")


def _ids(fields: Mapping[str, Any], name: str, place: str) -> frozenset[str]:
    given = fields.get(name) or []
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise _fault(place, name, "a list of ids")
    return frozenset(given)


def _scores(given: object, place: str) -> dict[str, PairScores]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(one, Mapping) for one in given.values()):
        raise _fault(place, "scores", "an object of id to {relevance, freshness, combined}")
    return {str(name): PairScores(**_parts(one, place)) for name, one in given.items()}


def _parts(given: Mapping[str, Any], place: str) -> dict[str, float]:
    known = ("relevance", "freshness", "combined")
    for name, value in given.items():
        if name not in known:
            raise DataError(f"{place}: scores has {name!r:.40}; allowed: {', '.join(known)}")
        if value is not None and not (_is_number(value) and 0 <= value <= 1):
            raise _fault(place, f"scores.{name}", "a number from 0 to 1")
    return {name: float(value) for name, value in given.items() if value is not None}


def _is_number(value: object) -> bool:
    # NaN compares with nothing, and so fails where it matters.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _sensitivity(given: object, place: str) -> Sensitivity | None:
    if given is None:
        return None
    names = [one.value for one in Sensitivity]
    if given not in names:
        raise _fault(place, "sensitivity", f"one of {', '.join(names)}")
    return Sensitivity(given)


def _actions(given: object, place: str) -> dict[str, frozenset[str]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _fault(place, "expected_actions", "an object of id to an action, or a list of actions that are right")
    found = {}
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str) for one in values):
            raise _fault(place, "expected_actions", "an object of id to an action, or a list of actions that are right")
        found[str(name)] = frozenset(values)
    return found


def _split(given: object, place: str) -> Split | None:
    for name in SPLITS:
        if given == name:
            return name
    if given is None:
        return None
    raise _fault(place, "split", f"one of {', '.join(SPLITS)}")


def _text(fields: Mapping[str, Any], name: str, place: str) -> str | None:
    given = fields.get(name)
    if given is not None and not isinstance(given, str):
        raise _fault(place, name, "a text")
    return given
