"""Importance over time, in points from 1 to 10: clamp(stated x decay(months) + boost, floor, ceiling).

Months have 30 days and count from when the memory was recorded. Exponential decay is (1 - rate)^months, linear is
max(0, 1 - rate x months). The boost is so many points a use, and so many at most. What is superseded has exactly the
floor, whatever its uses.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memrank.score.temporal import MONTH

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Decay = Literal["exponential", "linear", "none"]

SCALE = 10.0
"""Points of importance 1."""
DEFAULT = 0.5
"""Stands in for importance that is not stated: 5 of 10."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What n memories are worth, and the parts it is made of; every array has shape (n,)."""

    stated: Floats
    """Points as stated, the default where nothing is stated."""
    factor: Floats
    """What age has left of them, in [0, 1]."""
    boost: Floats
    """Points for uses."""
    points: Floats
    """Points now, in [floor, ceiling]; a tenth of it is importance on the scale from 0 to 1."""


def decay_factor(age: Floats, decay: Decay, rate_per_month: Floats | float) -> Floats:
    """Share of importance that is left at an age in seconds, in [0, 1]; 1 for what lies in the future."""
    months = np.maximum(0.0, age) / MONTH
    match decay:
        case "exponential":
            return np.asarray(np.power(1.0 - rate_per_month, months), dtype=np.float64)
        case "linear":
            return np.maximum(0.0, 1.0 - rate_per_month * months)
        case "none":
            return np.ones_like(months)


def worth(
    stated: Floats,
    age: Floats,
    uses: Floats,
    superseded: Bools,
    *,
    decay: Decay,
    rate_per_month: Floats | float,
    boost_per_use: float,
    boost_cap: float,
    floor: float,
    ceiling: float,
) -> Worth:
    """Importance now.

    `stated` is 0 to 1 with NaN where it is missing, `age` seconds since the memory was recorded (0 where unknown),
    `rate_per_month` a share for all or one for each.
    """
    base = SCALE * np.where(np.isnan(stated), DEFAULT, stated)
    factor = decay_factor(age, decay, rate_per_month)
    boost = np.minimum(boost_per_use * uses, boost_cap)
    points = np.where(superseded, floor, np.clip(base * factor + boost, floor, ceiling))
    return Worth(stated=base, factor=factor, boost=boost, points=points)
