"""What the answer to one golden query is worth: every measure that its labels allow, and what a failed read gets.

A measure applies by the labels alone, so that it is over the same queries whatever a pipeline answers. Three depend on
the answer too: `risk` is over the queries that were answered, `Brier` over the reads that judged something, and
`MAE_freshness` over memories that were judged: what the prefilter missed is told by the other two, not by freshness.

    R@k, recall@k, nDCG@k, MRR@k, MRR, MAP   something is relevant; only nDCG@k knows grades
    P@k               at least k are relevant: with fewer, not even the best ranking would reach 1
    coverage          something is relevant: something was returned
    current_first     of those with outdated values that do not ask for the earlier one: some current id stands above
                      every outdated one
    stale@k           of the same: an outdated value is among the first k
    must_not@k        there are ids that must not come back: one of them is among the first k
    empty_ok          nothing is relevant: nothing was returned
    risk              something was returned: the first result is not relevant
    Brier             squared error of the relevance that was judged, against whether a memory speaks to the question
    MAE_relevance, MAE_combined (also called MAE), MAE_freshness   memories were scored by hand: the mean absolute error
                      over them; one that was not judged was given relevance and score 0 by the pipeline
    sensitivity       it is labelled: it was recognised
    actions           actions of a pruner are labelled: share of them that is right; a memory without an action is not
                      in the context, which counts as `drop`
    leaks             a namespace was asked: how many results are of another one

ECE, latency, calls, tokens and cost are no measures of a single query.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memrank.evals.labels import Labelled, PairScores
from memrank.evals.outcome import Floats, Judged
from memrank.score import calibration, metrics

ALWAYS = (
    *("R@1", "R@5", "R@10", "R@50", "P@3", "nDCG@10", "MRR@10", "MRR", "MAP"),
    *("current_first", "stale@1", "must_not@10", "empty_ok", "coverage", "risk"),
    *("Brier", "MAE_relevance", "MAE_freshness", "MAE_combined", "sensitivity", "actions", "leaks"),
)
"""The measures that are always taken, in the order in which they are shown."""
ABSENT = "drop"
"""The action of a memory that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    query: Labelled
    ranked: list[str]
    judged: Judged | None
    sensitivity: str | None
    actions: Mapping[str, str] | None
    leaked: int
    k: int = 0
    """How many of the first results count; 0 where a measure knows no k."""


@dataclass(frozen=True, slots=True)
class _Measure:
    labels: Callable[[Labelled], bool] | None
    """Whether a query has the labels that it needs; None: it needs none."""
    value: Callable[[_Answer], float | None]
    """None where the answer holds nothing to measure."""
    worst: float = 0.0
    lower: bool = False
    """Whether less is better."""
    full: bool = False
    """Whether k ids must be relevant."""

    def applies(self, query: Labelled, k: int) -> bool:
        return (self.labels is None or self.labels(query)) and (not self.full or len(query.relevant) >= k)


def measures(
    query: Labelled,
    ranked: Sequence[str],
    judged: Judged | None,
    sensitivity: str | None,
    actions: Mapping[str, str] | None,
    leaked: int,
    *,
    also: Iterable[str] = (),
) -> dict[str, float]:
    """The measures of ALWAYS that apply, and those named by `also`, each under the name that it was asked by.

    `ranked` are the ids that were returned, best first; one that is repeated counts once. `judged`, `sensitivity` and
    `actions` (id to action) are None where the read has none: what needs them is left out. `leaked` counts results of
    another namespace. Names of `also` that are no measures of a single query are passed over.
    """
    answer = _Answer(
        query=query,
        ranked=metrics.first(ranked),
        judged=judged,
        sensitivity=sensitivity,
        actions=actions,
        leaked=leaked,
    )
    found = {}
    for name, (measure, k) in _named(also).items():
        value = measure.value(replace(answer, k=k)) if measure.applies(query, k) else None
        if value is not None:
            found[name] = value
    return found


def worst(query: Labelled, *, also: Iterable[str] = (), pruned: bool = True) -> dict[str, float]:
    """What a failed read gets: the worst value of every measure that applies by the labels.

    It leaked nothing, so `leaks` is 0. `pruned` tells whether the pipeline has a pruner; without one, `actions` are
    never measured.
    """
    return {
        name: measure.worst
        for name, (measure, k) in _named(also).items()
        if measure.applies(query, k) and (pruned or name != "actions")
    }


def lower_is_better(name: str) -> bool:
    """Whether less of a measure is better. Knows all metrics of a spec; latencies, calls and costs too."""
    known = _known(name)
    return known[0].lower if known else name == "ECE" or name.startswith(("latency_", "lm_", "cost_"))


def _named(also: Iterable[str]) -> dict[str, tuple[_Measure, int]]:
    return {name: known for name in (*ALWAYS, *also) if (known := _known(name))}


def _known(name: str) -> tuple[_Measure, int] | None:
    base, at, k = name.partition("@")
    measure = _MEASURES.get(base + at)
    if measure is None or (at and not (k.isdecimal() and int(k))):
        return None
    return measure, int(k or 0)


def _answerable(query: Labelled) -> bool:
    return bool(query.relevant)


def _outdated(query: Labelled) -> bool:
    return bool(query.relevant and query.stale and query.current) and not query.asks_previous


def _recall(answer: _Answer) -> float:
    return metrics.recall(answer.ranked, answer.query.relevant, answer.k)


def _precision(answer: _Answer) -> float:
    return metrics.precision(answer.ranked, answer.query.relevant, answer.k)


def _ndcg(answer: _Answer) -> float:
    return metrics.ndcg(answer.ranked, answer.query.relevant, answer.k)


def _reciprocal(answer: _Answer) -> float:
    return metrics.reciprocal_rank(answer.ranked, answer.query.relevant, answer.k or None)


def _average_precision(answer: _Answer) -> float:
    return metrics.average_precision(answer.ranked, answer.query.relevant)


def _current_first(answer: _Answer) -> float:
    return float(metrics.place(answer.ranked, answer.query.current) < metrics.place(answer.ranked, answer.query.stale))


def _stale(answer: _Answer) -> float:
    return metrics.found(answer.ranked, answer.query.stale, answer.k)


def _must_not(answer: _Answer) -> float:
    return metrics.found(answer.ranked, answer.query.must_not, answer.k)


def _risk(answer: _Answer) -> float | None:
    return float(answer.ranked[0] not in answer.query.relevant) if answer.ranked else None


def _brier(answer: _Answer) -> float | None:
    judged = answer.judged
    return calibration.brier(judged.relevance, judged.true) if judged and judged.ids else None


def _error(
    by_hand: Callable[[PairScores], float | None], said: Callable[[Judged], Floats], *, missed: float | None = 0.0
) -> _Measure:
    """Mean absolute error; a memory that was not judged counts as `missed`, and not at all where that is None."""

    def labels(query: Labelled) -> bool:
        return any(by_hand(pair) is not None for pair in query.scores.values())

    def value(answer: _Answer) -> float | None:
        if answer.judged is None:
            return None
        given = dict(zip(answer.judged.ids, map(float, said(answer.judged)), strict=True))
        pairs = [(by_hand(pair), given.get(name, missed)) for name, pair in answer.query.scores.items()]
        errors = [abs(wanted - got) for wanted, got in pairs if wanted is not None and got is not None]
        return math.fsum(errors) / len(errors) if errors else None

    return _Measure(labels, value, worst=1.0, lower=True)


def _sensitivity(answer: _Answer) -> float | None:
    return None if answer.sensitivity is None else float(answer.sensitivity == answer.query.sensitivity)


def _actions(answer: _Answer) -> float | None:
    if answer.actions is None:
        return None
    right = [answer.actions.get(name, ABSENT) in allowed for name, allowed in answer.query.expected_actions.items()]
    return sum(right) / len(right)


_COMBINED = _error(lambda pair: pair.combined, lambda judged: judged.score)
_MEASURES: Mapping[str, _Measure] = {
    "R@": _Measure(_answerable, _recall),
    "recall@": _Measure(_answerable, _recall),
    "P@": _Measure(_answerable, _precision, full=True),
    "nDCG@": _Measure(_answerable, _ndcg),
    "MRR@": _Measure(_answerable, _reciprocal),
    "MRR": _Measure(_answerable, _reciprocal),
    "MAP": _Measure(_answerable, _average_precision),
    "coverage": _Measure(_answerable, lambda answer: float(bool(answer.ranked))),
    "current_first": _Measure(_outdated, _current_first),
    "stale@": _Measure(_outdated, _stale, worst=1.0, lower=True),
    "must_not@": _Measure(lambda query: bool(query.must_not), _must_not, worst=1.0, lower=True),
    "empty_ok": _Measure(lambda query: not query.relevant, lambda answer: float(not answer.ranked)),
    "risk": _Measure(None, _risk, worst=1.0, lower=True),
    "Brier": _Measure(None, _brier, worst=1.0, lower=True),
    "MAE_relevance": _error(lambda pair: pair.relevance, lambda judged: judged.relevance),
    "MAE_freshness": _error(lambda pair: pair.freshness, lambda judged: judged.freshness, missed=None),
    "MAE_combined": _COMBINED,
    "MAE": _COMBINED,
    "sensitivity": _Measure(lambda query: query.sensitivity is not None, _sensitivity),
    "actions": _Measure(lambda query: bool(query.expected_actions), _actions),
    "leaks": _Measure(
        lambda query: query.asked.get("namespace") is not None,
        lambda answer: float(answer.leaked),
        lower=True,
    ),
}
