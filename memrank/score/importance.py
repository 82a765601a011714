"""Importance over time, on the 1 to 10 scale inside and 0 to 1 outside.

clamp(base * decay(months) + boost, 1, 10) / 10, months of 30 days since the memory was recorded, boost = 0.5 a use
and 3 at most. Exponential decay is (1 - rate)^months, linear is max(0, 1 - rate * months).
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memrank.score.temporal import MONTH

Floats = NDArray[np.float64]

DEFAULT = 0.5
"""Stands in for importance that is not stated: 5 of 10."""
FLOOR, CEILING = 1.0, 10.0
BOOST_PER_USE, BOOST_CAP = 0.5, 3.0


def importance(
    stated: Floats,
    age: Floats,
    access_count: Floats,
    *,
    decay: Literal["exponential", "linear", "none"],
    rate_per_month: float,
    boost: bool,
) -> Floats:
    """Importance now, shape (n,), in [0.1, 1].

    `stated` is 0 to 1 with NaN where it is missing, `age` seconds since the memory was recorded (0 where unknown).
    """
    base = 10.0 * np.where(np.isnan(stated), DEFAULT, stated)
    months = np.maximum(0.0, age) / MONTH
    if decay == "exponential":
        base = base * np.power(1.0 - rate_per_month, months)
    elif decay == "linear":
        base = base * np.maximum(0.0, 1.0 - rate_per_month * months)
    gain = np.minimum(BOOST_PER_USE * access_count, BOOST_CAP) if boost else 0.0
    return np.clip(base + gain, FLOOR, CEILING) / 10.0
