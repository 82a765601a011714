"""What pruning is worth on golden conversations, as plain values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from memrank.dialogue.prune import Limits
from memrank.errors import UsageError
from memrank.evals.keeping import Lost
from memrank.evals.report import Figure
from memrank.score.intervals import Bootstrap, Estimate, holm

SCHEMA = "memrank.eval-conversations/1"
OTHERS = ("answerable_full", "answerable_newest", "answerable_oldest_dropped")
"""What pruning is compared with, moment by moment: the full context; as many tokens of the newest, or of what is left
when the oldest goes.
"""
COMPARED = ("answerable", "answerable_whole", "tokens_saved", "premature_drop", "rank_correlation")
"""Figures in which ways of pruning are compared with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """Settings under which the gate holds on these conversations."""

    changes: Mapping[str, float]
    """Name of a limit to its new value."""
    answerable: Figure
    tokens_saved: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Whether questions stay as answerable as with the full context."""

    passed: bool
    """Not, where the interval of `difference` lies below `-margin` as a whole, or cannot be told."""
    difference: Figure | None
    """Answerable under pruning minus with the full context, paired. None where no moment has a later question."""
    margin: float
    """How much worse it may be: 0 to 1."""
    causes: Mapping[str, int]
    """How many of the elements that lost questions lack went for each of CAUSES."""
    mends: tuple[Mend, ...]
    """Where it does not hold: the smallest change of each limit that mends it alone, what saves most tokens first; else
    of two together. Empty where no threshold and no budget does.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One moment."""

    conversation: str
    group: str
    after: str
    values: Mapping[str, float]
    """Name of a figure to its value, NaN where it does not apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningReport:
    """One way of pruning on (a part of) a set of golden conversations."""

    evalset: str
    part: str
    spec: str
    """Name of the spec; `defaults` where there is none."""
    limits: Limits
    tokens: str
    """Name of the counter."""
    conversations: int
    moments: int
    questions: int
    sha256: str
    seed: int
    resamples: int
    units: int
    """What the intervals draw: groups of conversations."""
    figures: Mapping[str, Figure]
    differences: Mapping[str, Figure]
    """Answerable under pruning minus by each other way, paired."""
    by_domain: Mapping[str, Mapping[str, Figure]]
    gate: Gate
    cases: tuple[Case, ...] = field(repr=False)
    """In the order of the set."""
    lost: tuple[Lost, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """A way of pruning against the first one, in one figure."""

    difference: Figure
    """Mean of its value minus that of the first, moment by moment."""
    p: float
    """Corrected for the number of figures (Holm); NaN where it cannot be told."""
    higher: int
    """Moments at which it is higher than the first."""
    lower: int


def versus(first: PruningReport, other: PruningReport) -> dict[str, Versus]:
    """Paired differences of two ways of pruning on the same conversations. Raises UsageError where they are others."""
    if first.sha256 != other.sha256:
        raise UsageError("the reports are about different conversations")
    bootstrap = Bootstrap([case.group for case in first.cases], seed=first.seed, resamples=first.resamples)
    found, gaps = {}, {}
    for name in COMPARED:
        one, two = (np.array([case.values[name] for case in report.cases]) for report in (first, other))
        difference = bootstrap.paired(two, one)
        if difference.n:
            found[name], gaps[name] = difference, two - one
    corrected = holm([difference.p for difference in found.values()])
    return {
        name: Versus(
            difference=figure_of(difference),
            p=p,
            higher=int((gaps[name] > 0).sum()),
            lower=int((gaps[name] < 0).sum()),
        )
        for (name, difference), p in zip(found.items(), corrected, strict=True)
    }


def to_dict(reports: Sequence[PruningReport]) -> dict[str, object]:
    """The JSON form, `memrank.eval-conversations/1`: each report, and all but the first against it. What cannot be told
    (NaN) is null.
    """
    first = reports[0]
    return {
        "schema": SCHEMA,
        "reports": [plain(asdict(report)) for report in reports],
        "comparisons": [
            {
                "spec": other.spec,
                "against": first.spec,
                "measures": {name: plain(asdict(one)) for name, one in versus(first, other).items()},
            }
            for other in reports[1:]
        ],
    }


def figures_of(estimates: Mapping[str, Estimate]) -> dict[str, Figure]:
    """Those that are over anything at all."""
    return {name: figure_of(one) for name, one in estimates.items() if one.n and not math.isnan(one.mean)}


def figure_of(estimate: Estimate) -> Figure:
    """A mean with its interval."""
    return Figure(value=estimate.mean, low=estimate.low, high=estimate.high, n=estimate.n)


def plain(value: object) -> object:
    """A copy that JSON takes: null for NaN."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
