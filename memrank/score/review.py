"""When a read needs a person's eyes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def review_reasons(
    scores: Floats,
    raw: Floats,
    outdated: Bools,
    *,
    top_score_below: float,
    ambiguity_margin: float,
    ambiguity_top: int,
    stale_score_above: float,
) -> tuple[str, ...]:
    """Names of the rules that apply, in a fixed order.

    `scores` are those of the results, best first, shape (k,). `raw` and `outdated` are over all n judged memories: the
    composite, and whether the memory is stale or superseded.
    """
    reasons = []
    if len(scores) and float(scores[0]) < top_score_below:
        reasons.append("low_top_score")
    first = scores[:ambiguity_top]
    if len(first) > 1 and float(np.min(first[:-1] - first[1:])) <= ambiguity_margin:
        reasons.append("ambiguous_top")
    if bool((outdated & (raw > stale_score_above)).any()):
        reasons.append("stale_but_high")
    return tuple(reasons)
