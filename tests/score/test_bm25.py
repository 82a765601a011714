"""BM25 against a second opinion (bm25s, method lucene) and a plain loop; hidden documents leave no trace."""

import math
from collections import Counter

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.score.bm25 import Postings, idf, score

TERMS = 6
documents = st.lists(st.lists(st.integers(0, TERMS - 1), max_size=9), max_size=8)
queries = st.lists(st.integers(0, TERMS - 1), max_size=6)


def masked(docs: list[list[int]]) -> st.SearchStrategy[tuple[list[list[int]], list[bool]]]:
    return st.tuples(st.just(docs), st.lists(st.booleans(), min_size=len(docs), max_size=len(docs)))


def build(docs: list[list[int]], terms: int = TERMS) -> Postings:
    return Postings.build([np.array(doc, dtype=np.int32) for doc in docs], terms)


def plain(docs: list[list[int]], query: list[int], k1: float, b: float) -> list[float]:
    """The formula, word for word."""
    mean = sum(map(len, docs)) / len(docs) if docs else 0.0
    out = []
    for doc in docs:
        total = 0.0
        for term in query:
            holding = sum(term in other for other in docs)
            weight = math.log(1 + (len(docs) - holding + 0.5) / (holding + 0.5))
            tf = doc.count(term)
            if tf:
                total += weight * tf / (tf + k1 * (1 - b + b * len(doc) / mean))
        out.append(total)
    return out


@given(documents, queries, st.floats(0.1, 3), st.floats(0, 1))
def test_equals_the_plain_loop(docs: list[list[int]], query: list[int], k1: float, b: float) -> None:
    scores, weights = score(build(docs), Counter(query), k1=k1, b=b)
    assert scores.tolist() == pytest.approx(plain(docs, query, k1, b), rel=1e-9, abs=1e-12)
    assert all(weight > 0 for weight in weights.values())


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, TERMS - 1), min_size=1, max_size=9), min_size=2, max_size=8),
    st.lists(st.integers(0, TERMS - 1), min_size=1, max_size=4, unique=True),
    st.sampled_from([(0.9, 0.4), (1.2, 0.75), (1.5, 1.0)]),
)
def test_equals_bm25s(docs: list[list[int]], query: list[int], constants: tuple[float, float]) -> None:
    k1, b = constants
    other = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    corpus = [[f"t{term}" for term in doc] for doc in docs]
    other.index(corpus, show_progress=False)
    known = [f"t{term}" for term in query if any(term in doc for doc in docs)]
    expected = other.get_scores(known) if known else np.zeros(len(docs))
    scores, _ = score(build(docs), Counter(query), k1=k1, b=b)
    assert scores == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(documents.flatmap(masked), queries)
def test_hidden_documents_leave_no_trace(case: tuple[list[list[int]], list[bool]], query: list[int]) -> None:
    docs, seen = case
    visible = np.array(seen, dtype=np.bool_)
    masked, masked_weights = score(build(docs), Counter(query), k1=0.9, b=0.4, visible=visible)
    alone, weights = score(
        build([doc for doc, shown in zip(docs, seen, strict=True) if shown]), Counter(query), k1=0.9, b=0.4
    )
    assert masked[visible].tolist() == alone.tolist()
    assert not masked[~visible].any()
    if any(seen):
        assert masked_weights == weights


@given(documents, queries, st.permutations(range(TERMS)))
def test_how_ids_were_given_out_does_not_matter(docs: list[list[int]], query: list[int], renamed: list[int]) -> None:
    first, _ = score(build(docs), Counter(query), k1=0.9, b=0.4)
    other = build([[renamed[term] for term in doc] for doc in docs])
    second, _ = score(other, Counter([renamed[term] for term in query]), k1=0.9, b=0.4)
    assert first.tolist() == second.tolist()


@given(documents)
def test_postings_hold_every_count(docs: list[list[int]]) -> None:
    postings = build(docs)
    for term in range(TERMS):
        found, counts = postings.entries(term)
        expected = [(i, doc.count(term)) for i, doc in enumerate(docs) if term in doc]
        assert list(zip(found.tolist(), counts.tolist(), strict=True)) == expected
    assert postings.lengths.tolist() == [len(doc) for doc in docs]


def test_a_term_that_came_after_the_index_is_in_no_document() -> None:
    postings = build([[0], [1, 1]], terms=2)
    scores, weights = score(postings, {5: 1, 1: 1}, k1=0.9, b=0.4)
    assert scores[0] == 0.0
    assert scores[1] > 0
    assert set(weights) == {5, 1}


def test_documents_without_any_term() -> None:
    scores, _ = score(build([[], []]), {0: 1}, k1=0.9, b=0.4)
    assert scores.tolist() == [0.0, 0.0]


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_every_term_weighs_something_and_rare_ones_more(case: tuple[int, int]) -> None:
    total, holding = case
    assert idf(total, holding) > 0
    if holding < total:
        assert idf(total, holding) > idf(total, holding + 1)
