"""Whether a judge favours places: how what it says goes with where a candidate stood in the prompt."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def position_bias(places: Floats, surplus: Floats) -> float:
    """Correlation of a candidate's place (0 first to 1 last) with how far it was judged above another judge, -1 to 1.

    Near 0 for a judge to whom order means nothing; negative where the first ones gain. 0.0 where either does not vary.
    """
    if len(places) < 2:
        return 0.0
    x, y = places - places.mean(), surplus - surplus.mean()
    spread = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float(np.clip((x * y).sum() / spread, -1.0, 1.0)) if spread > 1e-12 else 0.0
