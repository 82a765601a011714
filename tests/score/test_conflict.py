"""Which of two candidates states a newer value: the numbers behind it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.conflict import FEATURES, Evidence, newest, pair_features, shipped

DAY = 86400.0


def evidence(shared: list[list[float]], age: list[float], **changes: object) -> Evidence:
    k = len(age)
    given_: dict[str, object] = {
        "shared": np.array(shared, dtype=np.float64),
        "asked": np.zeros((k, k)),
        "numbers": np.zeros((k, k)),
        "cosine": np.ones((k, k)),
        "renamed": np.zeros((k, k), dtype=np.bool_),
        "session": np.arange(k),
        "age": np.array(age, dtype=np.float64),
        "ended": np.zeros(k, dtype=np.bool_),
        "dated": np.ones(k, dtype=np.bool_),
        "historical": False,
        "recent": True,
        "kind": np.zeros(k, dtype=np.int64),
        "relevance": np.full(k, 0.5),
    }
    return Evidence(**{**given_, **changes})  # type: ignore[arg-type]


def test_every_fitted_coefficient_belongs_to_a_feature() -> None:
    assert tuple(pair_features(evidence([[2.0]], [0.0]))) == FEATURES
    assert tuple(shipped().coefficients) == FEATURES


def test_the_same_words_with_another_value_and_a_later_date_are_a_newer_value() -> None:
    alike = evidence([[10.0, 8.0], [8.0, 10.0]], [30 * DAY, 0.0], asked=np.full((2, 2), 7.0))
    foreign = evidence([[10.0, 0.5], [0.5, 10.0]], [30 * DAY, 0.0], cosine=np.eye(2))
    assert shipped().probability(alike)[0, 1] > 0.5
    assert shipped().probability(foreign)[0, 1] < 0.1


def test_only_a_newer_dated_candidate_that_adds_something_can_replace_another() -> None:
    twins = [[10.0, 8.0], [8.0, 10.0]]
    assert shipped().probability(evidence(twins, [DAY, DAY])).max() == 0.0
    assert shipped().probability(evidence(twins, [DAY, 0.0]))[1, 0] == 0.0
    undated = evidence(twins, [DAY, 0.0], dated=np.array([True, False]))
    assert shipped().probability(undated).max() == 0.0
    other = evidence(twins, [DAY, 0.0], renamed=np.array([[False, True], [True, False]]))
    assert shipped().probability(other).max() == 0.0
    repetition = evidence([[10.0, 10.0], [10.0, 10.0]], [DAY, 0.0])
    assert shipped().probability(repetition).max() == 0.0


def test_a_chain_is_followed_to_its_newest_end() -> None:
    chance = np.zeros((4, 4))
    chance[0, 1], chance[1, 2], chance[0, 3] = 0.9, 0.8, 0.3
    end, likely = newest(chance, 0.5)
    assert end.tolist() == [2, 2, -1, -1]
    assert likely.tolist() == pytest.approx([0.9, 0.8, 0.0, 0.0])


@given(st.integers(0, 7), st.data())
def test_ends_are_never_outdated_themselves(k: int, data: st.DataObject) -> None:
    age = data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k))
    chance = np.array(data.draw(st.lists(st.floats(0, 1), min_size=k * k, max_size=k * k))).reshape(k, k)
    newer = np.array([[age[i] > age[j] for j in range(k)] for i in range(k)], dtype=np.bool_).reshape(k, k)
    end, likely = newest(np.where(newer, chance, 0.0), 0.4)
    for i in range(k):
        assert (end[i] >= 0) == (likely[i] >= 0.4)
        if end[i] >= 0:
            assert end[end[i]] == -1
            assert age[end[i]] < age[i]


def test_words_of_an_end_speak_for_a_newer_value_where_both_answer_the_question() -> None:
    given_ = evidence([[10.0, 5.0], [5.0, 10.0]], [30 * DAY, 0.0], asked=np.full((2, 2), 4.0))
    told = evidence(
        [[10.0, 5.0], [5.0, 10.0]], [30 * DAY, 0.0], asked=np.full((2, 2), 4.0), ended=np.array([False, True])
    )
    assert shipped().probability(told)[0, 1] > shipped().probability(given_)[0, 1]


def test_what_stands_between_two_in_time_is_counted_by_dates_alone() -> None:
    alike = np.full((4, 4), 5.0) + 5.0 * np.eye(4)
    dated = np.array([True, True, True, False])
    found = pair_features(evidence(alike.tolist(), [3 * DAY, DAY, 0.0, 0.0], dated=dated))["between"]
    assert found[0, 2] == pytest.approx(np.log1p(1.0))
    assert found[0, 1] == found[1, 2] == 0.0
