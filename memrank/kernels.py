"""Decay curves by their half-life; they stand below the tuner in `memrank.halflives`."""

from memrank.halflives import (
    BETA,
    KERNELS,
    POWER,
    SMOOTH,
    field_factor,
    half_lives,
    named_half_lives,
    temporal_fields,
)

__all__ = ["BETA", "KERNELS", "POWER", "SMOOTH", "field_factor", "half_lives", "named_half_lives", "temporal_fields"]
