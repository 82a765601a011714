"""Summaries of a conversation that somebody else writes: they stand where they hold and where there is room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from memrank.counters import Counter
from memrank.dialogue.elements import Element
from memrank.dialogue.plan import room_of
from memrank.errors import UsageError, scoring
from memrank.score import pack
from memrank.slate import JUDGES
from memrank.stages.judged import Summarized, Wanted
from memrank.types import Floats, Notes


class Summarizer(Protocol):
    """Writes summaries: a model, say, in the place of sentences of the elements."""

    def __call__(self, wanted: Mapping[int, Wanted], message: str, counter: Counter, /) -> Summarized:
        """Summaries of some elements, by their places, each with at most the tokens that it may have.

        An element that is in `failed`, or that nothing is said of, keeps its sentences.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Summaries:
    """What stands for the elements that are summarized, by their places."""

    texts: Mapping[int, str]
    tokens: Floats
    """(n,), of all elements: of the summary where there is one."""
    by: Mapping[int, str]
    """Whose words each is: one of JUDGES; empty where nobody else may write them."""


def rewritten(
    elements: Sequence[Element],
    extracts: Summaries,
    full: Floats,
    decay: Floats,
    room: float,
    message: str,
    counter: Counter,
    summarizer: Summarizer,
    notes: Notes,
) -> Summaries:
    """The summaries with what a summarizer writes; `room` tokens are left for longer ones, the least decayed first.

    Raises UsageError for a summary that is none, or too long; ScorerError where the summarizer raises what is no error
    of memrank's.
    """
    order = sorted(extracts.texts, key=lambda i: (decay[i], i))
    wanted = {
        i: Wanted(content=elements[i].content, extract=extracts.texts[i], most=room_of(float(full[i]))) for i in order
    }
    with scoring(summarizer):
        found = summarizer(wanted, message, counter)
    if not isinstance(found, Summarized):
        raise UsageError(f"the summarizer answered with a {type(found).__name__}; it must be a Summarized")
    new = [i for i in order if i in found.texts]
    if not all(isinstance(found.texts[i], str) for i in new):
        raise UsageError("the summarizer gave a summary that is no text")
    lengths = np.array([counter(found.texts[i]) for i in new], dtype=np.float64)
    if any(not found.texts[i].strip() or lengths[j] > wanted[i].most for j, i in enumerate(new)):
        raise UsageError("the summarizer gave an empty summary, or one that is longer than it may be")
    fits = pack.affordable(extracts.tokens[new], lengths, room)
    texts, tokens = dict(extracts.texts), extracts.tokens.copy()
    by = {i: JUDGES[2 if i in found.failed else 0] for i in order}
    for i, length, fit in zip(new, lengths.tolist(), fits.tolist(), strict=True):
        if fit:
            texts[i], tokens[i], by[i] = found.texts[i], length, JUDGES[1]
    for note in found.notes.as_tuple():
        notes.add(note.level, "conversation", note.code, note.detail, note.count)
    return Summaries(texts=texts, tokens=tokens, by=by)
