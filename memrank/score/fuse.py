"""Putting scores together: standardising, weighted sums, bounded boosts, and a total order that never depends on
input order.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def standardise(values: Floats, among: Bools | None = None) -> Floats:
    """(value - mean) / standard deviation, the two taken `among` some of the values; 0 everywhere if they are all
    alike.
    """
    # Sorted, because a sum of floats depends on their order, and the order of candidates must never matter.
    sample = np.sort(values if among is None else values[among])
    if len(sample) == 0:
        return np.zeros_like(values)
    deviation = float(sample.std())
    if deviation <= 1e-12 * max(1.0, float(np.abs(sample).max())):
        return np.zeros_like(values)
    return (values - float(sample.mean())) / deviation


def weighted(parts: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Sum of weight * part over the weights given, clipped into [0, 1] against rounding."""
    total = np.zeros_like(next(iter(parts.values())))
    for name, weight in weights.items():
        total = total + weight * parts[name]
    return np.clip(total, 0.0, 1.0)


def bounded(relevance: Floats, parts: Mapping[str, Floats], alphas: Mapping[str, float]) -> Floats:
    """min(1, relevance * product of (1 + alpha * (part - 0.5))): a part at 0.5 changes nothing."""
    total = relevance
    for name, alpha in alphas.items():
        total = total * (1.0 + alpha * (parts[name] - 0.5))
    return np.clip(total, 0.0, 1.0)


def order(score: Floats, *ties: Floats) -> NDArray[np.int64]:
    """Indices by falling score, then by falling value of each tie-break in turn."""
    return np.lexsort(tuple(-key for key in reversed((score, *ties))))


def top(score: Floats, k: int, *ties: Floats) -> NDArray[np.int64]:
    """The first k of `order`, without sorting the rest."""
    if k >= len(score):
        return order(score, *ties)
    cut = np.partition(score, len(score) - k)[len(score) - k]
    above = np.flatnonzero(score >= cut)
    return above[order(score[above], *(key[above] for key in ties))][:k]
