"""The search for what mends a pruning: the nearest value first, and only limits that make sense."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.dialogue.prune import Limits, check_limits
from memrank.evals.mending import changes, mends

ALL = {"threshold": 1, "budget": 1, "replaced": 0}
THRESHOLD = {"threshold": 1, "budget": 0, "replaced": 0}
BUDGET = {"threshold": 0, "budget": 1, "replaced": 0}


def found(limits: Limits, holds: object, causes: dict[str, int], most: int = 3000) -> list[dict[str, float]]:
    return [changes(limits, one) for one in mends(limits, causes=causes, most_tokens=most, holds=holds)]  # type: ignore[arg-type]


def test_the_nearest_threshold() -> None:
    assert found(Limits(), lambda one: one.drop_threshold >= 0.95, THRESHOLD) == [{"drop_threshold": 0.96}]


def test_the_smallest_budget() -> None:
    (one,) = found(Limits(max_tokens=1000), lambda one: one.max_tokens >= 1500, BUDGET)
    assert one == {"max_tokens": 1530}


def test_summarizing_earlier_is_a_way_of_its_own() -> None:
    both = found(Limits(max_tokens=1000), lambda one: one.max_tokens >= 1100 or one.decay_threshold <= 0.61, BUDGET)
    assert both == [{"max_tokens": 1150}, {"decay_threshold": 0.6}]


def test_two_together_where_none_alone_mends_it() -> None:
    (both,) = found(Limits(max_tokens=1000), lambda one: one.max_tokens >= 1200 and one.drop_threshold >= 0.93, ALL)
    assert both == {"max_tokens": 1330, "drop_threshold": 0.94}


def test_no_threshold_and_no_budget_brings_back_what_was_replaced() -> None:
    tried: list[Limits] = []

    def holds(limits: Limits) -> bool:
        tried.append(limits)
        return False

    assert found(Limits(), holds, {"threshold": 0, "budget": 0, "replaced": 3}) == []
    assert len(tried) == 1


def test_a_limit_that_took_nothing_is_not_tried_alone() -> None:
    tried: list[Limits] = []

    def holds(limits: Limits) -> bool:
        tried.append(limits)
        return limits.drop_threshold >= 0.94

    assert found(Limits(), holds, THRESHOLD) == [{"drop_threshold": 0.94}]
    assert {one.max_tokens for one in tried[1:]} == {Limits().max_tokens}


@given(
    st.tuples(*[st.floats(0, 1) for _ in range(3)]),
    st.integers(1, 5000),
    st.integers(1, 8000),
    st.sampled_from([ALL, THRESHOLD, BUDGET]),
    st.floats(0, 1),
    st.integers(0, 8000),
)
def test_what_is_tried_makes_sense(
    values: tuple[float, float, float], budget: int, most: int, causes: dict[str, int], least: float, room: int
) -> None:
    low, middle, high = sorted(values)
    limits = Limits(max_tokens=budget, keep_below=low, decay_threshold=middle, drop_threshold=high)
    tried: list[Limits] = []

    def holds(one: Limits) -> bool:
        check_limits(one)
        tried.append(one)
        return one.drop_threshold >= least and one.max_tokens >= room

    got = list(mends(limits, causes=causes, most_tokens=most, holds=holds))
    assert limits not in tried[1:]
    assert len(set(tried[1:])) >= len(tried[1:]) / 2  # at most once alone and once with another
    assert all(one.max_tokens <= max(most, budget) for one in tried)
    assert all(one.drop_threshold >= least and one.max_tokens >= room for one in got)
    widest = replace(limits, drop_threshold=1.0, max_tokens=max(most, budget))
    if not (high >= least and budget >= room):
        assert bool(got) == (widest.max_tokens >= room)
    assert len(tried) < 2000


def test_changes_names_what_differs() -> None:
    assert changes(Limits(), Limits()) == {}
    with pytest.raises(StopIteration):
        next(mends(Limits(), causes=ALL, most_tokens=10, holds=lambda _: False))
