"""What a pipeline is worth on a golden set, as plain values: every number with its interval and how many it is over."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from memrank.evals.evalset import FEWEST_GROUPS, Evalset, groups
from memrank.evals.labels import Labelled
from memrank.evals.outcome import LM_FIGURES, Failed, Floats, Outcome, Scored, Unscored
from memrank.score.calibration import BINS, bin_sums, ece_of_sums, reliability, risk_coverage
from memrank.score.intervals import Bootstrap, Estimate
from memrank.specevaluate import GateSpec
from memrank.specvalues import CUT_METRICS, METRICS
from memrank.types import Bools

SCHEMA = "memrank.eval/1"
LATENCIES = {"latency_p50": 0.5, "latency_p95": 0.95, "latency_p99": 0.99}
CURVE = 100
"""Points of a risk-coverage curve at the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measure: its mean over n queries (or pairs), with a 95 % interval."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decile:
    """Judged memories whose relevance lies in one tenth of [0, 1]."""

    low: float
    high: float
    mean: float
    """Mean relevance said; NaN where there are none."""
    share: float
    """Share that is relevant."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate of the spec: the bound, what was measured, and whether it holds."""

    metric: str
    value: float | None
    """None where no query has what it needs: the gate fails."""
    low: float | None
    """`min` of the spec."""
    high: float | None
    """`max` of the spec."""
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One pipeline on (a part of) one golden set."""

    evalset: str
    part: str
    """`all`, `fit`, `choose` or `report`."""
    spec: str
    spec_sha256: str
    queries_sha256: str
    store_version: str
    seed: int
    resamples: int
    unit: str
    """What the intervals draw together: `split_group`, `tenant` or `query`."""
    queries: int
    scored: int
    failed: int
    unscored: int
    figures: Mapping[str, Figure]
    by_category: Mapping[str, Mapping[str, Figure]]
    deciles: Sequence[Decile]
    gates: Sequence[GateResult]
    outcomes: Sequence[Outcome]
    """One a query, in the order of the set."""
    risk_coverage: Sequence["RiskPoint"] = ()
    """What answering only from a top score on would do, from the highest one to the lowest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPoint:
    """Reads whose first result scores at least `threshold` are answered, the others abstain."""

    threshold: float
    coverage: float
    """Share of the scored queries that would be answered."""
    risk: float
    """Share of those answered whose first result is not relevant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was evaluated."""

    spec: str
    """Its name."""
    spec_sha256: str
    store_version: str
    gates: Mapping[str, GateSpec]


def report_of(
    subject: Subject,
    evalset: Evalset,
    queries: Sequence[Labelled],
    outcomes: Sequence[Outcome],
    *,
    part: str,
    seed: int,
    resamples: int,
) -> Report:
    """The report on one outcome a query, in their order.

    Every figure is a mean over the queries that it applies to, failures with the worst value; or, of what was read: a
    calibration error (over the memories of all reads), a percentile of the latencies in milliseconds, calls, tokens
    and cost a read. Intervals come from `resamples` resamples of groups of queries, drawn by `seed`.
    """
    figures = _figures(queries, outcomes, seed, resamples)
    named: dict[str, list[int]] = {}
    for place, query in enumerate(queries):
        if query.category is not None:
            named.setdefault(query.category, []).append(place)
    return Report(
        evalset=evalset.name,
        part=part,
        spec=subject.spec,
        spec_sha256=subject.spec_sha256,
        queries_sha256=evalset.queries_sha256,
        store_version=subject.store_version,
        seed=seed,
        resamples=resamples,
        unit=unit_of(queries),
        queries=len(queries),
        scored=sum(isinstance(outcome, Scored) for outcome in outcomes),
        failed=sum(isinstance(outcome, Failed) for outcome in outcomes),
        unscored=sum(isinstance(outcome, Unscored) for outcome in outcomes),
        figures=figures,
        by_category={
            name: _figures([queries[k] for k in places], [outcomes[k] for k in places], seed, resamples)
            for name, places in sorted(named.items())
        },
        deciles=_deciles(outcomes),
        gates=tuple(gate_result(name, gate, figures.get(name)) for name, gate in subject.gates.items()),
        outcomes=tuple(outcomes),
        risk_coverage=_risk_coverage(outcomes),
    )


def unit_of(queries: Sequence[Labelled]) -> str:
    """What the intervals draw together, by `groups`: `split_group` where any query has one."""
    if any(query.split_group for query in queries):
        return "split_group"
    several = len({query.asked.get("namespace") for query in queries}) >= FEWEST_GROUPS
    return "tenant" if several else "query"


def gate_result(metric: str, gate: GateSpec, figure: Figure | None) -> GateResult:
    """Whether a gate holds. It fails where nothing was measured."""
    value = None if figure is None else figure.value
    holds = value is not None and (gate.min is None or value >= gate.min) and (gate.max is None or value <= gate.max)
    return GateResult(metric=metric, value=value, low=gate.min, high=gate.max, passed=holds)


def rank_of(name: str) -> tuple[int, int, str]:
    """Orders measures as people read them: those of the first k by k, then the others."""
    family, _, cut = name.partition("@")
    order = [one.removesuffix("@k") for one in (*CUT_METRICS, *METRICS)]
    return (order.index(family) if family in order else len(order), int(cut or 0), name)


def _figures(queries: Sequence[Labelled], outcomes: Sequence[Outcome], seed: int, resamples: int) -> dict[str, Figure]:
    if not outcomes:
        return {}
    bootstrap = Bootstrap(groups(queries), seed=seed, resamples=resamples)
    values = [{} if isinstance(outcome, Unscored) else outcome.values for outcome in outcomes]
    found = {
        name: bootstrap.estimate(np.array([one.get(name, math.nan) for one in values], dtype=np.float64))
        for name in dict.fromkeys(name for one in values for name in one)
    }
    if any(isinstance(outcome, Scored) for outcome in outcomes):
        found |= _of_reads(bootstrap, outcomes)
    return {name: figure_of(found[name]) for name in sorted(found, key=rank_of) if not math.isnan(found[name].mean)}


def _of_reads(bootstrap: Bootstrap, outcomes: Sequence[Outcome]) -> dict[str, Estimate]:
    """What is no mean of a measure of single queries; over the reads that did not fail, and were timed."""
    timed = [isinstance(one, Scored) and not math.isnan(one.latency_ms) for one in outcomes]

    def column(value: Callable[[Scored], float]) -> Floats:
        found = [
            value(one) if known and isinstance(one, Scored) else math.nan
            for one, known in zip(outcomes, timed, strict=True)
        ]
        return np.array(found, dtype=np.float64)

    said = np.array(
        [
            bin_sums(one.judged.relevance, one.judged.true).reshape(-1)
            if isinstance(one, Scored)
            else np.full(3 * BINS, math.nan)
            for one in outcomes
        ]
    )
    latency = column(lambda one: one.latency_ms)
    found = {"ECE": bootstrap.of_sums(said, ece_of_sums)}
    found |= {name: bootstrap.quantile(latency, share) for name, share in LATENCIES.items()}
    return found | {
        "lm_calls": bootstrap.estimate(column(lambda one: one.lm_calls)),
        "lm_tokens": bootstrap.estimate(column(lambda one: one.lm_tokens)),
        "cost_usd": bootstrap.estimate(column(lambda one: one.lm_cost_usd)),
        **{name: bootstrap.estimate(column(partial(_lm_figure, name))) for name in LM_FIGURES},
    }


def _lm_figure(name: str, one: Scored) -> float:
    """NaN for a read that has it not."""
    return one.lm_figures.get(name, math.nan)


def figure_of(estimate: Estimate) -> Figure:
    """An estimate as a figure."""
    return Figure(value=estimate.mean, low=estimate.low, high=estimate.high, n=estimate.n)


def _deciles(outcomes: Sequence[Outcome]) -> tuple[Decile, ...]:
    judged = [one.judged for one in outcomes if isinstance(one, Scored)]
    if not any(one.ids for one in judged):
        return ()
    return deciles_of(np.concatenate([o.relevance for o in judged]), np.concatenate([o.true for o in judged]))


def deciles_of(said: Floats, relevant: Bools) -> tuple[Decile, ...]:
    """The tenths of [0, 1] of n judged memories."""
    found = reliability(said, relevant)
    rows = zip(found.low, found.high, found.mean, found.share, found.n, strict=True)
    return tuple(
        Decile(low=float(low), high=float(high), mean=float(mean), share=float(share), n=int(n))
        for low, high, mean, share, n in rows
    )


def _risk_coverage(outcomes: Sequence[Outcome]) -> tuple[RiskPoint, ...]:
    scored = [one.judged for one in outcomes if isinstance(one, Scored)]
    answered = [judged for judged in scored if judged.returned]
    if not answered:
        return ()
    top = np.array([judged.score[0] for judged in answered])
    curve = risk_coverage(top, np.array([not judged.relevant[0] for judged in answered]))
    last = len(curve.threshold) - 1
    places = np.unique(np.linspace(0, last, min(CURVE, last + 1)).round().astype(np.int64))
    share = len(answered) / len(scored)
    return tuple(
        RiskPoint(
            threshold=float(curve.threshold[k]), coverage=float(curve.coverage[k]) * share, risk=float(curve.risk[k])
        )
        for k in places
    )


def to_dict(report: Report) -> dict[str, Any]:
    """The JSON form, `memrank.eval/1`. Floats are whole; what cannot be told (NaN) is null."""
    return {
        "schema": SCHEMA,
        "evalset": report.evalset,
        "part": report.part,
        "spec": report.spec,
        "spec_sha256": report.spec_sha256,
        "queries_sha256": report.queries_sha256,
        "store_version": report.store_version,
        "seed": report.seed,
        "resamples": report.resamples,
        "unit": report.unit,
        "queries": report.queries,
        "scored": report.scored,
        "failed": report.failed,
        "unscored": report.unscored,
        "figures": _plain(report.figures),
        "by_category": {name: _plain(figures) for name, figures in report.by_category.items()},
        "deciles": [_told(asdict(decile)) for decile in report.deciles],
        "risk_coverage": [_told(asdict(point)) for point in report.risk_coverage],
        "gates": [
            {
                "metric": gate.metric,
                "value": gate.value,
                "min": gate.low,
                "max": gate.high,
                "passed": gate.passed,
            }
            for gate in report.gates
        ],
        "outcomes": [_outcome(outcome) for outcome in report.outcomes],
    }


def _plain(figures: Mapping[str, Figure]) -> dict[str, dict[str, float | int | None]]:
    return {name: _told(asdict(figure)) for name, figure in figures.items()}


def _told(values: Mapping[str, float]) -> dict[str, float | int | None]:
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Scored():
            return {
                "query_id": outcome.query_id,
                "status": "scored",
                "values": dict(outcome.values),
                "latency_ms": None if math.isnan(outcome.latency_ms) else outcome.latency_ms,
                "lm": {
                    "calls": outcome.lm_calls,
                    "tokens": outcome.lm_tokens,
                    "cost_usd": outcome.lm_cost_usd,
                    **{name.removeprefix("lm_"): value for name, value in outcome.lm_figures.items()},
                },
                "top": [{"id": name, "score": score, "why": why} for name, score, why in outcome.top],
            }
        case Failed():
            return {
                "query_id": outcome.query_id,
                "status": "failed",
                "values": dict(outcome.values),
                "code": outcome.code,
                "message": outcome.message,
            }
        case Unscored():
            return {"query_id": outcome.query_id, "status": "unscored", "why": outcome.why}
