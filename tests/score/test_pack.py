"""The budget: what is kept fits, what gives way first is worth least, what is protected is never touched."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memrank.score.pack import DROP, KEEP, OVERWRITE, SUMMARIZE, decay_class, fit, planned

Element = tuple[float, int, int, bool, int]
"""Decay, tokens, tokens of its summary, protected, planned action."""

elements = st.tuples(
    st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    st.integers(0, 100),
    st.integers(0, 100),
    st.booleans(),
    st.sampled_from([KEEP, SUMMARIZE, DROP, OVERWRITE]),
).map(lambda e: (e[0], e[1], min(e[1], e[2]), e[3], KEEP if e[3] else e[4]))


def fitted(found: list[Element], budget: float) -> tuple[list[int], bool]:
    decay, full, short, protected, action = (
        zip(*found, strict=True) if found else ((), (), (), (), ())  # type: ignore[misc]
    )
    out, fits = fit(
        np.array(action, dtype=np.int64),
        np.array(decay, dtype=np.float64),
        np.array(full, dtype=np.float64),
        np.array(short, dtype=np.float64),
        np.array(protected, dtype=np.bool_),
        max_tokens=budget,
    )
    return out.tolist(), fits


def cost(found: list[Element], actions: list[int]) -> int:
    return sum({KEEP: e[1], SUMMARIZE: e[2]}.get(action, 0) for e, action in zip(found, actions, strict=True))


@given(st.lists(elements, max_size=12), st.integers(1, 300))
def test_within_the_budget_unless_the_protected_alone_exceed_it(found: list[Element], budget: int) -> None:
    actions, fits = fitted(found, budget)
    protected = sum(e[1] for e in found if e[3])
    assert fits == (cost(found, actions) <= budget) == (protected <= budget)
    for element, action in zip(found, actions, strict=True):
        assert action >= element[4]  # nothing is kept better than it was planned
        if element[3]:
            assert action == KEEP
        if element[4] >= DROP:
            assert action == element[4]
    if protected > budget:
        assert cost(found, actions) == protected


@given(st.lists(elements, max_size=12), st.integers(1, 300))
def test_the_highest_decay_gives_way_first(found: list[Element], budget: int) -> None:
    """Nothing is dropped while something that decayed more, was no smaller a gain, and may go is kept in full."""
    actions, _ = fitted(found, budget)
    room = max(0, budget - sum(e[1] for e in found if e[3]))
    for i, element in enumerate(found):
        fitting = element[2] <= room
        if actions[i] == DROP and element[4] < DROP and element[1] > 0 and fitting:
            for j, other in enumerate(found):
                later = (other[0], j) > (element[0], i)  # among equals the lowest ranked goes first
                if later and not other[3] and other[1] > 0:
                    assert actions[j] != KEEP or other[1] == 0


@given(st.lists(elements, max_size=12))
def test_what_fits_is_left_alone(found: list[Element]) -> None:
    budget = cost(found, [e[4] for e in found]) + sum(e[1] for e in found)
    assert fitted(found, max(1, budget)) == ([e[4] for e in found], True)


def test_one_giant_does_not_push_everything_else_out() -> None:
    small: list[Element] = [(0.2 + i / 100, 10, 10, False, KEEP) for i in range(5)]
    # With a summary that fits it is summarized, without one it goes itself; pinned ones take their part of the room.
    assert fitted([(0.1, 10_000, 8, False, KEEP), *small], 100) == ([SUMMARIZE, *[KEEP] * 5], True)
    assert fitted([(0.1, 10_000, 400, False, KEEP), *small], 100) == ([DROP, *[KEEP] * 5], True)
    assert fitted([(0.1, 10_000, 400, False, SUMMARIZE), *small], 100) == ([DROP, *[KEEP] * 5], True)
    pinned: Element = (0.0, 40, 40, True, KEEP)
    assert fitted([(0.1, 70, 9, False, KEEP), pinned, *small], 100) == ([SUMMARIZE, *[KEEP] * 6], True)


def test_a_summary_is_tried_before_dropping_where_that_is_enough() -> None:
    found: list[Element] = [(0.1, 50, 10, False, KEEP), (0.5, 50, 10, False, KEEP)]
    assert fitted(found, 60) == ([KEEP, SUMMARIZE], True)
    assert fitted(found, 55) == ([KEEP, DROP], True)


def test_among_equals_the_lowest_ranked_goes_first() -> None:
    found: list[Element] = [(0.5, 10, 10, False, KEEP)] * 3
    assert fitted(found, 20) == ([KEEP, KEEP, DROP], True)


def test_empty_elements_cost_nothing() -> None:
    assert fitted([(0.9, 0, 0, False, KEEP), (0.0, 50, 50, True, KEEP)], 10) == ([KEEP, KEEP], False)
    assert fitted([], 1) == ([], True)


@pytest.mark.parametrize(
    ("decay", "number"), [(0.0, 1), (0.299, 1), (0.3, 2), (0.699, 2), (0.7, 3), (0.899, 3), (0.9, 4), (1.0, 4)]
)
def test_classes_of_decay(decay: float, number: int) -> None:
    def of(overwritten: bool) -> list[int]:
        found: NDArray[np.int64] = decay_class(
            np.array([decay]), np.array([overwritten]), keep_below=0.3, summarize_from=0.7, drop_from=0.9
        )
        return found.tolist()

    assert of(overwritten=False) == [number]
    assert of(overwritten=True) == [5]


def test_actions_of_the_classes() -> None:
    classes = np.array([1, 2, 3, 4, 5, 5])
    successor = np.array([False, False, False, False, True, False])
    free = np.zeros(6, dtype=np.bool_)
    assert planned(classes, successor, free).tolist() == [KEEP, KEEP, SUMMARIZE, DROP, OVERWRITE, DROP]
    assert planned(classes, successor, ~free).tolist() == [KEEP] * 6
