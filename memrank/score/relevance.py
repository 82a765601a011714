"""The embedded relevance model: a logistic function of a few features of the pair, evaluated in numpy.

The coefficients are fitted by `benchmarks/fit_relevance.py` and shipped in `memrank/data/relevance.json`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """probability = 1 / (1 + exp(-(intercept + sum of coefficient * feature)))."""

    features: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float

    def probability(self, columns: Mapping[str, Floats]) -> Floats:
        """Shape (n,), in [0, 1], from columns of that shape that hold every feature named."""
        logit = np.full_like(next(iter(columns.values())), self.intercept)
        for name, coefficient in zip(self.features, self.coefficients, strict=True):
            logit = logit + coefficient * columns[name]
        return sigmoid(logit)


def sigmoid(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow for any finite logit."""
    small = np.exp(-np.abs(logit))
    return np.where(logit >= 0, 1.0, small) / (1.0 + small)


def features(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The model's features, each of shape (n,), from the prefilter's columns of a pool.

    The first four order the candidates of a query. The last three are the same for all of them: they move the level of
    the probability, so that it can say that nothing here is relevant.
    """
    level = np.ones_like(columns["dense"])
    return {
        "bm25_z": columns["bm25_z"],
        "dense_z": columns["dense_z"],
        "neighbour": columns["neighbour"],
        "overlap": columns["overlap"],
        "top_overlap": level * columns["overlap"].max(initial=0.0),
        "top_dense": level * columns["dense"].max(initial=0.0),
        "log_pool": level * np.log1p(len(level)),
    }


def load(text: str) -> Logistic:
    """A model from its JSON text."""
    raw = json.loads(text)
    return Logistic(
        features=tuple(raw["features"]), coefficients=tuple(raw["coefficients"]), intercept=float(raw["intercept"])
    )


@cache
def shipped() -> Logistic:
    """The model that comes with the package."""
    return load(files("memrank.data").joinpath("relevance.json").read_text(encoding="utf-8"))


def dump(model: Logistic, extra: Mapping[str, object]) -> str:
    """JSON text of a model, with whatever says how it was made."""
    body: dict[str, object] = {
        "features": list(model.features),
        "coefficients": _rounded(model.coefficients),
        "intercept": round(model.intercept, 6),
    }
    return json.dumps({**body, **extra}, indent=2, ensure_ascii=False) + "\n"


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 6) for value in values]
