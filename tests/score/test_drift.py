"""The population stability index, by hand and by its properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.drift import stability_index

COUNTS = st.lists(st.integers(0, 10_000), min_size=10, max_size=10).map(lambda c: np.array(c, dtype=np.float64))


def test_by_hand() -> None:
    expected, actual = np.array([49.5, 49.5]), np.array([74.5, 24.5])
    # Raised by a half each: shares .5, .5 and .75, .25.
    by_hand = 0.25 * math.log(1.5) - 0.25 * math.log(0.5)
    assert stability_index(expected, actual) == pytest.approx(by_hand, abs=1e-12)


@given(COUNTS, COUNTS)
def test_never_negative_and_symmetric(one: np.ndarray, other: np.ndarray) -> None:
    found = stability_index(one, other)
    assert found >= 0
    assert math.isfinite(found)
    assert found == pytest.approx(stability_index(other, one), abs=1e-9)


@given(COUNTS)
def test_nothing_moved_from_itself_or_from_nothing(counts: np.ndarray) -> None:
    assert stability_index(counts, counts) == 0
    assert stability_index(counts, np.zeros(10)) == 0
