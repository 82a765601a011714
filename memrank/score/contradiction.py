"""Whether the newer of two memories states another value for the same thing: boosted trees over evidence of the pair.

The trees are fitted by `benchmarks/fit_contradiction.py` and shipped in `memrank/data/contradiction.json`.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memrank.score import trees

Floats = NDArray[np.float64]


def probability(model: trees.Trees, features: Mapping[str, Floats]) -> Floats:
    """Of each pair, shape (pairs,), in [0, 1], from its features, each of that shape.

    0 where the two were never true at one time (`disjoint`), or say the same words (`same`).
    """
    ruled_out = (features["disjoint"] > 0) | (features["same"] > 0)
    return np.where(ruled_out, 0.0, model.probability(features))


@cache
def shipped() -> trees.Trees:
    """The model that comes with the package."""
    raw = json.loads(files("memrank.data").joinpath("contradiction.json").read_text(encoding="utf-8"))
    return trees.load(raw["model"])
