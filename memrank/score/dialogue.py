"""What an element of a conversation is worth, by three logistic models over its evidence, and how relevance enters.

The coefficients are fitted by `benchmarks/fit_dialogue.py` and shipped in `memrank/data/dialogue.json`. In a short
conversation, what an element does decides (who said it, what it promises, what refers to it). In a long one nearly
everything is background, and what the message asks about decides:

    logit(keep) = share * logit(keep by evidence) + (1 - share) * logit(relevance), share = 1 / (1 + (n / LONG)^2)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from memrank.score.relevance import combine, sigmoid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = ("decay", "protected", "corrected")
CLASSES = (0.3, 0.7, 0.9)
"""Decays at which the classes 2, 3 and 4 begin."""
LONG = 150.0
"""Elements at which evidence and relevance count alike."""
EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """Of n elements, each array of shape (n,)."""

    decay: Floats
    """0 essential to 1 worthless, from evidence alone."""
    protected: Floats
    """Probability that it is a commitment, an open question or a pending action."""
    corrected: Floats
    """Probability that something later corrects or replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueModel:
    """For each of PARTS, coefficients by the name of their feature, and the intercept."""

    coefficients: Mapping[str, Mapping[str, float]]
    intercepts: Mapping[str, float]
    edges: tuple[float, float, float]
    """Decays at which the classes 2, 3 and 4 begin, before they are stretched to CLASSES."""

    def worth(self, features: Mapping[str, Floats]) -> Worth:
        """From the features of `dialogue.evidence`, each of shape (n,)."""
        decay, protected, corrected = (
            sigmoid(self.intercepts[part] + combine(features, self.coefficients[part])) for part in PARTS
        )
        stretched = np.interp(decay, (0.0, *self.edges, 1.0), (0.0, *CLASSES, 1.0))
        return Worth(decay=stretched, protected=protected, corrected=corrected)


def with_relevance(decay: Floats, relevance: Floats) -> Floats:
    """Decay, shape (n,), once relevance to the message, in [0, 1], has its say in a long conversation."""
    n = len(decay)
    share = 1.0 / (1.0 + (n / LONG) ** 2)
    return 1.0 - sigmoid(share * _logit(1.0 - decay) + (1.0 - share) * _logit(relevance))


def faded(decay: Floats, off_topic: Floats, push: float) -> Floats:
    """Decay pushed towards 1 by a share `push` of what is left, as far as an element is off the new topic, (n,)."""
    return decay + push * off_topic * (1.0 - decay)


def age_correlation(age: Floats, decay: Floats) -> float | None:
    """Pearson's correlation of age and decay, in [-1, 1]; None where either does not vary."""
    if len(age) < 3 or float(age.std()) < EDGE or float(decay.std()) < EDGE:
        return None
    return float(np.clip(np.mean((age - age.mean()) * (decay - decay.mean())) / (age.std() * decay.std()), -1.0, 1.0))


def _logit(share: Floats) -> Floats:
    inside = np.clip(share, EDGE, 1.0 - EDGE)
    logit: Floats = np.log(inside / (1.0 - inside))
    return logit


@cache
def shipped() -> DialogueModel:
    """The model that comes with the package."""
    raw = json.loads(files("memrank.data").joinpath("dialogue.json").read_text(encoding="utf-8"))
    return DialogueModel(
        coefficients={part: raw[part]["coefficients"] for part in PARTS},
        intercepts={part: float(raw[part]["intercept"]) for part in PARTS},
        edges=tuple(map(float, raw["edges"])),
    )
