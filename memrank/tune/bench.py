"""The real pipeline on queries of a golden set: what a compilation measures settings by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memrank.compiled import bound_json
from memrank.errors import DataError
from memrank.evals.evalset import Evalset, groups
from memrank.evals.evaluate import evaluate
from memrank.evals.labels import Labelled
from memrank.evals.outcome import Failed, Outcome
from memrank.evals.report import Report, Subject, report_of
from memrank.fileio import sha256_hex
from memrank.parameters import Number
from memrank.pipeline import Pipeline
from memrank.spec import Spec
from memrank.speccompile import CompileSpec
from memrank.tune.compilation import Candidate, Options, Progress
from memrank.tune.trial import Gain, gain_of, mean_of, missed, objective_of
from memrank.types import Floats

Build = Callable[[Spec], Pipeline]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Measures specs on queries."""

    build: Build
    evalset: Evalset
    section: CompileSpec
    options: Options

    def objective(self, outcomes: Sequence[Outcome]) -> Floats:
        """Of each query; see `objective_of`."""
        return objective_of(outcomes, self.section.weights)

    def gain(self, before: Report, after: Report, queries: Sequence[Labelled], *, tests: int) -> Gain:
        """Of the objective, paired, by groups of queries."""
        return gain_of(
            self.objective(before.outcomes),
            self.objective(after.outcomes),
            groups(queries),
            seed=self.section.seed,
            resamples=self.options.resamples,
            tests=tests,
        )

    def candidate(self, values: Mapping[str, Number], report: Report, gain: Gain | None) -> Candidate:
        """A setting with what it is worth."""
        return Candidate(
            values=dict(values),
            objective=mean_of(self.objective(report.outcomes)),
            gain=gain,
            missed=missed(report, self.section.constraints),
        )

    def ask(self, spec: Spec, queries: Sequence[Labelled], phase: str) -> list[Outcome]:
        """What became of each query."""
        done = 0

        def tell(more: int) -> None:
            nonlocal done
            done += more
            self.tell(Progress(phase=phase, done=done, total=len(queries)))

        also = dict.fromkeys((*self.section.weights, *self.section.constraints))
        return evaluate(
            self.build(spec),
            self.evalset,
            queries,
            jobs=self.options.jobs,
            seed=self.section.seed,
            also=tuple(also),
            progress=tell,
        )

    def measure(self, spec: Spec, queries: Sequence[Labelled], phase: str, part: str) -> Report:
        """The report on a spec."""
        return self.report(spec, queries, self.ask(spec, queries, phase), part)

    def report(self, spec: Spec, queries: Sequence[Labelled], outcomes: Sequence[Outcome], part: str) -> Report:
        """The report on outcomes. Raises DataError where every read failed."""
        if all(isinstance(one, Failed) for one in outcomes):
            raise DataError(f"no query of the part {part} could be read", hint="`memrank eval` says why")
        subject = Subject(spec=spec.name, spec_sha256=sha256_hex(bound_json(spec)), store_version="", gates={})
        seed, resamples = self.section.seed, self.options.resamples
        return report_of(subject, self.evalset, queries, outcomes, part=part, seed=seed, resamples=resamples)

    def tell(self, progress: Progress) -> None:
        """Whoever watches."""
        if self.options.progress is not None:
            self.options.progress(progress)
