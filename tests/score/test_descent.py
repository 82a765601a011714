"""Minima within bounds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.descent import Floats, minimum

NUMBERS = st.floats(-5.0, 5.0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(0.01, 100.0)), min_size=1, max_size=6))
def test_of_separate_squares_it_is_the_nearest_point_within_bounds(rows: list[tuple[float, float, float]]) -> None:
    target, low, weight = (np.array(part) for part in zip(*rows, strict=True))
    high = low + 1.0

    def loss(w: Floats) -> tuple[float, Floats]:
        away = w - target
        return float(weight @ (away * away)), 2.0 * weight * away

    found = minimum(loss, np.zeros(len(rows)), low, high)
    np.testing.assert_allclose(found, np.clip(target, low, high), atol=1e-5)


def test_a_logistic_fit_has_no_slope_left_where_it_is_free() -> None:
    x = np.array([[1.0, 0.2], [1.0, 0.9], [1.0, 0.4], [1.0, 0.7]])
    y = np.array([0.1, 0.9, 0.6, 0.4])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = x @ w
        value = (np.logaddexp(0.0, s) - y * s).sum() + 0.01 * (w @ w)
        return float(value), x.T @ (1.0 / (1.0 + np.exp(-s)) - y) + 0.02 * w

    wide = np.full(2, 100.0)
    found = minimum(loss, np.zeros(2), -wide, wide)
    np.testing.assert_allclose(loss(found)[1], 0.0, atol=1e-5)
    bound = minimum(loss, np.zeros(2), -wide, np.array([100.0, 1.0]))
    assert bound[1] == 1.0
    assert abs(loss(bound)[1][0]) < 1e-5
