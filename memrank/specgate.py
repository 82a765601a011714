"""The section of the spec that bounds a metric."""

from typing import Self

from pydantic import model_validator

from memrank.specbase import Section


class GateSpec(Section):
    min: float | None = None
    """The metric must not be below this."""
    max: float | None = None
    """The metric must not be above this."""

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("a gate without a bound; allowed: min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("a gate that nothing passes; allowed: a min that is at most the max")
        return self
