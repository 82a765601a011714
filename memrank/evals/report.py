"""What a pipeline is worth on a golden set, as plain values: every number with its interval and how many it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memrank.evals.outcome import Outcome

SCHEMA = "memrank.eval/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measure: its mean over n queries (or pairs), with a 95 % interval."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decile:
    """Judged memories whose relevance lies in one tenth of [0, 1]."""

    low: float
    high: float
    mean: float
    """Mean relevance said; NaN where there are none."""
    share: float
    """Share that is relevant."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate of the spec: the bound, what was measured, and whether it holds."""

    metric: str
    value: float | None
    """None where no query has what it needs: the gate fails."""
    low: float | None
    """`min` of the spec."""
    high: float | None
    """`max` of the spec."""
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One pipeline on (a part of) one golden set."""

    evalset: str
    part: str
    """`all`, `fit`, `choose` or `report`."""
    spec: str
    spec_sha256: str
    queries_sha256: str
    store_version: str
    seed: int
    resamples: int
    unit: str
    """What the intervals draw together: `split_group`, `tenant` or `query`."""
    queries: int
    scored: int
    failed: int
    unscored: int
    figures: Mapping[str, Figure]
    by_category: Mapping[str, Mapping[str, Figure]]
    deciles: Sequence[Decile]
    gates: Sequence[GateResult]
    outcomes: Sequence[Outcome]
    """One a query, in the order of the set."""
