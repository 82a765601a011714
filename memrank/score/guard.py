"""What a memory may gain by a model's word: nothing, where the model places it high for what it cannot answer, too.

Nothing is recognised here: an order to the judge, in whatever words, works for any question, and a fact does not.
"""

FREE = 0.05
"""How far a model may place a memory above the first judge without being checked."""
NOISE = 0.3
"""Up to here a relevance for a foreign question is noise, or shared words."""
SHARE = 0.5
"""And up to this share of the relevance for the true one."""


def must_be_checked(said: float, first: float) -> bool:
    """Whether a model places a memory so far above the first judge that its word must be checked."""
    return said > first + FREE


def innocent(said: float, foreign: float) -> bool:
    """Whether the relevance for the true question goes beyond what the memory is given for a foreign one."""
    return foreign <= NOISE and foreign <= SHARE * said
