"""What a search raises, and what it must keep on the way."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memrank.tune.measures import sign
from memrank.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a metric must keep, on the mean over the queries it applies to."""

    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aims:
    """What is to be raised, and what must be kept on the way."""

    objective: Mapping[str, float]
    """Metric to weight; of a metric of which less is better, the weight counts against."""
    constraints: Mapping[str, Bound]

    def of_queries(self, found: Mapping[str, Floats]) -> Floats:
        """The objective of each query from its metrics, each (queries,), NaN where none applies."""
        names = self.objective
        applies = np.stack([~np.isnan(found[name]) for name in names])
        some = np.asarray(applies.any(axis=0))
        total = np.zeros(len(some))
        for name, applied in zip(names, applies, strict=True):
            share = self.objective[name] * sign(name)
            if applied.any():
                scale = 1.0 if len(names) == 1 else float(some.sum() / applied.sum())
                total += np.where(applied, share * scale * np.where(applied, found[name], 0.0), 0.0)
        return np.where(some, total, np.nan)

    def worth(self, found: Mapping[str, Floats]) -> tuple[float, float]:
        """(violation, objective): by how much the constraints are missed in all, and the mean over the queries."""
        missed = 0.0
        for name, bound in self.constraints.items():
            mean = _mean(found[name])
            if bound.max is not None and mean > bound.max:
                missed += mean - bound.max
            if bound.min is not None and mean < bound.min:
                missed += bound.min - mean
        return missed, _mean(self.of_queries({name: found[name] for name in self.objective}))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0
