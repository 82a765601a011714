"""A conversation judged by a language model: a `Scorer` with 800 ms, after which the conservative policy holds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memrank.dialogue.elements import Element
from memrank.dialogue.judge import Judgement
from memrank.stages.lm.decaying import LmDecay
from memrank.stages.lm.showing import fenced, names, shown_element

if TYPE_CHECKING:
    from memrank.remote import Remote

DEADLINE = 0.8
"""Seconds that a pruning may wait for a model."""
DECAY = {1: 0.15, 2: 0.5, 3: 0.8, 4: 0.95, 5: 1.0}
"""The decay of each class: the middle of its range."""


class LmScorer:
    """Judges every element by the model of a `Remote`; what the rules protect stays protected (see `prune`).

    Raises ServiceError where the model is late, away, or its answer is wrong a second time.
    """

    def __init__(self, remote: "Remote", *, max_tokens: int, deadline: float = DEADLINE) -> None:
        self._remote = remote
        self._max_tokens = max_tokens
        self._deadline = deadline
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
        reading = self._remote.reading(deadline=self._deadline)
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
        )
