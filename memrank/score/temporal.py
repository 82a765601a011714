"""Decay kernels: how fresh a memory of a given age is. k(0) = 1, k never rises, k in [0, 1].

Ages and parameters are seconds, float64; parameters may be one number or one a memory, shape (n,). "Half-life"
means the age at which the unfloored value is one half, for every kernel that has one. Formulas: exponential,
linear and gaussian as the decay functions of Elasticsearch's function_score query with decay 0.5; weibull rescaled
so that its half-life does not depend on beta; power is the hyperbolic forgetting curve of Wixted and Ebbesen
(1991) with k(0) = 1.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Parameter: TypeAlias = float | Floats

HOUR = 3600.0
DAY = 86400.0
MONTH = 30 * DAY


def graced(age: Floats, offset: float = 0.0) -> Floats:
    """max(0, age - offset): ages within the grace count as 0, and so does the future."""
    return np.maximum(0.0, age - offset)


def exponential(age: Floats, half_life: Parameter) -> Floats:
    """2^(-age / half_life)."""
    return np.exp2(-age / half_life)


def half_life_of_rate(rate_per_hour: float) -> float:
    """Seconds of half-life for a rate in exp(-rate * hours): ln 2 / rate."""
    return float(np.log(2.0) / rate_per_hour * HOUR)


def linear(age: Floats, window: Parameter) -> Floats:
    """max(0, 1 - age / window)."""
    return np.maximum(0.0, 1.0 - age / window)


def gaussian(age: Floats, half_life: Parameter) -> Floats:
    """2^(-(age / half_life)^2)."""
    return weibull(age, half_life, 2.0)


def power(age: Floats, scale: Parameter, p: float) -> Floats:
    """(1 + age / scale)^-p; one half at scale * (2^(1/p) - 1)."""
    return np.power(1.0 + age / scale, -p)


def weibull(age: Floats, half_life: Parameter, beta: float) -> Floats:
    """2^(-(age / half_life)^beta)."""
    with np.errstate(over="ignore"):  # an overflowing exponent is a freshness of exactly 0
        return np.exp2(-np.power(age / half_life, beta))


def cliff(age: Floats, window: Parameter) -> Floats:
    """1 up to and including the window, 0 after it."""
    return np.where(age <= window, 1.0, 0.0)


def floored(k: Floats, floor: float) -> Floats:
    """floor + (1 - floor) * k, so that nothing falls below the floor."""
    return floor + (1.0 - floor) * k


def real_time(age: Floats, half_life: float, window: float) -> Floats:
    """Exponential, and exactly 0 beyond the window."""
    return np.where(age <= window, exponential(age, half_life), 0.0)


def distance(first: Floats, last: Floats, start: float | None, end: float | None) -> Floats:
    """Seconds between a memory's span [first, last] and a period [start, end); 0 where they touch.

    None leaves the period open on that side. A coarse date is a span; an instant has first == last.
    """
    before = np.zeros_like(first) if start is None else np.maximum(0.0, start - last)
    after = np.zeros_like(first) if end is None else np.maximum(0.0, first - end)
    return np.maximum(before, after)


SWAY = 0.2
"""How far a judge's word may move a freshness that is computed."""


def swayed(computed: Floats, said: Floats, suspected: NDArray[np.bool_]) -> Floats:
    """What a judge said of freshness, within SWAY of what is computed; no more than that for whom is suspected.

    What is exactly 0 or rests on no date is not asked about: the rules for it leave nothing to judge.
    """
    most = np.where(suspected, computed, np.minimum(1.0, computed + SWAY))
    return np.clip(said, np.maximum(0.0, computed - SWAY), most)
