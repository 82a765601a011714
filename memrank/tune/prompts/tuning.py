"""Demos and instructions tuned on golden queries, within a budget that nothing can exceed, and resumable."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import dspy

from memrank.errors import DataError, UsageError
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.spec import RankerSpec, Spec
from memrank.speclm import LmSpec
from memrank.stages.lm.prompting import Prompt, apply, checked
from memrank.tune.prompts.cases import Case, cases_of, known
from memrank.tune.prompts.desk import Budget, Desk, Reason
from memrank.tune.prompts.one import Effort, Run, Tuned, Tuning
from memrank.tune.prompts.optimizers import WITHOUT_MODEL, Optimizer, require
from memrank.tune.prompts.scoring import Objective, aims
from memrank.tune.prompts.student import Trial

FEWEST = 4
"""Cases without which nothing is tuned: two to learn from, two to validate on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """What was found, and what it took."""

    states: Mapping[str, Prompt]
    """Predictor to (instructions, demos); those whose prompt did not change are among them."""
    tuned: Mapping[str, Tuned]
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose cost is not known."""
    history: tuple[Trial, ...] = ()
    ended: Reason = "done"
    """The first reason why some predictor's tuning did not run to its end."""

    @property
    def changed(self) -> dict[str, Prompt]:
        """The states that differ from what the spec had."""
        return {name: prompt for name, prompt in self.states.items() if self.tuned[name].changed}


def tune_prompts(
    spec: Spec,
    build: Callable[[Spec], Pipeline],
    fit_queries: Sequence[Labelled],
    choose_queries: Sequence[Labelled],
    objective: Objective,
    *,
    optimizer: Optimizer,
    teacher: LmSpec | Literal["embedded"] | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    state_dir: Path | None = None,
    progress: Callable[[Trial], None] | None = None,
    start: Mapping[str, Prompt] | None = None,
    effort: Effort | None = None,
    environ: Mapping[str, str] | None = None,
) -> Prompts:
    """Tune the prompt of every predictor by which the spec's stages ask a model and of which labels say anything.

    Candidates are made and validated on `fit_queries`, split by group; `choose_queries` are asked once, of the first
    and of the best prompt. `teacher` is the model that makes demonstrations and proposes instructions, the spec's own
    where it is left out; `embedded` is the judge by code, with which `labeled`, `bootstrap` and `random-search` work
    without any model where the spec has none or the budget has no call. `start` are prompts to begin from. With a
    `state_dir`, a run that was broken off asks nothing twice.

    A budget that is spent, a server that is away, a key that is refused and Ctrl-C end the tuning with the best so far
    (`ended`). Raises UsageError for a spec that asks no model by any such predictor, and for an optimizer that cannot
    do without one; DependencyError for a package that is missing; DataError for too few cases, and for a `state_dir`
    or a `start` that cannot be used.
    """
    budget, effort = budget or Budget(), effort or Effort()
    require(optimizer)
    pipeline = build(spec)
    predictors = {name: one for name, one in pipeline.named_predictors() if known(one.signature)}
    by_code = spec.lm is None or (budget.max_calls == 0 and teacher == "embedded")
    if by_code and (teacher not in (None, "embedded") or optimizer not in WITHOUT_MODEL):
        raise UsageError(
            f"{optimizer} asks a model, and the spec {spec.name} names none",
            hint=f"give the spec an lm section, or take {', '.join(WITHOUT_MODEL)} with the teacher embedded",
        )
    named = {_asked_name(name): one for name, one in predictors.items()} if by_code else _asking(predictors)
    if not named:
        raise UsageError(f"no stage of {spec.name} asks a model", hint="judge: lm, cascade, or read_time: lm")
    ranker = next(stage for stage in spec.stages if isinstance(stage, RankerSpec))
    environ = os.environ if environ is None else environ
    desk = None
    if not by_code and spec.lm is not None:
        other = teacher if isinstance(teacher, LmSpec) else None
        desk = Desk(spec.lm, other, budget=budget, state_dir=state_dir, environ=environ)
    run_ = Run(
        pipeline=pipeline,
        desk=desk,
        aims=aims(objective, ranker),
        optimizer=optimizer,
        by_code=by_code,
        effort=effort,
        budget=budget,
        seed=seed,
        threads=1 if spec.lm is None else spec.lm.concurrency,
        batch=effort.batch if spec.lm is None else spec.lm.batch,
        progress=progress,
    )
    code_teacher = by_code or teacher == "embedded"
    try:
        return _all(run_, named, fit_queries, choose_queries, start or {}, code_teacher=code_teacher)
    finally:
        if desk is not None:
            desk.close()


def _all(
    run_: Run,
    named: Mapping[str, dspy.Predict],
    fit_queries: Sequence[Labelled],
    choose_queries: Sequence[Labelled],
    start: Mapping[str, Prompt],
    *,
    code_teacher: bool,
) -> Prompts:
    # A read shows as many memories in one call as its spec says; one alone cannot be compared.
    batch = max(2, min(run_.effort.batch, run_.batch))
    ready: dict[str, tuple[dspy.Predict, list[Case], list[Case]]] = {}
    too_few: list[str] = []
    for name, predict in named.items():
        cases = cases_of(predict.signature, run_.pipeline, fit_queries, batch=batch)
        if len(cases) < FEWEST:
            too_few.append(f"{name}: {len(cases)}")
            continue
        ready[name] = (predict, cases, cases_of(predict.signature, run_.pipeline, choose_queries, batch=batch))
    if not ready:
        hint = f"at least {FEWEST} queries of the part fit with labels of what it is asked"
        raise DataError(f"too few cases to tune prompts on ({', '.join(too_few)})", hint=hint)
    states: dict[str, Prompt] = {}
    tuned: dict[str, Tuned] = {}
    ended: Reason = "done"
    for number, (name, (predict, cases, chosen)) in enumerate(ready.items(), start=1):
        copy = dspy.Predict(predict.signature)
        copy.demos = list(predict.demos)
        shipped = predict.signature.instructions
        if name in start:
            apply(copy, checked(start[name], predict.signature, name=f"prompt.{name}"))
        one = Tuning(run_, name, copy, shipped, cases, chosen, part=(number - 1, number, len(ready)))
        states[name], tuned[name] = one.tune(code_teacher=code_teacher)
        ended = tuned[name].ended if ended == "done" else ended
        if tuned[name].ended == "interrupted":
            break
    used = run_.counts
    return Prompts(
        states=states,
        tuned=tuned,
        calls=used.calls,
        tokens=used.tokens,
        cost_usd=used.cost_usd,
        unpriced=used.unpriced,
        history=tuple(run_.history),
        ended=ended,
    )


CODED = {"ranker.judge": "ranker.judge.predict", "temporal.read_time": "temporal.read_time.predict"}
"""Predictors that code answers, to those by which a model would be asked the same."""


def _asked_name(name: str) -> str:
    return CODED.get(name, name)


def _asking(predictors: Mapping[str, dspy.Predict]) -> dict[str, dspy.Predict]:
    return {name: one for name, one in predictors.items() if name not in CODED}
