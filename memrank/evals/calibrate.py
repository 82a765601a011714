"""Calibrates the judge of a spec on one part of a golden set, and shows what that is worth on another.

The map and the thresholds come from the part `choose`. The part `report` is only looked at to say what became better
or worse; nothing is ever fitted on it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memrank.artifact import Artifact, Measured, State
from memrank.calibration import calibrated, calibration_of
from memrank.compiled import bound_json, made_with, with_state
from memrank.errors import DataError, MemrankError, UsageError
from memrank.evals.evalset import Evalset, groups
from memrank.evals.evaluate import evaluate
from memrank.evals.fitting import Method, fit, library_version, method_for
from memrank.evals.labels import Labelled, Split
from memrank.evals.outcome import Outcome, Scored
from memrank.evals.report import Decile, Figure, Subject, figure_of, report_of
from memrank.evals.thresholds import Reviewed, asks, for_precision, for_review_rate, reviewed
from memrank.pipeline import Pipeline
from memrank.score.calibration import BINS, bin_sums, ece_of_sums
from memrank.score.intervals import Bootstrap, ratio
from memrank.spec import RankerSpec, Spec
from memrank.speccalibration import CalibrationSpec
from memrank.types import Bools, Floats
from memrank.version import __version__

FITTED_ON: Split = "choose"
HELD_OUT: Split = "report"
TOP = 10
"""The most relevant memories of each read, whose calibration is looked at apart: most of the others are plainly not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to calibrate."""

    method: Literal["auto", "isotonic", "platt"] = "auto"
    target_precision: float | None = None
    """Of what stands at or above `relevance_threshold`, the share that is to be relevant; above 0, at most 1."""
    review_rate: float | None = None
    """The share of reads that is to ask for a person at most; from 0, below 1."""
    seed: int = 0
    resamples: int = 1000
    jobs: int = 1
    progress: Callable[[int], None] | None = field(default=None, repr=False)
    """Told how many more queries were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What was fitted, and what it is worth on held-out queries."""

    artifact: Artifact
    judge: str
    section: CalibrationSpec
    chosen: bool
    """Whether the method was chosen by the number of pairs."""
    evalset: str
    fitted_queries: int
    fitted_pairs: int
    fitted_relevant: int
    held_out_queries: int
    failed: int
    """Reads that failed, before or after, on either part: they count in no figure of calibration."""
    thresholds: Mapping[str, tuple[float, float]]
    """Name to its value in the spec and in the artifact."""
    before: Mapping[str, Figure]
    """On held-out queries: the metrics of `memrank eval`; `ECE@10`; `precision` and `above_threshold`, of what stands
    at or above the relevance threshold, and its number a read; and `review_rate` where one was aimed at.
    """
    after: Mapping[str, Figure]
    said_before: Sequence[Decile]
    """What was judged on held-out queries, by tenths of the relevance said, and the share of it that is so."""
    said_after: Sequence[Decile]


def calibrate(spec: Spec, build: Callable[[Spec], Pipeline], evalset: Evalset, options: Options) -> Calibrated:
    """Fit the calibration of a spec's judge.

    `spec` has no artifact; a calibration of its own is what is compared with, and has no part in the fit. `build` makes
    a pipeline over the memories of the evalset. Raises
    UsageError for aims that cannot be, DataError where the set has no queries for one of the parts, too few of a kind,
    or an aim cannot be reached.
    """
    ranker = _checked(spec, options)
    run = _Run(evalset=evalset, options=options)
    plain = build(spec)
    first = run.ask(build(_uncalibrated(spec)), FITTED_ON)
    said, relevant = _pairs(first)
    method: Method = method_for(relevant) if options.method == "auto" else options.method
    section = fit(method, said, relevant)
    threshold = _said_for(ranker.calibration, ranker.relevance_threshold)
    if options.target_precision is not None:
        threshold = for_precision(said, relevant, options.target_precision)
    rules = spec.review
    state = state_of(ranker, section, mapped(section, threshold), rules.top_score_below, rules.ambiguity_margin)
    fitted = build(with_state(spec, state))
    if options.review_rate is not None:
        below, margin = for_review_rate(run.review(fitted, FITTED_ON), rules, options.review_rate)
        state = state_of(ranker, section, mapped(section, threshold), below, margin)
        fitted = build(with_state(spec, state))
    (before, said_before), (after, said_after) = (run.figures(pipeline, HELD_OUT) for pipeline in (plain, fitted))
    then = {
        "relevance_threshold": ranker.relevance_threshold,
        "top_score_below": rules.top_score_below,
        "ambiguity_margin": rules.ambiguity_margin,
    }
    store = plain.store
    artifact = Artifact(
        name=spec.name,
        spec=bound_json(spec),
        versions={**made_with(spec), "memrank": __version__, "scikit-learn": library_version()},
        seed=options.seed,
        data={
            "evalset": evalset.name,
            "fitted_on": FITTED_ON,
            "held_out": HELD_OUT,
            "queries_sha256": evalset.queries_sha256,
            "store_version": store.store_version() if store is not None else "",
        },
        state=state,
        metrics={"before": measured(before), "after": measured(after)},
    )
    return Calibrated(
        artifact=artifact,
        judge=ranker.judge,
        section=section,
        chosen=options.method == "auto",
        evalset=evalset.name,
        fitted_queries=len(first),
        fitted_pairs=len(said),
        fitted_relevant=int(relevant.sum()),
        held_out_queries=len(evalset.part(HELD_OUT)),
        failed=run.failed,
        thresholds={name: (value, _number(state["thresholds"], name)) for name, value in then.items()},
        before=before,
        after=after,
        said_before=said_before,
        said_after=said_after,
    )


def _checked(spec: Spec, options: Options) -> RankerSpec:
    ranker = next((stage for stage in spec.stages if isinstance(stage, RankerSpec)), None)
    if ranker is None:
        raise UsageError(f"the spec {spec.name} has no ranker: there is no judge to calibrate")
    precision, rate = options.target_precision, options.review_rate
    if precision is not None and not 0 < precision <= 1:
        raise UsageError(f"a target precision is above 0 and at most 1, not {precision:g}")
    if rate is not None and not 0 <= rate < 1:
        raise UsageError(f"a review rate is from 0 to below 1, not {rate:g}")
    if rate is not None and spec.high_stakes:
        raise UsageError("under high_stakes every read asks for a person", hint="leave --review-rate out")
    return ranker


def _pairs(outcomes: Sequence[Outcome]) -> tuple[Floats, Bools]:
    """What was judged in all reads: relevance said, and whether it is so."""
    judged = [outcome.judged for outcome in outcomes if isinstance(outcome, Scored)]
    if not judged:
        raise DataError(f"no query of the part {FITTED_ON} could be read", hint="`memrank eval` says why")
    return np.concatenate([one.relevance for one in judged]), np.concatenate([one.true for one in judged])


def _uncalibrated(spec: Spec) -> Spec:
    stages = tuple(
        stage.model_copy(update={"calibration": None}) if isinstance(stage, RankerSpec) else stage
        for stage in spec.stages
    )
    return spec.model_copy(update={"stages": stages})


def _said_for(section: CalibrationSpec | None, threshold: float) -> float:
    """A threshold on relevance as the spec calibrates it, as one on what the judge says. 0 stays 0."""
    if section is None or threshold <= 0:
        return threshold
    return float(calibration_of(section).undo(np.array([threshold]))[0])


def mapped(section: CalibrationSpec, threshold: float) -> float:
    """A threshold on what the judge says, as one on calibrated relevance: it leaves out the same memories.

    0 stays 0: nothing is to be left out.
    """
    return float(calibrated(section, np.array([threshold]))[0]) if threshold > 0 else 0.0


def state_of(
    ranker: RankerSpec, section: CalibrationSpec, threshold: float, below: float, margin: float
) -> dict[str, State]:
    """The state of an artifact that holds a calibration and thresholds."""
    numbers = {name: getattr(section, name) for name in ("x", "y", "slope", "intercept")}
    known = {name: value for name, value in numbers.items() if value is not None}
    thresholds = {"relevance_threshold": threshold, "top_score_below": below, "ambiguity_margin": margin}
    return {
        f"calibration.{ranker.judge}": State(values={"method": section.method, **known}),
        "thresholds": State(values=thresholds),
    }


def _number(state: State, name: str) -> float:
    value = state.values[name]
    return value if isinstance(value, float) else math.nan


def measured(figures: Mapping[str, Figure]) -> dict[str, Measured]:
    """What of the figures says the same each time, for an artifact: no latencies."""
    return {
        name: Measured(value=figure.value, low=_told(figure.low), high=_told(figure.high), n=figure.n)
        for name, figure in figures.items()
        if math.isfinite(figure.value) and not name.startswith("latency_")
    }


def _told(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(kw_only=True)
class _Run:
    """Asks the queries of a part."""

    evalset: Evalset
    options: Options
    failed: int = 0

    def ask(self, pipeline: Pipeline, part: Split) -> list[Outcome]:
        """What became of each query. Raises DataError where the part is empty."""
        queries = self._queries(part)
        options = self.options
        found = evaluate(
            pipeline, self.evalset, queries, jobs=options.jobs, seed=options.seed, progress=options.progress
        )
        self.failed += sum(not isinstance(outcome, Scored) for outcome in found)
        return found

    def review(self, pipeline: Pipeline, part: Split) -> list[Reviewed]:
        """What decides on review, of each query that can be read."""
        return [read for read in self._reviewed(pipeline, part) if read is not None]

    def figures(self, pipeline: Pipeline, part: Split) -> tuple[dict[str, Figure], Sequence[Decile]]:
        """The metrics of a pipeline on a part, and what it said there by tenths."""
        options, queries = self.options, self._queries(part)
        outcomes = self.ask(pipeline, part)
        spec = pipeline.spec
        subject = Subject(spec=spec.name, spec_sha256=pipeline.spec_sha256, store_version="", gates={})
        report = report_of(
            subject, self.evalset, queries, outcomes, part=part, seed=options.seed, resamples=options.resamples
        )
        bootstrap = Bootstrap(groups(queries), seed=options.seed, resamples=options.resamples)
        threshold = next(one.relevance_threshold for one in spec.stages if isinstance(one, RankerSpec))
        above = np.array([_above(outcome, threshold) for outcome in outcomes])
        found = {
            "ECE@10": bootstrap.of_sums(np.array([_first(outcome) for outcome in outcomes]), ece_of_sums),
            "precision": bootstrap.of_sums(above, ratio),
            "above_threshold": bootstrap.estimate(above[:, 1]),
        }
        if options.review_rate is not None:
            rules = spec.review
            asked = [
                math.nan if read is None else float(asks(read, rules, rules.top_score_below, rules.ambiguity_margin))
                for read in self._reviewed(pipeline, part)
            ]
            found["review_rate"] = bootstrap.estimate(np.array(asked))
        figures = {**report.figures, **{name: figure_of(estimate) for name, estimate in found.items()}}
        return figures, report.deciles

    def _queries(self, part: Split) -> tuple[Labelled, ...]:
        queries = self.evalset.part(part)
        if not queries:
            what = "calibration is fitted on" if part == FITTED_ON else "shows what calibration is worth"
            raise DataError(
                f"{self.evalset.folder}: no query belongs to the part {part}, which {what}",
                hint='"split": "choose" and "split": "report" in queries.jsonl',
            )
        return queries

    def _reviewed(self, pipeline: Pipeline, part: Split) -> list[Reviewed | None]:
        return [_read(pipeline, query) for query in self._queries(part)]


def _read(pipeline: Pipeline, query: Labelled) -> Reviewed | None:
    try:
        return reviewed(pipeline(**query.asked).result)
    except MemrankError:  # counted where its ranking failed
        return None


def _first(outcome: Outcome) -> Floats:
    """What was said and true of the memories that are said to be most relevant, as `bin_sums`; NaN of a failed read.

    Whatever is excluded, and in whatever order, so that it is of the same memories before and after.
    """
    if not isinstance(outcome, Scored):
        return np.full(3 * BINS, math.nan)
    judged = outcome.judged
    first = np.lexsort((np.array(judged.ids), -judged.relevance))[:TOP]
    return bin_sums(judged.relevance[first], judged.true[first]).reshape(-1)


def _above(outcome: Outcome, threshold: float) -> Floats:
    """How many relevant memories stand at or above the threshold, and how many in all; NaN of a failed read."""
    if not isinstance(outcome, Scored):
        return np.full(2, math.nan)
    above = outcome.judged.relevance >= threshold
    return np.array([(outcome.judged.true & above).sum(), above.sum()], dtype=np.float64)
