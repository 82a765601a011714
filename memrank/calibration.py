"""The calibration of a spec as the map that it is."""

from memrank.score.calibration import Isotonic, Platt
from memrank.speccalibration import CalibrationSpec
from memrank.types import Floats


def calibration_of(section: CalibrationSpec) -> Isotonic | Platt:
    """The map from what a judge says to a probability. It never reverses an order."""
    if section.x is not None and section.y is not None:
        return Isotonic(x=section.x, y=section.y)
    return Platt(slope=section.slope or 1.0, intercept=section.intercept or 0.0)


def calibrated(section: CalibrationSpec | None, relevance: Floats) -> Floats:
    """Relevance, shape (n,), as a spec with this section has it; as it is without one."""
    return relevance if section is None else calibration_of(section).apply(relevance)
