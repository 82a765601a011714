"""From the last slate of a read to its result: ranks, flags, counts and reasons, with nothing computed anew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memrank.evidence import justify
from memrank.result import Adjustment, Item, Meta, Result
from memrank.score.fuse import order
from memrank.score.pack import DROP, KEEP
from memrank.score.review import review_reasons
from memrank.slate import ACTIONS, JUDGES, REASONS, Column, Slate
from memrank.spec import RankerSpec, Spec, TemporalSpec
from memrank.tenant import Rows, count_tokens
from memrank.types import Bools, Floats, Memory, Moment, Sensitivity

if TYPE_CHECKING:
    from memrank.remote import Counts

Name = TypeVar("Name")

HIGH, MEDIUM = 0.7, 0.4
"""Edges of the score distribution."""

PARTS = {
    "relevance": Column.RELEVANCE,
    "freshness": Column.FRESHNESS,
    "importance": Column.IMPORTANCE,
    "authority": Column.AUTHORITY,
}

KERNEL_NAMES = {
    Sensitivity.REAL_TIME: "real-time-cutoff",
    Sensitivity.HISTORICAL: "historical-preference",
    Sensitivity.TIME_AGNOSTIC: "none",
}


def assemble(slate: Slate, spec: Spec, *, read_id: str, spec_sha256: str, store_version: str) -> Result:
    """The result of a read whose stages have all run. `latency_ms` is left at 0."""
    reason = slate[Column.REASON].astype(np.int64)
    returned = slate.ranked(slate[Column.SCORE], reason)
    left_out = np.flatnonzero(reason != 0)
    ids = slate.tenant.id_order[slate.rows[left_out]].astype(np.float64)
    left_out = left_out[order(slate[Column.RAW_SCORE][left_out], -ids)]
    view = _View(slate, spec)
    results = tuple(view.item(k, rank) for rank, k in enumerate(returned.tolist(), start=1))
    excluded = tuple(view.item(k, None) for k in left_out.tolist())
    raw = slate[Column.RAW_SCORE]
    reasons = _review(slate, spec, returned)
    counts = {
        "high": int((raw >= HIGH).sum()),
        "medium": int(((raw >= MEDIUM) & (raw < HIGH)).sum()),
        "low": int((raw < MEDIUM).sum()),
    }
    meta = Meta(
        total_candidates=len(slate),
        returned_count=len(results),
        excluded_count=len(excluded),
        stale_count=int((reason == REASONS.index("stale")).sum()),
        score_distribution=counts,
        needs_review=bool(reasons),
        review_reasons=reasons,
        read_id=read_id,
        spec_sha256=spec_sha256,
        store_version=store_version,
        latency_ms=0.0,
        lm_figures=slate.figures,
    )
    return Result(
        query=slate.query,
        namespace=slate.tenant.namespace,
        sensitivity=slate.time.sensitivity,
        period=slate.time.period,
        asks_previous=slate.time.asks_previous,
        time_evidence=slate.time.evidence,
        combine=view.combine,
        pruned=view.pruned,
        max_tokens=slate.limits.max_tokens,
        results=results,
        excluded=excluded,
        meta=meta,
        notes=slate.notes,
    )


def with_latency(result: Result, milliseconds: float) -> Result:
    """The same result, with the time it took."""
    return replace(result, meta=replace(result.meta, latency_ms=milliseconds))


def with_use(result: Result, counts: "Counts") -> Result:
    """The same result, with what asking a model has used."""
    figures = {**result.meta.lm_figures, "timeouts": counts.timeouts, "invalid": counts.invalid}
    meta = replace(
        result.meta,
        lm_calls=counts.calls,
        lm_tokens=counts.tokens,
        lm_cost_usd=counts.cost_usd,
        lm_figures=figures,
    )
    return replace(result, meta=meta)


def _review(slate: Slate, spec: Spec, returned: Rows) -> tuple[str, ...]:
    rules = spec.review
    # What stays only because it is protected counts for nothing: its score of 0 is no doubt about the answer.
    counting = returned[_spared(slate)[returned] == 0]
    reasons = review_reasons(
        slate[Column.SCORE][counting],
        slate[Column.RAW_SCORE],
        (slate[Column.STALE_FLAG] > 0) | (slate[Column.SUPERSEDED] > 0),
        top_score_below=rules.top_score_below,
        ambiguity_margin=rules.ambiguity_margin,
        ambiguity_top=rules.ambiguity_top,
        stale_score_above=rules.stale_score_above,
    )
    if Column.ACTION in slate.columns:
        wanted = (slate[Column.PLANNED] == KEEP) & (slate[Column.ACTION] >= DROP)
        critical = next((s.keep_below for s in spec.stages if s.kind == "pruner.v1"), 0.0)
        if bool((wanted & (slate[Column.DECAY] < critical)).any()):
            reasons += ("critical_dropped",)
    return (*reasons, "high_stakes") if spec.high_stakes else reasons


class _View:
    """Reads candidates off a slate: column by column, since every candidate becomes an item."""

    def __init__(self, slate: Slate, spec: Spec) -> None:
        self.slate = slate
        self.pruned = Column.ACTION in slate.columns
        ranker = next(stage for stage in spec.stages if isinstance(stage, RankerSpec))
        temporal = next(stage for stage in spec.stages if isinstance(stage, TemporalSpec))
        self.combine = ranker.combine
        parts = ranker.alphas if ranker.combine == "bounded" and ranker.alphas else ranker.weights
        self.weights: Mapping[str, float] = {name: value for name, value in parts if value}
        self.clock = temporal.clock
        self.kernel = KERNEL_NAMES.get(slate.time.sensitivity, temporal.kernel)
        # Plain lists: reading one float at a time from an array costs more than the whole conversion.
        values = {name: column.tolist() for name, column in slate.columns.items()}
        self.score, self.raw_score, self.age = values[Column.SCORE], values[Column.RAW_SCORE], values[Column.AGE]
        self.dated = (slate[Column.DATED] > 0).tolist()
        rows = zip(*(values[column] for column in PARTS.values()), strict=True)
        self.parts = [dict(zip(PARTS, row, strict=True)) for row in rows]
        self.stale = (slate[Column.STALE_FLAG] > 0).tolist()
        self.reasons = _named(slate[Column.REASON], (None, *REASONS[1:]))
        unpruned = [None] * len(slate)
        self.decay = values[Column.DECAY] if self.pruned else unpruned
        self.planned = _named(slate[Column.PLANNED], ACTIONS) if self.pruned else unpruned
        self.action = _named(slate[Column.ACTION], ACTIONS) if self.pruned else unpruned
        self.tokens = slate.tenant.tokens[slate.rows].astype(np.int64).tolist()
        asked = Column.JUDGED_BY in slate.columns
        self.judged_by = _named(slate[Column.JUDGED_BY], JUDGES) if asked else [None] * len(slate)
        self.recency = values.get(Column.RECENCY, unpruned)
        wrote = Column.SUMMARIZED_BY in slate.columns
        self.summary_by = _named(slate[Column.SUMMARIZED_BY], JUDGES) if wrote else [None] * len(slate)
        self.flags = _flags(slate)
        self.adjustments = _adjustments(slate)
        self.outdated_by = slate[Column.OUTDATED_BY].astype(np.int64).tolist()
        self.memories = [slate.tenant.memories[row] for row in slate.rows.tolist()]

    def item(self, k: int, rank: int | None) -> Item:
        """Candidate k."""
        slate = self.slate
        memory = self.memories[k]
        summary, said = slate.summaries.get(k), slate.justifications.get(k)
        if said is None and self.judged_by[k] == "lm":
            said = "what the model said was not recorded"
        return _item(
            memory=memory,
            id=memory.id,
            rank=rank,
            score=self.score[k] if rank is not None else 0.0,
            raw_score=self.raw_score[k],
            scores=self.parts[k],
            weights=self.weights,
            adjustments=self.adjustments.get(k, ()),
            flags=self.flags.get(k, ()),
            stale_flag=self.stale[k],
            reason=self.reasons[k],
            decay=self.decay[k],
            planned=self.planned[k],
            action=self.action[k],
            tokens=self.tokens[k] if summary is None else count_tokens(summary),
            summary=summary,
            date_used=self._date(memory),
            age_seconds=self.age[k] if self.dated[k] else None,
            kernel=self.kernel,
            why=partial(justify, slate, k) if said is None else partial(str, said),
            judged_by=self.judged_by[k],
            recency=self.recency[k],
            summary_by=None if summary is None else self.summary_by[k],
            outdated_by=None if self.outdated_by[k] < 0 else slate.memory(self.outdated_by[k]).id,
        )

    def _date(self, memory: Memory) -> Moment | None:
        if self.clock == "event":
            return memory.event_date or memory.created_at
        made = memory.created_at or memory.event_date
        used = memory.last_accessed_at
        known = used is not None and used.end <= self.slate.query.as_of
        if self.clock == "accessed" and used is not None and known and (made is None or made.end < used.end):
            return used
        return made


def _item(**fields: object) -> Item:
    """`Item(**fields)`, without a frozen dataclass's constructor: its call for each field is a tenth of a read."""
    item = object.__new__(Item)
    object.__setattr__(item, "__dict__", fields)
    return item


def _named(column: Floats, names: Sequence[Name]) -> list[Name]:
    """What each number of a column stands for."""
    return [names[int(number)] for number in column.tolist()]


def _adjustments(slate: Slate) -> dict[int, tuple[Adjustment, ...]]:
    """Candidate to what changed its score, for those that have any."""
    found: dict[int, tuple[Adjustment, ...]] = {}
    for code, factor, by in (
        ("superseded", Column.FACTOR, Column.SUPERSEDED_BY),
        ("newer", Column.LIFT, Column.LIFTED_OVER),
        ("outdated", Column.DEMOTION, Column.OUTDATED_BY),
    ):
        for k in np.flatnonzero(slate[factor] != 1.0).tolist():
            place = int(slate[by][k])
            # A link may name what is not among the candidates.
            other = slate.memory(place).id if place >= 0 else slate.memory(k).superseded_by
            found[k] = (*found.get(k, ()), Adjustment(code=code, factor=float(slate[factor][k]), by=other))
    spared = _spared(slate)
    for k in np.flatnonzero(spared).tolist():  # it stays because it is protected, and counts for nothing
        code = REASONS[int(spared[k])]
        found[k] = (*found.get(k, ()), Adjustment(code=code, factor=0.0, by=None))
    return found


def _spared(slate: Slate) -> Floats:
    return slate.columns.get(Column.SPARED, np.zeros(len(slate)))


def _flags(slate: Slate) -> dict[int, tuple[str, ...]]:
    """Candidate to its flags, for those that have any."""
    found: dict[int, tuple[str, ...]] = {}
    # A query about the past keeps what is no longer true, and says so: the column holds only what it excludes.
    times, now = slate.tenant.times, slate.query.as_of.timestamp()
    none = np.zeros(len(slate))
    stale = (slate[Column.REASON] == REASONS.index("stale")) | (_spared(slate) == REASONS.index("stale"))
    for name, applies in (
        ("no_date", slate[Column.DATED] == 0),
        ("future_date", slate[Column.FUTURE_DATE] > 0),
        ("expired", slate[Column.EXPIRED] > 0),
        ("invalid_then", (times.valid[slate.rows] > now) | (times.invalid[slate.rows] <= now)),
        ("stale", stale & (slate[Column.STALE_FLAG] > 0)),
        ("superseded", slate[Column.SUPERSEDED] > 0),
        ("outdated", slate[Column.OUTDATED_BY] >= 0),
        ("inherited_relevance", slate[Column.INHERITS] >= 0),
        ("pinned", slate.tenant.pinned[slate.rows]),
        ("protected", slate.protected),
        ("scoring_error", _failed(slate, Column.JUDGED_BY) | _failed(slate, Column.TIMED_BY)),
        ("summary_error", _failed(slate, Column.SUMMARIZED_BY)),
        ("injection_suspected", slate.columns.get(Column.SUSPECTED, none) > 0),
    ):
        for k in np.flatnonzero(applies).tolist():
            found[k] = (*found.get(k, ()), name)
    return found


def _failed(slate: Slate, column: Column) -> Bools:
    """Whom a model should have judged, and did not."""
    failed: Bools = slate.columns.get(column, np.zeros(len(slate))) == JUDGES.index("failed")
    return failed
