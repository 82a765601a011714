"""Which of two candidates states a newer value of the same thing: a logistic judgement over evidence of the pair.

All arrays over pairs have shape (k, k): row is the older candidate, column the newer one. The coefficients are
fitted by `benchmarks/fit_conflict.py` and shipped in `memrank/data/conflict.json`.
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
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FEATURES = (
    "old_in_new",
    "new_in_old",
    "similarity",
    "same_question",
    "joint",
    "other_numbers",
    "same_session",
    "context",
    "rank_old",
    "rank_new",
    "historical",
    "recent",
    "level_old",
    "level_new",
    "same_type",
    "between",
    "gap",
    "only_old",
    "only_new",
    "new_ended",
)

DAY = 86400.0
MOST_LEFT = 3.0
LEAST_ODDS = 1e-6
"""Keeps the log odds of a relevance of 0 or 1 finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of k candidates, best first, and of each pair of them."""

    shared: Floats
    """(k, k): summed weight of the terms that both hold; the diagonal is what each holds."""
    asked: Floats
    """(k, k): the same, of the query's terms only."""
    numbers: Floats
    """(k, k): how many numbers both hold."""
    cosine: Floats
    """(k, k): of the sentence vectors; 0 without an embedder."""
    renamed: Bools
    """(k, k): the row holds a name or number of the query that the column lacks: it speaks of something else."""
    session: Ints
    """(k,): equal for candidates of one sitting."""
    kind: Ints
    """(k,): equal for candidates of one memory type."""
    relevance: Floats
    """(k,): in [0, 1]."""
    age: Floats
    """(k,): seconds; meaningless where `dated` is False."""
    dated: Bools
    ended: Bools
    """(k,): which candidates say that something ended."""
    historical: bool
    """Whether the query asks about the past."""
    recent: bool
    """Whether it asks for what is so now."""


def pair_features(evidence: Evidence) -> dict[str, Floats]:
    """Features of every pair, each of shape (k, k)."""
    shared, asked, numbers = evidence.shared, evidence.asked, evidence.numbers
    own = np.diag(shared) + 1e-9
    own_asked = np.diag(asked)
    own_numbers = np.diag(numbers)
    k = len(own)
    whole = np.ones((k, k))
    old_in_new = shared / own[:, None]
    new_in_old = shared / own[None, :]
    same_question = asked / (np.maximum(own_asked[:, None], own_asked[None, :]) + 1e-9)
    beyond = own - own_asked
    context = (shared - asked) / (np.minimum(beyond[:, None], beyond[None, :]) + 1e-9)
    both_numbered = (own_numbers[:, None] > 0) & (own_numbers[None, :] > 0)
    other_numbers = both_numbered & (numbers < np.minimum(own_numbers[:, None], own_numbers[None, :]))
    rank = np.log1p(np.arange(k))
    level = np.log(evidence.relevance + LEAST_ODDS) - np.log(1.0 - evidence.relevance + LEAST_ODDS)
    newer_than = np.searchsorted(np.sort(evidence.age[evidence.dated]), evidence.age, side="left").astype(np.float64)
    return {
        "old_in_new": old_in_new,
        "new_in_old": new_in_old,
        "similarity": evidence.cosine,
        "same_question": same_question,
        "joint": np.minimum(old_in_new, new_in_old) * same_question,
        "other_numbers": other_numbers.astype(np.float64),
        "same_session": (evidence.session[:, None] == evidence.session[None, :]).astype(np.float64),
        "context": np.clip(context, 0.0, 1.0),
        "rank_old": rank[:, None] * whole,
        "rank_new": rank[None, :] * whole,
        "historical": whole * evidence.historical,
        "recent": whole * evidence.recent,
        "level_old": level[:, None] * whole,
        "level_new": level[None, :] * whole,
        "same_type": (evidence.kind[:, None] == evidence.kind[None, :]).astype(np.float64),
        "between": np.log1p(np.maximum(0.0, newer_than[:, None] - newer_than[None, :] - 1.0)),
        "gap": np.log1p(np.maximum(0.0, evidence.age[:, None] - evidence.age[None, :]) / DAY),
        "only_old": np.minimum((own[:, None] - shared) / 10.0, MOST_LEFT),
        "only_new": np.minimum((own[None, :] - shared) / 10.0, MOST_LEFT),
        "new_ended": whole * evidence.ended[None, :] * same_question,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictModel:
    """Coefficients over `pair_features`, and the intercept."""

    coefficients: Mapping[str, float]
    intercept: float

    def probability(self, evidence: Evidence) -> Floats:
        """(k, k): that the column candidate, which must be newer, states a newer value of what the row candidate
        states.
        """
        chance = sigmoid(self.intercept + combine(pair_features(evidence), self.coefficients))
        return np.where(possible(evidence), chance, 0.0)


def possible(evidence: Evidence) -> Bools:
    """(k, k): whether the column candidate can replace the row candidate at all."""
    newer = evidence.age[:, None] > evidence.age[None, :]
    # What says nothing that the older one does not say cannot state another value: a repetition, or a part of it.
    adds = np.diag(evidence.shared)[None, :] > evidence.shared
    return newer & evidence.dated[:, None] & evidence.dated[None, :] & adds & ~evidence.renamed


@cache
def shipped() -> ConflictModel:
    """The model that comes with the package."""
    raw = json.loads(files("memrank.data").joinpath("conflict.json").read_text(encoding="utf-8"))
    return ConflictModel(coefficients=raw["coefficients"], intercept=float(raw["intercept"]))


def newest(chance: Floats, threshold: float) -> tuple[Ints, Floats]:
    """The candidate that replaces each one (-1: none) and how likely, from the (k, k) probabilities: shape (k,) each.

    A chain is followed to its end. Since only a newer candidate can replace an older one, chains never close.
    """
    k = len(chance)
    best = chance.argmax(axis=1) if k else np.empty(0, dtype=np.int64)
    likely = chance[np.arange(k), best] if k else np.empty(0)
    following = np.where(likely >= threshold, best, -1)
    end = following.copy()
    for _ in range(k):
        further = np.where(end >= 0, following[end], -1)
        if not (further >= 0).any():
            break
        end = np.where(further >= 0, further, end)
    return end, np.where(following >= 0, likely, 0.0)
