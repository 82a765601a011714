"""What a query and a candidate share, word by word. A pool's words are one flat array with an owner for each entry."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEAR = 0.4
"""Cosine from which a word begins to stand for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bag:
    """The distinct term ids of n candidates, one after the other; `owner` rises."""

    ids: Ints
    owner: Ints
    n: int

    @classmethod
    def of(cls, flat: NDArray[np.int32], start: Ints, rows: Ints) -> "Bag":
        """The bags of some rows of a store whose row i is `flat[start[i]:start[i + 1]]`."""
        sizes = start[rows + 1] - start[rows]
        ends = np.cumsum(sizes)
        place = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(start[rows] - (ends - sizes), sizes)
        return cls(ids=flat[place].astype(np.int64), owner=np.repeat(np.arange(len(rows)), sizes), n=len(rows))

    def total(self, weight: Floats) -> Floats:
        """Sum of a weight a term, shape (terms,), over each candidate's terms: shape (n,)."""
        return np.bincount(self.owner, weights=weight[self.ids], minlength=self.n).astype(np.float64)

    def any(self, mark: Bools) -> Bools:
        """Whether a candidate holds a marked term, shape (n,)."""
        return self.total(mark.astype(np.float64)) > 0

    def highest(self, value: Floats, default: float) -> Floats:
        """The highest value among each candidate's terms, `default` for one without terms: shape (n,)."""
        out = np.full(self.n, default)
        if len(self.ids):
            first = np.flatnonzero(np.diff(self.owner, prepend=-1))
            out[self.owner[first]] = np.maximum.reduceat(value[self.ids], first)
        return out


def soft_overlap(bag: Bag, similarity: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Share of the query's words that a candidate holds or comes near to, by weight, in [0, 1]: shape (n,).

    `similarity[j]` is the cosine of query word j to every term, shape (terms,). A word counts fully where the candidate
    has it, and less the further the nearest one is: max(0, (cosine - NEAR) / (1 - NEAR)).
    """
    total = sum(weights)
    out = np.zeros(bag.n)
    for cosine, weight in zip(similarity, weights, strict=True):
        near = np.clip((bag.highest(cosine, 0.0) - NEAR) / (1.0 - NEAR), 0.0, 1.0)
        out += weight / total * near
    return np.clip(out, 0.0, 1.0)


def years(bag: Bag, year: Ints, first: int, last: int) -> Floats:
    """1 for a candidate with a year in [first, last], 0.5 where its years span that period, else 0: shape (n,).

    `year` gives the year that each term names, 0 for none, shape (terms,).
    """
    named = year > 0
    inside = bag.any(named & (year >= first) & (year <= last))
    spans = bag.any(named & (year <= first)) & bag.any(named & (year >= last))
    return np.where(inside, 1.0, np.where(spans, 0.5, 0.0))
