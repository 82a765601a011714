"""Several pipelines on the same queries: what each does better or worse than the first, and whether that is chance."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from memrank.errors import UsageError
from memrank.evals.measure import ALWAYS, lower_is_better
from memrank.evals.outcome import Failed, Floats, Outcome, Scored
from memrank.evals.report import Report
from memrank.score.intervals import Bootstrap, Estimate, holm
from memrank.text.counted import distinct

SCHEMA = "memrank.comparison/1"
LEVEL = 0.05
"""Differences whose corrected p-value is below it are no chance."""
FINEST = 80
"""Resamples for each test at least: the smallest p-value that they can tell, corrected for all tests, is LEVEL / 2."""
TIE = 1e-9
RANKED_BY = ("nDCG@10", "empty_ok")
LATENCIES = {"latency_p50": 0.5, "latency_p95": 0.95, "latency_p99": 0.99}

Verdict = Literal["better", "worse", "even"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One measure, a pipeline minus the first one, over the n queries that both have it for."""

    measure: str
    first: float
    """Of these queries; of all where the measure is no mean (a latency)."""
    other: float
    difference: float
    low: float
    high: float
    """95 % interval; NaN where fewer than two groups have the measure."""
    n: int
    p: float
    """Two-sided, by the bootstrap. NaN: not tested. Costs are not, nor what is the same for every query: it could show
    no difference, and would only weaken the correction of the others (Tarone 1990)."""
    corrected: float
    """`p` after Holm's correction for all tests of the comparison."""
    wins: int
    """Queries on which the pipeline is better than the first."""
    ties: int
    losses: int
    verdict: Verdict
    """`even` unless `corrected` is below 0.05."""

    @property
    def told(self) -> str:
        """The verdict for people: `same` where no query differs, `not tested` for what is not."""
        if math.isnan(self.p):
            return "not tested" if self.wins or self.losses else "same"
        return self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One query under two pipelines, by the measure that queries are sorted by."""

    query_id: str
    measure: str
    first: float
    other: float
    gain: float
    """How much better the pipeline is than the first; below 0: worse."""
    failed: bool
    """Whether the read of the pipeline failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One pipeline against the first."""

    name: str
    report: Report
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    """Every query that both have a value for, the largest loss first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All pipelines against the first, under names of which no two are the same."""

    name: str
    first: Report
    others: tuple[Against, ...]
    ranked_by: tuple[str, ...]
    resamples: int
    tests: int
    """How many differences are tested, and so corrected for."""

    @property
    def named(self) -> tuple[tuple[str, Report], ...]:
        """Every report with its name, the first one first."""
        return ((self.name, self.first), *((other.name, other.report) for other in self.others))


def compare(reports: Sequence[Report], groups: Sequence[str], *, ranked_by: Sequence[str] = RANKED_BY) -> Comparison:
    """Compare reports on the same queries with the first of them.

    `groups` names what is drawn together for each outcome, in their order (`evalset.groups`). Queries are sorted by the
    first measure of `ranked_by` that both reports have for them. The seed is that of the first report, the resamples as
    many at least as its own. Raises UsageError for fewer than two reports, or for reports on different queries.
    """
    _check(reports, groups)
    first, *rest = reports
    names = distinct(report.spec for report in reports)
    measures = [_measures(first, other) for other in rest]
    resamples = max(first.resamples, FINEST * sum(map(len, measures)))
    bootstrap = Bootstrap(groups, seed=first.seed, resamples=resamples)
    found = [
        [*_differences(first, other, shared, bootstrap), *_costs(first, other, bootstrap)]
        for other, shared in zip(rest, measures, strict=True)
    ]
    tests = sum(not math.isnan(one.p) for many in found for one in many)
    corrected = iter(holm([one.p for many in found for one in many]))
    others = tuple(
        Against(
            name=name,
            report=report,
            differences=tuple(_judged(one, next(corrected)) for one in many),
            changes=_changes(first, report, ranked_by),
        )
        for name, report, many in zip(names[1:], rest, found, strict=True)
    )
    return Comparison(
        name=names[0], first=first, others=others, ranked_by=tuple(ranked_by), resamples=resamples, tests=tests
    )


def _check(reports: Sequence[Report], groups: Sequence[str]) -> None:
    if len(reports) < 2:
        raise UsageError("a comparison needs at least two reports", hint="name two specs or more")
    first, *rest = reports
    asked = [outcome.query_id for outcome in first.outcomes]
    for report in rest:
        same = report.queries_sha256 == first.queries_sha256 and report.part == first.part
        if not same or [outcome.query_id for outcome in report.outcomes] != asked:
            raise UsageError(
                f"{report.spec[:80]} was evaluated on other queries than {first.spec[:80]}",
                hint="evaluate all of them on the same evalset and the same part of it",
            )
    if len(groups) != len(asked):
        raise UsageError(
            f"{len(groups)} groups for {len(asked)} queries", hint="give the group of each query, in order"
        )


def _measures(first: Report, other: Report) -> list[str]:
    """What both have a value of for some query, in the order in which measures are shown."""
    both = _all_names(first.outcomes) & _all_names(other.outcomes)
    return [*(name for name in ALWAYS if name in both), *sorted(both - set(ALWAYS))]


def _all_names(outcomes: Iterable[Outcome]) -> set[str]:
    return {name for outcome in outcomes for name in _values(outcome)}


def _values(outcome: Outcome) -> dict[str, float]:
    return dict(outcome.values) if isinstance(outcome, Scored | Failed) else {}


def _column(report: Report, measure: str) -> Floats:
    return np.array([_values(outcome).get(measure, math.nan) for outcome in report.outcomes], dtype=np.float64)


def _differences(first: Report, other: Report, measures: Sequence[str], bootstrap: Bootstrap) -> list[Difference]:
    found = []
    for measure in measures:
        a, b = _column(other, measure), _column(first, measure)
        told = bootstrap.paired(a, b)
        differs = bool((np.abs(a - b) > TIE).any())  # NaN does not
        found.append(_difference(measure, b, a, told, told.p if differs else math.nan))
    return found


def _costs(first: Report, other: Report, bootstrap: Bootstrap) -> list[Difference]:
    """Calls, tokens, cost and latency: with intervals, but no part of the tests that are corrected for.

    They differ by design or by the load of a machine, and would only make the tests of quality weaker.
    """
    found = []
    for measure in ("lm_calls", "lm_tokens", "cost_usd"):
        a, b = _cost(other, measure), _cost(first, measure)
        if np.nansum(a) or np.nansum(b):
            found.append(_difference(measure, b, a, bootstrap.estimate(a - b), math.nan))
    a, b = _cost(other, "latency"), _cost(first, "latency")
    both = np.isfinite(a - b)
    a, b = np.where(both, a, math.nan), np.where(both, b, math.nan)
    for measure, share in LATENCIES.items():
        x, y = bootstrap.quantile(a, share), bootstrap.quantile(b, share)
        if both.any():
            found.append(_difference(measure, b, a, x.minus(y), math.nan, means=(y.mean, x.mean)))
    return found


def _cost(report: Report, measure: str) -> Floats:
    def of(outcome: Outcome) -> float:
        if not isinstance(outcome, Scored):
            return math.nan
        costs = {"lm_calls": outcome.lm_calls, "lm_tokens": outcome.lm_tokens, "cost_usd": outcome.lm_cost_usd}
        return float(costs.get(measure, outcome.latency_ms))

    return np.array([of(outcome) for outcome in report.outcomes], dtype=np.float64)


def _difference(
    measure: str, first: Floats, other: Floats, told: Estimate, p: float, means: tuple[float, float] | None = None
) -> Difference:
    both = np.isfinite(first) & np.isfinite(other)
    gains = _gain(measure, first[both], other[both])
    mean = means or ((float(first[both].mean()), float(other[both].mean())) if both.any() else (math.nan, math.nan))
    return Difference(
        measure=measure,
        first=mean[0],
        other=mean[1],
        difference=told.mean,
        low=told.low,
        high=told.high,
        n=told.n,
        p=p,
        corrected=math.nan,
        wins=int((gains > TIE).sum()),
        ties=int((abs(gains) <= TIE).sum()),
        losses=int((gains < -TIE).sum()),
        verdict="even",
    )


def _gain(measure: str, first: Floats, other: Floats) -> Floats:
    return first - other if lower_is_better(measure) else other - first


def _judged(one: Difference, corrected: float) -> Difference:
    verdict: Verdict = "even"
    if corrected < LEVEL and one.difference != 0:
        verdict = "better" if (one.difference < 0) == lower_is_better(one.measure) else "worse"
    return replace(one, corrected=corrected, verdict=verdict)


def _changes(first: Report, other: Report, ranked_by: Sequence[str]) -> tuple[Change, ...]:
    found = []
    for before, after in zip(first.outcomes, other.outcomes, strict=True):
        old, new = _values(before), _values(after)
        measure = next((name for name in ranked_by if name in old and name in new), None)
        if measure is None:
            continue
        gain = old[measure] - new[measure] if lower_is_better(measure) else new[measure] - old[measure]
        change = Change(
            query_id=before.query_id,
            measure=measure,
            first=old[measure],
            other=new[measure],
            gain=gain,
            failed=isinstance(after, Failed),
        )
        found.append(change)
    # Python's sort keeps the order of the set among equal ones.
    return tuple(sorted(found, key=lambda change: change.gain))


def to_dict(comparison: Comparison) -> dict[str, object]:
    """For programs: `memrank.comparison/1`, without the reports themselves. What is NaN is null."""
    return {
        "schema": SCHEMA,
        "first": comparison.name,
        "ranked_by": list(comparison.ranked_by),
        "resamples": comparison.resamples,
        "tests": comparison.tests,
        "others": [
            {
                "spec": other.name,
                "differences": [_row(one) for one in other.differences],
                "queries": [_row(one) for one in other.changes],
            }
            for other in comparison.others
        ],
    }


def _row(one: Difference | Change) -> dict[str, object]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in asdict(one).items()
    }
