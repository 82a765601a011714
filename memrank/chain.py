"""What each kind of stage needs and gives, and whether a chain of them fits: known without building anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from memrank.slate import Column as C  # noqa: N817 - the tables below are read by their names
from memrank.spec import StageSpec

JUDGED = frozenset(
    {C.BM25_Z, C.DENSE, C.DENSE_Z, C.BEFORE, C.AFTER, C.BEFORE_LAST}
    | {C.OVERLAP, C.SOFT, C.PHRASES, C.ANSWERS_NUMBER, C.NAMED, C.SUBJECTS, C.NUMBERS, C.OTHER_NUMBERS, C.YEARS}
)
"""What relevance is judged from."""

PROVIDES: dict[str, frozenset[C]] = {
    "prefilter.hybrid.v1": JUDGED | {C.BM25, C.FUSED},
    "temporal.v1": frozenset({C.AGE, C.WHEN, C.DATED, C.FRESHNESS, C.FUTURE_DATE, C.EXPIRED, C.INVALID_THEN}),
    "ranker.v1": frozenset(
        {C.RELEVANCE, C.IMPORTANCE, C.AUTHORITY, C.RAW_SCORE, C.FACTOR, C.SCORE}
        | {C.SUPERSEDED, C.SUPERSEDED_BY, C.INHERITS, C.STALE_FLAG, C.REASON}
        | {C.OUTDATED_BY, C.OUTDATED, C.DEMOTION, C.LIFT, C.LIFTED_OVER}
    ),
    "pruner.v1": frozenset({C.DECAY, C.PLANNED, C.ACTION, C.SPARED}),
}

REQUIRES: dict[str, frozenset[C]] = {
    "prefilter.hybrid.v1": frozenset(),
    "temporal.v1": frozenset({C.FUSED}),
    "ranker.v1": JUDGED | {C.AGE, C.WHEN, C.DATED, C.FRESHNESS, C.EXPIRED, C.INVALID_THEN},
    "pruner.v1": frozenset(
        {C.SCORE, C.WHEN, C.DATED, C.REASON, C.SUPERSEDED, C.SUPERSEDED_BY, C.EXPIRED, C.INVALID_THEN}
    ),
}

RESULT = frozenset({C.SCORE, C.RAW_SCORE, C.REASON})
"""What a chain must have provided when it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stage (by its place) whose columns nobody before it provides; `index` is None for the end of the chain."""

    index: int | None
    what: str
    allowed: str


def gaps(stages: Sequence[StageSpec]) -> list[Gap]:
    """Every gap of a chain, in its order."""
    found = []
    provided: set[C] = set()
    for i, stage in enumerate(stages):
        missing = REQUIRES[stage.kind] - provided
        if missing:
            what = f"{stage.kind} needs {_names(missing)}, which no stage before it provides"
            found.append(Gap(index=i, what=what, allowed=_advice(missing)))
        provided |= PROVIDES[stage.kind]
    missing = RESULT - provided
    if missing:
        found.append(Gap(index=None, what=f"the chain never provides {_names(missing)}", allowed=_advice(missing)))
    return found


def _names(columns: frozenset[C]) -> str:
    return ", ".join(sorted(columns))


def _advice(missing: frozenset[C]) -> str:
    givers = [kind for kind, columns in PROVIDES.items() if columns & missing]
    return f"put {' and '.join(givers)} before it" if givers else "no kind provides them"
