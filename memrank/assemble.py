"""From the last slate of a read to its result: ranks, flags, counts and reasons, with nothing computed anew."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from memrank.evidence import justify
from memrank.result import Adjustment, Item, Meta, Result
from memrank.score.fuse import order
from memrank.score.pack import DROP, KEEP
from memrank.score.review import review_reasons
from memrank.slate import ACTIONS, REASONS, Column, Slate
from memrank.spec import RankerSpec, Spec, TemporalSpec
from memrank.tenant import Rows, count_tokens
from memrank.types import Moment, Sensitivity

HIGH, MEDIUM = 0.7, 0.4
"""Edges of the score distribution."""

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
    left_out = left_out[order(slate[Column.RAW_SCORE][left_out], -slate.tenant.id_order[slate.rows[left_out]].astype(float))]
    view = _View(slate, spec)
    results = tuple(view.item(int(k), rank) for rank, k in enumerate(returned, start=1))
    excluded = tuple(view.item(int(k), None) for k in left_out)
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
        results=results,
        excluded=excluded,
        meta=meta,
        notes=slate.notes,
    )


def with_latency(result: Result, milliseconds: float) -> Result:
    """The same result, with the time it took."""
    return replace(result, meta=replace(result.meta, latency_ms=milliseconds))


def _review(slate: Slate, spec: Spec, returned: Rows) -> tuple[str, ...]:
    rules = spec.review
    reasons = review_reasons(
        slate[Column.SCORE][returned],
        slate[Column.RAW_SCORE],
        (slate[Column.STALE_FLAG] > 0) | (slate[Column.SUPERSEDED_BY] >= 0),
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
    """Reads candidates off a slate."""

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
        self.values = {name: column.tolist() for name, column in slate.columns.items()}

    def item(self, k: int, rank: int | None) -> Item:
        """Candidate k."""
        slate, values = self.slate, self.values
        memory = slate.memory(k)
        dated = values[Column.DATED][k] > 0
        summary = slate.summaries.get(k)
        return Item(
            memory=memory,
            id=memory.id,
            rank=rank,
            score=values[Column.SCORE][k] if rank is not None else 0.0,
            raw_score=values[Column.RAW_SCORE][k],
            scores={
                "relevance": values[Column.RELEVANCE][k],
                "freshness": values[Column.FRESHNESS][k],
                "importance": values[Column.IMPORTANCE][k],
                "authority": values[Column.AUTHORITY][k],
            },
            weights=self.weights,
            adjustments=self._adjustments(k),
            flags=self._flags(k),
            stale_flag=values[Column.STALE_FLAG][k] > 0,
            reason=REASONS[int(values[Column.REASON][k])] or None,
            decay=values[Column.DECAY][k] if self.pruned else None,
            planned=ACTIONS[int(values[Column.PLANNED][k])] if self.pruned else None,
            action=ACTIONS[int(values[Column.ACTION][k])] if self.pruned else None,
            tokens=int(slate.tenant.tokens[slate.rows[k]]) if summary is None else count_tokens(summary),
            summary=summary,
            date_used=self._date(k),
            age_seconds=values[Column.AGE][k] if dated else None,
            kernel=self.kernel,
            why=lambda: justify(slate, k),
        )

    def _date(self, k: int) -> Moment | None:
        memory = self.slate.memory(k)
        if self.clock == "event":
            return memory.event_date or memory.created_at
        made = memory.created_at or memory.event_date
        used = memory.last_accessed_at
        if self.clock == "accessed" and used is not None and (made is None or made.end < used.end):
            return used
        return made

    def _adjustments(self, k: int) -> tuple[Adjustment, ...]:
        factor = self.values[Column.FACTOR][k]
        if factor == 1.0:
            return ()
        by = int(self.values[Column.SUPERSEDED_BY][k])
        return (Adjustment(code="superseded", factor=factor, by=self.slate.memory(by).id),)

    def _flags(self, k: int) -> tuple[str, ...]:
        values, slate = self.values, self.slate
        flags = [
            name
            for name, applies in (
                ("no_date", values[Column.DATED][k] == 0),
                ("future_date", values[Column.FUTURE_DATE][k] > 0),
                ("expired", values[Column.EXPIRED][k] > 0),
                ("invalid_then", values[Column.INVALID_THEN][k] > 0),
                ("stale", REASONS[int(values[Column.REASON][k])] == "stale" and values[Column.STALE_FLAG][k] > 0),
                ("superseded", values[Column.SUPERSEDED_BY][k] >= 0),
                ("inherited_relevance", values[Column.INHERITS][k] >= 0),
                ("pinned", bool(slate.tenant.pinned[slate.rows[k]])),
                ("protected", bool(slate.protected[k])),
            )
            if applies
        ]
        return tuple(flags)
