"""What an answer to a case is worth, in [0, 1], and what was wrong with it, in words that an optimizer can act upon.

Order counts by pairs, since one batch says little of a whole ranking: the share of pairs of a more and a less relevant
memory of which the former was placed above the latter, equals counting half. Level is 1 - the mean absolute error. The
objective decides between the two: one of order alone still counts level for LEVEL_AT_LEAST, because thresholds and
composites read the numbers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from memrank.calibration import calibrated
from memrank.lmanswers import Repairs, check, choice, judgement
from memrank.spec import RankerSpec
from memrank.stages.lm.freshness import suits
from memrank.stages.lm.sensitivity import NAMES
from memrank.tune.prompts.cases import Case

LEVELS = ("MAE", "MAE_relevance", "MAE_combined", "MAE_freshness", "Brier", "ECE")
"""Objectives that look at the numbers, not at the order."""
LEVEL_AT_LEAST, LEVEL_AT_MOST = 0.2, 0.9
NEAR = 0.1
"""Difference of labels from which two memories should be told apart."""
MOST_SAID = 8
"""Faults that feedback names."""

Objective = str | Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Of one answer."""

    score: float
    """In [0, 1], never NaN."""
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Aims:
    """What the answers are for."""

    level: float
    """Share of the level in the score."""
    ranker: RankerSpec


def aims(objective: Objective, ranker: RankerSpec) -> Aims:
    """What an objective of a spec (`nDCG@10`, or measures with weights) asks of single answers."""
    weights = {objective: 1.0} if isinstance(objective, str) else objective
    total = math.fsum(abs(weight) for weight in weights.values()) or 1.0
    level = math.fsum(abs(weight) for name, weight in weights.items() if name.partition("@")[0] in LEVELS) / total
    return Aims(level=min(max(level, LEVEL_AT_LEAST), LEVEL_AT_MOST), ranker=ranker)


def verdict(case: Case, outputs: Mapping[str, Any], wanted: Aims) -> Verdict:
    """What the output fields of an answer are worth. An answer that a read could not use whole is worth 0."""
    if "sensitivity" in outputs:
        return _of_time(case, outputs)
    if "passages" in case.inputs:
        return _of_passages(case, outputs["judgements"])
    return _of_ranking(case, outputs["judgements"], wanted)


def broken(said: str) -> Verdict:
    """Of no answer at all."""
    return Verdict(score=0.0, feedback=f"There was no answer that can be used: {said}.")


def _of_ranking(case: Case, items: object, wanted: Aims) -> Verdict:
    names = list(case.labels)
    found = check(names, items, judgement)
    if found.missing(names):
        return broken("; ".join(found.faults[:MOST_SAID]))
    said = {name: found.accepted[name].relevance for name in names}
    order, misplaced = _order(case.labels, said)
    level = _level(case.labels, said)
    score = level if order is None else wanted.level * level + (1.0 - wanted.level) * order
    faults = [*misplaced, *_beyond(case.labels, said, wanted.ranker)]
    return Verdict(score=_safe(score), feedback=_told(faults, "The order is right and no memory is on a wrong side."))


def _order(labels: Mapping[str, float], said: Mapping[str, float]) -> tuple[float | None, list[str]]:
    """Share of pairs in their order, None without any, and what was misplaced, the worst first."""
    pairs = [(a, b) for a in labels for b in labels if labels[a] >= labels[b] + NEAR]
    if not pairs:
        return None, []
    right = math.fsum(1.0 if said[a] > said[b] else 0.5 if said[a] == said[b] else 0.0 for a, b in pairs)
    wrong = sorted((pair for pair in pairs if said[pair[0]] <= said[pair[1]]), key=lambda p: said[p[0]] - said[p[1]])
    faults = [
        f"{b} ({said[b]:.2f}) was placed {'above' if said[b] > said[a] else 'level with'} {a} ({said[a]:.2f}), but the "
        f"label says {labels[b]:.2f} for {b} and {labels[a]:.2f} for {a}"
        for a, b in wrong
    ]
    return right / len(pairs), faults


def _beyond(labels: Mapping[str, float], said: Mapping[str, float], ranker: RankerSpec) -> list[str]:
    """Memories on the wrong side of the threshold below which a memory is excluded."""
    limit = ranker.relevance_threshold
    counted = calibrated(ranker.calibration, np.array(list(said.values()), dtype=np.float64)).tolist()
    faults = []
    for (name, value), final in zip(said.items(), counted, strict=True):
        if labels[name] >= 0.5 and final < limit:
            faults.append(
                f"{name} ({value:.2f}) lies below the threshold ({limit:.2f}) and would be left out, but the label "
                f"says {labels[name]:.2f}"
            )
        elif labels[name] < limit <= final and labels[name] < value - NEAR:
            faults.append(f"{name} ({value:.2f}) is placed too high: the label says {labels[name]:.2f}")
    return faults


def _of_passages(case: Case, items: object) -> Verdict:
    names = list(case.labels)
    found = check(names, items, suits)
    if found.missing(names):
        return broken("; ".join(found.faults[:MOST_SAID]))
    said = {name: found.accepted[name].freshness for name in names}
    faults = [
        f"{name}: {said[name]:.2f} was said, the label says {label:.2f}"
        for name, label in sorted(case.labels.items(), key=lambda one: -abs(said[one[0]] - one[1]))
        if abs(said[name] - label) > NEAR
    ]
    return Verdict(score=_safe(_level(case.labels, said)), feedback=_told(faults, "Every number is near its label."))


def _of_time(case: Case, outputs: Mapping[str, Any]) -> Verdict:
    right = case.outputs
    try:
        sensitivity = choice(outputs["sensitivity"], "sensitivity", NAMES, Repairs())
    except ValueError as fault:
        return broken(str(fault))
    previous = outputs.get("asks_previous")
    if not isinstance(previous, bool):
        return broken("asks_previous must be true or false")
    faults = []
    if sensitivity != right["sensitivity"]:
        faults.append(f"sensitivity {sensitivity} was said, the label says {right['sensitivity']}")
    if previous != right["asks_previous"]:
        faults.append(f"asks_previous {previous} was said, the label says {right['asks_previous']}")
    score = 0.7 * (sensitivity == right["sensitivity"]) + 0.3 * (previous == right["asks_previous"])
    return Verdict(score=score, feedback=_told(faults, "All of it is right."))


def _level(labels: Mapping[str, float], said: Mapping[str, float]) -> float:
    return 1.0 - math.fsum(abs(said[name] - label) for name, label in labels.items()) / len(labels)


def _safe(score: float) -> float:
    return min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0


def _told(faults: list[str], well: str) -> str:
    if not faults:
        return well
    more = len(faults) - MOST_SAID
    return ". ".join([*faults[:MOST_SAID], *([f"And {more} more"] if more > 0 else [])]) + "."
