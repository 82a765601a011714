"""What the elements of a context are still worth, as a language model has it: all of them, or an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dspy

from memrank.errors import (
    LmBroken,
    LmBudget,
    LmError,
    LmLimited,
    LmRefused,
    LmServerError,
    LmTimeout,
    LmUnreachable,
)
from memrank.lmanswers import AnswerError, Repairs, choice, text, whole
from memrank.slate import ACTIONS, Reading
from memrank.stages.lm.asking import ask
from memrank.stages.lm.demos import DECAY
from memrank.stages.lm.signatures import ContextDecay, ElementView

FITTING = {1: ("keep_full",), 2: ("keep_full",), 3: ("summarize",), 4: ("drop",), 5: ("overwrite", "drop")}
"""The actions that go with each class."""

ERRORS: Mapping[str, type[LmError]] = {
    "lm_deadline": LmTimeout,
    "lm_invalid": LmBroken,
    **{one.code: one for one in (LmTimeout, LmUnreachable, LmRefused, LmLimited, LmServerError, LmBudget, LmBroken)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """One element's class, from 1 critical to 5 corrected, and why."""

    decay_class: int
    rationale: str


class LmDecay(dspy.Module):  # type: ignore[misc]
    """Asks about all elements, in batches that keep their order: what came later may correct what came before."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict(ContextDecay)
        self.predict.demos = list(DECAY)

    def forward(
        self, *, elements: Sequence[ElementView], message: str, max_tokens: int, batch: int, reading: Reading
    ) -> list[Worth]:
        """The worth of every element, in their order.

        Raises LmError where an element has no valid answer, or not in time: half a judgement is none.
        """
        views = {element.id: element for element in elements}
        ids = list(views)
        groups = [ids[start : start + batch] for start in range(0, len(ids), batch)]

        def inputs(wanted: Sequence[str], faults: Sequence[str]) -> dict[str, object]:
            shown = [views[one] for one in wanted]
            return {"message": message, "elements": shown, "max_tokens": max_tokens, "faults": list(faults)}

        answers = ask(self.predict, reading, groups, inputs, "decisions", worth)
        for code in answers.failed.values():
            raise ERRORS.get(code, LmError)(answers.details[code])
        return [answers.accepted[one] for one in ids]


def worth(fields: Mapping[str, object], repairs: Repairs) -> Worth:
    """The class of one element. Raises AnswerError, also for an action that does not go with its class."""
    level = whole(fields.get("decay_class"), "decay_class", 1, 5, repairs)
    action = choice(fields.get("action"), "action", ACTIONS, repairs)
    if action not in FITTING[level]:
        raise AnswerError(f"class {level} does not go with {action}; it must be {' or '.join(FITTING[level])}")
    return Worth(decay_class=level, rationale=text(fields.get("rationale"), "rationale", repairs))
