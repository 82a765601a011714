"""The section of the spec that gives the embedded judge coefficients of its own, in place of the shipped ones."""

from typing import Annotated, Literal

from pydantic import Field

from memrank.specbase import Section

OrderFeature = (
    Literal["bm25_z", "bm25_few", "dense_z", "overlap", "soft", "soft_z", "phrases", "answers_number", "named"]
    | Literal["before", "after", "before_last", "numbers", "other_numbers", "years"]
)
"""Those of `score.relevance.ORDER`, which brings numpy: checking a spec does without."""
LevelFeature = (
    Literal["order", "log_rank", "top_soft", "top_overlap", "top_dense", "top_named"]
    | Literal["log_pool", "weak_few", "unnamed"]
)
"""Those of `score.relevance.LEVEL`."""
Coefficient = Annotated[float, Field(ge=-1000, le=1000)]


class CoefficientsSpec(Section):
    """What is not named stays as it is shipped."""

    order: dict[OrderFeature, Coefficient] = Field(default_factory=dict)
    """What each sign of a match counts in the order of the candidates."""
    level: dict[LevelFeature, Coefficient] = Field(default_factory=dict)
    """How likely the best ones are to help, and how that falls with their place."""
    intercept: Coefficient | None = None
    """The log odds before any of it."""
