"""Means with bootstrap intervals, where cases come in groups that belong together.

Groups are drawn with replacement, and a group comes with all of its cases (Efron and Tibshirani 1993; Davison and
Hinkley 1997, section 3.8): cases of one group are alike, and counting them apart would make the interval too narrow.
Everything that is estimated from one `Bootstrap` shares its resamples, so that differences are paired.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TAIL = 2.5
"""Per cent on each side of an interval."""
CHUNK = 2_000_000
"""Numbers that a quantile looks at together: bounds the memory of a large set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure and its 95 % percentile interval."""

    mean: float
    """NaN where no case counts."""
    low: float
    high: float
    """Both NaN where fewer than two groups have a case that counts: resamples cannot differ then."""
    n: int
    """Cases that count."""
    drawn: Floats = field(repr=False)
    """(resamples,): the figure of each resample; NaN where it holds no case that counts."""

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference of two figures of the same Bootstrap, each over its own cases; n is the smaller one."""
        return summary(self.mean - other.mean, min(self.n, other.n), self.drawn - other.drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Estimate):
    """A paired difference, over the cases that count on both sides."""

    p: float
    """Two-sided: below 0.05 where the interval leaves out 0, up to the resolution of the resamples; NaN where the
    interval cannot be told."""


def summary(mean: float, n: int, drawn: Floats) -> Estimate:
    """A figure with the interval of its resamples. NaN among them is left out."""
    kept = drawn[np.isfinite(drawn)]
    low, high = np.percentile(kept, [TAIL, 100 - TAIL]) if len(kept) else (math.nan, math.nan)
    return Estimate(mean=mean, low=float(low), high=float(high), n=n, drawn=drawn)


class Bootstrap:
    """The resamples of n cases, of which `groups` names the group of each. The same seed draws the same resamples."""

    def __init__(self, groups: Sequence[str], *, seed: int | Sequence[int], resamples: int) -> None:
        order = {name: place for place, name in enumerate(dict.fromkeys(groups))}
        self._of = np.array([order[name] for name in groups], dtype=np.int64)
        self.units = len(order)
        """Number of groups."""
        self._times = np.zeros((resamples, self.units))
        """How often each resample holds each group."""
        if self.units:
            even = np.full(self.units, 1 / self.units)
            self._times += np.random.default_rng(seed).multinomial(self.units, even, size=resamples)

    def estimate(self, values: Floats) -> Estimate:
        """The mean of `values`, shape (n,), with NaN for a case that does not count."""
        return self.of_sums(np.asarray(values, dtype=np.float64)[:, None], _mean)

    def of_sums(self, rows: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
        """A figure that depends on sums over cases only, such as a share of pairs or a calibration error.

        `rows` has shape (n, m), NaN throughout for a case that does not count. `statistic` maps (..., m + 1), the sums
        of the m columns and the number of cases that count, to (...).
        """
        counts: Bools = ~np.any(np.isnan(rows), axis=1)
        table = np.column_stack([np.where(counts[:, None], rows, 0.0), counts.astype(np.float64)])
        sums = np.zeros((self.units, table.shape[1]))
        np.add.at(sums, self._of, table)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(statistic(sums.sum(axis=0)[None, :])[0])
            drawn = np.asarray(statistic(self._times @ sums), dtype=np.float64)
        return self._told(value, counts, drawn)

    def quantile(self, values: Floats, share: float) -> Estimate:
        """The smallest value that `share` of the cases do not exceed (nearest rank), in `values` of shape (n,)."""
        counts = ~np.isnan(values)
        order = np.flatnonzero(counts)[np.argsort(values[counts], kind="stable")]
        rising = values[order]
        if not len(rising):
            return self._told(math.nan, counts, np.full(len(self._times), math.nan))
        step = max(1, CHUNK // len(rising))
        parts = [
            _weighted_quantile(rising, self._times[start : start + step][:, self._of[order]], share)
            for start in range(0, len(self._times), step)
        ]
        value = float(_weighted_quantile(rising, np.ones((1, len(rising))), share)[0])
        return self._told(value, counts, np.concatenate(parts) if parts else np.zeros(0))

    def paired(self, a: Floats, b: Floats) -> Difference:
        """Mean of a - b, each of shape (n,), over the cases that count on both sides, and whether it could be none."""
        found = self.estimate(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64))
        kept = found.drawn[np.isfinite(found.drawn)]
        return Difference(
            mean=found.mean,
            low=found.low,
            high=found.high,
            n=found.n,
            drawn=found.drawn,
            p=math.nan if math.isnan(found.low) else two_sided(kept),
        )

    def _told(self, value: float, counts: Bools, drawn: Floats) -> Estimate:
        n = int(counts.sum())
        if len(np.unique(self._of[counts])) <= 1:
            return Estimate(mean=value, low=math.nan, high=math.nan, n=n, drawn=drawn)
        return summary(value, n, drawn)


def two_sided(drawn: Floats) -> float:
    """Achieved significance level of resampled differences, shape (r,), against 0: twice the smaller tail, at the most
    1, and never 0: r resamples cannot tell less than 2 / (r + 1).
    """
    tail = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (len(drawn) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for how many there are (Holm 1979), in their order. NaN stays, and is not counted."""
    told = sorted((p, at) for at, p in enumerate(p_values) if not math.isnan(p))
    corrected = list(map(float, p_values))
    least = 0.0
    for rank, (p, at) in enumerate(told):
        least = max(least, min(1.0, (len(told) - rank) * p))
        corrected[at] = least
    return corrected


def _mean(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _weighted_quantile(rising: Floats, weights: Floats, share: float) -> Floats:
    reached = np.cumsum(weights, axis=1)
    total = reached[:, -1:]
    # A hair below: share * total may come out above the whole number that it stands for.
    place = np.argmax(reached >= share * total * (1 - 1e-12), axis=1)
    return np.where(total[:, 0] > 0, rising[place], math.nan)
