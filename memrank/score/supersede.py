"""Explicit supersession: a replaced memory ranks strictly below the one that replaces it."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

DEMOTION = 0.5
"""Factor of a superseded memory whose successor leaves room; less where that would not put it below."""
STEP = 0.999
"""Keeps a superseded memory strictly below its successor, however close the two are."""


def factors(raw: Floats, successor: Rows) -> Floats:
    """What each composite is multiplied by, shape (n,), 1 where nothing supersedes it.

    `successor` is the candidate that supersedes each one, -1 for none. A chain a -> b -> c comes out in that order, c
    first. Memories that supersede each other in a circle are all only demoted by DEMOTION.
    """
    factor = np.ones_like(raw)
    done = successor < 0
    pending = list(np.flatnonzero(~done))
    while pending:
        ready = [i for i in pending if done[successor[i]]]
        if not ready:
            factor[pending] = DEMOTION
            break
        for i in ready:
            ceiling = STEP * raw[successor[i]] * factor[successor[i]]
            factor[i] = DEMOTION if raw[i] <= 0 else min(DEMOTION, ceiling / raw[i])
        done[ready] = True
        pending = [i for i in pending if not done[i]]
    return factor
