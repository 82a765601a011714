"""The embedded relevance model, evaluated in numpy: a linear order of the candidates, and a logistic level.

`order` = sum of coefficient * feature ranks the candidates of one query. The probability that a candidate helps is
1 / (1 + exp(-(intercept + a * order + b * ln(rank) + ...))): it depends on how well the candidate matches, on how many
match better, and on how much of the query the best one holds, which is what lets the model say that nothing here is
relevant. It keeps that ranking, with two exceptions: in a small pool, candidates that share nothing with the query
fall, and so do those that the query does not name in a store that is an index of named subjects. The coefficients are
fitted by `benchmarks/fit_relevance.py` and shipped in `memrank/data/relevance.json`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memrank.score.fuse import standardise

Floats = NDArray[np.float64]


ORDER = (
    "bm25_z",
    "bm25_few",
    "dense_z",
    "overlap",
    "soft",
    "soft_z",
    "phrases",
    "answers_number",
    "named",
    "before",
    "after",
    "before_last",
    "numbers",
    "other_numbers",
    "years",
)
SHRINK = 20
ENOUGH_SOFT, ENOUGH_DENSE = 0.15, 0.2
"""Share of the query's words, and cosine, from which a candidate has something in common with the query."""
LEVEL = ("order", "log_rank", "top_soft", "top_overlap", "top_dense", "top_named", "log_pool", "weak_few", "unnamed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Coefficients of ORDER and LEVEL, and the intercept of the level."""

    order: Mapping[str, float]
    level: Mapping[str, float]
    intercept: float

    def probability(self, columns: Mapping[str, Floats]) -> Floats:
        """Relevance of each candidate of a pool, shape (n,), in [0, 1], from the columns of the prefilter."""
        if not len(columns["dense"]):
            return np.zeros(0)
        score = combine(order_features(columns), self.order)
        return sigmoid(self.intercept + combine(level_features(columns, score), self.level))


def order_features(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The features of ORDER, each of shape (n,).

    Standardised features are shrunk by n / (n + SHRINK): in a pool of a few candidates, the spread that they are
    measured in says little, and what a candidate shows by itself should decide. `bm25_few` gives BM25, which knows
    lengths, its own weight there.
    """
    n = len(columns["soft"])
    trust = n / (n + SHRINK)
    shrunk = {
        "bm25_z": trust * columns["bm25_z"],
        "bm25_few": (1.0 - trust) * columns["bm25_z"],
        "dense_z": trust * columns["dense_z"],
        "soft_z": trust * standardise(columns["soft"]),
    }
    return {name: shrunk[name] if name in shrunk else columns[name] for name in ORDER}


def level_features(columns: Mapping[str, Floats], order: Floats) -> dict[str, Floats]:
    """The features of LEVEL, each of shape (n,). Candidates with equal `order` share the best rank among them;
    `top_*` is the value of the best ranked candidate. `weak_few`, in [0, 1], is how little a candidate of a small
    pool shares with the query: in a large one the rank says so. `unnamed`, in [0, 1], is how little the query speaks
    of the candidate's subject, in a store that declares the names of its subjects.
    """
    rising = np.sort(order)
    rank = 1 + len(order) - np.searchsorted(rising, order, side="right")
    whole = np.ones_like(order)
    best = rank == 1
    return {
        "order": order,
        "log_rank": np.log(rank),
        **{f"top_{name}": whole * columns[name][best].max() for name in ("soft", "overlap", "dense", "named")},
        "log_pool": whole * np.log(len(order)),
        "weak_few": (1.0 - evidence(columns)) * SHRINK / (len(order) + SHRINK),
        "unnamed": (1.0 - meant(columns)) * columns["subjects"],
    }


def evidence(columns: Mapping[str, Floats]) -> Floats:
    """How much a candidate shares with the query by itself, in [0, 1]: words, meaning or names, whichever is most."""
    signs = [columns["soft"] / ENOUGH_SOFT, columns["dense"] / ENOUGH_DENSE]
    signs += [columns[name] for name in ("before", "after", "before_last", "named")]
    return np.minimum(reduce(np.maximum, signs, np.zeros(1)), 1.0)


def meant(columns: Mapping[str, Floats]) -> Floats:
    """How far the query speaks of a candidate's subject, in [0, 1]: by one of its names, or by what it holds, counted
    from half of the query's words and from a cosine of one half.
    """
    held = np.maximum(2.0 * columns["overlap"] - 1.0, 4.0 * columns["dense"] - 2.0)
    said: Floats = np.maximum(columns["named"], np.clip(held, 0.0, 1.0))
    return said


def combine(features: Mapping[str, Floats], coefficients: Mapping[str, float]) -> Floats:
    """Sum of coefficient * feature, in the order of the features."""
    total = np.zeros_like(next(iter(features.values())))
    for name, values in features.items():
        total = total + coefficients.get(name, 0.0) * values
    return total


def sigmoid(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow for any finite logit."""
    small = np.exp(-np.abs(logit))
    return np.where(logit >= 0, 1.0, small) / (1.0 + small)


@cache
def shipped() -> Model:
    """The model that comes with the package."""
    raw = json.loads(files("memrank.data").joinpath("relevance.json").read_text(encoding="utf-8"))
    return Model(order=raw["order"], level=raw["level"], intercept=float(raw["intercept"]))


def dump(model: Model, extra: Mapping[str, object]) -> str:
    """JSON text of a model, with whatever says how it was made."""
    rounded = {
        name: {key: round(value, 6) for key, value in part.items()}
        for name, part in (("order", model.order), ("level", model.level))
    }
    body = {**rounded, "intercept": round(model.intercept, 6), **extra}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"
