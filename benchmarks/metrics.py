"""What a ranking is worth: the library's measures of one query, and their means with percentile bootstrap intervals.

Which measure is over which queries is told by `memrank.evals.measure`.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memrank.evals.evalset import FEWEST_GROUPS
from memrank.evals.labels import read_labels
from memrank.evals.measure import lower_is_better, measures
from memrank.queryrows import Row as Line
from memrank.score import intervals
from memrank.score.intervals import Estimate, summary

Row = Mapping[str, Any]
Values = dict[str, float]

MEASURES = (
    *("R@1", "R@5", "R@10", "R@50", "P@3", "nDCG@10", "MRR@10"),
    *("current_first", "stale@1", "must_not@10", "empty_ok"),
)
LOWER_IS_BETTER = frozenset(filter(lower_is_better, MEASURES))
LABELS = ("relevant", "stale", "current", "must_not", "asks_previous")
SEED = 20260320


def judge(row: Row, results: Sequence[str]) -> Values:
    """Those of MEASURES that apply to one query, from its labels and its results, best first."""
    both = {**(row.get("metadata") or {}), **row}
    labels = {name: both[name] for name in LABELS if name in both}
    query = read_labels(Line(id=str(row.get("id", "query")), fields=labels, notes=()), "query")
    values = measures(query, results, None, None, None, 0)
    return {name: values[name] for name in MEASURES if name in values}


def clusters(rows: Sequence[Row]) -> tuple[list[str], str]:
    """What is drawn together for each query, and its name: groups of related questions, tenants, or single queries."""
    for field in ("split_group", "group"):
        names = [str(row.get(field)) for row in rows]
        if all(row.get(field) is not None for row in rows) and len(set(names)) >= FEWEST_GROUPS:
            return names, field
    return [str(place) for place in range(len(rows))], "query"


class Bootstrap:
    """The resamples of one set. All systems share them, so that differences are paired."""

    def __init__(self, rows: Sequence[Row], name: str, resamples: int) -> None:
        names, self.unit = clusters(rows)
        self._draws = intervals.Bootstrap(names, seed=[SEED, zlib.crc32(name.encode())], resamples=resamples)
        self.units = self._draws.units

    def estimates(self, values: Sequence[Values]) -> dict[str, Estimate]:
        """Each measure that applies to some query, from the values of every query of the set, in its order."""
        found = {name: self._draws.estimate(np.array([one.get(name, math.nan) for one in values])) for name in MEASURES}
        return {name: estimate for name, estimate in found.items() if estimate.n}


def across(sets: Sequence[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """The mean over sets, each with equal weight, of every measure that some set has."""
    found = {}
    for name in MEASURES:
        parts = [one[name] for one in sets if name in one]
        if parts:
            drawn = np.mean([part.drawn for part in parts], axis=0)
            mean = float(np.mean([part.mean for part in parts]))
            found[name] = summary(mean, sum(part.n for part in parts), drawn)
    return found


def best(systems: Mapping[str, Mapping[str, Estimate]], measure: str) -> str | None:
    """The system that is best by a measure; None where none has it."""
    means = {name: found[measure].mean for name, found in systems.items() if measure in found}
    if not means:
        return None
    return (min if measure in LOWER_IS_BETTER else max)(means, key=lambda name: means[name])
