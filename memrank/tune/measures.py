"""Measures of many rankings at once, from the places of the labelled memories alone: the values of `evals.measure`.

A query's labels are flat arrays over all queries; a place is counted from 1, and infinite where a memory was not
returned. What needs more than places (`Brier`, `MAE_*`) is told what was judged.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrank.evals.evaluate import TOP_K
from memrank.evals.labels import Labelled, PairScores
from memrank.evals.measure import lower_is_better
from memrank.types import Bools, Floats

Ints = NDArray[np.int64]

BY_PLACE = ("R", "recall", "P", "nDCG", "MRR", "stale", "must_not")
WHOLE = ("MRR", "MAP", "current_first", "empty_ok", "coverage", "risk", "leaks")
JUDGED = ("Brier", "MAE", "MAE_relevance", "MAE_freshness", "MAE_combined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Labelled memories, in the order of their queries."""

    query: Ints
    """(m,)"""
    target: Ints
    """(m,): which target it is; the number of targets where it is not in the pool."""
    value: Floats
    """(m,): what the label says of it: a grade, a score given by hand."""
    size: Ints
    """(queries,): how many each query has."""

    def per_query(self, values: Floats) -> Floats:
        """Sums of values, shape (queries,)."""
        return np.bincount(self.query, values, len(self.size)).astype(np.float64)

    def first(self, places: Floats) -> Floats:
        """The best place among those of each query, infinite where it has none."""
        best = np.full(len(self.size), np.inf)
        if len(self.query):
            starts = np.flatnonzero(np.r_[True, self.query[1:] != self.query[:-1]])
            best[self.query[starts]] = np.minimum.reduceat(places[self.target], starts)
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """What one setting makes of all queries."""

    places: Floats
    """(targets + 1,): the last one stands for whatever is not in a pool: infinite."""
    returned: Bools
    """(queries,): whether anything was."""
    relevance: Floats
    """(targets + 1,): 0 for what is not in a pool; as the next two."""
    freshness: Floats
    score: Floats
    brier: Floats
    """(queries,): NaN where nothing was judged."""


class Labels:
    """The labels of queries, and which targets they are about."""

    def __init__(self, queries: Sequence[Labelled], pools: Sequence[Mapping[str, int]]) -> None:
        """`pools` holds, for each query, the place in its pool of every memory that is in it."""
        self.queries = queries
        names = [
            sorted({*query.relevant, *query.stale, *query.current, *query.must_not, *query.scores} & pool.keys())
            for query, pool in zip(queries, pools, strict=True)
        ]
        numbers = [{name: k for k, name in enumerate(some)} for some in names]
        starts = np.cumsum([0, *map(len, names)])
        self.total = int(starts[-1])
        self.query = np.repeat(np.arange(len(queries)), list(map(len, names)))
        """(targets,): whose it is."""
        self.column = np.array(
            [pool[name] for some, pool in zip(names, pools, strict=True) for name in some], dtype=np.int64
        )
        """(targets,): its place in the pool."""
        self._numbers = [
            {name: int(start) + k for name, k in some.items()} for some, start in zip(numbers, starts[:-1], strict=True)
        ]
        self._relevant = self._entries(lambda query: query.relevant)
        self._asked = np.array([query.asks_previous for query in queries], dtype=np.bool_)

    def _entries(self, chosen: Callable[[Labelled], Mapping[str, float] | Collection[str]]) -> Entries:
        query, target, value, size = [], [], [], []
        for q, labelled in enumerate(self.queries):
            found = chosen(labelled)
            valued = found if isinstance(found, Mapping) else dict.fromkeys(sorted(found), 1.0)
            size.append(len(valued))
            for name, grade in valued.items():
                query.append(q)
                target.append(self._numbers[q].get(name, self.total))
                value.append(grade)
        return Entries(
            query=np.array(query, dtype=np.int64),
            target=np.array(target, dtype=np.int64),
            value=np.array(value, dtype=np.float64),
            size=np.array(size, dtype=np.int64),
        )

    def measure(self, name: str) -> Callable[[Ranked], Floats] | None:
        """What takes a measure of every query, shape (queries,), NaN where it does not apply; None: it is unknown."""
        base, at, cut = name.partition("@")
        k = int(cut) if cut.isdecimal() else 0
        if at and (not k or base not in BY_PLACE):
            return None
        if not at and base not in (*WHOLE, *JUDGED):
            return None
        limit = min(k, TOP_K) if k else TOP_K
        return self._of_base(base, limit, k)

    def _of_base(self, base: str, limit: int, k: int) -> Callable[[Ranked], Floats]:
        relevant = self._relevant
        some = relevant.size > 0
        match base:
            case "R" | "recall":
                return lambda got: _where(some, self._hits(got, limit) / np.maximum(relevant.size, 1))
            case "P":
                full = relevant.size >= max(k, 1)
                return lambda got: _where(full, self._hits(got, limit) / k)
            case "nDCG":
                return self._ndcg(limit, k)
            case "MRR":
                return lambda got: _where(some, _reciprocal(relevant.first(got.places), limit))
            case "MAP":
                return self._average_precision()
            case "stale" | "must_not" | "current_first":
                return self._of_outdated(base, limit)
            case "empty_ok":
                return lambda got: _where(~some, ~got.returned)
            case "coverage":
                return lambda got: _where(some, got.returned)
            case "risk":
                return lambda got: _where(got.returned, relevant.first(got.places) != 1)
            case "leaks":
                asked = np.array([query.asked.get("namespace") is not None for query in self.queries], dtype=np.bool_)
                return lambda got: _where(asked, np.zeros(len(got.returned)))
            case "Brier":
                return lambda got: got.brier
        return self._error(base)

    def _of_outdated(self, base: str, limit: int) -> Callable[[Ranked], Floats]:
        stale, current = self._entries(lambda query: query.stale), self._entries(lambda query: query.current)
        outdated = (self._relevant.size > 0) & (stale.size > 0) & (current.size > 0) & ~self._asked
        if base == "stale":
            return lambda got: _where(outdated, stale.first(got.places) <= limit)
        if base == "current_first":
            return lambda got: _where(outdated, current.first(got.places) < stale.first(got.places))
        shunned = self._entries(lambda query: query.must_not)
        return lambda got: _where(shunned.size > 0, shunned.first(got.places) <= limit)

    def _hits(self, got: Ranked, limit: int) -> Floats:
        return self._relevant.per_query((got.places[self._relevant.target] <= limit).astype(np.float64))

    def _ndcg(self, limit: int, k: int) -> Callable[[Ranked], Floats]:
        relevant = self._relevant
        best = np.array([_ideal(query.relevant.values(), k) for query in self.queries])
        share = relevant.value / best[relevant.query]

        def value(got: Ranked) -> Floats:
            places = got.places[relevant.target]
            gained = np.where(places <= limit, share / np.log2(places + 1.0), 0.0)
            return _where(relevant.size > 0, np.minimum(relevant.per_query(gained), 1.0))

        return value

    def _average_precision(self) -> Callable[[Ranked], Floats]:
        relevant = self._relevant
        one, other = [], []
        for q in range(len(self.queries)):
            rows = np.flatnonzero(relevant.query == q)
            one += [i for i in rows for _ in rows]
            other += [j for _ in rows for j in rows]
        first, second = np.array(one, dtype=np.int64), np.array(other, dtype=np.int64)

        def value(got: Ranked) -> Floats:
            places = got.places[relevant.target]
            above = np.bincount(first, (places[second] <= places[first]).astype(np.float64), len(places))
            precision = np.where(np.isfinite(places), above / places, 0.0)
            return _where(relevant.size > 0, relevant.per_query(precision) / np.maximum(relevant.size, 1))

        return value

    def _error(self, base: str) -> Callable[[Ranked], Floats]:
        part = {"MAE_relevance": "relevance", "MAE_freshness": "freshness"}.get(base, "combined")

        def given(pair: PairScores) -> float | None:
            value: float | None = getattr(pair, part)
            return value

        by_hand = self._entries(lambda query: {n: v for n, p in query.scores.items() if (v := given(p)) is not None})
        counted = by_hand.target < self.total if part == "freshness" else np.ones(len(by_hand.query), dtype=np.bool_)
        size = by_hand.per_query(counted.astype(np.float64))

        def value(got: Ranked) -> Floats:
            said = {"relevance": got.relevance, "freshness": got.freshness, "combined": got.score}[part]
            error = np.where(counted, np.abs(by_hand.value - said[by_hand.target]), 0.0)
            return _where(size > 0, by_hand.per_query(error) / np.maximum(size, 1.0))

        return value


def sign(name: str) -> float:
    """1, or -1 for a measure of which less is better."""
    return -1.0 if lower_is_better(name) else 1.0


def _where(applies: Bools, values: Floats | Bools) -> Floats:
    return np.where(applies, values, np.nan)


def _reciprocal(places: Floats, limit: int) -> Floats:
    return np.where(places <= limit, 1.0 / places, 0.0)


def _ideal(grades: Collection[float], k: int) -> float:
    best = sorted(grades, reverse=True)[: k or None]
    return math.fsum(grade / math.log2(at + 1) for at, grade in enumerate(best, start=1)) or 1.0
