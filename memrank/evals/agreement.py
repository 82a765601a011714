"""How well two people agree on the labels of a golden set: `second.jsonl` holds those of the second one.

Its rows have `id`, `relevant` and `scores` as in `queries.jsonl`; the keys of `scores` are what was shown to that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memrank.errors import DataError
from memrank.evals.evalset import groups
from memrank.evals.labels import Labelled, PairScores, read_labels
from memrank.queryrows import rows
from memrank.score.agreement import kappa_terms, weighted_kappa
from memrank.score.intervals import Bootstrap, Estimate
from memrank.types import Floats, Notes

SECOND = "second.jsonl"
SEED = 20260320
RESAMPLES = 2_000
SCORES = ("relevance", "freshness", "combined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Figures with intervals, drawn by split group."""

    queries: int
    kappa: Estimate
    """Cohen's kappa of relevant or not, over the memories that were shown to the second person."""
    correlation: dict[str, Estimate]
    """Pearson's, of each score that both have given."""
    mae: dict[str, Estimate]
    """Mean absolute difference of the same."""


def second_labels(folder: Path) -> list[Labelled]:
    """The rows of the second person; none without the file. Raises DataError for one that cannot be read."""
    path = folder / SECOND
    if not path.is_file():
        return []
    notes = Notes()
    try:
        with path.open("rb") as stream:
            found = rows(stream, str(path), lambda note: notes.extend([note]), lambda _: None)
            labels = [read_labels(row, f"{path}: {row.id[:80]}") for row in found]
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None
    if notes.as_tuple():
        raise DataError(notes.as_tuple()[0].detail, hint="a line holds one JSON object")
    without = [query.id for query in labels if not query.annotated]
    if without:
        raise DataError(f"{path}: {without[0][:80]}: relevant is missing", hint="an empty list says that nothing helps")
    return labels


def agreement(first: Sequence[Labelled], second: Sequence[Labelled]) -> Agreement | None:
    """Of the queries that both have labelled; None where there are none."""
    place = {query.id: k for k, query in enumerate(first)}
    names = groups(first)
    both = [(first[place[other.id]], other, names[place[other.id]]) for other in second if other.id in place]
    shown = [(one, other, name, group) for one, other, group in both for name in other.scores]
    if not shown:
        return None
    draws = Bootstrap([group for *_, group in shown], seed=SEED, resamples=RESAMPLES)
    labels = np.array(
        [(name in one.relevant, name in other.relevant) for one, other, name, _ in shown], dtype=np.float64
    )
    nothing = PairScores()
    correlation, mae = {}, {}
    for score in SCORES:
        values = np.array(
            [
                [_value(getattr(pair, score)) for pair in (one.scores.get(name, nothing), other.scores[name])]
                for one, other, name, _ in shown
            ]
        )
        x, y = values.T
        correlation[score] = draws.of_sums(np.column_stack([x, y, x * x, y * y, x * y]), _pearson)
        mae[score] = draws.estimate(np.abs(x - y))
    return Agreement(
        queries=len(both),
        kappa=draws.of_sums(kappa_terms(*labels.T), weighted_kappa),
        correlation=correlation,
        mae=mae,
    )


def _value(given: float | None) -> float:
    return np.nan if given is None else given


def _pearson(sums: Floats) -> Floats:
    """From the sums of x, y, x^2, y^2 and x y. NaN where one of them never changes."""
    x, y, xx, yy, xy, n = (sums[..., k] for k in range(6))
    spread = (n * xx - x * x) * (n * yy - y * y)
    told = spread > ROUNDING * (n * xx) * (n * yy)
    return np.asarray(np.where(told, (n * xy - x * y) / np.sqrt(np.maximum(spread, 0)), np.nan))


ROUNDING = 1e-12
"""Share of the squares below which a spread is what floating point left over."""
