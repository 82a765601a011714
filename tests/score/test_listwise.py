"""The listwise loss: by hand, and its slope by differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.listwise import listwise_loss


def test_by_hand() -> None:
    x, y = np.array([[1.0], [0.0], [2.0], [0.0]]), np.array([1.0, 0.0, 0.0, 1.0])
    value, slope = listwise_loss(x, y, np.array([2, 2]), np.array([0.5]), 0.1)(np.array([1.0]))
    first, second = math.log(1 + math.exp(-1)), 2 + math.log(1 + math.exp(-2))
    assert value == pytest.approx((first + second) / 2 + 0.1 * 0.25)
    told = (1 / (1 + math.exp(-1)) - 1) + 2 / (1 + math.exp(-2))
    assert slope == pytest.approx([told / 2 + 0.1])


@given(st.integers(0, 2**31))
def test_the_slope_is_that_of_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=3)
    x = rng.normal(size=(sizes.sum(), 2))
    y = np.concatenate([np.full(n, 1 / n) for n in sizes])
    loss = listwise_loss(x, y, sizes, np.zeros(2), 0.05)
    w, step = rng.normal(size=2), 1e-6
    for k in range(2):
        away = np.eye(2)[k] * step
        assert loss(w)[1][k] == pytest.approx((loss(w + away)[0] - loss(w - away)[0]) / (2 * step), abs=1e-5)
