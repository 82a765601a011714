"""Listwise softmax cross-entropy of a linear order (Cao et al. 2007), with a pull towards known coefficients."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def listwise_loss(
    x: Floats, y: Floats, sizes: Ints, prior: Floats, pull: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """The loss of coefficients, shape (features,), and its slope.

    `x`, shape (n, features), and `y`, shape (n,), hold the candidates of one query after the other, `sizes` how many
    each has; the `y` of a query sum to 1. The loss is the mean cross-entropy over the queries, plus `pull` times the
    squared distance from `prior`. It is convex.
    """
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    query, share = np.repeat(np.arange(len(sizes)), sizes), 1.0 / len(sizes)

    def loss(w: Floats) -> tuple[float, Floats]:
        s = np.einsum("ij,j->i", x, w)
        s = s - np.maximum.reduceat(s, start)[query]
        total = np.add.reduceat(np.exp(s), start)
        away = w - prior
        value = share * (np.log(total) - np.add.reduceat(y * s, start)).sum() + pull * (away * away).sum()
        slope = share * np.einsum("ij,i->j", x, np.exp(s) / total[query] - y)
        return float(value), slope + 2 * pull * away

    return loss
