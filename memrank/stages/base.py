"""What a stage is: a `dspy.Module` that maps a slate to a slate; its columns are declared in `chain`."""

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import dspy

from memrank.errors import scoring
from memrank.slate import Slate

Answer = TypeVar("Answer")


class Stage(dspy.Module):  # type: ignore[misc]
    """One step of the chain. `signature` states what goes in and comes out, in types that a language model could
    fill.
    """

    kind: ClassVar[str]
    signature: ClassVar[type[dspy.Signature]]

    @abstractmethod
    def forward(self, slate: Slate) -> Slate:
        """The slate with this stage's columns."""

    async def aforward(self, slate: Slate) -> Slate:
        """As `forward`; the embedded judges never wait, so there is nothing to await."""
        return type(self).forward(self, slate)  # by the class: dspy warns of `self.forward`


class EmbeddedPredict(dspy.Predict, Generic[Answer]):  # type: ignore[misc]
    """A `dspy.Predict` that code answers instead of a model, behind the signature that a model would be given.

    It is called with a slate and answers with arrays. Only while an optimizer collects traces are the typed inputs and
    outputs written out, so that they can serve as examples; a plain read does not pay for that.
    """

    @abstractmethod
    def judge(self, slate: Slate) -> Answer:
        """The answer, one value a candidate (or one for the query)."""

    @abstractmethod
    def inputs(self, slate: Slate) -> dict[str, Any]:
        """The signature's input fields for this slate."""

    @abstractmethod
    def outputs(self, slate: Slate, answer: Answer) -> dict[str, Any]:
        """The signature's output fields for this answer."""

    def forward(self, *, slate: Slate) -> dspy.Prediction:
        """A prediction whose `answer` holds the arrays."""
        answer = self.judge(slate)
        if dspy.settings.trace is None:
            return dspy.Prediction(answer=answer)
        typed = {name: [value] for name, value in self.outputs(slate, answer).items()}
        prediction = self._forward_postprocess(typed, self.signature, **self.inputs(slate))
        return dspy.Prediction(answer=answer, **prediction.toDict())

    async def aforward(self, *, slate: Slate) -> dspy.Prediction:
        """As `forward`."""
        return type(self).forward(self, slate=slate)


def asked(scorer: Any, slate: Slate) -> Any:
    """The answer of a stage's scorer. Raises ScorerError for what one that was plugged in raises on its own.

    What one of memrank's raises is a defect of memrank, and keeps its traceback.
    """
    if type(scorer).__module__.startswith("memrank."):
        return scorer(slate=slate).answer
    with scoring(scorer):
        return scorer(slate=slate).answer
