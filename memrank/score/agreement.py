"""How far two judgements of the same things agree: weighted kappa of classes, rank correlation of values."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGE = 1e-9


def kappa_terms(one: Floats, two: Floats) -> Floats:
    """What `weighted_kappa` sums of n pairs of classes, shape (n, 4)."""
    return np.column_stack([(one - two) ** 2, one**2 + two**2, one, two])


def weighted_kappa(sums: Floats) -> Floats:
    """Cohen's kappa with quadratic weights, from sums of `kappa_terms` and the number of pairs: (..., 5) to (...).

    1 is full agreement, 0 what chance gives; NaN where both always say the same. With these weights, what chance gives
    depends on sums alone: no table of classes is needed, and drawn samples take no longer than one.
    """
    apart, squares, one, two, n = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = squares - 2.0 * one * two / n
        kappa: Floats = np.where(chance > EDGE, 1.0 - apart / chance, np.nan)
    return kappa


def spearman(one: Floats, two: Floats) -> float:
    """Rank correlation in [-1, 1], equal values at their average rank; NaN where either does not vary."""
    first, second = ranks(one), ranks(two)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.clip(np.corrcoef(first, second)[0, 1], -1.0, 1.0))


def ranks(values: Floats) -> Floats:
    """Ranks from 1 for the lowest, equal values at their average, shape (n,)."""
    rising = np.sort(values)
    below, upto = (np.searchsorted(rising, values, side=side) for side in ("left", "right"))
    return (below + upto + 1) / 2
