"""Whom a second judge may look at."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.cascade import open_cases
from memrank.score.positions import position_bias


def cases(
    raw: list[float],
    relevance: list[float] | None = None,
    *,
    cut: int | None = None,
    margin: float = 0.1,
    most: int = 99,
) -> list[int]:
    values = np.array(raw, dtype=np.float64)
    said = values if relevance is None else np.array(relevance, dtype=np.float64)
    return open_cases(values, said, cut=cut, margin=margin, most=most).tolist()


def test_all_above_the_cut_are_open_however_clear_their_place() -> None:
    assert cases([0.9, 0.6, 0.3, 0.0], cut=2) == [0, 1]


def test_below_the_cut_only_who_is_close_to_it() -> None:
    assert cases([0.9, 0.7, 0.52, 0.48, 0.2, 0.1], cut=3) == [0, 1, 2, 3]
    assert cases([0.9, 0.5, 0.25], cut=2, margin=0.25) == [0, 1, 2]


def test_the_likeliest_come_first_whatever_else_raised_the_others() -> None:
    assert cases([0.5, 0.45, 0.44], [0.1, 0.2, 0.4], cut=3) == [2, 1, 0]
    assert cases([0.5, 0.45, 0.44], [0.1, 0.2, 0.4], cut=3, most=1) == [2]


def test_ties_are_told_by_place() -> None:
    assert cases([0.5, 0.5, 0.5], most=2) == [0, 1]


def test_the_first_ten_where_nothing_cuts() -> None:
    falling = [1 - place / 20 for place in range(15)]
    assert cases(falling, margin=0.0) == list(range(10))


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=40),
    st.none() | st.integers(1, 50),
    st.floats(0, 1),
    st.integers(-1, 50),
)
def test_each_once_the_likeliest_first_and_nobody_more_likely_is_passed_over(
    both: list[tuple[float, float]], cut: int | None, margin: float, most: int
) -> None:
    raw, said = [one for one, _ in both], [one for _, one in both]
    found = cases(raw, said, cut=cut, margin=margin, most=most)
    open_to_all = cases(raw, said, cut=cut, margin=margin)
    assert len(found) == len(set(found)) == min(max(most, 0), len(open_to_all))
    assert [said[k] for k in found] == sorted((said[k] for k in open_to_all), reverse=True)[: len(found)]
    assert len(open_to_all) >= min(cut or 10, len(raw))


def test_a_judge_that_favours_the_first() -> None:
    places = np.linspace(0, 1, 11)
    assert position_bias(places, -places) == -1.0
    assert position_bias(places, places) == 1.0
    assert position_bias(places, np.zeros(11)) == 0.0
    assert position_bias(places[:1], places[:1]) == 0.0
    assert abs(position_bias(np.array([0.0, 0.5, 1.0]), np.array([1.0, 0.0, 1.0]))) < 1e-12
