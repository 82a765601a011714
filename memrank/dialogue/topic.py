"""Whether the message that has just arrived starts another topic than that of the last turns."""

from collections.abc import Sequence

import numpy as np

from memrank.dialogue.elements import Element
from memrank.dialogue.relations import Relations
from memrank.indexing import Analyzer
from memrank.text.acts import asks, requests
from memrank.text.asides import sets_apart, stands_alone
from memrank.text.talk import ends_in_question
from memrank.types import Floats

UNLIKE = 0.15
"""Meaning and words that a message shares with the last turns, at most, when it starts another topic unannounced."""
ANNOUNCED = 0.3
"""The same, when it says itself that it turns to something else."""
TELLING = 2
"""Words with a meaning of their own that a message must have to start a topic unannounced."""


def shifted(elements: Sequence[Element], related: Relations, message: str, analyzer: Analyzer) -> bool:
    """Whether a message says that it turns to something else, or can stand alone and shares next to nothing with the
    last two turns. What points back ("is that all?"), goes on ("and in March?") or replies to a question does not.
    """
    n = len(elements)
    if not n or not message.strip():
        return False
    recent = [i for i in range(n) if elements[i].turn >= elements[-1].turn - 1]
    same = max(max(float(related.held[n, i]), float(related.held[i, n]), float(related.cosine[i, n])) for i in recent)
    if sets_apart(message):
        return same < ANNOUNCED
    replies = ends_in_question(elements[-1].content) and not asks(message) and not requests(message)
    telling = len(set(analyzer.analyse([message], remember=True)[0].terms))
    return same < UNLIKE and not replies and telling >= TELLING and stands_alone(message)


def off_topic(elements: Sequence[Element], related: Relations) -> Floats:
    """How little each element has to do with the message, in [0, 1]."""
    n = len(elements)
    close = np.maximum(related.held[:n, n], related.cosine[:n, n])
    return np.clip(1.0 - close / ANNOUNCED, 0.0, 1.0)
