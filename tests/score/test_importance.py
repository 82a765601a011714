"""Importance: the documented worked numbers, the clamp, the boost, and that uses never make a memory fade."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import ages, columns, shares

from memrank.score.importance import importance
from memrank.score.temporal import DAY, MONTH

Floats = NDArray[np.float64]

SIX_MONTHS = 6 * MONTH


def points(
    stated: float, age: float, uses: int = 0, *, decay: str = "exponential", rate: float = 0.02, boost: bool = True
) -> float:
    """On the scale from 1 to 10."""
    found = importance(
        np.array([stated]),
        np.array([age]),
        np.array([float(uses)]),
        decay=decay,  # type: ignore[arg-type]
        rate_per_month=rate,
        boost=boost,
    )
    return 10 * float(found[0])


def test_the_worked_numbers() -> None:
    assert points(0.9, SIX_MONTHS) == pytest.approx(7.97, abs=0.005)
    assert points(0.9, SIX_MONTHS, decay="linear") == pytest.approx(7.92, abs=0.005)
    # From 9 to 7.2: 20 % in total over six months.
    assert points(0.9, SIX_MONTHS, rate=0.0365) == pytest.approx(7.2, abs=0.01)
    assert points(0.9, SIX_MONTHS, decay="linear", rate=0.0333) == pytest.approx(7.2, abs=0.01)
    assert points(0.9, SIX_MONTHS, decay="none") == pytest.approx(9.0)


def test_a_month_is_thirty_days() -> None:
    assert points(0.9, 30 * DAY, rate=0.1) == pytest.approx(8.1)
    assert points(0.9, 15 * DAY, rate=0.1, decay="linear") == pytest.approx(9 * 0.95)


def test_missing_is_five_and_zero_is_not_missing() -> None:
    assert points(float("nan"), 0) == pytest.approx(5.0)
    assert points(0.0, 0) == pytest.approx(1.0)
    assert points(0.0, 0, 4) == pytest.approx(2.0)


def test_boost_is_half_a_point_a_use_and_three_at_most() -> None:
    assert points(0.5, 0, 1) == pytest.approx(5.5)
    assert points(0.5, 0, 6) == pytest.approx(8.0)
    assert points(0.5, 0, 10**9) == pytest.approx(8.0)
    assert points(0.5, 0, 6, boost=False) == pytest.approx(5.0)
    assert points(0.9, 0, 6) == pytest.approx(10.0)


def test_the_future_and_the_very_old_stay_within_the_clamp() -> None:
    assert points(0.9, -1e9) == pytest.approx(9.0)
    assert points(0.9, 1e12) == 1.0
    assert points(0.9, 1e12, decay="linear") == 1.0
    assert points(0.9, 0, rate=1.0) == pytest.approx(9.0)
    assert points(0.9, 1, rate=1.0) == 1.0


@given(
    columns(8, st.one_of(shares, st.just(float("nan")))),
    columns(8, ages),
    columns(8, st.integers(0, 50).map(float)),
    st.sampled_from(["exponential", "linear", "none"]),
    shares,
    st.booleans(),
)
def test_within_the_clamp_falling_with_age_rising_with_use(
    stated: Floats, age: Floats, uses: Floats, decay: str, rate: float, boost: bool
) -> None:
    def value(age: Floats, uses: Floats, stated: Floats = stated) -> Floats:
        return importance(stated, age, uses, decay=decay, rate_per_month=rate, boost=boost)  # type: ignore[arg-type]

    now = value(age, uses)
    assert ((now >= 0.1) & (now <= 1.0)).all()
    assert (value(age + MONTH, uses) <= now).all()
    assert (value(age, uses + 1) >= now).all()
    # A strong memory never fades below a weaker one of the same age and use.
    order = np.argsort(np.where(np.isnan(stated), 0.5, stated), kind="stable")
    same = value(np.full(8, age[0]), np.full(8, uses[0]), stated[order])
    assert (np.diff(same) >= 0).all()
