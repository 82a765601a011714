"""Importance: the documented worked numbers, the clamp, the boost, and that uses never make a memory fade."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import ages, columns, shares

from memrank.score.importance import worth
from memrank.score.temporal import DAY, MONTH

Floats = NDArray[np.float64]

SIX_MONTHS = 6 * MONTH


DEFAULTS = {"boost_per_use": 0.5, "boost_cap": 3.0, "floor": 1.0, "ceiling": 10.0}


def points(
    stated: float,
    age: float,
    uses: int = 0,
    *,
    decay: str = "exponential",
    rate: float = 0.02,
    superseded: bool = False,
    **settings: float,
) -> float:
    """On the scale from 1 to 10."""
    found = worth(
        np.array([stated]),
        np.array([age]),
        np.array([float(uses)]),
        np.array([superseded]),
        decay=decay,  # type: ignore[arg-type]
        rate_per_month=rate,
        **{**DEFAULTS, **settings},
    )
    return float(found.points[0])


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
    assert points(0.5, 0, 6, boost_per_use=0.0) == pytest.approx(5.0)
    assert points(0.5, 0, 3, boost_per_use=0.25, boost_cap=0.7) == pytest.approx(5.7)
    assert points(0.9, 0, 6) == pytest.approx(10.0)


def test_the_future_and_the_very_old_stay_within_the_clamp() -> None:
    assert points(0.9, -1e9) == pytest.approx(9.0)
    assert points(0.9, 1e12) == 1.0
    assert points(0.9, 1e12, decay="linear") == 1.0
    assert points(0.9, 0, rate=1.0) == pytest.approx(9.0)
    assert points(0.9, 1, rate=1.0) == 1.0


def test_what_is_superseded_has_exactly_the_floor_after_any_boost() -> None:
    assert points(0.9, 0, 6, superseded=True) == 1.0
    assert points(0.9, 0, 6, superseded=True, floor=2.5) == 2.5
    assert points(float("nan"), 0, superseded=True, floor=10.0, ceiling=10.0) == 10.0


def test_floor_and_ceiling() -> None:
    assert points(0.0, 0, floor=3.0) == 3.0
    assert points(1.0, 0, ceiling=8.0) == 8.0
    assert points(0.5, 1e12, 6, floor=4.0) == 4.0  # the boost is added before the clamp


def test_a_rate_for_each() -> None:
    found = worth(
        np.array([0.9, 0.9]),
        np.full(2, SIX_MONTHS),
        np.zeros(2),
        np.zeros(2, dtype=np.bool_),
        decay="exponential",
        rate_per_month=np.array([0.02, 0.0]),
        **DEFAULTS,
    )
    assert found.points.tolist() == pytest.approx([7.97, 9.0], abs=0.005)
    assert found.factor.tolist() == pytest.approx([0.98**6, 1.0])
    assert (found.stated.tolist(), found.boost.tolist()) == ([9.0, 9.0], [0.0, 0.0])


def test_of_nothing_comes_nothing() -> None:
    none = np.zeros(0)
    found = worth(none, none, none, none.astype(np.bool_), decay="linear", rate_per_month=none, **DEFAULTS)
    assert found.points.shape == (0,)


def by_hand(
    stated: float, age: float, uses: float, superseded: bool, decay: str, rate: float, settings: Mapping[str, float]
) -> float:
    """The formula of the design, one memory at a time in plain Python."""
    if superseded:
        return settings["floor"]
    base = 5.0 if math.isnan(stated) else 10 * stated
    months = max(0.0, age) / (30 * 86400)
    if decay == "exponential":
        base *= (1 - rate) ** months
    elif decay == "linear":
        base *= max(0.0, 1 - rate * months)
    boost = min(settings["boost_per_use"] * uses, settings["boost_cap"])
    return max(settings["floor"], min(settings["ceiling"], base + boost))


bounds = st.tuples(st.floats(1, 10), st.floats(1, 10)).map(sorted)


@given(
    columns(8, st.one_of(shares, st.just(float("nan")))),
    columns(8, ages),
    columns(8, st.integers(0, 50).map(float)),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.sampled_from(["exponential", "linear", "none"]),
    columns(8, shares),
    st.floats(0, 10),
    st.floats(0, 10),
    bounds,
)
def test_as_by_hand(
    stated: Floats,
    age: Floats,
    uses: Floats,
    superseded: list[bool],
    decay: str,
    rates: Floats,
    per_use: float,
    cap: float,
    between: list[float],
) -> None:
    settings = {"boost_per_use": per_use, "boost_cap": cap, "floor": between[0], "ceiling": between[1]}
    found = worth(
        stated,
        age,
        uses,
        np.array(superseded),
        decay=decay,  # type: ignore[arg-type]
        rate_per_month=rates,
        **settings,
    )
    rows = zip(stated, age, uses, superseded, rates, strict=True)
    expected = [by_hand(s, a, u, gone, decay, r, settings) for s, a, u, gone, r in rows]
    assert found.points.tolist() == pytest.approx(expected, rel=1e-12)


@given(
    columns(8, st.one_of(shares, st.just(float("nan")))),
    columns(8, ages),
    columns(8, st.integers(0, 50).map(float)),
    st.sampled_from(["exponential", "linear", "none"]),
    shares,
    st.floats(0, 10),
)
def test_within_the_clamp_falling_with_age_rising_with_use(
    stated: Floats, age: Floats, uses: Floats, decay: str, rate: float, per_use: float
) -> None:
    def value(age: Floats, uses: Floats, stated: Floats = stated) -> Floats:
        current = np.zeros(8, dtype=np.bool_)
        settings = {**DEFAULTS, "boost_per_use": per_use}
        found = worth(stated, age, uses, current, decay=decay, rate_per_month=rate, **settings)  # type: ignore[arg-type]
        return found.points

    now = value(age, uses)
    assert ((now >= 1.0) & (now <= 10.0)).all()
    assert (value(age + MONTH, uses) <= now).all()
    assert (value(age, uses + 1) >= now).all()
    # A strong memory never fades below a weaker one of the same age and use.
    order = np.argsort(np.where(np.isnan(stated), 0.5, stated), kind="stable")
    same = value(np.full(8, age[0]), np.full(8, uses[0]), stated[order])
    assert (np.diff(same) >= 0).all()
