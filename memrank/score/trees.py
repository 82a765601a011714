"""Boosted regression trees of one depth, evaluated in numpy (Friedman 2001): a sum of leaf values, one a tree.

Trees are whole binary trees laid out by level: node i's children are 2 i + 1 (its feature is at most the threshold) and
2 i + 2. They are fitted by scikit-learn (`benchmarks/boosting.py`), which compares in single precision; so does this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrank.score.relevance import sigmoid

Floats = NDArray[np.float64]

CHUNK = 4_096
"""Rows that are looked at together: bounds the memory of a large call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """t trees of depth d over named features."""

    features: tuple[str, ...]
    base: float
    """The sum before any tree."""
    feature: NDArray[np.int64]
    """(t, 2^d - 1): which feature each node looks at."""
    threshold: NDArray[np.float32]
    """(t, 2^d - 1)."""
    value: Floats
    """(t, 2^d): of the leaves."""

    def margin(self, columns: Mapping[str, Floats]) -> Floats:
        """The sum for each row, shape (n,), from the columns of the features, each of shape (n,)."""
        table = np.stack([columns[name] for name in self.features], axis=1).astype(np.float32)
        parts = [self._margin(table[start : start + CHUNK]) for start in range(0, len(table), CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def probability(self, columns: Mapping[str, Floats]) -> Floats:
        """1 / (1 + exp(-margin)), shape (n,), in [0, 1]."""
        return sigmoid(self.margin(columns))

    def _margin(self, table: NDArray[np.float32]) -> Floats:
        inner = self.feature.shape[1]
        total = np.full(len(table), self.base)
        row = np.arange(len(table))
        for feature, threshold, value in zip(self.feature, self.threshold, self.value, strict=True):
            node = np.zeros(len(table), dtype=np.int64)
            while node[0] < inner:
                node = 2 * node + 1 + (table[row, feature[node]] > threshold[node])
            total = total + value[node - inner]
        return total


def load(raw: Mapping[str, object]) -> Trees:
    """Trees from what `dump` wrote."""
    names = raw["features"]
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError("features must be a list of names")
    return Trees(
        features=tuple(map(str, names)),
        base=float(raw["base"]),  # type: ignore[arg-type]
        feature=np.array(raw["feature"], dtype=np.int64),
        threshold=np.array(raw["threshold"], dtype=np.float32),
        value=np.array(raw["value"], dtype=np.float64),
    )


def dump(trees: Trees) -> dict[str, object]:
    """As JSON values; thresholds are whole, so that a row falls on the same side after reading."""
    return {
        "features": list(trees.features),
        "base": round(trees.base, 6),
        "feature": trees.feature.tolist(),
        "threshold": [[float(np.format_float_positional(x, unique=True)) for x in row] for row in trees.threshold],
        "value": [[round(float(x), 6) for x in row] for row in trees.value],
    }
