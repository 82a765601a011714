"""Supersession in the ranking: a replaced memory ranks strictly below the one that replaces it."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

DEMOTION = 0.5
"""Factor of a superseded memory whose successor leaves room; less where that would not put it below."""
TINY = 1e-9
"""A newer candidate that scores less than this lifts nothing: a factor could not bring it anywhere."""
STEP = 0.999
"""Keeps a superseded memory strictly below its successor, however close the two are."""


def factors(raw: Floats, successor: Rows) -> Floats:
    """What each composite is multiplied by, shape (n,), 1 where nothing supersedes it.

    `successor` is the candidate that supersedes each one, -1 for none. A chain a -> b -> c comes out in that order, c
    first. Memories that supersede each other in a circle are all only demoted by DEMOTION.
    """
    following, plain = successor.tolist(), raw.tolist()
    replaces: dict[int, list[int]] = {}
    for old, new in enumerate(following):
        if new >= 0:
            replaces.setdefault(new, []).append(old)
    factor = [1.0 if new < 0 else DEMOTION for new in following]
    # From the newest of each chain down; what no chain's end leads to stands in a circle or behind one.
    done = [i for i in replaces if following[i] < 0]
    while done:
        new = done.pop()
        ceiling = STEP * plain[new] * factor[new]
        for old in replaces.get(new, ()):
            if plain[old] > 0:
                factor[old] = min(DEMOTION, ceiling / plain[old])
            done.append(old)
    return np.array(factor, dtype=np.float64)


def swaps(score: Floats, newer: Rows) -> tuple[Floats, Rows, Floats]:
    """Factors that let each outdated candidate and the newer one change places, and give nothing else a new place.

    `newer` is the candidate that outdates each one, -1 for none. A newer candidate is lifted to the highest score
    that it outdates, and what it outdates is put just below it: if the judgement was wrong, one place is lost and
    no more. Returns the lift of each candidate (1: none), on whose account (-1: nobody's), and the factor that
    puts it below (1: none).
    """
    lift, demotion = np.ones_like(score), np.ones_like(score)
    by = np.full(len(score), -1, dtype=np.int64)
    olds = np.flatnonzero((newer >= 0) & (score[newer] > TINY))
    for old in olds:
        new = newer[old]
        if score[old] > score[new] * lift[new]:
            lift[new], by[new] = score[old] / score[new], old
    for old in olds:
        ceiling = STEP * score[newer[old]] * lift[newer[old]]
        if score[old] > ceiling:
            demotion[old] = ceiling / score[old]
    return lift, by, demotion
