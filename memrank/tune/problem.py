"""What a search asks: how good thousands of settings are on one set of queries, without running the pipeline again."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import numpy as np

from memrank.calibration import calibrated
from memrank.coefficients import model_of
from memrank.conflicts import MAX_PAIRED, evidence
from memrank.errors import UsageError
from memrank.evals.evalset import groups
from memrank.evals.evaluate import TOP_K
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.score import conflict
from memrank.score.relevance import Model
from memrank.slate import REASONS, Column, Limits, Slate
from memrank.spec import PrefilterSpec, RankerSpec, Spec, TemporalSpec
from memrank.stages.ranker import Ranker
from memrank.stages.temporal import Temporal
from memrank.tenant import Rows
from memrank.tune.aims import Aims, Bound
from memrank.tune.judging import Judging
from memrank.tune.measures import Labels, Ranked
from memrank.tune.parameters import Number, stage_of, with_values
from memrank.tune.pools import Pools, read
from memrank.tune.scoring import OUT, Pairs, Scoring, inherited
from memrank.types import Bools, Floats

Values = Mapping[str, Number]
Found = TypeVar("Found")

UNLIKELY = 0.02
"""Pairs below this likelihood are not kept: no threshold that is searched is lower."""
KEPT_JUDGES, KEPT_POOLS = 64, 6
"""How many judgements and how many prefilters are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one judge says of all pools of one prefilter."""

    relevance: Floats
    """(queries, width): calibrated, and inherited along successions."""
    brier: Floats


class _Kept:
    """The last few results of a function. Safe to share between threads; what is missing is made once."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.RLock()
        self._kept: OrderedDict[Hashable, object] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Found]) -> Found:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: Found = self._kept[key]  # type: ignore[assignment]
            return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The pools of one prefilter, and what is known of them."""

    pools: Pools
    scoring: Scoring
    labels: Labels
    judging: Judging
    fits: Floats
    """(queries, width): 1 for what speaks to the question."""
    earlier: Bools
    """(targets, width): what stands further left in the row of each target."""
    kept: _Kept


class Problem:
    """The queries of one set under one spec. Values of a setting are by path, as in `tune.parameters`; what a setting
    does not name is as the spec has it.

    `pipeline` is that of the spec, over the memories of the set, with the embedded judge; `queries` without labels are
    left out, and one without a time is asked as of `newest`. Raises UsageError for another judge, and for metrics that
    cannot be told from ranks and scores (`ECE`, latencies, calls, `actions`, `sensitivity`).
    """

    def __init__(
        self,
        pipeline: Pipeline,
        queries: Sequence[Labelled],
        objective: Mapping[str, float] | str = "nDCG@10",
        constraints: Mapping[str, Bound] | None = None,
        *,
        newest: datetime | None = None,
    ) -> None:
        self.spec: Spec = pipeline.spec
        ranker = stage_of(self.spec, RankerSpec)
        if ranker is None or ranker.judge != "embedded" or stage_of(self.spec, TemporalSpec) is None:
            raise UsageError(
                f"the weights of {self.spec.name} cannot be searched for: its relevance is not the embedded judge's",
                hint="a spec with temporal.v1 and ranker.v1, judge: embedded",
            )
        weights = {objective: 1.0} if isinstance(objective, str) else dict(objective)
        self.aims = Aims(objective=weights, constraints=dict(constraints or {}))
        self.queries = tuple(query for query in queries if query.annotated)
        self.groups = tuple(groups(self.queries))
        self._pipeline = pipeline
        self._newest = newest
        self._reads = _Kept(KEPT_POOLS)
        self._reference: Values = {}
        self._all = self.queries
        self._rows = np.arange(len(self.queries))
        self._read({})

    @property
    def types(self) -> tuple[str, ...]:
        """The memory types that stand in the pools, sorted."""
        pools = self._read({}).pools
        used = set(np.unique(pools.kind[pools.pool]).tolist())
        return tuple(sorted(name for i, name in enumerate(pools.types) if name is not None and i in used))

    def part(self, rows: Sequence[int]) -> "Problem":
        """The same for some of the queries, by their place; nothing is read again."""
        chosen = object.__new__(Problem)
        chosen.__dict__.update(self.__dict__)
        places = np.asarray(rows, dtype=np.int64)
        chosen._rows = self._rows[places]
        chosen.queries = tuple(self.queries[row] for row in places)
        chosen.groups = tuple(self.groups[row] for row in places)
        return chosen

    def refer(self, values: Values) -> "Problem":
        """The same with inferred supersession as this setting has it; see `tune.scoring`."""
        chosen = object.__new__(Problem)
        chosen.__dict__.update(self.__dict__)
        chosen._reference = dict(values)
        return chosen

    def measure(self, settings: Sequence[Values]) -> Floats:
        """The objective of each query under each setting, shape (settings, queries).

        NaN where no metric of it applies. Of several metrics, the mean over the other queries is the weighted sum of
        the metrics' means.
        """
        return np.stack([self.aims.of_queries(self._metrics(values, self.aims.objective)) for values in settings])

    def metrics(self, settings: Sequence[Values], names: Sequence[str]) -> dict[str, Floats]:
        """Metric to its values, shape (settings, queries), NaN where it does not apply."""
        found = [self._metrics(values, names) for values in settings]
        return {name: np.stack([one[name] for one in found]) for name in names}

    def worth(self, values: Values) -> tuple[float, float]:
        """(violation, objective) of a setting: by how much its constraints are missed in all, and the mean."""
        return self.aims.worth(self._metrics(values, (*self.aims.objective, *self.aims.constraints)))

    def exact(self, values: Values) -> Floats:
        """The objective of each query as the stages themselves rank it, shape (queries,): nothing is approximated."""
        return self.aims.of_queries(self.exact_metrics(values, tuple(self.aims.objective)))

    def exact_worth(self, values: Values) -> tuple[float, float]:
        """As `worth`, as the stages themselves rank."""
        return self.aims.worth(self.exact_metrics(values, (*self.aims.objective, *self.aims.constraints)))

    def exact_metrics(self, values: Values, names: Sequence[str]) -> dict[str, Floats]:
        """As `metrics`, of one setting, as the stages themselves rank."""
        got = _Staged(self._read(values), with_values(self.spec, values)).ranked(self._rows)
        read = self._read(values)
        return {name: self._measure(read, name)(got)[self._rows] for name in names}

    def model(self, values: Values) -> Model:
        """The judge's coefficients under a setting."""
        ranker = stage_of(self.spec, RankerSpec)
        model = model_of(ranker.coefficients if ranker else None)
        order, level, intercept = dict(model.order), dict(model.level), model.intercept
        for path, value in values.items():
            part, _, name = path.removeprefix("ranker.coefficients.").partition(".")
            if not path.startswith("ranker.coefficients."):
                continue
            if part == "intercept":
                intercept = float(value)
            else:
                (order if part == "order" else level)[name] = float(value)
        return Model(order=order, level=level, intercept=intercept)

    def slates(self, values: Values) -> list[tuple[Labelled, Slate]]:
        """The queries that can be read and have candidates, with those."""
        slates = self._read(values).pools.slates
        found = [(query, slates[row]) for query, row in zip(self.queries, self._rows.tolist(), strict=True)]
        return [(query, slate) for query, slate in found if slate is not None and len(slate)]

    def _read(self, values: Values) -> _Read:
        key = tuple(sorted((path, value) for path, value in values.items() if path.startswith("prefilter.")))
        return self._reads.get(key, lambda: self._made(dict(key)))

    def _made(self, fusion: Mapping[str, Number]) -> _Read:
        spec = with_values(self.spec, fusion) if fusion else self.spec
        pools = read(self._pipeline, self._all, self._newest, stage_of(spec, PrefilterSpec) if fusion else None)
        temporal, ranker = stage_of(spec, TemporalSpec), stage_of(spec, RankerSpec)
        if temporal is None or ranker is None:
            raise UsageError("the spec lacks a temporal stage or a ranker")
        labels = Labels(self._all, [_places(pools, q) for q in range(len(self._all))])
        names = (*self.aims.objective, *self.aims.constraints)
        unknown = [name for name in names if labels.measure(name) is None]
        if unknown:
            raise UsageError(
                f"{', '.join(unknown)} cannot be searched by: it is not told from ranks and scores",
                hint="such as nDCG@10, R@10, MRR@10, stale@1, current_first, empty_ok, Brier, MAE",
            )
        return _Read(
            pools=pools,
            scoring=Scoring(pools, temporal, ranker),
            labels=labels,
            judging=Judging(pools),
            fits=_fits(pools, self._all),
            earlier=np.arange(pools.pool.shape[1])[None, :] < labels.column[:, None],
            kept=_Kept(KEPT_JUDGES),
        )

    def _judgement(self, read: _Read, values: Values) -> Judgement:
        key = tuple(sorted((p, v) for p, v in values.items() if p.startswith("ranker.coefficients.")))
        return read.kept.get(key, lambda: self._judge(read, values))

    def _judge(self, read: _Read, values: Values) -> Judgement:
        model, pools = self.model(values), read.pools
        ranker = stage_of(self.spec, RankerSpec)
        said = calibrated(ranker.calibration if ranker else None, read.judging.probability(model))
        relevance = inherited(pools, np.where(pools.pool, said, 0.0))
        sizes = pools.pool.sum(axis=1)
        off = np.where(pools.pool, (relevance - read.fits) ** 2, 0.0).sum(axis=1)
        return Judgement(relevance=relevance, brier=np.where(sizes > 0, off / np.maximum(sizes, 1), np.nan))

    def _metrics(self, values: Values, names: Sequence[str] | Mapping[str, float]) -> dict[str, Floats]:
        read = self._read(values)
        got = self._ranked(read, values)
        return {name: self._measure(read, name)(got)[self._rows] for name in names}

    def _measure(self, read: _Read, name: str) -> Callable[[Ranked], Floats]:
        found = read.kept.get(("measure", name), lambda: read.labels.measure(name))
        if found is None:
            raise UsageError(f"{name[:80]} cannot be told from ranks and scores")
        return found

    def _ranked(self, read: _Read, values: Values) -> Ranked:
        judgement = self._judgement(read, values)
        parts = read.scoring.parts(values, judgement.relevance, self._outdating(read, values))
        score, labels = parts.score, read.labels
        places = np.full(labels.total + 1, np.inf)
        own = score[labels.query, labels.column]
        rows = score[labels.query]
        above = _count(rows > own[:, None])
        equal = rows == own[:, None]
        tied = np.flatnonzero(_count(equal) > 1)
        above[tied] += (equal[tied] & read.earlier[tied]).sum(axis=1)
        places[:-1] = np.where((own > OUT) & (above < TOP_K), above + 1.0, np.inf)
        at = labels.query, labels.column
        return Ranked(
            places=places,
            returned=np.asarray((score > OUT).any(axis=1)),
            relevance=np.append(parts.relevance[at], 0.0),
            freshness=np.append(parts.freshness[at], 0.0),
            score=np.append(np.maximum(own, 0.0), 0.0),
            brier=judgement.brier,
        )

    def _outdating(self, read: _Read, values: Values) -> Pairs | None:
        """The pairs of the reference setting, found by the prefilter of this one."""
        ranker = stage_of(self.spec, RankerSpec)
        if ranker is None or not ranker.supersession.infer:
            return None
        key = ("pairs", *sorted(self._reference.items()))
        return read.kept.get(key, lambda: self._paired(read, self._reference))

    def _paired(self, read: _Read, values: Values) -> Pairs:
        judgement = self._judgement(read, values)
        score = read.scoring.parts(values, judgement.relevance, None).score
        pools, width = read.pools, read.pools.pool.shape[1]
        found: list[tuple[int, int, float]] = []
        for q, slate in enumerate(pools.slates):
            if slate is None or slate.time.asks_previous:
                continue
            free = np.flatnonzero((score[q] > OUT) & ~pools.superseded[q])
            best = free[np.argsort(-score[q][free], kind="stable")[:MAX_PAIRED]]
            if len(best) < 2:
                continue
            order = pools.order[q]
            judged = np.empty(len(order))
            judged[order] = judgement.relevance[q, : len(order)]
            chance = conflict.shipped().probability(evidence(slate, order[best], judged))
            newer = chance.argmax(axis=1)
            likely = chance[np.arange(len(best)), newer]
            counts = np.flatnonzero(likely >= UNLIKELY)
            at = q * width + best
            found += zip(at[counts].tolist(), at[newer[counts]].tolist(), likely[counts].tolist(), strict=True)
        old, new, likely_of = zip(*found, strict=True) if found else ((), (), ())
        return Pairs(
            old=np.array(old, dtype=np.int64),
            new=np.array(new, dtype=np.int64),
            likely=np.array(likely_of, dtype=np.float64),
            size=pools.pool.size,
        )


class _Staged:
    """One spec's own stages on pools that were read."""

    def __init__(self, read: _Read, spec: Spec) -> None:
        temporal, ranker = stage_of(spec, TemporalSpec), stage_of(spec, RankerSpec)
        if temporal is None or ranker is None:
            raise UsageError("the spec lacks a temporal stage or a ranker")
        self._read = read
        self._temporal, self._ranker = Temporal(temporal), Ranker(ranker)

    def ranked(self, rows: Rows) -> Ranked:
        """What becomes of the queries in these rows; the others count as not read."""
        pools, labels = self._read.pools, self._read.labels
        places, relevance, freshness, score = (np.full(labels.total + 1, fill) for fill in (np.inf, 0.0, 0.0, 0.0))
        returned, brier = np.zeros(len(pools.slates), dtype=np.bool_), np.full(len(pools.slates), np.nan)
        limits = Limits(top_k=TOP_K, rank_only=True)
        beyond = REASONS.index("over_top_k")
        for q in rows.tolist():
            slate = pools.slates[q]
            if slate is None or not len(slate):
                continue
            final = self._ranker(self._temporal(replace(slate, limits=limits)))
            reason = final[Column.REASON]
            ranked = final.ranked(final[Column.SCORE], reason)
            returned[q] = len(ranked) > 0
            place = np.full(len(slate), np.inf)
            place[ranked] = np.arange(1, len(ranked) + 1)
            kept = (reason == 0) | (reason == beyond)
            whole = np.where(kept, final[Column.RAW_SCORE] * final[Column.FACTOR], 0.0)
            whole = whole * final[Column.LIFT] * final[Column.DEMOTION]
            mine = np.flatnonzero(labels.query == q)
            at = pools.order[q][labels.column[mine]]
            places[mine], relevance[mine] = place[at], final[Column.RELEVANCE][at]
            freshness[mine], score[mine] = final[Column.FRESHNESS][at], whole[at]
            fits = np.array([labels.queries[q].fits(slate.memory(k).id) for k in range(len(slate))])
            brier[q] = np.mean((final[Column.RELEVANCE] - fits) ** 2)
        return Ranked(
            places=places, returned=returned, relevance=relevance, freshness=freshness, score=score, brier=brier
        )


def _places(pools: Pools, q: int) -> dict[str, int]:
    slate = pools.slates[q]
    if slate is None:
        return {}
    return {slate.memory(int(k)).id: place for place, k in enumerate(pools.order[q])}


def _fits(pools: Pools, queries: Sequence[Labelled]) -> Floats:
    fits = np.zeros(pools.pool.shape)
    for q, query in enumerate(queries):
        for name, place in _places(pools, q).items():
            fits[q, place] = query.fits(name)
    return fits


def _count(flags: Bools) -> Floats:
    """How many are true in each row."""
    if flags.shape[1] < 256:  # so many fit into a byte
        return np.asarray(np.einsum("ij->i", flags.view(np.uint8)), dtype=np.float64)
    return np.asarray(flags.sum(axis=1), dtype=np.float64)
