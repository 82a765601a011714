"""Which candidates a second judge is asked about: the likeliest of those that can come to stand above the cut.

Measured by `benchmarks/cascade.py`. Whoever is sure of the top must be asked about, too: where the second judge lowers
or raises only some of the first ones, the words of two judges are mixed where order matters most, and the list is worse
than either's. So the likeliest are asked about without a gap, and all others stay below them unless they are lowered.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HEAD = 10
"""Places of the head of a list that is not cut: where order matters most."""


def open_cases(raw: Floats, relevance: Floats, *, cut: int | None, margin: float, most: int) -> NDArray[np.int64]:
    """Candidates that a second judge should see, the likeliest first, at most `most` of them; ties by place.

    `raw` is the composite, shape (n,), `relevance` the first judge's, of candidates that can be returned at all. Open
    is who stands among the first `cut` by the composite (HEAD where nothing cuts), or at most `margin` below them.
    """
    if not len(raw) or most < 1:
        return np.empty(0, dtype=np.int64)
    k = min(cut if cut is not None else HEAD, len(raw))
    last_inside = np.sort(raw)[-k]
    likeliest: NDArray[np.int64] = np.argsort(-relevance, kind="stable").astype(np.int64)
    found: NDArray[np.int64] = likeliest[raw[likeliest] >= last_inside - margin][:most]
    return found
