"""The embedded judge's model as a spec has it: the shipped one, with the coefficients that the spec names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memrank.score import relevance
from memrank.score.relevance import Model
from memrank.speccoefficients import CoefficientsSpec


def model_of(section: CoefficientsSpec | None) -> Model:
    """The model that judges under a spec with this section; the shipped one without it."""
    shipped = relevance.shipped()
    if section is None:
        return shipped
    return replace(
        shipped,
        order=_over(shipped.order, section.order),
        level=_over(shipped.level, section.level),
        intercept=shipped.intercept if section.intercept is None else section.intercept,
    )


def _over(shipped: Mapping[str, float], own: Mapping[Any, float]) -> dict[str, float]:
    return {**shipped, **own}
