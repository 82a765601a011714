"""The section of the spec that names its golden set, and the gates that it must pass there."""

from typing import Self

from pydantic import Field, model_validator

from memrank.specbase import Section
from memrank.specvalues import METRIC, MetricKey


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


class EvaluateSpec(Section):
    evalset: str = Field(min_length=1)
    """The golden set's folder, relative to the spec."""
    gates: dict[MetricKey, GateSpec] = Field(
        default_factory=dict, json_schema_extra={"propertyNames": {"pattern": METRIC}}
    )
    """Metric to the bounds it must keep."""
