"""What of a spec may be tuned; it stands below the tuner, in `memrank.parameters`, where artifacts are read."""

from memrank.parameters import (
    DEFAULT_FREE,
    DIGITS,
    GROUPS,
    Number,
    Parameter,
    parameters,
    rounded,
    stage_of,
    values_of,
    weights_of,
    with_values,
)

__all__ = [
    "DEFAULT_FREE",
    "DIGITS",
    "GROUPS",
    "Number",
    "Parameter",
    "parameters",
    "rounded",
    "stage_of",
    "values_of",
    "weights_of",
    "with_values",
]
