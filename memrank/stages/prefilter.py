"""prefilter.hybrid.v1: the pool of candidates, by BM25 and sentence vectors over what the tenant may see."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import dspy
import numpy as np
from pydantic import BaseModel, Field

from memrank.indexing import Analyzer
from memrank.pairs import Question, word_columns
from memrank.score import bm25, fuse
from memrank.slate import Column, Slate
from memrank.spec import PrefilterSpec
from memrank.stages.base import Stage
from memrank.stages.views import QueryView
from memrank.tenant import Rows, Tenant
from memrank.types import Bools, Floats, Notes, Query


class Candidate(BaseModel):
    """A memory that may help, and how well it matched."""

    id: str
    score: float = Field(description="fused match, standardised; higher is better")


class SearchMemories(dspy.Signature):  # type: ignore[misc]
    """Find the memories of one tenant that may help to answer the query, known at as_of and matching its filters."""

    query: QueryView = dspy.InputField()
    filters: dict[str, list[str]] = dspy.InputField(desc="field to the values it may have")
    candidates: list[Candidate] = dspy.OutputField(desc="best first, at most top_k")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    """Scores over the whole tenant, shape (n,); 0 where a memory is not visible."""

    bm25: Floats
    bm25_z: Floats
    dense: Floats
    dense_z: Floats
    own: Floats
    """Words and vectors together, standardised, without the neighbours."""
    fused: Floats


class Prefilter(Stage):
    """Chooses at most `top_k` live candidates, plus what the pruner must keep and what supersedes a candidate."""

    kind: ClassVar[str] = "prefilter.hybrid.v1"
    signature: ClassVar[type[dspy.Signature]] = SearchMemories

    def __init__(self, params: PrefilterSpec, analyzer: Analyzer) -> None:
        super().__init__()
        self.params = params
        self.analyzer = analyzer

    def forward(self, slate: Slate) -> Slate:
        """See `Stage`. The slate given holds every visible memory; the one returned holds the pool."""
        query, tenant, visible = slate.query, slate.tenant, slate.visible
        notes = Notes()
        terms = self.analyzer.terms(query.text)
        match, weights = self._match(query, tenant, visible, Counter(terms))
        rows = self._pool(tenant, visible, match.fused, query, slate.rows[slate.protected])
        if len(visible) and not visible.any():
            notes.add("info", "prefilter", "nothing_visible", "no memory was known at as_of under these filters")
        question = Question(
            text=query.text,
            terms=terms,
            idf=weights,
            visible=int(visible.sum()),
            aliased=int(visible[tenant.aliased].sum()),
        )
        numbered = tenant.numbered[rows]
        before, after = tenant.previous[rows], tenant.following[rows]
        before_last = np.where(before >= 0, tenant.previous[before], -1)
        columns = {
            Column.BM25: match.bm25[rows],
            Column.BM25_Z: match.bm25_z[rows],
            Column.DENSE: match.dense[rows],
            Column.DENSE_Z: match.dense_z[rows],
            Column.BEFORE: np.where(numbered, beside(match.own, before, visible), 0.0),
            Column.AFTER: np.where(numbered, beside(match.own, after, visible), 0.0),
            Column.BEFORE_LAST: np.where(numbered, beside(match.own, before_last, visible), 0.0),
            Column.FUSED: match.fused[rows],
            **word_columns(tenant, rows, question, self.analyzer),
        }
        return slate.narrow(rows, weights).extend(columns, notes)

    def _match(
        self, query: Query, tenant: Tenant, visible: Bools, counts: Mapping[str, int]
    ) -> tuple[_Match, dict[str, float]]:
        """Scores of the whole tenant, and the idf of each query term that some visible memory holds."""
        params = self.params
        among = None if visible.all() else visible
        ids = {term: tenant.vocabulary[term] for term in counts if term in tenant.vocabulary}
        asked = {i: counts[term] for term, i in ids.items()}
        lexical, weights = bm25.score(tenant.postings, asked, k1=params.k1, b=params.b, visible=among)
        dense = np.zeros_like(lexical)
        vector = self.analyzer.vector(query.text) if tenant.vectors is not None else None
        if vector is not None and tenant.vectors is not None:
            # einsum, not a BLAS product: the same sum in the same order on any number of threads.
            dense = np.einsum("ij,j->i", tenant.vectors, vector).astype(np.float64)
        lexical_z, dense_z = fuse.standardise(lexical, among), fuse.standardise(dense, among)
        share = params.dense_weight if tenant.vectors is not None else 0.0
        own = (1.0 - share) * lexical_z + share * dense_z
        beside_it = beside(own, tenant.previous, visible) + beside(own, tenant.following, visible)
        match = _Match(
            bm25=lexical,
            bm25_z=lexical_z,
            dense=dense,
            dense_z=dense_z,
            own=own,
            fused=own + params.neighbour_weight * beside_it,
        )
        return match, {term: weights[i] for term, i in ids.items() if self._held(tenant, visible, i)}

    def _pool(self, tenant: Tenant, visible: Bools, fused: Floats, query: Query, protected_rows: Rows) -> Rows:
        """Rows of the pool, rising. What has expired or is no longer valid takes nobody's place but is not hidden."""
        now = query.as_of.timestamp()
        times = tenant.times
        dead = (times.expires <= now) | (times.invalid <= now) | (times.valid > now)
        live = np.flatnonzero(visible & ~dead)
        chosen = live[fuse.top(fused[live], self.params.top_k, -tenant.id_order[live].astype(np.float64))]
        gone = np.flatnonzero(visible & dead)
        if len(gone):
            floor = float(fused[chosen].min()) if len(chosen) == self.params.top_k else -np.inf
            gone = gone[fused[gone] >= floor]
            gone = gone[fuse.top(fused[gone], self.params.top_k, -tenant.id_order[gone].astype(np.float64))]
        pool = np.zeros(len(visible), dtype=np.bool_)
        for rows in (chosen, gone, _chain(tenant, np.concatenate([chosen, gone]), visible), protected_rows):
            pool[rows] = True
        return np.flatnonzero(pool)

    @staticmethod
    def _held(tenant: Tenant, visible: Bools, term: int) -> bool:
        docs, _ = tenant.postings.entries(term)
        return bool(visible[docs].any())


def beside(values: Floats, neighbour: Rows, visible: Bools) -> Floats:
    """Each memory's neighbour's value; 0 where there is no neighbour or it may not be seen."""
    there = neighbour >= 0
    there[there] = visible[neighbour[there]]
    return np.where(there, values[neighbour], 0.0)


def _chain(tenant: Tenant, rows: Rows, visible: Bools) -> Rows:
    """What explicitly supersedes these memories, and what supersedes that, as far as the read may see it."""
    found: list[Rows] = []
    seen = set(rows.tolist())
    while len(rows):
        following = tenant.successor[rows]
        known = sorted(set(following[following >= 0].tolist()) - seen)
        rows = np.array([row for row in known if visible[row]], dtype=np.int64)
        seen.update(rows.tolist())
        found.append(rows)
    return np.concatenate(found) if found else rows
