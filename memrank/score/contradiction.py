"""Whether the newer of two memories states another value for the same thing: boosted trees over evidence of the pair.

The trees, and how often the plain cases (`memrank/updates.py`) are right, are fitted by
`benchmarks/fit_contradiction.py` and shipped in `memrank/data/contradiction.json`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memrank.score import trees

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionModel:
    """What evidence of a pair is worth."""

    trees: trees.Trees
    updates: Mapping[str, float]
    """How likely a pair is a contradiction that shows this plain case, by its name."""


def probability(model: ContradictionModel, features: Mapping[str, Floats]) -> Floats:
    """Of each pair, shape (pairs,), in [0, 1], from its features, each of that shape: what the trees say, or a plain
    case if that is more.

    0 where the two were never true at one time (`disjoint`), say the same words (`same`), or share next to nothing
    (`unrelated`).
    """
    likely = model.trees.probability(features)
    for name, chance in model.updates.items():
        likely = np.maximum(likely, np.where(features[name] > 0, chance, 0.0))
    ruled_out = (features["disjoint"] > 0) | (features["same"] > 0) | (features["unrelated"] > 0)
    return np.where(ruled_out, 0.0, likely)


@cache
def shipped() -> ContradictionModel:
    """The model that comes with the package."""
    raw = json.loads(files("memrank.data").joinpath("contradiction.json").read_text(encoding="utf-8"))
    return ContradictionModel(
        trees=trees.load(raw["model"]), updates={name: float(chance) for name, chance in raw["updates"].items()}
    )
