"""When a read needs a person's eyes: each rule at its edge, in one fixed order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import shares

from memrank.score.review import review_reasons


def reasons(
    scores: list[float], raw: list[float] | None = None, outdated: list[bool] | None = None, *, top: int = 3
) -> tuple[str, ...]:
    everything = scores if raw is None else raw
    return review_reasons(
        np.array(scores, dtype=np.float64),
        np.array(everything, dtype=np.float64),
        np.array([False] * len(everything) if outdated is None else outdated, dtype=np.bool_),
        top_score_below=0.4,
        ambiguity_margin=0.05,
        ambiguity_top=top,
        stale_score_above=0.5,
    )


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([], ()),
        ([0.4], ()),
        ([0.3999], ("low_top_score",)),
        ([0.9, 0.8], ()),
        ([0.9, 0.86], ("ambiguous_top",)),
        ([0.9, 0.8, 0.76], ("ambiguous_top",)),
        ([0.9, 0.8, 0.7, 0.69], ()),  # only the first three are looked at
        ([0.3, 0.3], ("low_top_score", "ambiguous_top")),
        ([0.0], ("low_top_score",)),
    ],
)
def test_the_top_of_the_results(scores: list[float], expected: tuple[str, ...]) -> None:
    assert reasons(scores) == expected


@pytest.mark.parametrize(
    ("raw", "outdated", "asks"),
    [(0.51, True, True), (0.5, True, False), (0.9, False, False), (0.1, True, False)],
)
def test_outdated_but_high(raw: float, outdated: bool, asks: bool) -> None:
    assert ("stale_but_high" in reasons([0.9], [0.9, raw], [False, outdated])) == asks


@given(st.lists(shares, max_size=6), st.data())
def test_reasons_come_once_and_in_order(scores: list[float], data: st.DataObject) -> None:
    ordered = sorted(scores, reverse=True)
    outdated = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    found = reasons(ordered, ordered, outdated)
    rules = ("low_top_score", "ambiguous_top", "stale_but_high")
    assert found == tuple(rule for rule in rules if rule in found)
