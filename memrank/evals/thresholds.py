"""Thresholds for an aim: a precision of what counts as relevant, or a share of reads that ask for a person."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrank.errors import DataError
from memrank.result import Result
from memrank.score.review import review_reasons
from memrank.specreads import ReviewSpec
from memrank.types import Bools, Floats

FEWEST = 10
"""Pairs at or above a threshold without which its precision is chance."""


def for_precision(said: Floats, relevant: Bools, aim: float) -> float:
    """The lowest threshold from which on a share `aim` of n pairs is relevant, halfway to the next value below.

    `said` is what is compared with it. Raises DataError where no threshold with FEWEST pairs above it has that share.
    """
    falling = np.argsort(-said, kind="stable")
    values = said[falling]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    count = ends + 1
    share = np.cumsum(relevant[falling])[ends] / count
    enough = count >= FEWEST
    reached = np.flatnonzero(enough & (share >= aim))
    if not len(reached):
        best = float(share[enough].max(initial=0.0))
        raise DataError(
            f"no relevance threshold gives a precision of {aim:g}; the best one gives {best:.3f}",
            hint="a lower --target-precision",
        )
    last = int(ends[reached[-1]])
    below = float(values[last + 1]) if last + 1 < len(values) else 0.0
    return (float(values[last]) + below) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What decides whether one read asks for a person."""

    scores: Floats
    """Of the results that count, best first."""
    raw: Floats
    """(n,): composites of all that was judged."""
    outdated: Bools
    """(n,): stale or superseded."""
    other: bool
    """Whether it asks for a person whatever the scores are."""


def reviewed(result: Result) -> Reviewed:
    """Of one answer."""
    items = (*result.results, *result.excluded)
    # As where a read is assembled: what stays only because it is protected counts for nothing.
    counting = [item for item in result.results if all(adjustment.factor for adjustment in item.adjustments)]
    return Reviewed(
        scores=np.array([item.score for item in counting], dtype=np.float64),
        raw=np.array([item.raw_score for item in items], dtype=np.float64),
        outdated=np.array([item.stale_flag or "superseded" in item.flags for item in items], dtype=np.bool_),
        other="critical_dropped" in result.meta.review_reasons,
    )


def asks(read: Reviewed, rules: ReviewSpec, top_score_below: float, margin: float) -> bool:
    """Whether a read asks for a person under these thresholds."""
    return read.other or bool(
        review_reasons(
            read.scores,
            read.raw,
            read.outdated,
            top_score_below=top_score_below,
            ambiguity_margin=margin,
            ambiguity_top=rules.ambiguity_top,
            stale_score_above=rules.stale_score_above,
        )
    )


def for_review_rate(reads: Sequence[Reviewed], rules: ReviewSpec, aim: float) -> tuple[float, float]:
    """`top_score_below` and `ambiguity_margin`, the widest ones under which at most a share `aim` of reads asks for a
    person. The margin never exceeds that of the rules, and takes up at most half of the share.

    Raises DataError where more reads ask for a person whatever these two are.
    """
    least = _rate(reads, rules, 0.0, 0.0)
    if least > aim:
        raise DataError(
            f"a review rate of {aim:g} cannot be reached: {least:.3f} of the reads ask for a person because something "
            "outdated scores high, something critical is dropped, or the first results tie",
            hint="a higher --review-rate, or a higher review.stale_score_above",
        )
    gaps = np.concatenate([np.zeros(0), *(_gaps(read, rules) for read in reads)])
    margins = [m for m in (*_between(gaps), rules.ambiguity_margin) if m <= rules.ambiguity_margin]
    margin = max((m for m in margins if _rate(reads, rules, 0.0, m) <= aim / 2), default=0.0)
    tops = np.array([float(read.scores[0]) for read in reads if len(read.scores)], dtype=np.float64)
    below = max(t for t in (0.0, *_between(tops), 1.0) if _rate(reads, rules, t, margin) <= aim)
    return below, margin


def _rate(reads: Sequence[Reviewed], rules: ReviewSpec, below: float, margin: float) -> float:
    return float(np.mean([asks(read, rules, below, margin) for read in reads])) if reads else 0.0


def _gaps(read: Reviewed, rules: ReviewSpec) -> Floats:
    first = read.scores[: rules.ambiguity_top]
    return first[:-1] - first[1:]


def _between(values: Floats) -> list[float]:
    """The middles between neighbouring values, and between 0 and the lowest one."""
    distinct = np.unique(np.append(values, 0.0))
    middles: list[float] = ((distinct[1:] + distinct[:-1]) / 2).tolist()
    return middles
