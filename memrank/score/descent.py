"""The minimum of a smooth convex function within bounds, by accelerated projected gradients; numpy alone."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Loss = Callable[[Floats], tuple[float, Floats]]
"""Value and gradient at a point of shape (n,)."""

STEPS = 5_000
ENOUGH = 1e-10
"""Change of the point, relative to its size, at which it counts as found."""


def minimum(loss: Loss, start: Floats, low: Floats, high: Floats, *, steps: int = STEPS) -> Floats:
    """The point in [low, high], shape (n,), from `start` on (Beck and Teboulle 2009, with backtracking and restarts).

    No number is drawn: the same call gives the same point. For a strictly convex loss it is the one minimum.
    """
    point = np.clip(start, low, high)
    ahead, momentum, curve = point, 1.0, 1.0
    value, _ = loss(point)
    for _ in range(steps):
        at, slope = loss(ahead)
        while True:
            moved = np.clip(ahead - slope / curve, low, high)
            away = moved - ahead
            found, _ = loss(moved)
            if found <= at + slope @ away + 0.5 * curve * (away @ away) + 1e-15 * abs(at) or curve > 1e15:
                break
            curve *= 2.0
        if found > value and momentum > 1.0:  # the momentum has carried it too far
            ahead, momentum = point, 1.0
            continue
        step = moved - point
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = moved + (momentum - 1.0) / following * step
        point, momentum, value = moved, float(following), found
        if np.abs(step).max(initial=0.0) <= ENOUGH * (1.0 + np.abs(point).max(initial=0.0)):
            break
        curve *= 0.95
    return point
