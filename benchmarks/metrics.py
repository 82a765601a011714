"""What a ranking is worth: the measures of one query, and their means with percentile bootstrap intervals.

The measures, each over the queries that it applies to:
  R@k, P@3, nDCG@10, MRR@10   queries with at least one relevant id
  current_first               of those with stale ids that do not ask for the earlier value: some current id stands
                              above every stale one (current: as labelled, else relevant and not stale)
  stale@1                     of the same: the first result is stale
  must_not@10                 queries with ids that must not come back: one of them is among the first 10
  empty_ok                    queries without any relevant id: nothing was returned
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = Mapping[str, Any]
Values = dict[str, float]

LOWER_IS_BETTER = frozenset({"stale@1", "must_not@10"})
MEASURES = (
    *("R@1", "R@5", "R@10", "R@50", "P@3", "nDCG@10", "MRR@10"),
    *("current_first", "stale@1", "must_not@10", "empty_ok"),
)
SEED = 20260320
FEWEST_GROUPS = 5
"""With fewer groups, drawing groups says nothing about other groups; queries are drawn instead."""
TAIL = 2.5
"""Per cent on each side of an interval."""


def judge(row: Row, results: Sequence[str]) -> Values:
    """The measures that apply to one query, from its labels and its results, best first. Repeated ids count once."""
    ranked = list(dict.fromkeys(results))
    meta = row.get("metadata") or {}
    relevant, banned = set(row["relevant"]), set(meta.get("must_not") or [])
    values: Values = {}
    if banned:
        values["must_not@10"] = float(bool(banned & set(ranked[:10])))
    if not relevant:
        values["empty_ok"] = float(not ranked)
        return values
    for k in (1, 5, 10, 50):
        values[f"R@{k}"] = len(relevant & set(ranked[:k])) / len(relevant)
    values["P@3"] = len(relevant & set(ranked[:3])) / 3
    hits = [place for place, name in enumerate(ranked[:10]) if name in relevant]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))
    values["nDCG@10"] = sum(1 / math.log2(place + 2) for place in hits) / ideal
    values["MRR@10"] = 1 / (hits[0] + 1) if hits else 0.0
    stale = set(meta.get("stale") or [])
    current = set(meta.get("current") or []) or relevant - stale
    if stale and current and not meta.get("asks_previous"):
        values["current_first"] = float(_first(ranked, current) < _first(ranked, stale))
        values["stale@1"] = float(bool(ranked) and ranked[0] in stale)
    return values


def _first(ranked: Sequence[str], ids: set[str]) -> float:
    return next((place for place, name in enumerate(ranked) if name in ids), math.inf)


def clusters(rows: Sequence[Row]) -> tuple[list[str], str]:
    """What is drawn together for each query, and its name: groups of related questions, tenants, or single queries."""
    for field in ("split_group", "group"):
        names = [str(row.get(field)) for row in rows]
        if all(row.get(field) is not None for row in rows) and len(set(names)) >= FEWEST_GROUPS:
            return names, field
    return [str(place) for place in range(len(rows))], "query"


@dataclass(frozen=True)
class Estimate:
    """A mean, how many queries it is over, and the mean of each resample (NaN where none of its queries counts)."""

    mean: float
    queries: int
    drawn: Floats

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % percentile interval."""
        kept = self.drawn[np.isfinite(self.drawn)]
        if not len(kept):
            return math.nan, math.nan
        low, high = np.percentile(kept, [TAIL, 100 - TAIL])
        return float(low), float(high)

    def minus(self, other: "Estimate") -> "Estimate":
        """The paired difference: both were drawn with the same resamples."""
        return Estimate(self.mean - other.mean, self.queries, self.drawn - other.drawn)


class Bootstrap:
    """The resamples of one set. All systems share them, so that differences are paired."""

    def __init__(self, rows: Sequence[Row], name: str, resamples: int) -> None:
        names, self.unit = clusters(rows)
        order = {cluster: place for place, cluster in enumerate(dict.fromkeys(names))}
        self._of = np.array([order[cluster] for cluster in names], dtype=np.int64)
        self.units = len(order)
        rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
        even = np.full(self.units, 1 / self.units)
        self._times = rng.multinomial(self.units, even, size=resamples).astype(np.float64)

    def estimates(self, values: Sequence[Values]) -> dict[str, Estimate]:
        """Each measure that applies to some query, from the values of every query of the set, in its order."""
        found = {}
        for name in MEASURES:
            kept = np.array([name in value for value in values], dtype=np.bool_)
            if not kept.any():
                continue
            number = np.array([value[name] for value in values if name in value])
            total = np.bincount(self._of[kept], weights=number, minlength=self.units)
            count = np.bincount(self._of[kept], minlength=self.units).astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = (self._times @ total) / (self._times @ count)
            found[name] = Estimate(float(number.mean()), int(kept.sum()), drawn)
        return found


def across(sets: Sequence[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """The mean over sets, each with equal weight, of every measure that some set has."""
    found = {}
    for name in MEASURES:
        parts = [one[name] for one in sets if name in one]
        if parts:
            drawn = np.mean([part.drawn for part in parts], axis=0)
            mean = float(np.mean([part.mean for part in parts]))
            found[name] = Estimate(mean, sum(part.queries for part in parts), drawn)
    return found


def best(systems: Mapping[str, Mapping[str, Estimate]], measure: str) -> str | None:
    """The system that is best by a measure; None where none has it."""
    means = {name: found[measure].mean for name, found in systems.items() if measure in found}
    if not means:
        return None
    return (min if measure in LOWER_IS_BETTER else max)(means, key=lambda name: means[name])
