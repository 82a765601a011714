"""ranker.v1: relevance, freshness, importance and authority become one score; thresholds exclude; what was superseded
sinks.
"""

import math
from functools import partial
from typing import Any, ClassVar

import dspy
import numpy as np

from memrank.calibration import calibrated
from memrank.chain import JUDGED
from memrank.coefficients import model_of
from memrank.conflicts import MAX_PAIRED, outdated
from memrank.errors import SpecError
from memrank.evidence import justify
from memrank.score import fuse, supersede
from memrank.score.cascade import open_cases
from memrank.score.importance import SCALE
from memrank.slate import JUDGES, REASONS, Column, Slate
from memrank.spec import RankerSpec
from memrank.speccascade import CascadeSpec
from memrank.speccoefficients import CoefficientsSpec
from memrank.speclm import LmSpec
from memrank.stages.base import EmbeddedPredict, Stage, asked
from memrank.stages.judged import Judged
from memrank.stages.lm.signatures import MemoryRanking, RelevanceJudgement
from memrank.stages.views import memory_views, query_view
from memrank.tenant import Rows
from memrank.types import Bools, Floats, Sensitivity
from memrank.worth import age_of, worth

PARTS = {
    "relevance": Column.RELEVANCE,
    "freshness": Column.FRESHNESS,
    "importance": Column.IMPORTANCE,
    "authority": Column.AUTHORITY,
}


def judged_columns(slate: Slate) -> dict[str, Floats]:
    """The columns that the embedded relevance model reads."""
    return {name.value: slate[name] for name in JUDGED}


def embedded_relevance(slate: Slate, coefficients: CoefficientsSpec | None = None) -> Floats:
    """Relevance by the logistic model, shape (n,), in [0, 1]; by the shipped coefficients where none are given."""
    return model_of(coefficients).probability(judged_columns(slate))


def worded_relevance(slate: Slate, coefficients: CoefficientsSpec | None = None) -> Floats:
    """The same as far as words carry it, shape (n,): without what sentence vectors add, which any odd text may move."""
    columns = judged_columns(slate)
    vectors = {name.value: np.minimum(slate[name], 0.0) for name in (Column.DENSE, Column.DENSE_Z)}
    worded = model_of(coefficients).probability({**columns, **vectors})
    return np.minimum(embedded_relevance(slate, coefficients), worded)


def everyone(slate: Slate, first: Floats) -> Rows:
    """Every candidate, the likeliest ones first, so that a budget goes to them; ties by id."""
    return np.lexsort((slate.tenant.id_order[slate.rows], -first))


def _origins(judged: Judged, slate: Slate) -> dict[Column, Floats]:
    """The columns that say whose word the relevance is."""
    by = np.where(judged.by_model, JUDGES.index("lm"), np.where(judged.failed, JUDGES.index("failed"), 0))
    return {
        Column.SAID: judged.relevance.copy(),
        Column.JUDGED_BY: by.astype(np.float64),
        Column.SUSPECTED: np.maximum(judged.suspected, slate.columns.get(Column.SUSPECTED, np.zeros(len(slate)))),
    }


class EmbeddedRelevance(EmbeddedPredict[Floats]):
    """The logistic model in place of a language model."""

    def __init__(self, signature: type[dspy.Signature], coefficients: CoefficientsSpec | None = None) -> None:
        super().__init__(signature)
        self._coefficients = coefficients

    def judge(self, slate: Slate) -> Floats:
        """Relevance, shape (n,), in [0, 1]."""
        return embedded_relevance(slate, self._coefficients)

    def inputs(self, slate: Slate) -> dict[str, Any]:
        """Fields of `MemoryRanking`."""
        return {"query": query_view(slate.query), "memories": memory_views(slate), "faults": []}

    def outputs(self, slate: Slate, answer: Floats) -> dict[str, Any]:
        """Fields of `MemoryRanking`."""
        judgements = [
            RelevanceJudgement(id=slate.memory(k).id, relevance=float(answer[k]), justification=justify(slate, k))
            for k in range(len(slate))
        ]
        return {"judgements": judgements}


class Ranker(Stage):
    """Scores every candidate; excluded ones score 0 and say why."""

    kind: ClassVar[str] = "ranker.v1"
    signature: ClassVar[type[dspy.Signature]] = MemoryRanking

    def __init__(self, params: RankerSpec, lm: LmSpec | None = None) -> None:
        super().__init__()
        self.params = params
        embedded = params.judge == "embedded"
        own = params.coefficients
        self.judge = EmbeddedRelevance(MemoryRanking, own) if embedded else self._model(params, lm)

    def _model(self, params: RankerSpec, lm: LmSpec | None) -> dspy.Module:
        from memrank.stages.lm.ranking import LmRelevance

        if lm is None:
            raise SpecError([f"judge: {params.judge} without a model; allowed: an lm section"])
        # Whom the model places high is asked about again, for each decoy.
        most = max(1, lm.max_calls // (1 + lm.decoys)) * lm.batch
        pick = everyone if params.judge == "lm" else partial(self._open, most=most)
        embedded = partial(embedded_relevance, coefficients=params.coefficients)
        worded = partial(worded_relevance, coefficients=params.coefficients)
        return LmRelevance(lm, embedded, worded, pick)

    def forward(self, slate: Slate) -> Slate:
        """See `Stage`."""
        params = self.params
        superseded, successor = self.successors(slate)
        answer = asked(self.judge, slate)
        said = answer.relevance if isinstance(answer, Judged) else answer
        relevance = calibrated(params.calibration, said)
        judged, inherits = _inherit(relevance, successor, slate.tenant.id_order[slate.rows])
        parts, raw = self._composite(slate, judged, superseded)
        factor = supersede.factors(raw, successor)
        factor[superseded & (successor < 0)] = supersede.DEMOTION
        reason, stale_flag = self._exclusions(slate, judged, raw)
        score = np.where(reason == 0, raw * factor, 0.0)
        newer, likely = self._outdated(slate, judged, score, reason, superseded)
        lift, lifted_over, demotion = supersede.swaps(score, newer)
        score = score * lift * demotion
        columns = {
            **{PARTS[name]: values for name, values in parts.items()},
            Column.RAW_SCORE: raw,
            Column.FACTOR: factor,
            Column.SCORE: score,
            Column.SUPERSEDED: superseded.astype(np.float64),
            Column.SUPERSEDED_BY: successor.astype(np.float64),
            Column.INHERITS: inherits.astype(np.float64),
            Column.OUTDATED_BY: newer.astype(np.float64),
            Column.OUTDATED: likely,
            Column.DEMOTION: demotion,
            Column.LIFT: lift,
            Column.LIFTED_OVER: lifted_over.astype(np.float64),
            Column.STALE_FLAG: stale_flag.astype(np.float64),
        }
        limit = slate.limits.top_k if slate.limits.top_k is not None else params.top_k
        if limit is not None:
            beyond = slate.ranked(score, reason)[limit:]
            reason[beyond[~slate.protected[beyond]]] = REASONS.index("over_top_k")
        columns[Column.REASON] = reason
        columns[Column.SCORE] = np.where(reason == 0, score, 0.0)
        if not isinstance(answer, Judged):
            return slate.extend(columns)
        return slate.extend(
            {**columns, **_origins(answer, slate)},
            answer.notes,
            justifications=answer.justifications,
            figures={**slate.figures, **answer.figures},
        )

    def _composite(self, slate: Slate, judged: Floats, superseded: Bools) -> tuple[dict[str, Floats], Floats]:
        """The parts of the score, and what they come to before any exclusion or adjustment."""
        params = self.params
        parts = {
            "relevance": judged,
            "freshness": slate[Column.FRESHNESS],
            "importance": self._importance(slate, superseded),
            "authority": self.authority(slate),
        }
        if params.combine == "bounded" and params.alphas is not None:
            return parts, fuse.bounded(judged, parts, {name: alpha for name, alpha in params.alphas if alpha})
        return parts, fuse.weighted(parts, {name: weight for name, weight in params.weights if weight})

    def _open(self, slate: Slate, first: Floats, *, most: int) -> Rows:
        """The likeliest of those that can come to the top, as the spec's `cascade` has it, at most `most`."""
        params, cascade = self.params, self.params.cascade or CascadeSpec()
        superseded, successor = self.successors(slate)
        relevance = calibrated(params.calibration, first)
        judged, _ = _inherit(relevance, successor, slate.tenant.id_order[slate.rows])
        _, raw = self._composite(slate, judged, superseded)
        # Who is excluded for what no judge can change is not asked about.
        reason, _ = self._exclusions(slate, np.ones_like(judged), np.ones_like(raw))
        order = slate.ranked(raw, reason)
        place = open_cases(
            raw[order],
            judged[order],
            cut=slate.limits.top_k if slate.limits.top_k is not None else params.top_k,
            margin=cascade.margin,
            most=min(most, math.ceil(cascade.share * len(slate))),
        )
        return order[place]

    def successors(self, slate: Slate) -> tuple[Bools, Rows]:
        """Whether each candidate is superseded by what the data say, and by which candidate (-1: by none of them).

        A link counts when what it names was known at as_of, and when nobody here knows what it names. Nothing is
        superseded where the earlier value is asked for.
        """
        tenant, rows = slate.tenant, slate.rows
        if slate.time.asks_previous:
            return np.zeros(len(slate), dtype=np.bool_), np.full(len(slate), -1, dtype=np.int64)
        successor = tenant.successor[rows]
        known = slate.visible[successor] | ~(tenant.times.created_start[successor] > slate.query.as_of.timestamp())
        place = np.full(len(tenant.memories) + 1, -1, dtype=np.int64)
        place[rows] = np.arange(len(slate))
        return tenant.linked[rows] & ((successor < 0) | known), place[successor]

    def _outdated(
        self, slate: Slate, judged: Floats, score: Floats, reason: Floats, superseded: Bools
    ) -> tuple[Rows, Floats]:
        """Candidate that outdates each one without the data saying so (-1: none), and how likely that is."""
        newer, likely = np.full(len(slate), -1, dtype=np.int64), np.zeros(len(slate))
        if self.params.supersession.infer:
            best = slate.ranked(score, np.where(superseded, 1.0, reason))[:MAX_PAIRED]
            newer[best], likely[best] = outdated(slate, best, judged, self.params.supersession.threshold)
        return newer, likely

    def _importance(self, slate: Slate, superseded: Bools) -> Floats:
        params, tenant, rows = self.params.importance, slate.tenant, slate.rows
        counts = tenant.access_count if params.count_means == "retrieval" else tenant.use_count
        rates = np.array([params.rate_per_month.of(name) for name in tenant.types], dtype=np.float64)
        valued = worth(
            params,
            tenant.importance[rows],
            age_of(tenant.times.created[rows], slate.query.as_of),
            counts[rows],
            rates[tenant.type_code[rows]],
            superseded,
        )
        return valued.points / SCALE

    def authority(self, slate: Slate) -> Floats:
        """As stated; a primary source counts as halfway nearer to 1 when the past is asked about."""
        stated = slate.tenant.authority[slate.rows]
        if slate.time.sensitivity is not Sensitivity.HISTORICAL:
            return stated
        return np.where(slate.tenant.primary[slate.rows], (1.0 + stated) / 2.0, stated)

    def _exclusions(self, slate: Slate, judged: Floats, raw: Floats) -> tuple[Floats, Bools]:
        """Why each candidate is excluded (0: it is not), and whether it carries the stale flag."""
        params = self.params
        ages = slate.time.sensitivity in (Sensitivity.REAL_TIME, Sensitivity.RECENT)
        dated = slate[Column.DATED] > 0
        age = slate[Column.AGE]
        stale = dated & (age > params.stale_after) if ages and params.stale_after is not None else np.zeros_like(dated)
        ageing = (
            dated & (age >= params.staleness_threshold) if ages and params.staleness_threshold is not None else stale
        )
        rules = (
            ("expired", slate[Column.EXPIRED] > 0),
            ("invalid_then", slate[Column.INVALID_THEN] > 0),
            ("below_relevance", judged < params.relevance_threshold),
            ("stale", stale),
            ("below_min_score", raw < params.min_score),
        )
        reason = np.zeros(len(slate), dtype=np.float64)
        for name, applies in rules:
            reason[(reason == 0) & applies] = REASONS.index(name)
        return reason, ageing | stale


def _inherit(judged: Floats, successor: Rows, tie: Rows) -> tuple[Floats, Rows]:
    """A memory that explicitly replaces another is at least as relevant as what it replaces.

    Returns the relevance, and for each candidate the one whose relevance it took over (-1 for none; among equals, the
    one that is first by `tie`). Memories that replace each other in a circle keep their own.
    """
    relevance, source = judged.tolist(), [-1] * len(judged)
    following = successor.tolist()
    waiting = [0] * len(following)
    for new in following:
        if new >= 0:
            waiting[new] += 1
    # From the oldest of each chain on: a memory passes its relevance on when nothing can raise it any more.
    ready = [i for i, count in enumerate(waiting) if count == 0]
    while ready:
        old = ready.pop()
        new = following[old]
        if new < 0:
            continue
        before = source[new]
        higher = relevance[old] > relevance[new]
        if higher or (before >= 0 and relevance[old] == relevance[new] and tie[old] < tie[before]):
            relevance[new], source[new] = relevance[old], old
        waiting[new] -= 1
        if waiting[new] == 0:
            ready.append(new)
    return np.array(relevance, dtype=np.float64), np.array(source, dtype=np.int64)
