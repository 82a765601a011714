"""Distillation: a model's judgements of unlabelled queries train the judge by code, so that a team pays once.

Two small convex fits, as `benchmarks/fit_relevance.py` has them, on soft labels: the order by listwise cross-entropy
between what the model said and what the coefficients say of the candidates that it judged; the level by log loss of
the probability, a candidate at rank r with weight 1 / r. Both are pulled towards the coefficients of the start.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from dspy.utils.exceptions import AdapterParseError

from memrank.errors import DataError, LmError, MemrankError, UsageError
from memrank.evals.evalset import groups
from memrank.evals.labels import Labelled
from memrank.lmanswers import check, judgement
from memrank.pipeline import Pipeline, quiet
from memrank.score import metrics
from memrank.score.agreement import spearman
from memrank.score.descent import minimum
from memrank.score.intervals import Bootstrap, Difference, Estimate
from memrank.score.listwise import listwise_loss
from memrank.score.relevance import LEVEL, ORDER, Model, combine, level_features, order_features, shipped
from memrank.slate import Slate
from memrank.spec import Spec
from memrank.speclm import LmSpec
from memrank.stages.lm.asking import TRIES, UNREADABLE
from memrank.stages.lm.demos import RANKING
from memrank.stages.lm.prompting import Prompt, apply, checked
from memrank.stages.lm.showing import shown_query
from memrank.stages.lm.signatures import MemoryRanking
from memrank.stages.ranker import embedded_relevance, judged_columns
from memrank.tenant import Rows
from memrank.tune.prompts.cases import pool, shortlist
from memrank.tune.prompts.desk import Budget, Desk, EndedError, Phase, Reason
from memrank.tune.prompts.quiet import aloud, muted
from memrank.tune.prompts.student import ADAPTER
from memrank.types import Floats

CANDIDATES = 20
"""Candidates of a query that the model is asked about: the likeliest by code."""
FEWEST = 10
"""Queries with judgements without which nothing is fitted."""
HELD = 5
"""Every so many-th of the judged queries is held out to measure agreement on."""
PULL, LEVEL_PULL = 0.3, 0.01
SHARPNESS = 0.1
"""Difference in what was said that makes a candidate's share e times as large."""
FALLING = frozenset({"other_numbers", "log_rank", "log_pool", "weak_few", "unnamed"})
"""Coefficients that can only count against a candidate; all others can only count for it."""
STRONGEST = 10.0
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far a judge agrees with the model, over the pairs of query and memory that were held out from the fit."""

    pairs: int
    rank_correlation: float
    """Mean over queries; NaN where no query tells."""
    mae: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What the order by relevance alone is worth on labelled queries that were not asked about."""

    queries: int
    before: Estimate
    """nDCG@10."""
    after: Estimate
    gain: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What the model taught."""

    model: Model
    coefficients: Mapping[str, float]
    """The same by path: `ranker.coefficients.order.bm25_z`."""
    queries: int
    """Queries fitted on."""
    judged: int
    """Memories that the model judged, all in all."""
    before: Agreement
    """Of the judge as it was."""
    after: Agreement
    quality: Quality | None
    calls: int
    tokens: int
    cost_usd: float
    ended: Reason
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """One query, and what the model said of some of its candidates."""

    columns: Mapping[str, Floats]
    places: Rows
    said: Floats


def distil(
    spec: Spec,
    build: Callable[[Spec], Pipeline],
    queries: Sequence[Mapping[str, Any]],
    teacher: LmSpec | None = None,
    *,
    held_out: Sequence[Labelled] = (),
    prompt: Prompt | None = None,
    start: Model | None = None,
    budget: Budget | None = None,
    candidates: int = CANDIDATES,
    state_dir: Path | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Distilled:
    """Ask the teacher (the spec's model where it is left out) about the likeliest candidates of every query, and fit
    the judge by code to what it says, from `start` on (the shipped one).

    `queries` are arguments of a pipeline (`query`, `as_of`, `namespace`), as golden queries and recorded reads have
    them; no label is read. `held_out` are labelled queries to measure quality on. `progress` is told queries done and
    in all. A spent budget or a server that is away ends the asking; what was said until then is fitted on. Raises
    UsageError without a teacher, DataError where fewer than FEWEST queries have judgements.
    """
    lm = teacher or spec.lm
    if lm is None:
        raise UsageError(f"the spec {spec.name} names no language model", hint="give a teacher, or an lm section")
    pipeline, start = build(spec), start or shipped()
    slates = [slate for asked in queries if (slate := _pool(pipeline, asked)) is not None and len(slate) > 1]
    desk = Desk(
        lm, None, budget=budget or Budget(), state_dir=state_dir, environ=os.environ if environ is None else environ
    )
    asking = _Asking(desk.open(1.0), _predictor(prompt), lm, candidates, progress)
    try:
        judged = asking.all(slates)
        counts = desk.counts
    finally:
        desk.close()
    if len(judged) < FEWEST:
        why = f": {asking.said}" if asking.said else ""
        raise DataError(f"the model judged {len(judged)} queries{why}", hint=f"at least {FEWEST} are needed")
    fit = [one for k, one in enumerate(judged) if (k + seed) % HELD]
    rest = [one for k, one in enumerate(judged) if not (k + seed) % HELD]
    model = fitted(fit, start)
    return Distilled(
        model=model,
        coefficients=_paths(model),
        queries=len(fit),
        judged=sum(len(one.said) for one in judged),
        before=_agreement(rest, start),
        after=_agreement(rest, model),
        quality=_quality(pipeline, held_out, start, model, seed),
        calls=counts.calls,
        tokens=counts.tokens,
        cost_usd=counts.cost_usd,
        ended=asking.ended,
        said=asking.said,
    )


def _pool(pipeline: Pipeline, asked: Mapping[str, Any]) -> Slate | None:
    try:
        return pipeline.candidates(asked["query"], as_of=asked.get("as_of"), namespace=asked.get("namespace"))
    except MemrankError:
        return None


def _predictor(prompt: Prompt | None) -> dspy.Predict:
    predict = dspy.Predict(MemoryRanking)
    predict.demos = list(RANKING)
    if prompt is not None:
        apply(predict, checked(prompt, MemoryRanking))
    return predict


class _Asking:
    """Asks the model, several queries at a time; the answers in the order of the queries."""

    def __init__(
        self,
        phase: Phase,
        predict: dspy.Predict,
        lm: LmSpec,
        candidates: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.ended: Reason = "done"
        self.said = ""
        self._phase = phase
        self._predict = predict
        self._lm = lm
        self._candidates = candidates
        self._progress = progress

    def all(self, slates: Sequence[Slate]) -> list[_Judged]:
        """What the model said of each query of which it said anything."""
        found: list[_Judged] = []
        with muted(), quiet(), ThreadPoolExecutor(max_workers=self._lm.concurrency) as pool_:
            jobs = [pool_.submit(copy_context().run, self._one, slate) for slate in slates]
            try:
                for number, job in enumerate(jobs, start=1):
                    try:
                        judged = job.result()
                    except EndedError as end:
                        if self.ended == "done" and end.reason != "done":
                            self.ended, self.said = end.reason, end.said
                        continue
                    if judged is not None:
                        found.append(judged)
                    if self._progress is not None:
                        with aloud():
                            self._progress(number, len(jobs))
            except KeyboardInterrupt:
                self.ended, self.said = "interrupted", "interrupted"
                for job in jobs:
                    job.cancel()
            finally:
                self._phase.close(at_once=self.ended == "interrupted")
        return found

    def _one(self, slate: Slate) -> _Judged | None:
        first = embedded_relevance(slate)
        likely = np.lexsort((slate.tenant.id_order[slate.rows], -first)).tolist()[: self._candidates]
        listed = shortlist(slate, likely)
        names = list(listed.places)
        said: dict[str, float] = {}
        for at in range(0, len(names), self._lm.batch):
            said.update(self._batch(slate, names[at : at + self._lm.batch], listed.views))
        if len(said) < 2:
            return None
        places = np.array([listed.places[name] for name in said], dtype=np.int64)
        return _Judged(
            columns=judged_columns(slate), places=places, said=np.array(list(said.values()), dtype=np.float64)
        )

    def _batch(self, slate: Slate, names: Sequence[str], views: Mapping[str, Any]) -> dict[str, float]:
        """Relevance by name; what is wrong is asked once more, with the faults."""
        query, wanted, faults = shown_query(slate.query), list(names), list[str]()
        said: dict[str, float] = {}
        for _ in range(TRIES):
            shown = [views[name].view for name in wanted]
            try:
                with dspy.context(adapter=ADAPTER):
                    lm = self._phase.lms["teacher"]
                    answer = self._predict(lm=lm, query=query, memories=shown, faults=faults)
            except AdapterParseError:
                faults = [UNREADABLE]
                continue
            except LmError as fault:
                faults = [fault.message]
                continue
            found = check(wanted, answer.judgements, judgement)
            said.update({name: one.relevance for name, one in found.accepted.items()})
            wanted, faults = found.missing(wanted), list(found.faults)
            if not wanted:
                break
        return said


def fitted(judged: Sequence[_Judged], start: Model) -> Model:
    """The judge by code that says as nearly as it can what the model said."""
    order = _fit_order(judged, start)
    level, intercept = _fit_level(judged, order, start)
    return Model(order=order, level=level, intercept=intercept)


def _fit_order(judged: Sequence[_Judged], start: Model) -> dict[str, float]:
    prior = np.array([start.order.get(name, 0.0) for name in ORDER])
    # Where all are said to be equal there is no order to learn.
    told = [one for one in judged if one.said.max() > one.said.min()]
    if not told:
        return dict(zip(ORDER, prior.tolist(), strict=True))
    features = [np.stack(list(order_features(one.columns).values()), axis=1)[one.places] for one in told]
    x, y = np.concatenate(features), np.concatenate([_target(one.said) for one in told])
    sizes = np.array([len(one.said) for one in told])
    loss = listwise_loss(x, y, sizes, prior, PULL)
    return dict(zip(ORDER, _bounded(loss, prior, ORDER).tolist(), strict=True))


def _target(said: Floats) -> Floats:
    """What the order should come to: shares, of which those that were said to be little get next to none.

    Plain shares of what was said would not do: of twenty candidates, the many that were given a little outweigh the one
    that was given much.
    """
    sharp = np.exp((said - said.max()) / SHARPNESS)
    return np.asarray(sharp / sharp.sum())


def _fit_level(judged: Sequence[_Judged], order: Mapping[str, float], start: Model) -> tuple[dict[str, float], float]:
    xs, ys, weights = [], [], []
    for one in judged:
        features = level_features(one.columns, combine(order_features(one.columns), order))
        listed = [*(features[name] for name in LEVEL), np.ones(len(features["order"]))]
        xs.append(np.stack(listed, axis=1)[one.places])
        ys.append(one.said)
        by_rank = np.exp(-features["log_rank"])[one.places]
        weights.append(by_rank / by_rank.sum() / len(judged))
    x, y, weight = np.concatenate(xs), np.concatenate(ys), np.concatenate(weights)
    prior = np.array([*(start.level.get(name, 0.0) for name in LEVEL), start.intercept])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = np.einsum("ij,j->i", x, w)
        away = w - prior
        value = (weight * (np.logaddexp(0.0, s) - y * s)).sum() + LEVEL_PULL * (away * away).sum()
        slope = np.einsum("ij,i->j", x, weight * (1.0 / (1.0 + np.exp(-s)) - y))
        return float(value), slope + 2 * LEVEL_PULL * away

    *level, intercept = _bounded(loss, prior, (*LEVEL, None)).tolist()
    return dict(zip(LEVEL, level, strict=True)), intercept


def _bounded(loss: Callable[[Floats], tuple[float, Floats]], prior: Floats, names: Sequence[str | None]) -> Floats:
    """The minimum with each coefficient on its side of 0."""
    low = np.array([0.0 if name is not None and name not in FALLING else -STRONGEST for name in names])
    high = np.array([0.0 if name in FALLING else STRONGEST for name in names])
    return minimum(loss, prior, np.minimum(low, prior), np.maximum(high, prior))


def _paths(model: Model) -> dict[str, float]:
    root = "ranker.coefficients"
    order = {f"{root}.order.{name}": round(value, 6) for name, value in model.order.items()}
    level = {f"{root}.level.{name}": round(value, 6) for name, value in model.level.items()}
    return {**order, **level, f"{root}.intercept": round(model.intercept, 6)}


def _agreement(judged: Sequence[_Judged], model: Model) -> Agreement:
    own = [model.probability(one.columns)[one.places] for one in judged]
    ranks = [
        rank for rank in (spearman(a, one.said) for a, one in zip(own, judged, strict=True)) if not math.isnan(rank)
    ]
    errors = np.concatenate([np.abs(a - one.said) for a, one in zip(own, judged, strict=True)] or [np.zeros(0)])
    return Agreement(
        pairs=len(errors),
        rank_correlation=math.fsum(ranks) / len(ranks) if ranks else math.nan,
        mae=float(errors.mean()) if len(errors) else math.nan,
    )


def _quality(
    pipeline: Pipeline, labelled: Sequence[Labelled], before: Model, after: Model, seed: int
) -> Quality | None:
    chosen = [query for query in labelled if query.relevant]
    if not chosen:
        return None
    values = np.array([[_ndcg(pipeline, query, model) for query in chosen] for model in (before, after)])
    bootstrap = Bootstrap(groups(chosen), seed=seed, resamples=RESAMPLES)
    return Quality(
        queries=len(chosen),
        before=bootstrap.estimate(values[0]),
        after=bootstrap.estimate(values[1]),
        gain=bootstrap.paired(values[1], values[0]),
    )


def _ndcg(pipeline: Pipeline, query: Labelled, model: Model) -> float:
    try:
        slate = pool(pipeline, query)
    except MemrankError:
        return 0.0
    relevance = model.probability(judged_columns(slate))
    order = np.lexsort((slate.tenant.id_order[slate.rows], -relevance))
    return metrics.ndcg([slate.memory(int(k)).id for k in order], query.relevant, 10)
