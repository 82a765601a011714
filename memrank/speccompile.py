"""The section of the spec that says what compiling raises, what it must keep, and what it may change."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from memrank.specbase import Section
from memrank.specvalues import METRIC, Metric, MetricKey

Weight = Annotated[float, Field(gt=0, le=1000)]
Free = list[str] | dict[str, list[float | str]]


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


class CompileSpec(Section):
    objective: Metric | dict[MetricKey, Weight] = "nDCG@10"
    """The metric that compiling raises, or several with their weights; where less is better, it is lowered."""
    constraints: dict[MetricKey, GateSpec] = Field(
        default_factory=dict, json_schema_extra={"propertyNames": {"pattern": METRIC}}
    )
    """Metric to the bounds that it must keep: first comes what keeps them, then what is best."""
    optimizer: Literal["weights"] = "weights"
    """What is tuned: numbers of the spec and the judge's coefficients, without any model."""
    free: Free | None = None
    """What may change: composite, half_life, kernel, thresholds, fusion, importance, judge, or paths; with bounds."""
    evaluations: int = Field(default=6000, ge=100, le=1_000_000)
    """Settings that are tried at the most."""
    seed: int = Field(default=0, ge=0, le=2**31)
    """Seed of the search and of the intervals."""


def planned(values: Mapping[str, Any]) -> CompileSpec:
    """The section with these values. Raises ValueError that names the first one that is wrong."""
    try:
        return CompileSpec.model_validate(dict(values))
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'][:1]))}: {first['msg']}") from None
