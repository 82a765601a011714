"""Whether probabilities still mean what they say: a test against labels that came later."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memrank.score.calibration import logit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SINGULAR = 1e-9
"""Share of the largest variance below which there is none."""


def calibration_test(p: Floats, y: Floats | Bools, groups: Sequence[str]) -> float:
    """Two-sided p-value of "P(y = 1) is p": a score test of slope 1 and intercept 0 of logit p (Cox 1958).

    `p` and `y` have shape (n,); `groups` names what belongs together, and is not counted apart: the variance is that of
    the sums over groups (Liang and Zeger 1986). Nothing is fitted, so it works where all labels are alike. With g
    groups it never falls below about exp(-g / 2). NaN of fewer than two groups.
    """
    place = {name: k for k, name in enumerate(dict.fromkeys(groups))}
    if len(place) < 2:
        return math.nan
    of = np.array([place[name] for name in groups], dtype=np.int64)
    residual = np.asarray(y, dtype=np.float64) - p
    sums = np.column_stack(
        [np.bincount(of, weights=residual * part, minlength=len(place)) for part in (np.ones(len(p)), logit(p))]
    )
    total = sums.sum(axis=0)
    values, vectors = np.linalg.eigh(sums.T @ sums)
    told = values > SINGULAR * max(float(values.max()), 1e-300)
    if not told.any():
        return 1.0
    statistic = float((((vectors.T @ total) ** 2)[told] / values[told]).sum())
    # Upper tail of chi-square with two degrees of freedom, or with one.
    return math.exp(-statistic / 2) if told.sum() == 2 else math.erfc(math.sqrt(statistic / 2))
