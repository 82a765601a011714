"""Thresholds for a precision and for a share of reads in review."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import pipeline, read, record

from memrank.errors import DataError
from memrank.evals.thresholds import FEWEST, Reviewed, asks, for_precision, for_review_rate, reviewed
from memrank.specreads import ReviewSpec

RULES = ReviewSpec()


def reading(*scores: float, outdated: float | None = None, other: bool = False) -> Reviewed:
    raw = np.array([*scores, *([] if outdated is None else [outdated])])
    flags = np.arange(len(raw)) >= len(scores)
    return Reviewed(scores=np.array(scores), raw=raw, outdated=flags, other=other)


def test_the_lowest_threshold_that_keeps_the_precision() -> None:
    said = np.concatenate([np.full(20, 0.9), np.full(20, 0.5), np.full(20, 0.1)])
    relevant = np.concatenate([np.ones(20), np.arange(20) < 10, np.zeros(20)]).astype(bool)
    assert for_precision(said, relevant, 1.0) == pytest.approx(0.7)
    assert for_precision(said, relevant, 0.75) == pytest.approx(0.3)
    assert for_precision(said, relevant, 0.5) == pytest.approx(0.05)
    with pytest.raises(DataError, match=r"no relevance threshold gives a precision of 0.9; the best one gives 0.500"):
        for_precision(said[20:], relevant[20:], 0.9)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.floats(0.05, 1))
def test_at_or_above_the_threshold_the_precision_holds(pairs: list[tuple[float, bool]], aim: float) -> None:
    said, relevant = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    try:
        threshold = for_precision(said, relevant, aim)
    except DataError:
        shares = [relevant[said >= t].mean() for t in said if (said >= t).sum() >= FEWEST]
        assert all(share < aim for share in shares)
        return
    above = said >= threshold
    assert above.sum() >= FEWEST
    assert relevant[above].mean() >= aim


def test_what_a_read_is_decided_by_is_what_memrank_decides_by() -> None:
    rows = [record("a"), record("b"), record("c", days=900), record("p", pinned=True)]
    said = {"a": 0.9, "b": 0.5, "c": 0.7, "p": 0.0}
    for review in (
        {"top_score_below": 0.95},
        {"top_score_below": 0.1},
        {"top_score_below": 0.1, "ambiguity_margin": 0.3},
    ):
        of = pipeline(review=review, relevance=said, ranker={"relevance_threshold": 0.1, "stale_after": "365d"})
        ranking = read(of, rows)
        rules = of.spec.review
        found = asks(reviewed(ranking.result), rules, rules.top_score_below, rules.ambiguity_margin)
        assert found == ranking.meta.needs_review


def test_what_stays_only_because_it_is_protected_asks_for_nobody() -> None:
    rows = [record("a"), record("p", pinned=True), record("q", pinned=True)]
    of = pipeline(
        relevance={"a": 0.9, "p": 0.0, "q": 0.0},
        ranker={"relevance_threshold": 0.1, "weights": {"relevance": 1.0}},
    )
    ranking = read(of, rows)
    assert {one.id for one in ranking.results} == {"a", "p", "q"}
    assert ranking.meta.review_reasons == ()


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=0, max_size=4), min_size=1, max_size=20),
    st.floats(0, 0.99),
)
def test_no_more_reads_ask_for_a_person_than_were_allowed(scores: list[list[float]], aim: float) -> None:
    reads = [reading(*sorted(one, reverse=True)) for one in scores]
    try:
        below, margin = for_review_rate(reads, RULES, aim)
    except DataError:
        assert np.mean([asks(one, RULES, 0.0, 0.0) for one in reads]) > aim
        return
    assert np.mean([asks(one, RULES, below, margin) for one in reads]) <= aim
    assert 0 <= margin <= RULES.ambiguity_margin


def test_the_least_sure_reads_are_those_that_ask() -> None:
    reads = [reading(0.1 * k) for k in range(1, 10)]
    below, margin = for_review_rate(reads, RULES, 1 / 3)
    assert below == pytest.approx(0.35)
    assert margin == RULES.ambiguity_margin


def test_a_rate_that_other_rules_exceed_is_refused() -> None:
    reads = [reading(0.9, outdated=0.8), reading(0.9, other=True), reading(0.9), reading(0.8, 0.8)]
    with pytest.raises(DataError, match=r"a review rate of 0.5 cannot be reached: 0.750 of the reads"):
        for_review_rate(reads, RULES, 0.5)
    assert for_review_rate(reads, RULES, 0.8) == (pytest.approx(0.85), 0.0)
