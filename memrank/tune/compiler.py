"""Compiles a spec: searches on one part of a golden set, chooses on another, and reports on a third, read once.

What was found counts only where the real pipeline is better with it on queries that it was not found on, by more than
chance; otherwise the old settings stay, and the part that is reported on is not read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memrank.artifact import Artifact, State, Value
from memrank.compiled import bound_json, made_with, with_state
from memrank.errors import DataError, UsageError
from memrank.evals.calibrate import measured
from memrank.evals.evalset import Evalset
from memrank.evals.evaluate import newest
from memrank.evals.labels import Labelled
from memrank.evals.outcome import Outcome
from memrank.evals.report import Report
from memrank.fileio import canonical_json, sha256_hex
from memrank.parameters import Number, Parameter, parameters, stage_of, values_of
from memrank.spec import RankerSpec, Spec
from memrank.speccompile import CompileSpec
from memrank.tune.aims import Bound
from memrank.tune.bench import Bench, Build
from memrank.tune.compilation import Candidate, Compiled, Options, Progress
from memrank.tune.judge import library_version
from memrank.tune.leak import Leak, leaks
from memrank.tune.parts import Parts, parts_of
from memrank.tune.problem import Problem
from memrank.tune.recalibrate import fitted_states, without_calibration
from memrank.tune.search import Found, Step, search
from memrank.tune.sensitivity import Learned, learning_curve, sensitivity
from memrank.tune.trial import Gain, mean_of, missed
from memrank.version import __version__

Values = Mapping[str, Number]

CHOSEN_FROM = 3
"""Settings beside the old ones that are measured on the part `choose`."""
CURVE_SHARE = 6
"""A search for a point of the learning curve tries one in so many of the settings of the whole search."""
HISTORY = 40
"""Steps of the search that an artifact keeps at the most."""
OF_PIPELINE = ("ECE", "latency_", "lm_", "cost_usd", "position_bias", "sensitivity", "actions")
"""Metrics that only the real pipeline can tell; settings are searched for without them, and chosen with them."""


def compile_spec(spec: Spec, build: Build, evalset: Evalset, section: CompileSpec, options: Options) -> Compiled:
    """Compile `spec`, which has no artifact; `build` makes a pipeline over the memories of the evalset.

    Ctrl-C ends the search, not the compilation: it goes on with the best so far. Raises UsageError for a spec or an
    objective that cannot be searched by, DataError for a set that is too small or whose labels leak, DependencyError
    without scipy.
    """
    if stage_of(spec, RankerSpec) is None:
        raise UsageError(f"the spec {spec.name} has no ranker: there is nothing to compile", hint="add a ranker.v1")
    if section.optimizer != "weights":
        raise UsageError(
            f"the optimizer {section.optimizer} tunes what a language model is told, and {spec.name} is tuned without",
            hint="optimizer: weights; prompts are tuned from Python, by memrank.tune.prompts.tune_prompts",
        )
    told = [name for name in section.weights if name.startswith(OF_PIPELINE)]
    if told:
        raise UsageError(
            f"{', '.join(told)} cannot be an objective: it is not told from ranks and scores",
            hint="such as nDCG@10, R@10, MRR@10, current_first, MAE; of others, make constraints",
        )
    parts = parts_of(evalset.queries, section.seed)
    bench = Bench(build=build, evalset=evalset, section=section, options=options)
    bench.tell(Progress(phase="reading", done=0, total=len(parts.both)))
    bounds = {
        name: Bound(min=one.min, max=one.max)
        for name, one in section.constraints.items()
        if not name.startswith(OF_PIPELINE)
    }
    whole = Problem(build(spec), parts.both, section.weights, bounds, newest=newest(evalset.memories))
    leaked = _leaks(whole)
    free = parameters(spec, section.free, types=whole.types)
    if not free:
        raise UsageError("nothing of the spec is free", hint="compile: {free: [composite, half_life]}")
    return _Compilation(
        spec=spec,
        bench=bench,
        parts=parts,
        whole=whole,
        free=free,
        start=values_of(spec, free),
        leaked=leaked,
        notes=[f"easy labels, or a leak: {one}" for one in leaked],
    ).run()


def _leaks(problem: Problem) -> tuple[Leak, ...]:
    """Raises DataError where records know the labels."""
    found = leaks(problem.slates({}))
    of_records = [one for one in found if one.record]
    if of_records:
        raise DataError(
            f"the labels leak: {'; '.join(map(str, of_records[:3]))}",
            hint="whatever is tuned on this is tuned to the leak: make ids, order and fields say nothing",
        )
    return found


@dataclass(kw_only=True)
class _Compilation:
    """One compilation, step by step."""

    spec: Spec
    bench: Bench
    parts: Parts
    whole: Problem
    free: tuple[Parameter, ...]
    start: Values
    leaked: tuple[Leak, ...]
    notes: list[str]
    stopped: bool = False
    chosen_by: tuple[Report, ...] = field(default=())
    """Before and after, on what was chosen by."""

    def run(self) -> Compiled:
        parts = self.parts
        fit = self.whole if parts.folds else self.whole.part(range(len(parts.fit)))
        found = self._search(fit, "searching")
        old, candidates = self._choose(found)
        best = candidates[0] if candidates else None
        learning = self._learning()
        accepted = best is not None and best.gain is not None and best.gain.real and not best.missed
        why = _why(best)
        after = dict(best.values) if best else dict(self.start)
        changed = {path: value for path, value in after.items() if value != self.start[path]}
        important = sensitivity(fit, [one for one in self.free if one.path in changed], after, self.start)
        artifact, gain, reads, shown = None, None, 0, (self.chosen_by[0], self.chosen_by[-1])
        if accepted:
            state = _parameters(changed)
            state |= self._calibration(state)
            key = self._key()
            reads = self.bench.options.reading(key) if self.bench.options.reading else 1
            shown = (
                self.bench.measure(self.spec, parts.report, "reporting: before", "report"),
                self.bench.measure(with_state(self.spec, state), parts.report, "reporting: after", "report"),
            )
            gain = self.bench.gain(*shown, parts.report, tests=1)
            artifact = self._artifact(state, found, old, candidates[0], shown, gain, key)
        return Compiled(
            spec=self.spec,
            evalset=self.bench.evalset.name,
            section=self.bench.section,
            parts=parts,
            accepted=accepted,
            why=why,
            artifact=artifact,
            before=self.start,
            after=after,
            start=old,
            candidates=candidates,
            found=found,
            leaks=self.leaked,
            notes=tuple(self.notes),
            sensitivity=important,
            learning=learning,
            shown=shown,
            gain=gain,
            report_reads=reads,
        )

    def _search(self, problem: Problem, phase: str, most: int = 0) -> Found:
        section, options = self.bench.section, self.bench.options
        most = most or section.evaluations
        self.bench.tell(Progress(phase=phase, done=0, total=most))

        def tell(step: Step) -> None:
            at = Progress(phase=phase, done=step.evaluations, total=most, best=step.objective, violation=step.violation)
            self.bench.tell(at)

        found = search(
            problem,
            self.free,
            self.start,
            seed=section.seed,
            workers=options.jobs,
            evaluations=most,
            progress=tell,
            stop=lambda: self.stopped,
        )
        if found.stopped and not self.stopped:
            self.stopped = True
            self.notes.append("the search was stopped: what follows is of the best so far")
        return found

    def _choose(self, found: Found) -> tuple[Candidate, tuple[Candidate, ...]]:
        """The old settings, and what was found, best first, by queries that it was not found on."""
        bench, folds = self.bench, self.parts.folds
        queries = self.parts.both if folds else self.parts.choose
        before = bench.measure(self.spec, queries, "choosing: as it was", "choose")
        measured: list[tuple[Candidate, Report]] = []
        new = self._new(found)
        for at, values in enumerate(new):
            phase = f"choosing: {at + 1} of {len(new)}"
            report = (
                self._folded(queries)
                if folds
                else bench.measure(with_state(self.spec, _parameters(values)), queries, phase, "choose")
            )
            gain = bench.gain(before, report, queries, tests=len(new))
            measured.append((bench.candidate(values, report, gain), report))
        measured.sort(key=lambda one: (sum(miss.by for miss in one[0].missed), -one[0].objective))
        self.chosen_by = (before, *(report for _, report in measured[:1]))
        return bench.candidate(self.start, before, None), tuple(one for one, _ in measured)

    def _new(self, found: Found) -> list[Values]:
        """The best few settings other than the old ones; with folds the best one, which stands for the search."""
        other = {canonical_json(dict(one.values)): one.values for one in (found.best, *found.candidates)}
        other.pop(canonical_json(dict(self.start)), None)
        return list(other.values())[: 1 if self.parts.folds else CHOSEN_FROM]

    def _folded(self, queries: Sequence[Labelled]) -> Report:
        """Every query under what a search on the other folds found."""
        outcomes: dict[str, Outcome] = {}
        for at, fold in enumerate(self.parts.folds):
            rest = sorted(set(range(len(queries))) - set(fold))
            phase = f"fold {at + 1} of {len(self.parts.folds)}"
            best = self._search(self.whole.part(rest), phase).best.values
            tuned = with_state(self.spec, _parameters(best))
            outcomes |= {one.query_id: one for one in self.bench.ask(tuned, [queries[k] for k in fold], phase)}
        return self.bench.report(self.spec, queries, [outcomes[query.id] for query in queries], "choose")

    def _learning(self) -> tuple[Learned, ...]:
        """What more labels would bring; nothing where it was not asked for, or somebody is in a hurry."""
        fit, both = len(self.parts.fit), len(self.parts.both)
        if not self.bench.options.curve or self.stopped or fit == 0 or fit == both:
            return ()
        most = max(10, self.bench.section.evaluations // CURVE_SHARE)
        return learning_curve(
            self.whole.part(range(fit)),
            self.whole.part(range(fit, both)),
            lambda part: self._search(part, "learning curve", most),
            seed=self.bench.section.seed,
        )

    def _calibration(self, state: Mapping[str, State]) -> dict[str, State]:
        """A judge with other coefficients says other numbers: they are made probabilities anew, where that costs no
        quality on what was chosen by. A calibration that the spec has was fitted for the old coefficients.
        """
        if not any(path.startswith("ranker.coefficients.") for path in state["parameters"].values):
            return {}
        bench, queries = self.bench, self.parts.both if self.parts.folds else self.parts.choose
        tuned = with_state(self.spec, state)
        plain = without_calibration(tuned)
        found, note = fitted_states(plain, bench.ask(plain, queries, "calibrating"))
        if found:
            base = mean_of(bench.objective(bench.ask(tuned, queries, "calibrating")))
            mapped = bench.measure(with_state(self.spec, {**state, **found}), queries, "calibrating", "choose")
            worse = mean_of(bench.objective(mapped.outcomes)) < base
            if worse or missed(mapped, bench.section.constraints):
                found, note = {}, "the judge was not calibrated anew: the ranking would be worse by it"
        self.notes.append(note)
        return found

    def _key(self) -> str:
        """Names the labels, and which of them are reported on."""
        named = sorted(query.id for query in self.parts.report)
        return sha256_hex(canonical_json([self.bench.evalset.queries_sha256, named]))

    def _artifact(
        self,
        state: Mapping[str, State],
        found: Found,
        old: Candidate,
        best: Candidate,
        shown: tuple[Report, Report],
        gain: Gain,
        key: str,
    ) -> Artifact:
        section, store = self.bench.section, self.bench.build(self.spec).store
        parts = {name: str(len(getattr(self.parts, name))) for name in ("fit", "choose", "report")}
        return Artifact(
            name=self.spec.name,
            spec=bound_json(self.spec),
            versions={**made_with(self.spec), "memrank": __version__, "scipy": library_version()},
            seed=section.seed,
            data={
                "evalset": self.bench.evalset.name,
                "queries_sha256": self.bench.evalset.queries_sha256,
                "store_version": store.store_version() if store is not None else "",
                "parts": self.parts.how,
                "report_sha256": key,
                **{f"{name}_queries": count for name, count in parts.items()},
            },
            state=state,
            metrics={name: measured(one.figures) for name, one in zip(("before", "after"), shown, strict=True)},
            search=_summary(section, found, old, best, gain, len(self.parts.folds)),
        )


def _summary(
    section: CompileSpec, found: Found, old: Candidate, best: Candidate, gain: Gain, folds: int
) -> dict[str, Value]:
    """The search as an artifact keeps it: nothing in it depends on the clock."""
    steps = found.history if len(found.history) <= HISTORY else (*found.history[: HISTORY - 1], found.history[-1])
    chosen = {} if best.gain is None else _gain("choose", best.gain)
    return {
        "optimizer": section.optimizer,
        "objective": canonical_json(section.weights),
        "constraints": canonical_json({name: one.model_dump() for name, one in section.constraints.items()}),
        "evaluations": float(found.evaluations),
        "stopped": "yes" if found.stopped else "no",
        "folds": float(folds),
        "fit.before": found.history[0].objective,
        "fit.after": found.best.objective,
        "choose.before": old.objective,
        "choose.after": best.objective,
        **chosen,
        **_gain("report", gain),
        "history.evaluations": tuple(float(one.evaluations) for one in steps),
        "history.objective": tuple(one.objective for one in steps),
    }


def _gain(part: str, gain: Gain) -> dict[str, Value]:
    named = {"gain": gain.difference, "gain_low": gain.low, "gain_high": gain.high}
    return {f"{part}.{name}": value for name, value in named.items() if math.isfinite(value)}


def _parameters(values: Values) -> dict[str, State]:
    """The state of an artifact that holds these values."""
    plain = {path: value if isinstance(value, str) else float(value) for path, value in sorted(values.items())}
    return {"parameters": State(values=plain)}


def _why(best: Candidate | None) -> str:
    if best is None or best.gain is None:
        return "no other setting is better on what was searched"
    if best.missed:
        return f"what was found does not keep the constraints: {'; '.join(map(str, best.missed))}"
    gain = best.gain
    told = f"{gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}] over {gain.n} queries in {gain.groups} groups"
    if gain.real:
        return f"better on queries that it was not found on: {told}"
    needed = f"; to tell a gain of that size, about {gain.needed} groups are needed" if gain.needed else ""
    return f"on queries that it was not found on, the gain could be chance: {told}{needed}"
