"""The section of the spec that says which candidates a cascade asks its language model about."""

from memrank.specbase import Section
from memrank.specvalues import Share


class CascadeSpec(Section):
    """Asked about are the likeliest of the candidates above the cut (`top_k`, else 10) or not far below it."""

    margin: Share = 0.15
    """How far below the cut a score may lie."""
    share: Share = 0.2
    """Share of the candidates that the model is asked about, at the most; rounded up to a whole candidate."""
