"""The answer of one read as plain values, and its JSON form `memrank.result/1`. Every number can be recomputed by
hand.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property, partial

from memrank.types import Memory, Moment, Note, Period, Query, Sensitivity

SCHEMA = "memrank.result/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """A factor between raw_score and score."""

    code: str
    factor: float
    by: str | None
    """Id of the memory on whose account it is applied."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One judged memory: returned (`rank` from 1, `reason` None) or excluded (`rank` None, `score` 0)."""

    memory: Memory = field(repr=False)
    id: str
    rank: int | None
    score: float
    raw_score: float
    scores: Mapping[str, float]
    """relevance, freshness, importance, authority: each in [0, 1]."""
    weights: Mapping[str, float]
    """What the parts were weighted with (or, under `combine: bounded`, the alphas)."""
    adjustments: tuple[Adjustment, ...]
    flags: tuple[str, ...]
    stale_flag: bool
    reason: str | None
    decay: float | None
    planned: str | None
    """What the pruner would have done without a budget."""
    action: str | None
    tokens: int
    """Tokens it takes in the context: of its summary where it has one."""
    summary: str | None
    date_used: Moment | None
    """The effective time that freshness was computed from."""
    age_seconds: float | None
    kernel: str
    """The decay function applied, by its reported name."""
    why: Callable[[], str] = field(repr=False, compare=False)
    outdated_by: str | None = None
    """Id of the memory that seems to state a newer value, though no data say so."""
    judged_by: str | None = None
    """Whose word the relevance is: `embedded`, `lm` (the justification is the model's then) or `failed`; None where no
    model may be asked."""

    recency: float | None = None
    """Freshness as code computes it, where a model's word has a say in the freshness that counts; else None."""
    summary_by: str | None = None
    """Whose words the summary is: `embedded` (sentences of the memory), `lm` or `failed` (sentences, because what the
    model wrote did not hold); None where no model may write it."""

    @cached_property
    def justification(self) -> str:
        """One sentence naming the evidence."""
        return self.why()

    def __getstate__(self) -> dict[str, object]:
        # `why` leads to every memory of the tenant; a copy or a pickle holds the sentence instead.
        return {**vars(self), "why": partial(str, self.justification)}

    @property
    def content(self) -> str:
        """The memory's text, always whole."""
        return self.memory.content

    @property
    def created_at(self) -> str | None:
        """When it was recorded, ISO 8601 as precisely as known."""
        return self.memory.created_at.text if self.memory.created_at else None

    @property
    def memory_type(self) -> str | None:
        """Its free label."""
        return self.memory.memory_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """About the read as a whole.

    `needs_review` is about what was returned: a read that returns nothing has no top score to doubt, and asks for no
    review by itself. Whether anything was judged is told by `total_candidates` and `returned_count`.
    """

    total_candidates: int
    returned_count: int
    excluded_count: int
    stale_count: int
    score_distribution: Mapping[str, int]
    """All judged memories by raw_score: high >= 0.7, medium >= 0.4, low below."""
    needs_review: bool
    review_reasons: tuple[str, ...]
    read_id: str
    spec_sha256: str
    store_version: str
    latency_ms: float
    cached: bool = False
    """Whether it was answered from memory; `as_of` then is that of the read which was kept."""
    lm_calls: int = 0
    lm_tokens: int = 0
    lm_cost_usd: float = 0.0
    lm_figures: Mapping[str, float] = field(default_factory=dict)
    """About what a model was asked: `sent`, `position_bias`, `time_sent`, `freshness_gap`, `summaries_sent`,
    `timeouts`, `invalid` and so on; empty where none may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One read: what was asked, what came back, what was left out and why."""

    query: Query
    namespace: str | None
    sensitivity: Sensitivity
    period: Period | None
    asks_previous: bool
    time_evidence: str
    combine: str
    pruned: bool
    """Whether a pruner ran; without one, actions are None."""
    max_tokens: int | None
    """The read's own budget; None leaves it to the spec."""
    results: tuple[Item, ...]
    excluded: tuple[Item, ...]
    meta: Meta
    notes: tuple[Note, ...]


def utc_text(instant: datetime) -> str:
    """A UTC time in ISO 8601, with `Z` for its zone."""
    return instant.isoformat().replace("+00:00", "Z")


def iso(moment: Moment | None) -> str | None:
    """The instant that an age counts from, ISO 8601 UTC."""
    return utc_text(moment.end) if moment else None


def to_dict(result: Result) -> dict[str, object]:
    """The JSON form. Floats are whole; nothing is rounded."""
    meta = result.meta
    query = result.query
    period = result.period
    asked: dict[str, object] = {
        "id": query.id,
        "text": query.text,
        "as_of": utc_text(query.as_of),
        "namespace": result.namespace,
        "sensitivity": result.sensitivity.value,
        "sensitivity_evidence": result.time_evidence,
        "asks_previous": result.asks_previous,
        "period": period
        and {
            "start": utc_text(period.start) if period.start else None,
            "end": utc_text(period.end) if period.end else None,
            "text": period.text,
        },
    }
    if query.filters:
        asked["filters"] = {name: list(values) for name, values in query.filters.items()}
    return {
        "schema": SCHEMA,
        "query": asked,
        "combine": result.combine,
        "results": [_returned(item, result.combine) for item in result.results],
        "excluded": [_excluded(item) for item in result.excluded],
        "meta": {
            "total_candidates": meta.total_candidates,
            "returned_count": meta.returned_count,
            "excluded_count": meta.excluded_count,
            "stale_count": meta.stale_count,
            "score_distribution": dict(meta.score_distribution),
            "needs_review": meta.needs_review,
            "review_reasons": list(meta.review_reasons),
            "read_id": meta.read_id,
            "spec_sha256": meta.spec_sha256,
            "store_version": meta.store_version,
            "latency_ms": meta.latency_ms,
            **({"cached": True} if meta.cached else {}),
            "lm": {"calls": meta.lm_calls, "tokens": meta.lm_tokens, "cost_usd": meta.lm_cost_usd, **meta.lm_figures},
        },
        "notes": [asdict(note) for note in result.notes],
    }


def _returned(item: Item, combine: str) -> dict[str, object]:
    body: dict[str, object] = {
        "id": item.id,
        "rank": item.rank,
        "score": item.score,
        "raw_score": item.raw_score,
        "scores": dict(item.scores),
        "weights": {} if combine == "bounded" else dict(item.weights),
        "adjustments": [asdict(adjustment) for adjustment in item.adjustments],
        "justification": item.justification,
        "flags": list(item.flags),
        "stale_flag": item.stale_flag,
        "decay": item.decay,
        "planned": item.planned,
        "action": item.action,
        "content": item.content,
        "created_at": item.created_at,
        "date_used": iso(item.date_used),
        "age_seconds": item.age_seconds,
        "decay_function": item.kernel,
        "memory_type": item.memory_type,
        "tokens": item.tokens,
    }
    if combine == "bounded":
        body["alphas"] = dict(item.weights)
    if item.judged_by is not None:
        body["judged_by"] = item.judged_by
    if item.recency is not None:
        body["recency"] = item.recency
    if item.summary is not None:
        body["summary"] = item.summary
        if item.summary_by is not None:
            body["summary_by"] = item.summary_by
    return body


def _excluded(item: Item) -> dict[str, object]:
    origin = {} if item.judged_by is None else {"judged_by": item.judged_by}
    return {
        "id": item.id,
        "score": item.score,
        "raw_score": item.raw_score,
        "reason": item.reason,
        "flags": list(item.flags),
        "stale_flag": item.stale_flag,
        "scores": dict(item.scores),
        "planned": item.planned,
        "action": item.action,
        **origin,
    }
