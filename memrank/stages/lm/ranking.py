"""Relevance as a language model has it: of all candidates (`lm`), or of the likeliest ones (`cascade`)."""

from collections.abc import Callable, Sequence
from typing import Any

import dspy
import numpy as np

from memrank.errors import LmBudget
from memrank.lmanswers import Judgement
from memrank.score.guard import must_be_checked
from memrank.score.positions import position_bias
from memrank.slate import JUDGES, Column, Slate
from memrank.speclm import LmSpec
from memrank.stages.judged import Judged
from memrank.stages.lm.asking import Answers, prepared
from memrank.stages.lm.demos import RANKING
from memrank.stages.lm.keeping import Keeper
from memrank.stages.lm.questions import Checks, Panel
from memrank.stages.lm.showing import names, shown, shown_query
from memrank.stages.lm.signatures import MemoryRanking
from memrank.tenant import Rows
from memrank.types import Floats, Note, Notes

First = Callable[[Slate], Floats]
"""Relevance by code, shape (n,)."""
Pick = Callable[[Slate, Floats], Rows]
"""Candidates that the model is asked about, given the embedded judge's relevance; the most urgent ones first."""


class LmRelevance(dspy.Module):  # type: ignore[misc]
    """Asks the model of the read about the candidates picked; the embedded judge speaks for all others.

    Bounded influence, in two ways. A memory whose text tries to instruct its judge (`text.instructing`) is shown
    without that part. And one that the model places above the embedded judge is asked about once more, for a question
    that it cannot answer (`text.decoys`): what is placed high there, too, is placed so for something else than its
    facts. Both are flagged `injection_suspected`, and their relevance is at most what the embedded judge finds in their
    words (`worded`), which attacks move by less than .05 (`tests/injection`). Who cannot be checked has the embedded
    judge's.
    A candidate without a valid judgement keeps the embedded judge's relevance, or 0 under `on_error: zero`, and is
    flagged `scoring_error`. Nothing but relevance and its justification is taken from the model.
    """

    def __init__(self, spec: LmSpec, embedded: First, worded: First, pick: Pick) -> None:
        super().__init__()
        self.predict = dspy.Predict(MemoryRanking)
        self.predict.demos = list(RANKING)
        self._spec = spec
        self._kept: Keeper[Judgement] = Keeper(spec, self.predict)
        self._embedded = embedded
        self._worded = worded
        self._pick = pick

    def forward(self, *, slate: Slate) -> dspy.Prediction:
        """A prediction whose `answer` is a `Judged`."""
        return dspy.Prediction(answer=self._judged(slate))

    async def aforward(self, *, slate: Slate) -> dspy.Prediction:
        """As `forward`."""
        return type(self).forward(self, slate=slate)

    def _judged(self, slate: Slate) -> Judged:
        if Column.SAID in slate.columns:
            return recorded(slate)
        first = self._embedded(slate)
        none = np.zeros(len(slate), dtype=np.bool_)
        if slate.reading is None:
            notes = Notes()
            notes.add("info", "ranker", "no_lm", "no model was asked: the embedded judge's relevance counts")
            return Judged(relevance=first, by_model=none, failed=none, suspected=none, notes=notes)
        picked = self._pick(slate, first)
        picked, beyond = np.split(picked, [prepared(self._spec)])
        called = names([slate.memory(int(k)).id for k in picked])
        place = dict(zip(called, picked.tolist(), strict=True))
        views = {name: shown(slate.memory(k), name) for name, k in place.items()}
        panel = Panel(predict=self.predict, reading=slate.reading, spec=self._spec, known=self._kept)
        query = shown_query(slate.query)
        asked = panel.judge([(query, called)], views)
        worded = self._worded(slate)
        relevance, by_model, failed, suspected = first.copy(), none.copy(), none.copy(), none.copy()
        said: dict[int, str] = {}
        rising: dict[str, float] = {}
        failed[beyond] = True
        relevance[beyond] = first[beyond] if self._spec.on_error == "embedded" else 0.0
        for name, k in place.items():
            suspected[k] = views[name].suspected
            found = asked.judged.get(name)
            if found is None:
                failed[k] = True
                relevance[k] = first[k] if self._spec.on_error == "embedded" else 0.0
                continue
            by_model[k] = True
            relevance[k] = min(found.relevance, float(worded[k])) if suspected[k] else found.relevance
            said[k] = found.justification
            if must_be_checked(float(relevance[k]), float(first[k])):
                rising[name] = found.relevance
        notes = told(asked.answers, "ranker", self._spec.on_error, int(suspected.sum()), len(beyond))
        checks = panel.check(rising, query, views)
        for name in (*checks.caught, *checks.unknown):
            k = place[name]
            relevance[k] = first[k]
            by_model[k] = False
            del said[k]
        for name in checks.caught:
            suspected[place[name]] = True
            relevance[place[name]] = worded[place[name]]
        notes.extend(doubted(checks))
        return Judged(
            relevance=relevance,
            by_model=by_model,
            failed=failed,
            suspected=suspected,
            justifications=said,
            notes=notes,
            figures={
                "sent": len(picked) + len(beyond) - asked.kept,
                "kept": asked.kept,
                "checked": len(rising) if self._spec.decoys else 0,
                "caught": len(checks.caught),
                "position_bias": _bias(asked.groups, place, asked.answers, first),
            },
        )


def recorded(slate: Slate) -> Judged:
    """What the model said when the read was recorded."""
    by = slate[Column.JUDGED_BY]
    return Judged(
        relevance=slate[Column.SAID],
        by_model=by == JUDGES.index("lm"),
        failed=by == JUDGES.index("failed"),
        suspected=slate[Column.SUSPECTED] > 0,
        justifications=slate.justifications,
    )


def told(answers: Answers[Any], stage: str, on_error: str, suspected: int = 0, beyond: int = 0) -> Notes:
    """A note of each kind of failure, of those `beyond` what the calls of a read reach for, of repairs, and of texts
    that tried to instruct.
    """
    notes = Notes()
    instead = "the embedded judge's word counts" if on_error == "embedded" else "they count as 0"
    for code in sorted(set(answers.failed.values())):
        count = sum(one == code for one in answers.failed.values())
        notes.add("failure", stage, code, f"{answers.details.get(code, code)}; {instead}", count)
    if beyond:
        spent = "the calls of this read are spent (raise lm.max_calls)"
        notes.add("failure", stage, LmBudget.code, f"{spent}; {instead}", beyond)
    for code, count in sorted(answers.repairs.items()):
        notes.add("repair", stage, f"lm_{code}", f"the model's answer was repaired: {code}", count)
    if suspected:
        text = "texts that try to instruct the judge were cut, and what they may gain is bounded"
        notes.add("info", stage, "injection_suspected", text, suspected)  # no repair: it must not stop --strict
    return notes


def doubted(checks: Checks) -> tuple[Note, ...]:
    """A note of memories that are placed high for anything, and of each reason why some could not be checked."""
    notes = Notes()
    if checks.caught:
        text = "memories that the model places high for a question they cannot answer, too; what they gain is bounded"
        notes.add("info", "ranker", "decoy_answered", text, len(checks.caught))
    left = len(checks.unknown)
    for answers in checks.answers:
        left -= len(answers.failed)
        for code in sorted(set(answers.failed.values())):
            count = sum(one == code for one in answers.failed.values())
            text = f"{answers.details.get(code, code)}; what the model says above the embedded judge was not checked"
            notes.add("failure", "ranker", code, f"{text} and does not count", count)
    if left:
        notes.add("info", "ranker", "no_decoy", "no decoy suits: the embedded judge's word counts", left)
    return notes.as_tuple()


def _bias(groups: Sequence[Sequence[str]], place: dict[str, int], answers: Answers[Judgement], first: Floats) -> float:
    """Position bias over all batches."""
    places: list[float] = []
    surplus: list[float] = []
    for group in groups:
        for i, name in enumerate(group):
            found = answers.accepted.get(name)
            if found is not None and len(group) > 1:
                places.append(i / (len(group) - 1))
                surplus.append(found.relevance - float(first[place[name]]))
    return position_bias(np.array(places, dtype=np.float64), np.array(surplus, dtype=np.float64))
