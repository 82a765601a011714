"""How far one distribution of scores has moved from another."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMOOTHED = 0.5
"""Added to every bin, so that an empty one does not make the index infinite."""


def stability_index(expected: Floats, actual: Floats) -> float:
    """Population stability index of two histograms over the same bins, from 0 (alike): sum (a - e) ln(a / e).

    `expected` and `actual` are counts, shape (bins,); e and a are their shares, each bin raised by SMOOTHED. By custom
    below 0.1 counts as stable, above 0.2 as drifted. 0 where either is empty: nothing can be said.
    """
    if not expected.sum() or not actual.sum():
        return 0.0
    e, a = expected + SMOOTHED, actual + SMOOTHED
    e, a = e / e.sum(), a / a.sum()
    return float(((a - e) * np.log(a / e)).sum())
