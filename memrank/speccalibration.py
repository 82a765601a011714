"""The section of the spec that makes a judge's relevance a probability on the user's own data."""

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, model_validator

from memrank.specbase import Section
from memrank.specvalues import Share

METHOD_FIELDS: dict[str, frozenset[str]] = {
    "isotonic": frozenset({"x", "y"}),
    "platt": frozenset({"slope", "intercept"}),
}


class CalibrationSpec(Section):
    method: Literal["isotonic", "platt"]
    """`isotonic` goes through knots; `platt` is a straight line between the log odds."""
    slope: float | None = Field(default=None, gt=0, le=1000)
    """platt: what the log odds of the relevance are multiplied by."""
    intercept: float | None = Field(default=None, ge=-1000, le=1000)
    """platt: what is added to them."""
    x: tuple[Share, ...] | None = Field(default=None, min_length=2, max_length=10_000)
    """isotonic: the judge's relevance at each knot, rising from 0 to 1."""
    y: tuple[Share, ...] | None = Field(default=None, min_length=2, max_length=10_000)
    """isotonic: the relevance that takes its place; never falls."""

    @model_validator(mode="after")
    def _method_has_its_numbers(self) -> Self:
        wanted = METHOD_FIELDS[self.method]
        given = {name for names in METHOD_FIELDS.values() for name in names if getattr(self, name) is not None}
        if given != wanted:
            raise ValueError(
                f"calibration by {self.method} needs other numbers; allowed: {' and '.join(sorted(wanted))}"
            )
        if self.x is not None and self.y is not None:
            _check_knots(self.x, self.y)
        return self


def _check_knots(x: tuple[float, ...], y: tuple[float, ...]) -> None:
    if len(x) != len(y):
        raise ValueError(f"calibration has {len(x)} x and {len(y)} y; allowed: as many of both")
    if x[0] != 0 or x[-1] != 1 or any(b <= a for a, b in pairwise(x)):
        raise ValueError("the x of calibration do not rise from 0 to 1; allowed: each above the one before")
    if any(b < a for a, b in pairwise(y)):
        raise ValueError("the y of calibration fall; allowed: each at least the one before")
