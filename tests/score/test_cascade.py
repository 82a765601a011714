"""Whom a second judge may look at."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.cascade import open_cases
from memrank.score.positions import position_bias


def cases(
    raw: list[float], cut: int | None = None, threshold: float = 0.0, margin: float = 0.1, most: int = 99
) -> list[int]:
    values = np.array(raw, dtype=np.float64)
    alive = np.ones(len(values), dtype=np.bool_)
    return open_cases(values, values, alive, cut=cut, threshold=threshold, margin=margin, most=most).tolist()


def test_candidates_around_the_cut_come_first() -> None:
    assert cases([0.9, 0.7, 0.52, 0.48, 0.2, 0.1], cut=3) == [2, 3]


def test_neighbours_at_the_top_are_open_too() -> None:
    assert cases([0.9, 0.88, 0.5, 0.1], cut=3) == [0, 1]


def test_candidates_close_to_the_threshold() -> None:
    assert cases([0.9, 0.7, 0.31, 0.1], cut=4, threshold=0.3, margin=0.05) == [2]


def test_nobody_is_open_where_everything_is_clear() -> None:
    assert cases([0.9, 0.6, 0.3, 0.0], cut=2) == []


def test_who_cannot_be_returned_is_not_asked_about() -> None:
    raw = np.array([0.5, 0.5, 0.5])
    alive = np.array([True, False, True])
    assert open_cases(raw, raw, alive, cut=1, threshold=0.0, margin=0.1, most=9).tolist() == [0, 2]


@given(
    st.lists(st.floats(0, 1), max_size=40),
    st.none() | st.integers(1, 50),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 50),
)
def test_at_most_as_many_as_allowed_and_each_once(
    raw: list[float], cut: int | None, threshold: float, margin: float, most: int
) -> None:
    found = cases(raw, cut, threshold, margin, most)
    assert len(found) == len(set(found)) <= min(most, len(raw))
    assert set(found) <= set(range(len(raw)))


def test_a_judge_that_favours_the_first() -> None:
    places = np.linspace(0, 1, 11)
    assert position_bias(places, -places) == -1.0
    assert position_bias(places, places) == 1.0
    assert position_bias(places, np.zeros(11)) == 0.0
    assert position_bias(places[:1], places[:1]) == 0.0
    assert abs(position_bias(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 1.0]))) < 1e-12
