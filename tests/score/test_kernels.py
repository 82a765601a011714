"""Decay kernels: their limits, what a half-life means, and the traps that other systems fell into."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import ages, columns, durations

from memrank.score import temporal as t

Kernel = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

KERNELS: dict[str, Kernel] = {
    "exponential": t.exponential,
    "linear": t.linear,
    "gaussian": t.gaussian,
    "power-half": lambda age, scale: t.power(age, scale, 0.5),
    "power-3": lambda age, scale: t.power(age, scale, 3.0),
    "weibull-low": lambda age, half_life: t.weibull(age, half_life, 0.5),
    "weibull-high": lambda age, half_life: t.weibull(age, half_life, 5.0),
    "cliff": t.cliff,
    "real-time": lambda age, window: t.real_time(age, window / 4, window),
}
HALF: dict[str, float] = {
    "exponential": 1.0,
    "linear": 0.5,
    "gaussian": 1.0,
    "power-half": 2**2 - 1,
    "power-3": 2 ** (1 / 3) - 1,
    "weibull-low": 1.0,
    "weibull-high": 1.0,
    "real-time": 0.25,
}
"""The age at which each is one half, in units of its parameter."""


def at(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(st.lists(ages, min_size=1, max_size=20), durations)
def test_one_at_zero_never_rising_and_within_the_unit_interval(
    kernel: Kernel, given_ages: list[float], parameter: float
) -> None:
    k = kernel(np.sort(np.array([0.0, *given_ages])), parameter)
    assert np.isfinite(k).all()
    assert k[0] == 1.0
    assert (np.diff(k) <= 0).all()
    assert ((k >= 0) & (k <= 1)).all()


@pytest.mark.parametrize("name", HALF)
@given(durations)
def test_half_at_the_half_life(name: str, parameter: float) -> None:
    assert KERNELS[name](at(HALF[name] * parameter), parameter)[0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_huge_ages_and_tiny_parameters_are_finite(kernel: Kernel) -> None:
    k = kernel(at(0.0, 1e30, 1e100, 1e300), 1e-6)
    assert np.isfinite(k).all()
    assert k[-1] == pytest.approx(0.0, abs=1e-6)


@given(columns(6, ages), columns(6, durations))
def test_a_parameter_for_each_memory_is_that_of_each_alone(
    age: NDArray[np.float64], half_life: NDArray[np.float64]
) -> None:
    for kernel in (t.exponential, t.linear, t.gaussian, t.cliff):
        together = kernel(age, half_life)
        alone = [kernel(at(a), float(h))[0] for a, h in zip(age, half_life, strict=True)]
        assert together.tolist() == alone


@given(ages, durations)
def test_weibull_of_shape_one_is_exponential_and_of_two_gaussian(age: float, half_life: float) -> None:
    one, two = t.weibull(at(age), half_life, 1.0), t.weibull(at(age), half_life, 2.0)
    assert one[0] == pytest.approx(float(t.exponential(at(age), half_life)[0]), rel=1e-9, abs=1e-300)
    assert two[0] == pytest.approx(float(t.gaussian(at(age), half_life)[0]), rel=1e-9, abs=1e-300)


def test_a_rate_per_hour_is_the_exponent_of_the_hours() -> None:
    half_life = t.half_life_of_rate(0.1)
    assert t.exponential(at(5 * t.HOUR), half_life)[0] == pytest.approx(np.exp(-0.5), rel=1e-12)
    assert half_life == pytest.approx(np.log(2) / 0.1 * 3600)


def test_linear_is_zero_from_the_window_on_and_cliff_one_up_to_it() -> None:
    assert t.linear(at(5.0, 10.0, 11.0), 10.0).tolist() == [0.5, 0.0, 0.0]
    assert t.cliff(at(9.0, 10.0, 10.0001), 10.0).tolist() == [1.0, 1.0, 0.0]


def test_real_time_is_a_sixteenth_at_the_edge_and_nothing_beyond() -> None:
    day = t.DAY
    k = t.real_time(at(0.0, 0.25 * day, day, np.nextafter(day, np.inf), 2 * day), day / 4, day)
    assert k.tolist() == [1.0, 0.5, 1 / 16, 0.0, 0.0]


def test_the_grace_shifts_the_half_life_and_the_future_is_age_zero() -> None:
    age = t.graced(at(-50.0, 0.0, 10.0, 30.0), 10.0)
    assert age.tolist() == [0.0, 0.0, 0.0, 20.0]
    assert t.exponential(age, 20.0).tolist() == [1.0, 1.0, 1.0, 0.5]
    assert t.graced(at(-1e9)).tolist() == [0.0]


@given(columns(5), st.floats(0, 1))
def test_a_floor_is_the_least_value_and_keeps_the_order(k: NDArray[np.float64], floor: float) -> None:
    floored = t.floored(k, floor)
    assert (floored >= floor - 1e-12).all()
    assert (floored <= 1 + 1e-12).all()
    assert floored == pytest.approx(floor + (1 - floor) * k)
    assert t.floored(at(1.0), floor)[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("first", "last", "start", "end", "away"),
    [
        (5, 5, 10, 20, 5),  # before
        (10, 10, 10, 20, 0),  # the start is inside
        (15, 15, 10, 20, 0),
        (25, 25, 10, 20, 5),  # after
        (5, 12, 10, 20, 0),  # a coarse date that reaches in
        (18, 30, 10, 20, 0),
        (0, 40, 10, 20, 0),  # one that covers the period
        (0, 4, 10, 20, 6),
        (25, 25, 10, None, 0),  # open on one side
        (5, 5, 10, None, 5),
        (5, 5, None, 20, 0),
        (25, 25, None, 20, 5),
        (25, 25, None, None, 0),
    ],
)
def test_distance_to_a_period(first: float, last: float, start: float | None, end: float | None, away: float) -> None:
    assert t.distance(at(first), at(last), start, end).tolist() == [away]
