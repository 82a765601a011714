"""Which candidates a second judge may look at: those whose place the first one leaves open."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

HEAD = 10
"""Places of the head of a list that is not cut: where order matters most."""


def open_cases(
    raw: Floats,
    relevance: Floats,
    alive: Bools,
    *,
    cut: int | None,
    threshold: float,
    margin: float,
    most: int,
) -> NDArray[np.int64]:
    """Candidates that a second judge should see, most open first, at most `most` of them; ties by place.

    `raw` is the composite, shape (n,), `relevance` the first judge's; `alive` says who can be returned at all. Open is
    who stands within `margin` of the cut after the first `cut` places (HEAD where nothing cuts), within `margin` of
    `threshold` where there is one, or in the head with a neighbour within `margin`. A candidate is the more open the
    less its score would have to move.
    """
    places = np.flatnonzero(alive)
    if not len(places) or most < 1:
        return np.empty(0, dtype=np.int64)
    ranked = places[np.argsort(-raw[places], kind="stable")]
    values = raw[ranked]
    k = min(cut if cut is not None else HEAD, len(ranked))
    # The cut lies between the last place inside and the first one outside.
    edge = values[k - 1] if k == len(ranked) else (values[k - 1] + values[k]) / 2
    gap = np.abs(values - edge) if k < len(ranked) else np.full(len(ranked), np.inf)
    if threshold > 0:
        gap = np.minimum(gap, np.abs(relevance[ranked] - threshold))
    inside = values[:k]
    steps = np.abs(np.diff(inside))
    beside = np.full(k, np.inf)
    beside[:-1] = np.minimum(beside[:-1], steps)
    beside[1:] = np.minimum(beside[1:], steps)
    gap[:k] = np.minimum(gap[:k], beside)
    within = np.flatnonzero(gap <= margin)
    chosen = within[np.argsort(gap[within], kind="stable")][:most]
    return ranked[chosen].astype(np.int64)
