"""Whether a probability means what it says, and how one is mended: errors of calibration, and maps that were fitted.

`p` are probabilities that were said, `y` what was true (0 or 1), both of shape (n,). Nothing here is fitted.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrank.score.relevance import sigmoid

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BINS = 10
CERTAIN = 1e-6
"""Probabilities this close to 0 or 1 are held to be this close, so that their logits are finite."""


def brier(p: Floats, y: Floats | Bools) -> float:
    """Mean of (p - y)^2 (Brier 1950), in [0, 1]; NaN of nothing."""
    return float(np.mean((p - y) ** 2)) if len(p) else math.nan


def ece(p: Floats, y: Floats | Bools, bins: int = BINS) -> float:
    """Expected calibration error over `bins` equal parts of [0, 1]; NaN of nothing. See `ece_of_sums`."""
    return float(ece_of_sums(bin_sums(p, y, bins).reshape(1, -1))[0])


def bin_sums(p: Floats, y: Floats | Bools, bins: int = BINS) -> Floats:
    """Shape (bins, 3): how many fall in each part of [0, 1], and the sums of their p and y.

    A part holds its lower edge; the last one holds 1 as well. Sums of several lots add up to those of all.
    """
    part = np.minimum((np.asarray(p) * bins).astype(np.int64), bins - 1)
    columns = (np.ones(len(p)), p, np.asarray(y, dtype=np.float64))
    return np.column_stack([np.bincount(part, weights=column, minlength=bins) for column in columns])


def ece_of_sums(sums: Floats) -> Floats:
    """The expected calibration error of `bin_sums`, flat on the last axis (..., 3 * bins); NaN of nothing.

    sum over parts of (their share of n) * |mean p - mean y| (Naeini et al. 2015), which is
    sum |sum p - sum y| / n. What stands behind the last whole three (a count of cases) is passed over.
    """
    whole = sums.shape[-1] - sums.shape[-1] % 3
    parts = sums[..., :whole].reshape(*sums.shape[:-1], -1, 3)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.abs(parts[..., 1] - parts[..., 2]).sum(axis=-1) / parts[..., 0].sum(axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Said and true by equal parts of [0, 1], each array of shape (bins,)."""

    low: Floats
    high: Floats
    n: NDArray[np.int64]
    mean: Floats
    """Mean p; NaN where there are none."""
    share: Floats
    """Mean y; NaN where there are none."""


def reliability(p: Floats, y: Floats | Bools, bins: int = BINS) -> Reliability:
    """The points of a reliability diagram."""
    sums = bin_sums(p, y, bins)
    edges = np.arange(bins + 1) / bins
    with np.errstate(invalid="ignore"):
        mean, share = sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]
    return Reliability(low=edges[:-1], high=edges[1:], n=sums[:, 0].astype(np.int64), mean=mean, share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskCoverage:
    """What answering only from a confidence on would do, each array of shape (m,), m distinct confidences, falling."""

    threshold: Floats
    coverage: Floats
    """Share of all cases that would be answered, rising to 1."""
    risk: Floats
    """Share of those answered that would be wrong."""
    area: float
    """Mean risk over the cases in the order of their confidence; 0 is best; NaN of nothing."""


def risk_coverage(confidence: Floats, wrong: Floats | Bools) -> RiskCoverage:
    """The risk-coverage curve (El-Yaniv and Wiener 2010) of n cases: how sure, and whether the answer was wrong.

    Cases of equal confidence are answered together, so their order does not matter.
    """
    order = np.argsort(-confidence, kind="stable")
    falling = confidence[order]
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True)) if len(falling) else np.zeros(0, np.int64)
    answered = last + 1.0
    risk = np.cumsum(np.asarray(wrong, dtype=np.float64)[order])[last] / answered
    area = float((risk * np.diff(answered, prepend=0.0)).sum() / len(falling)) if len(falling) else math.nan
    return RiskCoverage(threshold=falling[last], coverage=answered / max(len(falling), 1), risk=risk, area=area)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isotonic:
    """A rising step-wise linear map by its knots, as scikit-learn's IsotonicRegression holds them; flat outside."""

    x: tuple[float, ...]
    """Rising strictly, each in [0, 1]."""
    y: tuple[float, ...]
    """Never falling, each in [0, 1]."""

    def __post_init__(self) -> None:
        """Raises ValueError for knots that are no such map."""
        if not self.x or len(self.x) != len(self.y):
            raise ValueError("knots need as many x as y, and at least one")
        if not all(0 <= value <= 1 for value in (*self.x, *self.y)):
            raise ValueError("knots lie in [0, 1]")
        rises = all(a < b for a, b in zip(self.x, self.x[1:], strict=False))
        if not rises or any(a > b for a, b in zip(self.y, self.y[1:], strict=False)):
            raise ValueError("the x of knots rise, and their y never fall")

    def apply(self, p: Floats) -> Floats:
        """The mended probabilities, of the shape of p."""
        return np.interp(p, self.x, self.y)

    def undo(self, p: Floats) -> Floats:
        """What was mended to p; of a level, the lowest."""
        x, y = np.array(self.x), np.array(self.y)
        above = np.clip(np.searchsorted(y, p, side="left"), 1, len(y) - 1)
        rise = y[above] - y[above - 1]
        along = np.clip((p - y[above - 1]) / np.where(rise > 0, rise, 1.0), 0.0, 1.0)
        said: Floats = x[above - 1] + along * (x[above] - x[above - 1])
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Platt:
    """1 / (1 + exp(-(slope * logit(p) + intercept))): Platt's scaling (1999), of a probability by its logit."""

    slope: float
    """Above 0: a mended probability never reverses an order."""
    intercept: float

    def __post_init__(self) -> None:
        """Raises ValueError for coefficients that are no such map."""
        if not (math.isfinite(self.slope) and math.isfinite(self.intercept) and self.slope > 0):
            raise ValueError("Platt scaling needs a slope above 0, and finite coefficients")

    def apply(self, p: Floats) -> Floats:
        """The mended probabilities, of the shape of p."""
        return sigmoid(self.slope * logit(p) + self.intercept)

    def undo(self, p: Floats) -> Floats:
        """What was mended to p."""
        mended: Floats = sigmoid((logit(p) - self.intercept) / self.slope)
        return mended


def logit(p: Floats) -> Floats:
    """ln(p / (1 - p)), of p held CERTAIN away from 0 and 1."""
    held = np.clip(p, CERTAIN, 1 - CERTAIN)
    return np.asarray(np.log(held) - np.log1p(-held))
