"""Compiles a spec: searches its numbers on one part of a golden set, decides on a second, and shows a third.

A setting is only taken where the paired interval of the second part leaves out that there is no gain. The third part is
read once, after that, by the spec as it was and as it is to be; nothing follows from it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memrank.artifact import Artifact, State
from memrank.compiled import PARAMETERS, bound_json, made_with, with_state
from memrank.errors import DataError, UsageError
from memrank.evals.evalset import Evalset, groups
from memrank.evals.evaluate import evaluate, newest
from memrank.evals.labels import Labelled
from memrank.evals.outcome import Unscored
from memrank.evals.report import Figure, Report, Subject, report_of
from memrank.fileio import canonical_json
from memrank.parameters import DEFAULT_FREE, GROUPS, Number, parameters, values_of
from memrank.pipeline import Pipeline
from memrank.score.intervals import Bootstrap, Difference
from memrank.spec import Spec
from memrank.speccompile import CompileSpec
from memrank.tune.aims import Aims, Bound
from memrank.tune.judge import library_version
from memrank.tune.parts import Parts, leaks, parts_of
from memrank.tune.problem import Problem
from memrank.tune.search import Candidate, Found, Step, search
from memrank.types import Floats
from memrank.version import __version__

TRIED = 3
"""Settings of the search that are looked at on `choose`: the fewer, the less is found by chance."""
RESAMPLES = 2000
SEARCHED = frozenset(GROUPS) - {"pruner"}
"""Groups that a search by rankings can judge; what a pruner keeps is no ranking."""

Build = Callable[[Spec], Pipeline]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to compile, beside what the spec says."""

    jobs: int = 1
    progress: Callable[[Step], None] | None = field(default=None, repr=False)
    stop: Callable[[], bool] | None = field(default=None, repr=False)
    asked: Callable[[int], None] | None = field(default=None, repr=False)
    """Told how many more queries of `choose` and `report` were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A setting on the part `choose`, as the pipeline itself ranks."""

    values: Mapping[str, Number]
    objective: float
    missed: Mapping[str, float]
    """Constraint to how far it is missed; empty where all are kept."""
    gain: Difference
    """Of the objective over the spec as it was, query by query; the interval is corrected for how many were tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What came of compiling."""

    spec: Spec
    """With what was found, or as it was."""
    accepted: bool
    why: str
    """In a sentence."""
    objective: Mapping[str, float]
    changes: Mapping[str, tuple[Number, Number]]
    """Path to the value before and after."""
    found: Found
    trials: tuple[Trial, ...]
    parts: Parts
    before: Report
    """On the part `report`, as the spec was."""
    after: Report
    gain: Difference
    """Of the objective on the part `report`."""
    evalset: str
    suspicious: tuple[str, ...]
    """What tells the labels without fail (`parts.leaks`)."""
    artifact: Artifact | None


def compile_spec(spec: Spec, build: Build, evalset: Evalset, options: Options) -> Compiled:
    """Compile a spec on an evalset. `build` makes a pipeline over the memories of the evalset.

    Raises UsageError for a spec that cannot be searched, DataError for a set that is too small or cannot be read,
    DependencyError without scipy.
    """
    plan = spec.compile or CompileSpec()
    plain = spec.model_copy(update={"compiled": None})
    parts = parts_of(evalset, plan.seed)
    aims = {plan.objective: 1.0} if isinstance(plan.objective, str) else dict(plan.objective)
    bounds = {name: Bound(min=one.min, max=one.max) for name, one in plan.constraints.items()}
    pipeline = build(plain)
    now = newest(evalset.memories)
    problem = Problem(pipeline, parts.fit, aims, bounds, newest=now)
    free = parameters(plain, _free(plan), types=problem.types if _typed(plan) else ())
    if not free:
        raise UsageError("nothing of this spec is free to change", hint="compile: {free: [composite, half_life]}")
    start = values_of(plain, free)
    found = search(
        problem,
        free,
        start,
        seed=plan.seed,
        workers=options.jobs,
        evaluations=plan.evaluations,
        progress=options.progress,
        stop=options.stop,
    )
    runner = _Runner(build=build, evalset=evalset, aims=aims, bounds=bounds, plan=plan, options=options)
    chosen, trials = runner.choose(plain, parts.choose, _tried(found, start))
    changes = {path: (start[path], value) for path, value in (chosen.values if chosen else {}).items()}
    changes = {path: pair for path, pair in changes.items() if pair[0] != pair[1]}
    values = {path: after for path, (_, after) in changes.items()}
    state = {PARAMETERS: State(values={path: values[path] for path in sorted(values)})}
    tuned = with_state(plain, state) if values else plain
    before = runner.report(plain, parts.report)
    after = runner.report(tuned, parts.report) if values else before
    gain = runner.difference(after, before, parts.report)
    made = Compiled(
        spec=tuned,
        accepted=bool(values),
        why=_why(chosen, trials),
        objective=aims,
        changes=changes,
        found=found,
        trials=trials,
        parts=parts,
        before=before,
        after=after,
        gain=gain,
        evalset=evalset.name,
        suspicious=tuple(leaks(problem.slates({}))),
        artifact=None,
    )
    return made if not values else _with_artifact(made, plain, evalset, plan, state, pipeline)


def _free(plan: CompileSpec) -> Sequence[str] | Mapping[str, Sequence[Number]]:
    if plan.free is None:
        return DEFAULT_FREE
    refused = [name for name in plan.free if name == "pruner" or name.startswith("pruner.")]
    if refused:
        raise UsageError(
            f"{refused[0]} cannot be compiled by rankings", hint=f"one of {', '.join(sorted(SEARCHED))}, or a path"
        )
    return plan.free


def _typed(plan: CompileSpec) -> bool:
    """Whether each memory type may have a half-life of its own."""
    return plan.free is None or "half_life" in plan.free


def _tried(found: Found, start: Mapping[str, Number]) -> list[Candidate]:
    """The best few that differ from the start."""
    plain = dict(start)
    return [one for one in found.candidates if dict(one.values) != plain][:TRIED]


def _why(chosen: Trial | None, trials: Sequence[Trial]) -> str:
    if chosen is not None:
        return (
            f"the gain on the part choose is {chosen.gain.mean:+.4f} [{chosen.gain.low:+.4f}, {chosen.gain.high:+.4f}]"
        )
    if not trials:
        return "no improvement found: the search came back to the spec as it is"
    best = max(trials, key=lambda one: one.gain.mean)
    if best.missed:
        missed = ", ".join(f"{name} by {by:.4f}" for name, by in best.missed.items())
        return f"no improvement found: on the part choose the best setting misses {missed}"
    return (
        f"no improvement found: on the part choose the best setting gains {best.gain.mean:+.4f} "
        f"[{best.gain.low:+.4f}, {best.gain.high:+.4f}], which may be none"
    )


@dataclass(frozen=True, kw_only=True)
class _Runner:
    """Asks the queries of a part through the whole pipeline."""

    build: Build
    evalset: Evalset
    aims: Mapping[str, float]
    bounds: Mapping[str, Bound]
    plan: CompileSpec
    options: Options

    def choose(
        self, plain: Spec, queries: Sequence[Labelled], candidates: Sequence[Candidate]
    ) -> tuple[Trial | None, tuple[Trial, ...]]:
        """The best setting that is surely better on these queries and keeps what it must, and all that were tried."""
        if not candidates:
            return None, ()
        first = self.report(plain, queries)
        own = self._missed(first)
        trials = []
        for candidate in candidates:
            changed = dict(candidate.values)
            spec = with_state(plain, {PARAMETERS: State(values=changed)})
            report = self.report(spec, queries)
            gain = self.difference(report, first, queries, tests=len(candidates))
            objective = float(np.nanmean(self._objective(report)))
            trials.append(Trial(values=changed, objective=objective, missed=self._missed(report), gain=gain))
        kept = [one for one in trials if not one.missed]
        # Where the spec itself misses a constraint, keeping it is the gain.
        better = [one for one in kept if own or one.gain.low > 0]
        return (max(better, key=lambda one: one.objective) if better else None), tuple(trials)

    def report(self, spec: Spec, queries: Sequence[Labelled]) -> Report:
        """The whole report of a spec on these queries."""
        pipeline = self.build(spec)
        also = (*self.aims, *self.bounds)
        outcomes = evaluate(
            pipeline,
            self.evalset,
            queries,
            jobs=self.options.jobs,
            seed=self.plan.seed,
            also=also,
            progress=self.options.asked,
        )
        subject = Subject(spec=spec.name, spec_sha256=pipeline.spec_sha256, store_version="", gates={})
        return report_of(subject, self.evalset, queries, outcomes, part="", seed=self.plan.seed, resamples=RESAMPLES)

    def difference(self, one: Report, other: Report, queries: Sequence[Labelled], tests: int = 1) -> Difference:
        """Of the objective, query by query; the interval holds for that many tests at once (Bonferroni)."""
        bootstrap = Bootstrap(groups(queries), seed=self.plan.seed, resamples=RESAMPLES)
        found = bootstrap.paired(self._objective(one), self._objective(other))
        if tests == 1 or math.isnan(found.low):
            return found
        tail = 2.5 / tests
        low, high = np.percentile(found.drawn[np.isfinite(found.drawn)], [tail, 100 - tail])
        return Difference(mean=found.mean, low=float(low), high=float(high), n=found.n, drawn=found.drawn, p=found.p)

    def _objective(self, report: Report) -> Floats:
        """What is to be raised, for each query; NaN where no metric of it applies."""
        rows = [{} if isinstance(one, Unscored) else one.values for one in report.outcomes]
        found = {name: np.array([row.get(name, math.nan) for row in rows]) for name in self.aims}
        total = Aims(objective=self.aims, constraints={}).of_queries(found)
        if np.isnan(total).all():
            raise DataError(f"no query of a part has labels for {', '.join(self.aims)}")
        return total

    def _missed(self, report: Report) -> dict[str, float]:
        found = {}
        for name, bound in self.bounds.items():
            figure = report.figures.get(name)
            value = math.nan if figure is None else figure.value
            by = max(
                (bound.min - value) if bound.min is not None else 0.0,
                (value - bound.max) if bound.max is not None else 0.0,
            )
            if not by <= 0:
                found[name] = by
        return found


def _with_artifact(
    made: Compiled, plain: Spec, evalset: Evalset, plan: CompileSpec, state: Mapping[str, State], pipeline: Pipeline
) -> Compiled:
    chosen = max(made.trials, key=lambda one: (not one.missed, one.objective))
    summary = {
        "objective": dict(made.objective),
        "optimizer": plan.optimizer,
        "evaluations": made.found.evaluations,
        "fit": {"before": made.found.history[0].objective, "after": made.found.best.objective},
        "choose": {"gain": chosen.gain.mean, "low": chosen.gain.low, "high": chosen.gain.high},
        "queries": {name: len(getattr(made.parts, name)) for name in ("fit", "choose", "report")},
    }
    store = pipeline.store
    artifact = Artifact(
        name=plain.name,
        spec=bound_json(plain),
        versions={**made_with(plain), "memrank": __version__, "scipy": library_version()},
        seed=plan.seed,
        data={
            "evalset": evalset.name,
            "fitted_on": "fit",
            "decided_on": "choose",
            "held_out": "report",
            "queries_sha256": evalset.queries_sha256,
            "store_version": store.store_version() if store is not None else "",
            "search": canonical_json(summary),
        },
        state=dict(state),
        metrics=_metrics(made),
    )
    return Compiled(**{**{name: getattr(made, name) for name in Compiled.__slots__}, "artifact": artifact})


def _metrics(made: Compiled) -> dict[str, dict[str, float]]:
    def of(figures: Mapping[str, Figure], read: Callable[[Figure], float]) -> dict[str, float]:
        told = {name: read(figure) for name, figure in figures.items() if not name.startswith("latency_")}
        return {name: value for name, value in told.items() if math.isfinite(value)}

    found = {}
    for name, report in (("before", made.before), ("after", made.after)):
        found[name] = of(report.figures, lambda figure: figure.value)
        found[f"{name}_low"] = of(report.figures, lambda figure: figure.low)
        found[f"{name}_high"] = of(report.figures, lambda figure: figure.high)
    found["gain"] = {"mean": made.gain.mean, "low": made.gain.low, "high": made.gain.high}
    return {name: {key: one for key, one in values.items() if math.isfinite(one)} for name, values in found.items()}
