"""What an element of a conversation is worth, by logistic models over its evidence, and how relevance enters.

The coefficients are fitted by `benchmarks/fit_dialogue.py` and shipped in `memrank/data/dialogue.json`. In a short
conversation, what an element does decides (who said it, what it promises, what refers to it). In a long one nearly
everything is background, and what the message asks about decides:

    logit(keep) = share * logit(keep by evidence) + (1 - share) * logit(keep by relevance)
    share = 1 / (1 + (n / LONG)^2)

Kept by relevance are the most relevant: an element's decay there is its standing, stretched so that the first STAYS of
all elements come out below class 4. The relevance itself would not do: of a thousand turns, each is hardly likely to be
needed.
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

PARTS = ("decay", "protected", "replaced")
"""What is judged of an element, and (the last) of a pair of them."""
USUAL = 40
"""Elements of a usual conversation."""
CLASSES = (0.3, 0.7, 0.9)
"""Decays at which the classes 2, 3 and 4 begin."""
LONG = 120.0
"""Elements at which evidence and relevance count alike."""
STAYS = (0.06, 0.2)
"""Shares of a long conversation that relevance keeps whole, and keeps at all; a budget may keep less."""
EDGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """Of n elements, each array of shape (n,)."""

    decay: Floats
    """0 essential to 1 worthless, from evidence alone."""
    protected: Floats
    """Probability that it is a commitment, an open question or a pending action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueModel:
    """For each of PARTS, coefficients by the name of their feature, and the intercept."""

    coefficients: Mapping[str, Mapping[str, float]]
    intercepts: Mapping[str, float]
    edges: tuple[float, float, float]
    """Decays at which the classes 2, 3 and 4 begin, before they are stretched to CLASSES."""

    def worth(self, features: Mapping[str, Floats]) -> Worth:
        """From the features of `dialogue.evidence`, each of shape (n,)."""
        decay, protected = (self._part(part, features) for part in PARTS[:2])
        protected = rarer(protected, len(protected))
        stretched = np.interp(decay, (0.0, *self.edges, 1.0), (0.0, *CLASSES, 1.0))
        return Worth(decay=stretched, protected=protected)

    def replaced(self, links: Mapping[str, Floats], n: int) -> Floats:
        """Probability that the newer element of each pair corrects or replaces the older one, shape (pairs,), from the
        features of `dialogue.links`, in a conversation of n elements.
        """
        return rarer(self._part("replaced", links), n)

    def _part(self, part: str, features: Mapping[str, Floats]) -> Floats:
        return sigmoid(self.intercepts[part] + combine(features, self.coefficients[part]))


def rarer(likely: Floats, n: int) -> Floats:
    """A probability that was fitted on usual conversations, in one of n elements: in a longer one, less of what was
    said is still owed, and any two elements are less likely to be a statement and its correction.
    """
    return sigmoid(_logit(likely) - np.log(max(1.0, n / USUAL)))


def with_relevance(decay: Floats, relevance: Floats) -> Floats:
    """Decay, shape (n,), once relevance to the message, in [0, 1], has its say in a long conversation."""
    n = len(decay)
    share = 1.0 / (1.0 + (n / LONG) ** 2)
    rising = np.sort(relevance)
    better = n - np.searchsorted(rising, relevance, side="right")
    standing = np.interp(better / max(n, 1), (0.0, *STAYS, 1.0), (0.0, *CLASSES[1:], 1.0))
    return 1.0 - sigmoid(share * _logit(1.0 - decay) + (1.0 - share) * _logit(1.0 - standing))


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
    first, second, third = raw["edges"]
    return DialogueModel(
        coefficients={part: raw[part]["coefficients"] for part in PARTS},
        intercepts={part: float(raw[part]["intercept"]) for part in PARTS},
        edges=(float(first), float(second), float(third)),
    )
