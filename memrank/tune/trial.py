"""Settings measured by the real pipeline, and whether one is better than another by more than chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memrank.evals.measure import lower_is_better
from memrank.evals.outcome import Failed, Outcome, Scored
from memrank.evals.report import Report
from memrank.score.intervals import Bootstrap
from memrank.speccompile import ConstraintSpec
from memrank.types import Floats

TAIL = 2.5
"""Per cent below the interval of one comparison; shared among as many as there are."""
FINEST = 2000
"""Resamples for each comparison at the least: the ends of an interval are told by few of them."""
Z = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A constraint that is not kept."""

    metric: str
    value: float
    """NaN: nothing was measured."""
    bound: float
    side: str
    """`max` or `min`."""

    @property
    def by(self) -> float:
        """How much; 1 where nothing was measured."""
        return 1.0 if math.isnan(self.value) else abs(self.value - self.bound)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.metric} cannot be measured on these queries"
        which = "above" if self.side == "max" else "below"
        return f"{self.metric} is {self.value:.4g}, {self.by:.4g} {which} its {self.side} of {self.bound:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The objective of one setting minus that of another, on the same queries."""

    difference: float
    low: float
    high: float
    """Interval of `level` per cent; NaN where fewer than two groups count."""
    level: float
    n: int
    """Queries."""
    groups: int
    needed: int | None
    """Groups from which a gain of this size would be told from chance; None where there is no gain."""

    @property
    def real(self) -> bool:
        """Whether the interval excludes that there is none."""
        return self.low > 0


def objective_of(outcomes: Sequence[Outcome], weights: Mapping[str, float]) -> Floats:
    """The objective of each query, NaN where no metric of it applies; the mean over the others is the weighted sum of
    the metrics' means. Metrics of which less is better count against.
    """
    columns = {
        name: np.array(
            [one.values.get(name, math.nan) if isinstance(one, Scored | Failed) else math.nan for one in outcomes],
            dtype=np.float64,
        )
        for name in weights
    }
    applies = {name: ~np.isnan(column) for name, column in columns.items()}
    some = np.any(list(applies.values()), axis=0)
    total = np.zeros(len(outcomes))
    for name, column in columns.items():
        if applies[name].any():
            share = weights[name] * (-1.0 if lower_is_better(name) else 1.0)
            scale = some.sum() / applies[name].sum()
            total += share * scale * np.where(applies[name], column, 0.0)
    return np.where(some, total, math.nan)


def mean_of(values: Floats) -> float:
    """Over what is not NaN; NaN of nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def gain_of(before: Floats, after: Floats, groups: Sequence[str], *, seed: int, resamples: int, tests: int) -> Gain:
    """Paired, by groups; the interval is that of one among `tests` comparisons (Bonferroni)."""
    tail = TAIL / max(1, tests)
    drawn = max(resamples, FINEST * max(1, tests))
    found = Bootstrap(groups, seed=seed, resamples=drawn).paired(after, before)
    kept = found.drawn[np.isfinite(found.drawn)]
    told = len(kept) and not math.isnan(found.low)
    low, high = np.percentile(kept, [tail, 100 - tail]) if told else (math.nan, math.nan)
    known = ~np.isnan(after - before)
    units = len({group for group, one in zip(groups, known, strict=True) if one})
    error = float(kept.std()) if told else math.nan
    needed = math.ceil(units * (Z * error / found.mean) ** 2) if told and found.mean > 0 else None
    return Gain(
        difference=found.mean,
        low=float(low),
        high=float(high),
        level=100 - 2 * tail,
        n=found.n,
        groups=units,
        needed=needed,
    )


def missed(report: Report, constraints: Mapping[str, ConstraintSpec]) -> tuple[Missed, ...]:
    """The constraints that a report does not keep."""
    found = []
    for name, bounds in constraints.items():
        figure = report.figures.get(name)
        value = math.nan if figure is None else figure.value
        for side, bound in (("max", bounds.max), ("min", bounds.min)):
            if bound is not None and not (value <= bound if side == "max" else value >= bound):
                found.append(Missed(metric=name, value=value, bound=bound, side=side))
    return tuple(found)
