"""What a search reads once: the pools of all queries as padded arrays, as prefilter and temporal stage left them.

Row q is a query; its candidates stand from the left in the order in which ties are broken, so that a candidate's place
is one more than the number of those that score higher, or the same further left. Beyond its pool a row is dead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memrank.errors import MemrankError, StoreError
from memrank.evals.labels import Labelled
from memrank.pipeline import Pipeline
from memrank.score.temporal import graced
from memrank.slate import Column, Slate
from memrank.spec import PrefilterSpec, RankerSpec, TemporalSpec
from memrank.stages.prefilter import Prefilter
from memrank.stages.ranker import Ranker
from memrank.stages.temporal import Temporal
from memrank.types import Bools, Floats, Sensitivity
from memrank.worth import age_of

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """Explicit successions, flat over all queries: `old[i]` is superseded by `new[i]`, both flat places."""

    inherit: tuple[tuple[Ints, Ints], ...]
    """(old, new) by rounds: in a round nobody passes on what it is only now given."""
    sink: tuple[tuple[Ints, Ints], ...]
    """(old, new) by rounds, from the newest of each chain down."""
    demoted: Ints
    """Those that are demoted by themselves: what supersedes them is no candidate, or they stand in a circle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Everything but what is free. Arrays are (queries, width) unless said otherwise."""

    slates: tuple[Slate | None, ...]
    """After the temporal stage; None where the query cannot be read."""
    order: tuple[Ints, ...]
    """Candidate of the slate at each place of a row."""
    pool: Bools
    dead: Bools
    """Excluded whatever the setting: expired, not valid, or no candidate at all."""
    fresh: Floats
    """Freshness where no curve decides; 0 elsewhere."""
    at: Ints
    """(m,): flat places where the spec's curve decides, by their memory type."""
    age: Floats
    """(m,): seconds, of those."""
    aged: Floats
    """Age where one can be stale for it, -inf elsewhere."""
    kind: Ints
    """Index into `types`."""
    types: tuple[str | None, ...]
    stated: Floats
    """Importance as stated, NaN without."""
    recorded: Floats
    """Seconds since it was recorded."""
    uses: Floats
    authority: Floats
    superseded: Bools
    chains: Chains


def read(
    pipeline: Pipeline, queries: Sequence[Labelled], newest: datetime | None, prefilter: PrefilterSpec | None = None
) -> Pools:
    """The pools of the queries, by the stages of the pipeline; by another prefilter where one is given.

    `newest` is asked about by queries without a time. A query that cannot be read has an empty pool. Raises StoreError
    where the memories cannot be read.
    """
    search = pipeline.prefilter if prefilter is None else Prefilter(prefilter, pipeline.prefilter.analyzer)
    slates = tuple(_slate(pipeline, search, query, newest) for query in queries)
    return _Padding(pipeline, slates).pools()


def _slate(pipeline: Pipeline, search: Prefilter, query: Labelled, newest: datetime | None) -> Slate | None:
    asked = {"as_of": newest, **query.asked}
    try:
        slate: Slate = pipeline.temporal(search(pipeline.opened(asked.pop("query"), **asked)))
    except StoreError:
        raise
    except MemrankError:
        return None
    return slate


class _Padding:
    """Lays the columns of slates side by side."""

    def __init__(self, pipeline: Pipeline, slates: Sequence[Slate | None]) -> None:
        self._slates = tuple(slates)
        self._order = tuple(
            np.zeros(0, dtype=np.int64) if slate is None else slate.ranked(np.zeros(len(slate)), np.zeros(len(slate)))
            for slate in slates
        )
        self._shape = len(slates), max(1, *map(len, self._order)) if slates else 1
        self._temporal: TemporalSpec = pipeline.temporal.params
        self._stage: Temporal = pipeline.temporal
        self._ranker: Ranker = pipeline.ranker

    def pools(self) -> Pools:
        fresh, curved, aged = self._filled(0.0), self._filled(0.0), self._filled(-np.inf)
        columns = {name: self._filled(0.0) for name in ("age", "recorded", "uses", "authority", "superseded", "kind")}
        stated, dead, successor = self._filled(np.nan), self._filled(1.0), self._filled(-1.0)
        types: dict[str | None, int] = {None: 0}
        params: RankerSpec = self._ranker.params
        for q, (slate, order) in enumerate(zip(self._slates, self._order, strict=True)):
            if slate is None or not len(slate):
                continue
            tenant, rows, n = slate.tenant, slate.rows, len(slate)
            dated = slate[Column.DATED] > 0
            ages = slate.time.sensitivity in (Sensitivity.REAL_TIME, Sensitivity.RECENT)
            by_curve = dated & (slate.time.sensitivity is Sensitivity.RECENT)
            codes = np.array([types.setdefault(name, len(types)) for name in tenant.types], dtype=np.float64)
            counts = tenant.access_count if params.importance.count_means == "retrieval" else tenant.use_count
            superseded, after = self._ranker.successors(slate)
            place = np.empty(n + 1)
            place[order], place[n] = np.arange(n), -1.0
            found = {
                "age": graced(slate[Column.AGE], self._temporal.offset),
                "recorded": age_of(tenant.times.created[rows], slate.query.as_of),
                "uses": counts[rows],
                "authority": self._ranker.authority(slate),
                "superseded": superseded,
                "kind": codes[tenant.type_code[rows]],
            }
            for name, values in found.items():
                columns[name][q, :n] = values[order]
            fresh[q, :n] = np.where(by_curve, 0.0, slate[Column.FRESHNESS])[order]
            curved[q, :n] = by_curve[order]
            aged[q, :n] = np.where(dated & ages, slate[Column.AGE], -np.inf)[order]
            stated[q, :n] = tenant.importance[rows][order]
            dead[q, :n] = ((slate[Column.EXPIRED] > 0) | (slate[Column.INVALID_THEN] > 0))[order]
            successor[q, :n] = place[after][order]
        at = np.flatnonzero(curved)
        kind = columns["kind"].astype(np.int64)
        pool = np.arange(self._shape[1]) < np.array([len(order) for order in self._order])[:, None]
        return Pools(
            slates=self._slates,
            order=self._order,
            pool=pool,
            dead=dead > 0,
            fresh=fresh,
            at=at,
            age=columns["age"].ravel()[at],
            aged=aged,
            kind=kind,
            types=tuple(types),
            stated=stated,
            recorded=columns["recorded"],
            uses=columns["uses"],
            authority=columns["authority"],
            superseded=columns["superseded"] > 0,
            chains=_chains(columns["superseded"] > 0, successor.astype(np.int64)),
        )

    def _filled(self, value: float) -> Floats:
        return np.full(self._shape, value)


def _chains(superseded: Bools, successor: Ints) -> Chains:
    """The rounds in which relevance rises and scores sink along successions; `successor` is a place in the same row."""
    width = successor.shape[1]
    flat = successor.ravel()
    olds = np.flatnonzero(flat >= 0)
    following = {int(old): int(old // width * width + flat[old]) for old in olds}
    waiting: dict[int, int] = {}
    for new in following.values():
        waiting[new] = waiting.get(new, 0) + 1
    inherit, ready = [], sorted(old for old in following if old not in waiting)
    while ready:
        inherit.append(ready)
        free = []
        for old in ready:
            new = following[old]
            waiting[new] -= 1
            if waiting[new] == 0 and new in following:
                free.append(new)
        ready = sorted(free)
    replaces: dict[int, list[int]] = {}
    for old, new in following.items():
        replaces.setdefault(new, []).append(old)
    sink, tops, reached = [], sorted(new for new in replaces if new not in following), set[int]()
    while tops:
        olds_of = sorted(old for new in tops for old in replaces.get(new, ()))
        reached.update(olds_of)
        if olds_of:
            sink.append(olds_of)
        tops = olds_of
    alone = np.flatnonzero(superseded.ravel() & (flat < 0)).tolist()
    return Chains(
        inherit=tuple(_links(some, following) for some in inherit),
        sink=tuple(_links(some, following) for some in sink),
        demoted=np.array(sorted([*alone, *(set(following) - reached)]), dtype=np.int64),
    )


def _links(olds: Sequence[int], following: dict[int, int]) -> tuple[Ints, Ints]:
    return np.array(olds, dtype=np.int64), np.array([following[old] for old in olds], dtype=np.int64)
