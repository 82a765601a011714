"""What each candidate has in common with the query, as columns: words, near words, numbers, years."""

from collections.abc import Mapping

import numpy as np

from memrank.indexing import Analyzer
from memrank.score import bm25
from memrank.score.words import Bag, soft_overlap, years
from memrank.slate import Column
from memrank.tenant import Rows, Tenant, year_of
from memrank.types import Floats

MAX_WORDS = 24
"""Words of a query that are compared one by one: the rarest of a longer one."""


def word_columns(
    tenant: Tenant, rows: Rows, terms: Mapping[str, float], visible: int, analyzer: Analyzer
) -> dict[Column, Floats]:
    """Columns of the candidates `rows`, each of shape (n,).

    `terms` holds the query's terms with their idf, 0 for a term that no visible memory holds: it then weighs as much as
    the rarest term could among the `visible` memories.
    """
    unseen = bm25.idf(visible, 0)
    weights = {term: weight or unseen for term, weight in terms.items()}
    rarest = sorted(weights, key=lambda term: (-weights[term], term))[:MAX_WORDS]
    bag = Bag.of(tenant.distinct, tenant.distinct_start, rows)
    ids = {term: tenant.vocabulary[term] for term in weights if term in tenant.vocabulary}
    share = np.zeros(len(tenant.numeric))
    share[list(ids.values())] = [weights[term] for term in ids]
    overlap = bag.total(share) / (sum(weights.values()) or 1.0)
    soft = overlap
    if tenant.vectors is not None and rarest and len(bag.ids):
        soft = _soft(tenant, bag, {term: weights[term] for term in rarest}, analyzer)
    return {
        Column.OVERLAP: np.clip(overlap, 0.0, 1.0),
        Column.SOFT: soft,
        Column.NAMED: _named(tenant, rows, frozenset(terms)),
        **_numbers(tenant, bag, list(weights), ids),
    }


def _soft(tenant: Tenant, bag: Bag, weights: Mapping[str, float], analyzer: Analyzer) -> Floats:
    used = np.zeros(len(tenant.numeric), dtype=np.bool_)
    used[bag.ids] = True
    distinct = np.flatnonzero(used).astype(np.int32)
    place = np.zeros(len(used), dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    table = tenant.words.vectors(distinct, analyzer.word_vectors)
    words = analyzer.word_vectors(list(weights))
    compact = Bag(ids=place[bag.ids], owner=bag.owner, n=bag.n)
    # einsum, word by word: the same sums in the same order on any number of threads.
    similarity = [np.einsum("ij,j->i", table, word).astype(np.float64) for word in words]
    return soft_overlap(compact, similarity, list(weights.values()))


def _named(tenant: Tenant, rows: Rows, asked: frozenset[str]) -> Floats:
    """1 for a candidate one of whose aliases stands whole in the query."""
    named = np.zeros(len(rows))
    if tenant.aliases:
        for k, row in enumerate(rows.tolist()):
            if any(alias <= asked for alias in tenant.aliases.get(row, ())):
                named[k] = 1.0
    return named


def _numbers(tenant: Tenant, bag: Bag, terms: list[str], ids: Mapping[str, int]) -> dict[Column, Floats]:
    none = np.zeros(bag.n)
    asked = [term for term in terms if term[0].isdigit()]
    if not asked:
        return {Column.NUMBERS: none, Column.OTHER_NUMBERS: none, Column.YEARS: none}
    known = [ids[term] for term in asked if term in ids]
    mark = np.zeros(len(tenant.numeric))
    mark[known] = 1.0
    held = bag.total(mark)
    named = [year for year in map(year_of, asked) if year]
    return {
        Column.NUMBERS: held / len(asked),
        Column.OTHER_NUMBERS: (bag.any(tenant.numeric) & (held == 0)).astype(np.float64),
        Column.YEARS: years(bag, tenant.year, min(named), max(named)) if named else none,
    }
