"""The candidates of one query as a struct of arrays, which each stage extends by named columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memrank.score.fuse import order
from memrank.tenant import Rows, Tenant
from memrank.types import Bools, Floats, Memory, Note, Notes, Query, Sensitivity, TimeOfQuery


class Column(StrEnum):
    """Every column that a stage may provide, with its unit. Flags are 0 or 1."""

    BM25 = "bm25"
    BM25_Z = "bm25_z"
    """Standardised over the visible memories of the tenant."""
    DENSE = "dense"
    """Cosine of the sentence vectors, -1 to 1; 0 without an embedder."""
    DENSE_Z = "dense_z"
    OVERLAP = "overlap"
    """Share of the query's terms found in the memory, weighted by idf, 0 to 1."""
    BEFORE = "before"
    """Fused score of the numbered turn before it in its sitting, standardised; 0 without one."""
    AFTER = "after"
    BEFORE_LAST = "before_last"
    """The same, of the turn two before it."""
    FUSED = "fused"
    """The score by which the pool was chosen."""
    AGE = "age"
    """Seconds since the effective time, from 0; 0 where `dated` is 0."""
    WHEN = "when"
    """Effective time in seconds since 1970, the end of a coarse one; 0 where `dated` is 0."""
    DATED = "dated"
    FRESHNESS = "freshness"
    RECENCY = "recency"
    """Freshness as code computes it; only where a model may judge it, whose word moves it within bounds."""
    TIME_SAID = "time_said"
    """What the model said of the candidate's time; 0 where it said nothing, and only where it may."""
    TIMED_BY = "timed_by"
    """Index into JUDGES: who was asked about its time; only where a model may be."""
    FUTURE_DATE = "future_date"
    EXPIRED = "expired"
    INVALID_THEN = "invalid_then"
    SOFT = "soft"
    """Share of the query's words that the memory holds or comes near to, weighted by idf, 0 to 1."""
    PHRASES = "phrases"
    """Share of the query's pairs of neighbouring words that stand side by side in the memory, by idf, 0 to 1."""
    ANSWERS_NUMBER = "answers_number"
    """Share of numbers among its terms where the query asks for a number, 0 to 1."""
    NAMED = "named"
    """1 where an alias of the memory's subject stands whole in the query, slips of the fingers allowed."""
    SUBJECTS = "subjects"
    """How far the store is an index of subjects that are named by aliases, 0 to 1; the same for every candidate."""
    NUMBERS = "numbers"
    """Share of the query's numbers that the memory holds, 0 to 1; 0 for a query without numbers."""
    OTHER_NUMBERS = "other_numbers"
    """1 where the query has numbers and the memory has only others."""
    YEARS = "years"
    """1 where a year of the memory lies within the years of the query, 0.5 where its years span them."""
    RELEVANCE = "relevance"
    IMPORTANCE = "importance"
    AUTHORITY = "authority"
    RAW_SCORE = "raw_score"
    SCORE = "score"
    FACTOR = "factor"
    """What raw_score was multiplied by for a superseded memory; 1 for others."""
    SUPERSEDED = "superseded"
    """Whether the data say that another memory supersedes it, among the candidates or not."""
    SUPERSEDED_BY = "superseded_by"
    """Candidate that supersedes it; -1 for none."""
    OUTDATED_BY = "outdated_by"
    """Candidate that seems to state a newer value of the same thing; -1 for none. Judged, not stated by the data."""
    OUTDATED = "outdated"
    """How likely that is; 0 where OUTDATED_BY is -1."""
    DEMOTION = "demotion"
    """What the score of an outdated candidate is multiplied by; 1 for others."""
    LIFT = "lift"
    """What the score of a newer candidate is multiplied by; 1 for others."""
    LIFTED_OVER = "lifted_over"
    """Candidate on whose account it is lifted; -1 for none."""
    INHERITS = "inherits"
    """Candidate that this one supersedes and whose higher relevance it takes over; -1 for none."""
    STALE_FLAG = "stale_flag"
    REASON = "reason"
    """Index into REASONS: why it is excluded; 0 for what is not."""
    SPARED = "spared"
    """Index into REASONS: why it would be excluded if it were not protected; 0 for what would not."""
    DECAY = "decay"
    """0 essential to 1 worthless."""
    PLANNED = "planned"
    """Index into ACTIONS: what the decay alone asks for."""
    SAID = "said"
    """What the judge said, before calibration; only where a model may be asked."""
    JUDGED_BY = "judged_by"
    """Index into JUDGES: whose word the relevance is; only where a model may be asked."""
    SUSPECTED = "suspected"
    """Whether its text tries to instruct the judge; only where a model may be asked."""
    ACTION = "action"
    """Index into ACTIONS: what is done, once the budget has spoken."""
    SUMMARIZED_BY = "summarized_by"
    """Index into JUDGES: whose words its summary is; only where a model may write it."""


REASONS = ("", "below_relevance", "stale", "below_min_score", "expired", "invalid_then", "over_budget", "over_top_k")
JUDGES = ("embedded", "lm", "failed")
"""`failed`: a model should have judged it, and what the spec says for that case counts."""
ACTIONS = ("keep_full", "summarize", "drop", "overwrite")


TIMELESS = TimeOfQuery(sensitivity=Sensitivity.TIME_AGNOSTIC, period=None, asks_previous=False, evidence="")


class Reading(Protocol):
    """What one read may ask a model through, within its budget and its deadline (`remote.Reading`)."""

    def map(self, jobs: Sequence[Callable[[Any], Any]], /) -> Sequence[Any]:
        """The answer of every job, each given the model; in the place of those that were not asked, why not."""

    def invalid(self) -> None:
        """Count an answer that came and cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one read asks for beyond its spec; None leaves a limit to the spec."""

    top_k: int | None = None
    max_tokens: int | None = None
    rank_only: bool = False
    """Rank, and leave the pruner out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slate:
    """n candidates: row k of every column belongs to `tenant.memories[rows[k]]`."""

    query: Query
    tenant: Tenant
    rows: Rows
    visible: Bools
    """Which memories of the tenant this read may see, shape (memories,)."""
    protected: Bools
    """(n,): candidates that the pruner must keep, whatever their score; once it ran, those that it kept so."""
    columns: Mapping[Column, Floats]
    limits: Limits = Limits()
    query_terms: Mapping[str, float] = field(default_factory=dict)
    """Terms of the query that some visible memory holds, with their idf."""
    time: TimeOfQuery = TIMELESS
    """What the temporal stage read from the query."""
    idf: Floats | None = None
    """(terms of the tenant,): idf over the visible memories where a record says it; None: the postings know it."""
    summaries: Mapping[int, str] = field(default_factory=dict)
    """Candidate to the summary that stands for it in the context."""
    notes: tuple[Note, ...] = ()
    reading: Reading | None = field(default=None, repr=False, compare=False)
    """None where no model may be asked."""
    justifications: Mapping[int, str] = field(default_factory=dict)
    """Candidate to what a model said for its relevance."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """About what a model was asked, by name; empty where none was."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: Column) -> Floats:
        return self.columns[column]

    def memory(self, k: int) -> Memory:
        """Candidate k's memory."""
        return self.tenant.memories[int(self.rows[k])]

    def ranked(self, score: Floats, reason: NDArray[np.generic]) -> Rows:
        """Candidates whose reason is 0, best score first; ties by newer effective time, then by id."""
        kept = np.flatnonzero(reason == 0)
        when = np.where(self[Column.DATED] > 0, self[Column.WHEN], -np.inf)
        ids = self.tenant.id_order[self.rows].astype(np.float64)
        return kept[order(score[kept], when[kept], -ids[kept])]

    def narrow(self, rows: Rows, query_terms: Mapping[str, float]) -> "Slate":
        """A new slate of some of its rows (rising), before any column was added."""
        kept = np.zeros(len(self.tenant.memories), dtype=np.bool_)
        kept[self.rows[self.protected]] = True
        return replace(self, rows=rows, protected=kept[rows], query_terms=query_terms)

    def extend(self, columns: Mapping[Column, Floats], notes: Notes | None = None, **changes: object) -> "Slate":
        """A new slate with more columns, each float64, shape (n,), finite and from now on read-only."""
        for name, values in columns.items():
            if values.shape != self.rows.shape or values.dtype != np.float64:
                raise TypeError(f"column {name} must be float64 of shape {self.rows.shape}")
            if not np.isfinite(values).all():
                raise ValueError(f"column {name} must be finite")
            values.flags.writeable = False
        merged = Notes(self.notes)
        merged.extend(notes.as_tuple() if notes else ())
        return replace(self, columns={**self.columns, **columns}, notes=merged.as_tuple(), **changes)  # type: ignore[arg-type]
