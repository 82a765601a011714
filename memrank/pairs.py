"""What each candidate has in common with the query, as columns: words, near words, numbers, years."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memrank.indexing import Analyzer
from memrank.score import bm25
from memrank.score.words import Bag, soft_overlap, years
from memrank.slate import Column
from memrank.tenant import Rows, Tenant, year_of
from memrank.text.slips import near
from memrank.types import Floats

MAX_WORDS = 24
"""Words of a query that are compared one by one: the rarest of a longer one."""


_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|often|far|big|high)|amount|number of|percent\w*|average|total|ratio|rate|sum"
    r"|change|difference|increase|decrease|price|cost|revenue|value|count|in which year|what (?:was|is|were) the)\b",
    re.IGNORECASE,
)
SCANNED = 2_000
"""Characters of a query that are searched for what it asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a query asks for, word by word."""

    text: str
    terms: Sequence[str]
    """In their order, repeats kept."""
    idf: Mapping[str, float]
    """Of the terms that some visible memory holds."""
    visible: int
    """How many memories may be seen."""
    aliased: int
    """How many of them declare other names of their subject."""

    def weights(self) -> dict[str, float]:
        """Each term's idf. One that nobody holds weighs as much as the rarest could among the visible memories."""
        unseen = bm25.idf(self.visible, 0)
        return {term: self.idf.get(term, unseen) for term in self.terms}


def word_columns(tenant: Tenant, rows: Rows, question: Question, analyzer: Analyzer) -> dict[Column, Floats]:
    """Columns of the candidates `rows`, each of shape (n,)."""
    weights = question.weights()
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
        Column.PHRASES: _phrases(bag, question.terms, weights, ids),
        Column.NAMED: _named(tenant, rows, frozenset(weights)),
        Column.SUBJECTS: np.full(len(rows), subjects(question)),
        Column.ANSWERS_NUMBER: _answers_number(tenant, bag, question.text),
        **_numbers(tenant, bag, list(weights), ids),
    }


def _phrases(bag: Bag, terms: Sequence[str], weights: Mapping[str, float], ids: Mapping[str, int]) -> Floats:
    """Share of the query's pairs of neighbouring terms that stand side by side in a candidate, by the rarer one's idf.

    A candidate's terms are looked at where they first stand.
    """
    found, total = np.zeros(bag.n), 0.0
    same = bag.owner[:-1] == bag.owner[1:]
    for one, two in dict.fromkeys(pair for pair in pairwise(terms[:SCANNED]) if pair[0] != pair[1]):
        weight = min(weights[one], weights[two])
        total += weight
        if one in ids and two in ids:
            beside = same & (bag.ids[:-1] == ids[one]) & (bag.ids[1:] == ids[two])
            found[bag.owner[:-1][beside]] += weight
    return np.clip(found / total, 0.0, 1.0) if total else found


def _answers_number(tenant: Tenant, bag: Bag, text: str) -> Floats:
    """Share of numbers among a candidate's terms, where the query asks for a number; 0 where it does not."""
    if not _ASKS_NUMBER.search(text[:SCANNED]):
        return np.zeros(bag.n)
    sizes = np.bincount(bag.owner, minlength=bag.n)
    return bag.total(tenant.numeric.astype(np.float64)) / np.maximum(sizes, 1)


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
    """1 for a candidate one of whose aliases stands whole in the query, slips of the fingers allowed."""
    named = np.zeros(len(rows))
    held = [(k, tenant.aliases[row]) for k, row in enumerate(rows.tolist()) if row in tenant.aliases]
    said = {word for word in frozenset().union(*(alias for _, names in held for alias in names)) if near(word, asked)}
    for k, names in held:
        if any(alias <= said for alias in names):
            named[k] = 1.0
    return named


def subjects(question: Question) -> float:
    """How far the store is an index of subjects, in [0, 1]: 1 where three quarters of the visible memories declare
    other names of what they are about, 0 where half do.
    """
    return min(max(4.0 * question.aliased / max(question.visible, 1) - 2.0, 0.0), 1.0)


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
