"""A conversation judged by a language model: a `Scorer` with 800 ms, after which the conservative policy holds."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from memrank.counters import Counter
from memrank.dialogue.elements import Element
from memrank.dialogue.judge import Judgement
from memrank.stages.judged import Summarized, Wanted
from memrank.stages.lm.decaying import LmDecay
from memrank.stages.lm.showing import fenced, names, shown_element
from memrank.stages.lm.summarizing import LmSummaries
from memrank.text.instructing import instructs

if TYPE_CHECKING:
    from memrank.remote import Reading, Remote

    Opens = Callable[[], Reading]

DEADLINE = 0.8
"""Seconds that a pruning may wait for a model."""
DECAY = {1: 0.15, 2: 0.5, 3: 0.8, 4: 0.95, 5: 1.0}
"""The decay of each class: the middle of its range."""
CORRECTED = 5


class LmScorer:
    """Judges every element by the model of a `Remote`; what the rules protect stays protected (see `prune`).

    An element whose text tries to instruct the judge is worth no more than the rules say. What the model finds
    corrected is replaced by the element that code finds to have done so, and dropped where it finds none.

    Raises ServiceError where the model is late, away, or its answer is wrong a second time.
    """

    def __init__(
        self, remote: "Remote", *, max_tokens: int, deadline: float = DEADLINE, opens: "Opens | None" = None
    ) -> None:
        """`opens` opens what a pruning may use of the model, where others share in it; see `shared`."""
        self._remote = remote
        self._max_tokens = max_tokens
        self._opens = opens or partial(remote.reading, deadline=deadline)
        self._judge = LmDecay()

    def __call__(self, elements: Sequence[Element], message: str, /) -> Judgement:
        """One judgement over all the elements, in their order."""
        last = max((element.turn for element in elements), default=0)
        called = names([element.id for element in elements])
        views = [
            shown_element(
                name,
                element.kind,
                element.content,
                None if element.at is None else element.at.isoformat(),
                last - element.turn,
            )
            for name, element in zip(called, elements, strict=True)
        ]
        reading = self._opens()
        found = self._judge(
            elements=views,
            message=fenced(message),
            max_tokens=self._max_tokens,
            batch=self._remote.spec.batch,
            reading=reading,
        )
        empty = (None,) * len(elements)
        return Judgement(
            decay=np.array([DECAY[one.decay_class] for one in found], dtype=np.float64),
            protection=empty,
            replaced_by=empty,
            topic_shift=False,
            rationale=tuple(f"the model says: {one.rationale}" for one in found),
            corrected=tuple(one.decay_class == CORRECTED for one in found),
            suspected=tuple(instructs(element.content) or instructs(element.kind) for element in elements),
        )


class LmSummarizer:
    """Writes summaries by the model of a `Remote`, each checked by code; see `LmSummaries`. It never raises for what a
    model does wrong: sentences of the element stand instead.
    """

    def __init__(self, remote: "Remote", *, deadline: float = DEADLINE, opens: "Opens | None" = None) -> None:
        """`opens` as for `LmScorer`."""
        self._opens = opens or partial(remote.reading, deadline=deadline)
        self._summaries = LmSummaries(remote.spec)

    def __call__(self, wanted: Mapping[int, Wanted], message: str, counter: Counter, /) -> Summarized:
        """Summaries by the places of the elements."""
        if not wanted:
            return Summarized()
        reading = self._opens()
        found: Summarized = self._summaries(wanted=wanted, query=fenced(message), count=counter, reading=reading).answer
        return found


def shared(remote: "Remote", deadline: float = DEADLINE) -> "Opens":
    """Opens one reading, once: a scorer and a summarizer that are given it share the time of one pruning."""
    return cache(lambda: remote.reading(deadline=deadline))
