"""The embedded judge on padded pools: the model of `score.relevance` for all queries at once, to the last bit."""

from collections.abc import Sequence

import numpy as np

from memrank.score.relevance import LEVEL, ORDER, SHRINK, Model, evidence, meant, order_features, sigmoid
from memrank.stages.ranker import judged_columns
from memrank.tune.pools import Pools
from memrank.types import Floats

_TOPS = ("soft", "overlap", "dense", "named")


class Judging:
    """What the judge reads of every candidate, laid side by side."""

    def __init__(self, pools: Pools) -> None:
        shape = pools.pool.shape
        names = ("weak_few", "unnamed", *(f"top_{name}" for name in _TOPS))
        self._pool = pools.pool
        self._order = {name: np.zeros(shape) for name in ORDER}
        self._other = {name: np.zeros(shape) for name in names}
        sizes = pools.pool.sum(axis=1)
        self._log_pool = np.log(np.maximum(sizes, 1)).astype(np.float64)[:, None]
        for q, (slate, order) in enumerate(zip(pools.slates, pools.order, strict=True)):
            if slate is None or not len(slate):
                continue
            columns, n = judged_columns(slate), len(slate)
            for name, values in order_features(columns).items():
                self._order[name][q, :n] = values[order]
            found = {
                "weak_few": (1.0 - evidence(columns)) * SHRINK / (n + SHRINK),
                "unnamed": (1.0 - meant(columns)) * columns["subjects"],
                **{f"top_{name}": columns[name] for name in _TOPS},
            }
            for name, values in found.items():
                self._other[name][q, :n] = values[order]

    def probability(self, model: Model) -> Floats:
        """Relevance before calibration, (queries, width); 0 beyond a pool."""
        order = _combined([self._order[name] for name in ORDER], [model.order.get(name, 0.0) for name in ORDER])
        rank = _ranks(np.where(self._pool, order, -np.inf))
        best = (rank == 1) & self._pool
        features = {"order": order, "log_rank": np.log(rank), "log_pool": self._log_pool}
        for name in LEVEL:
            if name.startswith("top_"):
                features[name] = np.where(best, self._other[name], -np.inf).max(axis=1, initial=-np.inf)[:, None]
                features[name] = np.where(np.isfinite(features[name]), features[name], 0.0)
            elif name not in features:
                features[name] = self._other[name]
        level = _combined([features[name] for name in LEVEL], [model.level.get(name, 0.0) for name in LEVEL])
        return np.where(self._pool, sigmoid(model.intercept + level), 0.0)


def _combined(features: Sequence[Floats], coefficients: Sequence[float]) -> Floats:
    """Sum of coefficient * feature, in the order of the features."""
    total: Floats = coefficients[0] * features[0]
    for values, coefficient in zip(features[1:], coefficients[1:], strict=True):
        if coefficient:
            total = total + coefficient * values
    return total


def _ranks(order: Floats) -> Floats:
    """One more than how many of the row are higher."""
    falling = np.argsort(-order, axis=1, kind="stable")
    ranked = np.take_along_axis(order, falling, axis=1)
    fresh = np.ones(order.shape, dtype=np.bool_)
    fresh[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, np.arange(order.shape[1]), 0), axis=1)
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, falling, first + 1.0, axis=1)
    return ranks
