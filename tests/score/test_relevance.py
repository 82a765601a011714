"""The embedded relevance model: its numbers by hand, its bounds, and what it says of small pools."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import memrank
from memrank.score.relevance import (
    LEVEL,
    ORDER,
    Model,
    dump,
    evidence,
    level_features,
    order_features,
    shipped,
    sigmoid,
)

COLUMNS = sorted({*ORDER, "soft", "dense", "named", "subjects"} - {"bm25_few"})
Floats = NDArray[np.float64]


def columns(n: int, **given: list[float]) -> dict[str, Floats]:
    """Columns of zeros, except those given."""
    return {name: np.array(given.get(name, [0.0] * n)) for name in COLUMNS}


def test_every_coefficient_of_the_shipped_model_names_a_feature() -> None:
    assert set(shipped().order) == set(ORDER) == set(order_features(columns(2)))
    assert set(shipped().level) == set(LEVEL) == set(level_features(columns(2), np.zeros(2)))


def test_probability_by_hand() -> None:
    model = Model(order={"overlap": 2.0}, level={"order": 0.5, "log_rank": -1.0, "top_overlap": 3.0}, intercept=-1.0)
    got = model.probability(columns(2, overlap=[0.25, 0.5]))
    # order 0.5 and 1.0; ranks 2 and 1; the best one's overlap is 0.5
    logits = [-1.0 + 0.25 - math.log(2) + 1.5, -1.0 + 0.5 - 0.0 + 1.5]
    assert got == pytest.approx([1 / (1 + math.exp(-x)) for x in logits], abs=1e-12)


def test_equal_candidates_are_equally_relevant_and_none_gives_none() -> None:
    pair = shipped().probability(columns(2, dense=[0.4, 0.4], soft=[0.3, 0.3]))
    assert pair[0] == pair[1]
    assert shipped().probability(columns(0)).shape == (0,)


def test_evidence_is_the_strongest_sign_and_clipped() -> None:
    found = evidence(columns(4, soft=[0.0, 0.075, 0.9, 0.0], dense=[-0.3, 0.05, 0.1, 0.0], named=[0.0, 0.0, 0.0, 1.0]))
    assert found == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_unnamed_counts_in_an_index_of_subjects_and_nowhere_else() -> None:
    held = {"named": [1.0, 0.0, 0.0, 0.0], "overlap": [0.0, 0.75, 0.5, 0.1], "dense": [0.0, 0.1, 0.6, 0.5]}
    index = columns(4, subjects=[1.0] * 4, **held)
    assert level_features(index, np.zeros(4))["unnamed"] == pytest.approx([0.0, 0.5, 0.6, 1.0])
    assert level_features(columns(4, **held), np.zeros(4))["unnamed"].tolist() == [0.0] * 4


def test_weak_few_fades_as_the_pool_grows() -> None:
    assert level_features(columns(1), np.zeros(1))["weak_few"] == pytest.approx([20 / 21])
    assert level_features(columns(180), np.zeros(180))["weak_few"] == pytest.approx(np.full(180, 0.1))


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=20))
def test_sigmoid_is_the_textbook_one_where_that_does_not_overflow(logits: list[float]) -> None:
    assert sigmoid(np.array(logits)) == pytest.approx([1 / (1 + math.exp(-x)) for x in logits], abs=1e-15)


def test_sigmoid_far_out() -> None:
    assert sigmoid(np.array([-1e300, 1e300])).tolist() == [0.0, 1.0]


@given(st.data(), st.integers(1, 30))
def test_relevance_is_a_probability_for_any_columns(data: st.DataObject, n: int) -> None:
    values = st.lists(st.floats(-10, 10), min_size=n, max_size=n)
    got = shipped().probability(columns(n, **{name: data.draw(values) for name in COLUMNS}))
    assert got.shape == (n,)
    assert ((got >= 0) & (got <= 1)).all()


def test_what_is_written_is_what_was_fitted() -> None:
    body = json.loads(dump(shipped(), {"fitted_by": "x"}))
    assert (body["order"], body["level"], body["intercept"], body["fitted_by"]) == (
        dict(shipped().order),
        dict(shipped().level),
        shipped().intercept,
        "x",
    )


def test_a_memory_that_shares_nothing_is_not_relevant_however_few_there_are() -> None:
    noise = {"id": "noise", "content": "x" * 50, "created_at": "2026-03-10T09:00:00Z"}
    tea = {"id": "tea", "content": "User prefers tea", "created_at": "2026-03-10T09:00:00Z"}
    query = {"query": "tea", "as_of": "2026-03-20T09:00:00Z"}
    for some in ([noise], [noise, tea]):
        rated = memrank.read_memory(query, some, include_excluded=True)["ranked_results"]
        assert {e["entry_id"]: e["relevance_score"] < 0.25 for e in rated}["noise"], rated
    assert {e["entry_id"]: e["relevance_score"] > 0.75 for e in rated}["tea"], rated
