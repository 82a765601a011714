"""Superseded memories: strictly below what replaces them, along chains, and defined for circles and zero scores."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import shares

from memrank.score.supersede import DEMOTION, factors


def demoted(raw: list[float], successor: list[int]) -> list[float]:
    return (np.array(raw) * factors(np.array(raw, dtype=np.float64), np.array(successor, dtype=np.int64))).tolist()


def ends(successor: list[int], i: int) -> bool:
    """Whether following the links from i comes to an end."""
    seen = set()
    while i >= 0 and i not in seen:
        seen.add(i)
        i = successor[i]
    return i < 0


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1)), min_size=n, max_size=n),
            st.lists(st.integers(-1, n - 1), min_size=n, max_size=n),
        )
    )
)
def test_strictly_below_the_successor_unless_both_are_worth_nothing(case: tuple[list[float], list[int]]) -> None:
    raw, successor = case
    successor = [-1 if new == old else new for old, new in enumerate(successor)]
    scores = demoted(raw, successor)
    for old, new in enumerate(successor):
        assert 0 <= scores[old] <= raw[old]
        if new < 0:
            assert scores[old] == raw[old]
        elif not ends(successor, old):
            assert scores[old] == DEMOTION * raw[old]
        elif scores[new] > 0:
            assert scores[old] < scores[new]
        else:
            assert scores[old] == 0.0


def test_half_where_the_successor_leaves_room_and_less_where_it_does_not() -> None:
    assert demoted([0.8, 0.9], [1, -1]) == [pytest.approx(0.4), 0.9]
    low = demoted([0.8, 0.1], [1, -1])
    assert low[0] == pytest.approx(0.0999)


def test_a_chain_comes_out_newest_first() -> None:
    scores = demoted([0.9, 0.9, 0.9], [1, 2, -1])
    assert scores[2] > scores[1] > scores[0] > 0


def test_two_replaced_by_one_are_both_below_it() -> None:
    scores = demoted([1.0, 0.4, 0.3], [2, 2, -1])
    assert scores[0] < 0.3
    assert scores[1] < 0.3


def test_a_circle_is_demoted_and_so_is_what_leads_into_it() -> None:
    assert demoted([0.8, 0.6, 0.4], [1, 0, 0]) == pytest.approx([0.4, 0.3, 0.2])


def test_nothing_replaced_changes_nothing() -> None:
    assert factors(np.array([0.3, 0.0]), np.array([-1, -1])).tolist() == [1.0, 1.0]
    assert factors(np.empty(0), np.empty(0, dtype=np.int64)).tolist() == []


@given(st.lists(shares.filter(lambda raw: raw > 1e-6), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_a_chain_in_the_pool_does_not_matter(raw: list[float], random: object) -> None:
    n = len(raw)
    place = list(range(n))
    random.shuffle(place)  # type: ignore[attr-defined]
    straight = demoted(raw, [*range(1, n), -1])
    shuffled_raw, shuffled_next = [0.0] * n, [-1] * n
    for i in range(n):
        shuffled_raw[place[i]] = raw[i]
        shuffled_next[place[i]] = place[i + 1] if i + 1 < n else -1
    shuffled = demoted(shuffled_raw, shuffled_next)
    assert [shuffled[place[i]] for i in range(n)] == straight


def test_a_long_chain_takes_no_time() -> None:
    """A value that was changed a hundred thousand times: linear, whatever the order."""
    n = 100_000
    started = time.perf_counter()
    found = factors(np.ones(n), np.arange(-1, n - 1))
    assert time.perf_counter() - started < 3
    assert found[0] == 1.0
    assert (np.diff(found) <= 0).all()
