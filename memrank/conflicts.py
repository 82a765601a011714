"""Supersession that no data states: which of the best candidates is outdated by another, judged at read time."""

import re
from collections.abc import Iterable

import numpy as np

from memrank.score import bm25
from memrank.score.conflict import Evidence, newest, shipped
from memrank.score.words import Bag
from memrank.slate import Column, Slate
from memrank.tenant import Rows
from memrank.text.claims import read_claim
from memrank.text.tokens import tokenizer_of
from memrank.types import Bools, Floats, Sensitivity

MAX_PAIRED = 32
"""Candidates that are compared with each other: the best ones."""
GRAIN = 2.0**24
_WORD = re.compile(r"\w+")


def outdated(slate: Slate, best: Rows, relevance: Floats, threshold: float) -> tuple[Rows, Floats]:
    """For each of the candidates `best` (best first), the candidate that outdates it (-1: none) and how likely that is.

    `relevance` is that of every candidate of the slate. Shape (k,) each, the first with indices into the
    slate. Nothing is outdated where an earlier value is asked for.
    """
    if slate.time.asks_previous or len(best) < 2:
        return np.full(len(best), -1, dtype=np.int64), np.zeros(len(best))
    end, likely = newest(shipped().probability(evidence(slate, best, relevance)), threshold)
    return np.where(end >= 0, best[end], -1), likely


def evidence(slate: Slate, best: Rows, relevance: Floats) -> Evidence:
    """What is known of these candidates and of each pair of them; `relevance` is that of the whole slate."""
    tenant = slate.tenant
    rows = slate.rows[best]
    bag = Bag.of(tenant.distinct, tenant.distinct_start, rows)
    held = np.zeros(len(tenant.numeric), dtype=np.bool_)
    held[bag.ids] = True
    terms = np.flatnonzero(held)
    place = np.zeros(len(held), dtype=np.int64)
    place[terms] = np.arange(len(terms))
    holds = np.zeros((len(best), len(terms)))
    holds[bag.owner, place[bag.ids]] = 1.0
    # Multiples of 2^-24: their sums are exact, and so do not depend on the order of the terms.
    idf = bm25.idf_of(tenant.postings, terms, slate.visible) if slate.idf is None else slate.idf[terms]
    weights = np.round(idf * GRAIN) / GRAIN
    asked = _marked(slate, slate.query_terms)[terms]
    named = _marked(slate, _names(slate))[terms]
    vectors = tenant.vectors[rows].astype(np.float64) if tenant.vectors is not None else np.zeros((len(best), 1))
    sessions = [slate.memory(int(k)).session_id for k in best]
    codes = {session: i for i, session in enumerate(dict.fromkeys(sessions))}
    alone = len(codes)
    return Evidence(
        shared=_product(holds, weights),
        asked=_product(holds[:, asked], weights[asked]),
        numbers=_product(holds[:, tenant.numeric[terms]], np.ones(int(tenant.numeric[terms].sum()))),
        renamed=np.asarray((holds[:, None, named] > holds[None, :, named]).any(axis=2), dtype=np.bool_),
        cosine=np.einsum("id,jd->ij", vectors, vectors),
        session=np.array([alone + i if s is None else codes[s] for i, s in enumerate(sessions)], dtype=np.int64),
        kind=tenant.type_code[rows].astype(np.int64),
        relevance=relevance[best],
        age=slate[Column.AGE][best],
        dated=slate[Column.DATED][best] > 0,
        ended=_ended(slate, best),
        historical=slate.time.sensitivity is Sensitivity.HISTORICAL,
        recent=slate.time.sensitivity in (Sensitivity.RECENT, Sensitivity.REAL_TIME),
    )


def _ended(slate: Slate, best: Rows) -> Bools:
    """Which candidates say that something ended, as `contradictions` reads them too."""
    language = slate.tenant.language
    return np.array(["ended" in read_claim(slate.memory(int(k)).content, language).cues for k in best], dtype=np.bool_)


def _marked(slate: Slate, chosen: Iterable[str]) -> Bools:
    """Which terms of the vocabulary are among these, shape (v,)."""
    marks = np.zeros(len(slate.tenant.numeric), dtype=np.bool_)
    marks[[slate.tenant.vocabulary[term] for term in chosen]] = True
    return marks


def _names(slate: Slate) -> list[str]:
    """Terms of the query that some visible memory holds and that name one thing: numbers, and words in capitals."""
    terms = tokenizer_of(slate.tenant.language).terms
    marked = [word for word in _WORD.findall(slate.query.text) if word[0].isupper() or any(map(str.isdigit, word))]
    return [term for word in marked for term in terms(word) if term in slate.query_terms]


def _product(holds: Floats, weights: Floats) -> Floats:
    """(k, k): summed weight of what two rows both hold."""
    product: Floats = np.einsum("it,jt->ij", holds * weights, holds)
    return product
