"""The embedded judge's model as a spec has it: the shipped one, with the coefficients that the spec names."""

from dataclasses import replace

from memrank.score import relevance
from memrank.score.relevance import Model
from memrank.speccoefficients import CoefficientsSpec


def model_of(section: CoefficientsSpec | None) -> Model:
    """The model that judges under a spec with this section; the shipped one without it."""
    shipped = relevance.shipped()
    if section is None:
        return shipped
    order = {str(name): value for name, value in section.order.items()}
    level = {str(name): value for name, value in section.level.items()}
    return replace(
        shipped,
        order={**shipped.order, **order},
        level={**shipped.level, **level},
        intercept=shipped.intercept if section.intercept is None else section.intercept,
    )
