"""Whether two memories contradict each other, as a language model has it: a second look at pairs that rules propose."""

from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from memrank.lmanswers import Repairs, choice, share, text
from memrank.slate import Reading
from memrank.stages.lm.asking import Answer, ask_each
from memrank.stages.lm.demos import VERDICTS
from memrank.stages.lm.showing import fenced
from memrank.stages.lm.signatures import ContradictionVerdict, StatementView
from memrank.types import Memory

RELATIONS = ("supersedes", "agrees", "unrelated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the newer of two memories is to the older."""

    relation: str
    """`supersedes`, `agrees` or `unrelated`."""
    confidence: float
    """In [0, 1]."""
    rationale: str


class LmVerdicts(dspy.Module):  # type: ignore[misc]
    """Asks about pairs, one call each."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict(ContradictionVerdict)
        self.predict.demos = list(VERDICTS)

    def forward(self, *, pairs: Sequence[tuple[Memory, Memory]], reading: Reading) -> list[Answer[Verdict]]:
        """The verdict on each (older, newer), in their order; a code and a sentence where there is none."""
        questions = [{"older": _statement(older), "newer": _statement(newer)} for older, newer in pairs]
        return ask_each(self.predict, reading, questions, _verdict)


def _statement(memory: Memory) -> StatementView:
    moment = memory.event_date or memory.created_at
    return StatementView(content=fenced(memory.content), date=moment.text if moment else None)


def _verdict(prediction: dspy.Prediction) -> Verdict:
    """Raises AnswerError."""
    repairs = Repairs()
    return Verdict(
        relation=choice(prediction.relation, "relation", RELATIONS, repairs),
        confidence=share(prediction.confidence, "confidence", repairs),
        rationale=text(prediction.rationale, "rationale", repairs),
    )
