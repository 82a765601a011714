"""The section of the spec that says what compiling it tunes, towards what, and what that may cost."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from memrank.specbase import Section
from memrank.specvalues import METRIC, Count, Metric, MetricKey

Optimizer = Literal["weights", "labeled", "bootstrap", "random-search", "mipro", "gepa", "joint"]
FREE_GROUPS = ("composite", "half_life", "kernel", "thresholds", "fusion", "importance", "pruner", "judge")
"""Those of `parameters`, which brings numpy: checking a spec does without."""
DEFAULT_FREE = ("composite", "half_life", "thresholds", "fusion")
STAGES = ("prefilter", "temporal", "ranker", "pruner")
BY_METRIC: dict[str, JsonValue] = {"propertyNames": {"pattern": METRIC}}


def _free(name: str) -> str:
    stage, _, rest = name.partition(".")
    if name in FREE_GROUPS or (stage in STAGES and rest):
        return name
    raise ValueError(
        f"there is no such parameter; allowed: {', '.join(FREE_GROUPS)}, or a path such as ranker.weights.freshness"
    )


FreeName = Annotated[str, AfterValidator(_free)]
Weight = Annotated[float, Field(gt=0, le=1000)]


class ConstraintSpec(Section):
    min: float | None = None
    """The metric must not be below this."""
    max: float | None = None
    """The metric must not be above this."""

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("a constraint without a bound; allowed: min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("a constraint that nothing keeps; allowed: a min that is at most the max")
        return self


class CompileSpec(Section):
    objective: Metric | Annotated[dict[MetricKey, Weight], Field(min_length=1, json_schema_extra=BY_METRIC)] = "nDCG@10"
    """The metric that compiling raises, or several with their weights; of an error less is better."""
    constraints: dict[MetricKey, ConstraintSpec] = Field(default_factory=dict, json_schema_extra=BY_METRIC)
    """Metric to the bounds it must keep: settings that keep them come first, then the better objective."""
    optimizer: Optimizer = "weights"
    """What is tuned: numbers without a model, examples and instructions for one, or both in turn (`joint`)."""
    free: tuple[FreeName, ...] | dict[FreeName, tuple[float | str, ...] | None] = DEFAULT_FREE
    """Groups or paths of parameters; in an object with bounds (`[1d, 90d]`), names to choose from, or null."""
    evaluations: int = Field(default=6000, ge=10, le=1_000_000)
    """Settings that a search for weights tries at the most."""
    max_calls: Count = 1000
    """Calls of a model at the most; `weights` asks none."""
    seed: int = Field(default=20260320, ge=0)
    """The same seed gives the same artifact."""

    @property
    def weights(self) -> dict[str, float]:
        """Metric to its weight in the objective."""
        return {self.objective: 1.0} if isinstance(self.objective, str) else dict(self.objective)
