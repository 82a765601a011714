"""The tuning of one predictor: cases split by group, an optimizer within its part of the budget, the best so far."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from memrank.errors import DataError, LmError
from memrank.pipeline import Pipeline, quiet
from memrank.remote import Counts
from memrank.stages.lm.prompting import Prompt, apply, checked, prompt_of
from memrank.tune.prompts.cases import BATCH, Case, drawn, split
from memrank.tune.prompts.desk import Budget, Desk, EndedError, Phase, Reason
from memrank.tune.prompts.optimizers import Optimizer, PatientAdapter, Setup, evaluate, run
from memrank.tune.prompts.quiet import muted
from memrank.tune.prompts.scoring import Aims
from memrank.tune.prompts.student import Bench, Board, Metric, Student, Trial, effective

CHOOSE_SHARE = 1.0 / 3.0
"""Part of the budget that is kept for the choose part, where there is one."""
AGAIN = 2
"""Rounds in which evaluations that no server answered are asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is asked, as far as the budget goes."""

    train: int = 24
    """Cases to learn from at the most."""
    validation: int = 16
    """Cases that every candidate is evaluated on, at the most."""
    choose: int = 40
    """Cases of the choose part, asked of the first and of the best prompt."""
    candidates: int = 6
    """Candidate prompts of an optimizer, about."""
    batch: int = BATCH
    """Memories in one case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What became of one predictor."""

    first: float
    """Validation score of the prompt that it had, in [0, 1]; NaN where it could not be told."""
    best: float
    """That of the prompt that is returned."""
    changed: bool
    """Whether that is another one."""
    proven: bool
    """Whether validation says that it is better; false for what was made without asking the model."""
    train: int
    validation: int
    """Cases."""
    ended: Reason
    said: str = ""
    """Why, where it did not run to its end."""
    choose_ids: tuple[str, ...] = ()
    choose_first: tuple[float, ...] = ()
    """Scores of the first prompt on the choose part, in the order of the ids; NaN where there is none."""
    choose_best: tuple[float, ...] = ()


@dataclass(slots=True)
class Run:
    """One call of `tune_prompts`."""

    pipeline: Pipeline
    desk: Desk | None
    aims: Aims
    optimizer: Optimizer
    by_code: bool
    effort: Effort
    budget: Budget
    seed: int
    threads: int
    batch: int
    """Memories in one call of a read."""
    progress: Callable[[Trial], None] | None
    history: list[Trial] = field(default_factory=list)

    @property
    def counts(self) -> Counts:
        return Counts() if self.desk is None else self.desk.counts

    def trial(self, predictor: str, number: int, key: str, score: float, best: float) -> Trial:
        used = self.counts
        return Trial(
            predictor=predictor,
            number=number,
            prompt=key,
            score=score,
            best=best,
            calls=used.calls,
            tokens=used.tokens,
            cost_usd=used.cost_usd,
        )


class Tuning:
    """The tuning of one predictor."""

    def __init__(
        self,
        run_: Run,
        name: str,
        predict: dspy.Predict,
        shipped: str,
        cases: Sequence[Case],
        chosen: Sequence[Case],
        *,
        part: tuple[int, int, int],
    ) -> None:
        effort = run_.effort
        learn, held = split(cases, run_.seed)
        if not held or not learn:  # one group only: its cases are told apart
            ordered = drawn(cases, len(cases), run_.seed)
            learn, held = ordered[: -(len(ordered) // 3)], ordered[-(len(ordered) // 3) :]
        self.run = run_
        self.part = part
        self.learn = drawn(learn, effort.train, run_.seed)
        self.held = drawn(held, effort.validation, run_.seed)
        self.chosen = drawn(chosen, effort.choose, run_.seed)
        self.board = Board(name, [case.id for case in self.held], run_.trial, run_.progress)
        everything = {case.id: case for case in (*self.learn, *self.held, *self.chosen)}
        self.bench = Bench(everything, self.board, run_.aims, shipped)
        self.metric = Metric(self.bench)
        self.student = Student(predict, self.bench, by_code=run_.by_code)
        self.first = self.board.know(prompt_of(predict))
        self.ended: Reason = "done"
        self.said = ""

    def tune(self, *, code_teacher: bool) -> tuple[Prompt, Tuned]:
        """The best prompt, and how it was found."""
        before, after, parts = self.part
        kept = CHOOSE_SHARE if self.chosen else 0.0
        made: Prompt | None = None
        with self._setting((before + 1.0 - kept) / parts) as phase:
            made = self._guarded(phase, lambda: self._optimized(phase, code_teacher))
        self.run.history.extend(self.board.history)
        best = self.first if self.run.by_code else self.board.best(self.first)
        proven = best != self.first
        if not proven and made is not None and math.isnan(self.board.score(self.first)):
            best = self.board.know(made)  # made without asking: whoever takes it must measure it
        first_scores, best_scores = self._on_choose(best, after / parts)
        prompt = _sound(self.board.prompt(best), self.student.predict.signature)
        tuned = Tuned(
            first=self.board.score(self.first),
            best=self.board.score(best),
            changed=best != self.first,
            proven=proven,
            train=len(self.learn),
            validation=len(self.held),
            ended=self.ended,
            said=self.said,
            choose_ids=tuple(case.id for case in self.chosen) if first_scores else (),
            choose_first=tuple(first_scores),
            choose_best=tuple(best_scores),
        )
        return prompt, tuned

    @contextmanager
    def _setting(self, part: float) -> Iterator[Phase | None]:
        """Silence, the student's model within a part of the budget, and no trace or history but those that optimizers
        collect.
        """
        phase = None if self.run.desk is None else self.run.desk.open(part)
        lm = None if phase is None else phase.lms["student"]
        with muted(), quiet(), dspy.context(lm=lm, adapter=PatientAdapter(), max_errors=10**9):
            yield phase

    def _guarded(self, phase: Phase | None, work: Callable[[], Prompt | None]) -> Prompt | None:
        """What the work made; None where it was ended, and why is noted."""
        try:
            return work()
        except EndedError as end:
            self.ended, self.said = end.reason, end.said
        except KeyboardInterrupt:
            self.ended, self.said = "interrupted", "interrupted"
        except (AdapterParseError, LmError) as fault:
            self.ended = "failed"
            unread = isinstance(fault, AdapterParseError)
            self.said = "a proposal could not be read" if unread else f"a proposal failed: {fault.message}"
        finally:
            if phase is not None:
                phase.close(at_once=self.ended == "interrupted")
        return None

    def _optimized(self, phase: Phase | None, code_teacher: bool) -> Prompt | None:
        run_ = self.run
        examples = {case.id: case.example() for case in (*self.learn, *self.held)}
        validation = [examples[case.id] for case in self.held]
        made: Prompt | None = None
        if not run_.by_code:
            self._complete(self.student, validation)
        setup = Setup(
            student=self.student,
            teacher=Student(self.student.predict.deepcopy(), self.bench, by_code=True) if code_teacher else None,
            train=[examples[case.id] for case in self.learn],
            validation=validation,
            metric=self.metric,
            student_lm=None if phase is None else phase.lms["student"],
            teacher_lm=None if phase is None else phase.lms["teacher"],
            writer=None if phase is None else phase.lms["writer"],
            threads=run_.threads,
            candidates=run_.effort.candidates,
            max_calls=run_.budget.max_calls,
            seed=run_.seed,
        )
        names = [name for name, _ in self.student.named_predictors()]
        found = run(run_.optimizer, setup)
        if [name for name, _ in found.named_predictors()] != names:
            raise DataError(f"{run_.optimizer} changed the predictors of the program")
        made = self._made(found)
        if not run_.by_code:
            self._complete(found, validation)
        return made

    def _made(self, program: Student) -> Prompt:
        return effective(program.predict, self.bench.shipped)

    def _complete(self, program: Student, validation: Sequence[dspy.Example]) -> None:
        """Evaluate a program on all of validation; what no server answered is asked again."""
        key = self.board.know(effective(program.predict, self.bench.shipped))
        left = list(validation)
        for _ in range(1 + AGAIN):
            evaluate(program, left, self.metric, self.run.threads)
            missing = self.board.missing(key)
            left = [one for one in left if one.case in missing]
            if not left:
                return

    def _on_choose(self, best: str, part: float) -> tuple[list[float], list[float]]:
        """Scores of the first and of the best prompt on the choose part; nothing where they are the same."""
        if best == self.first or not self.chosen or self.run.by_code or self.ended in ("interrupted", "refused"):
            return [], []
        examples = [case.example() for case in self.chosen]
        found: list[list[float]] = []
        ended, said = self.ended, self.said
        for key in (self.first, best):
            program = Student(self.student.predict.deepcopy(), self.bench)
            apply(program.predict, _sound(self.board.prompt(key), program.predict.signature))
            tally = _Tally(self.metric)
            with self._setting(part) as phase:
                self._guarded(phase, partial(_scored, program, examples, tally, self.run.threads))
            found.append([tally.scores.get(case.id, math.nan) for case in self.chosen])
        if ended != "done":
            self.ended, self.said = ended, said
        return found[0], found[1]


def _sound(prompt: Prompt, signature: type[dspy.Signature]) -> Prompt:
    """The prompt with demos of the signature's types: answers that were repaired (`"80 %"`) are none, and go."""
    demos: list[Mapping[str, Any]] = []
    for demo in prompt.demos:
        try:
            demos += checked(prompt._replace(demos=(demo,)), signature).demos
        except DataError:
            continue
    return prompt._replace(demos=tuple(demos))


class _Tally:
    """A metric that keeps the scores of finished evaluations by case."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric
        self.scores: dict[str, float] = {}

    def __call__(self, gold: dspy.Example, pred: dspy.Prediction, trace: object = None) -> float:
        found = self._metric.verdict(gold.case, pred)
        if not pred.get("open"):
            self.scores[gold.case] = found.score
        return found.score


def _scored(program: Student, examples: Sequence[dspy.Example], tally: _Tally, threads: int) -> None:
    evaluate(program, examples, tally, threads)
