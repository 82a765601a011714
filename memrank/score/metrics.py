"""What one ranking is worth, by the ids that are relevant: the measures of trec_eval, for one query.

`ranked` holds ids, best first; an id that is repeated counts at its first place only. `k` is 1 or more; None looks at
the whole ranking. Every value lies in [0, 1]; where nothing is relevant it is 0, as in trec_eval.
"""

import math
from collections.abc import Collection, Mapping, Sequence


def first(ranked: Sequence[str], k: int | None = None) -> list[str]:
    """The first k distinct ids."""
    return list(dict.fromkeys(ranked))[:k]


def recall(ranked: Sequence[str], relevant: Collection[str], k: int | None = None) -> float:
    """Share of the relevant ids that is among the first k."""
    return _hits(first(ranked, k), relevant) / len(relevant) if relevant else 0.0


def precision(ranked: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Relevant ids among the first k, of k: a ranking shorter than k is not let off."""
    return _hits(first(ranked, k), relevant) / k


def found(ranked: Sequence[str], ids: Collection[str], k: int | None = None) -> float:
    """1 where one of the ids is among the first k, else 0."""
    return float(_hits(first(ranked, k), ids) > 0)


def place(ranked: Sequence[str], ids: Collection[str]) -> float:
    """The place, from 1, of the first of the ids; infinite where none was ranked."""
    return next((float(at) for at, name in enumerate(first(ranked), start=1) if name in ids), math.inf)


def reciprocal_rank(ranked: Sequence[str], relevant: Collection[str], k: int | None = None) -> float:
    """1 / place of the first relevant id; 0 where it is not among the first k."""
    return 1.0 / place(first(ranked, k), relevant)


def average_precision(ranked: Sequence[str], relevant: Collection[str], k: int | None = None) -> float:
    """Mean over the relevant ids of the precision at their place; one that is not among the first k adds 0."""
    if not relevant:
        return 0.0
    total = hits = 0.0
    for at, name in enumerate(first(ranked, k), start=1):
        if name in relevant:
            hits += 1
            total += hits / at
    return total / len(relevant)


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], k: int | None = None) -> float:
    """Discounted cumulative gain of the first k, of that of the best ranking (Järvelin and Kekäläinen 2002).

    The gain of an id is its grade, 0 where it has none; the discount of place i is log2(i + 1).
    """
    best = _discounted(sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k])
    gained = _discounted([max(grades.get(name, 0.0), 0.0) for name in first(ranked, k)])
    return gained / best if best else 0.0


def _hits(names: Sequence[str], ids: Collection[str]) -> int:
    return sum(name in ids for name in names)


def _discounted(gains: Sequence[float]) -> float:
    # math.fsum: a ranking that is as good as the best one is worth 1 exactly.
    return math.fsum(gain / math.log2(at + 1) for at, gain in enumerate(gains, start=1))
