"""Relevance as a language model has it: of all candidates (`lm`), or of those whose place is open (`cascade`)."""

from collections.abc import Callable
from typing import Any

import dspy
import numpy as np

from memrank.lmanswers import Judgement, judgement
from memrank.score.positions import position_bias
from memrank.slate import JUDGES, Column, Slate
from memrank.speclm import LmSpec
from memrank.stages.judged import Judged
from memrank.stages.lm.asking import Answers, ask, batches
from memrank.stages.lm.demos import RANKING
from memrank.stages.lm.keeping import Keeper
from memrank.stages.lm.showing import names, shown, shown_query
from memrank.stages.lm.signatures import MemoryRanking
from memrank.tenant import Rows
from memrank.types import Floats, Notes

Pick = Callable[[Slate, Floats], Rows]
"""Candidates that the model is asked about, given the embedded judge's relevance; the most urgent ones first."""


class LmRelevance(dspy.Module):  # type: ignore[misc]
    """Asks the model of the read about the candidates picked; the embedded judge speaks for all others.

    Bounded influence: a memory whose text tries to instruct its judge (`text.instructing`) is shown without that part,
    is flagged `injection_suspected`, and its relevance is at most the embedded judge's, which the words of an attack
    move by less than .05 (`tests/injection`): no room is left above it.
    A candidate without a valid judgement keeps the embedded judge's relevance, or 0 under `on_error: zero`, and is
    flagged `scoring_error`. Nothing but relevance and its justification is taken from the model.
    """

    def __init__(self, spec: LmSpec, embedded: Callable[[Slate], Floats], pick: Pick) -> None:
        super().__init__()
        self.predict = dspy.Predict(MemoryRanking)
        self.predict.demos = list(RANKING)
        self._spec = spec
        self._kept: Keeper[Judgement] = Keeper(spec, self.predict)
        self._embedded = embedded
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
        called = names([slate.memory(int(k)).id for k in picked])
        place = dict(zip(called, picked.tolist(), strict=True))
        views = {name: shown(slate.memory(k), name) for name, k in place.items()}
        query = shown_query(slate.query)
        keys, kept = self._kept.found(query, {name: one.view for name, one in views.items()})
        groups = batches([name for name in called if name not in kept], self._spec.batch, slate.query.text)

        def inputs(ids: Any, faults: Any) -> dict[str, Any]:
            return {"query": query, "memories": [views[one].view for one in ids], "faults": list(faults)}

        answers: Answers[Judgement] = ask(self.predict, slate.reading, groups, inputs, "judgements", judgement)
        self._kept.keep(keys, answers.accepted)
        judged = {**kept, **answers.accepted}
        relevance, by_model, failed, suspected = first.copy(), none.copy(), none.copy(), none.copy()
        said: dict[int, str] = {}
        for name, k in place.items():
            suspected[k] = views[name].suspected
            found = judged.get(name)
            if found is None:
                failed[k] = True
                relevance[k] = first[k] if self._spec.on_error == "embedded" else 0.0
                continue
            by_model[k] = True
            most = float(first[k]) if suspected[k] else 1.0
            relevance[k] = min(found.relevance, most)
            said[k] = found.justification
        return Judged(
            relevance=relevance,
            by_model=by_model,
            failed=failed,
            suspected=suspected,
            justifications=said,
            notes=told(answers, "ranker", self._spec.on_error, int(suspected.sum())),
            figures={
                "sent": len(picked) - len(kept),
                "kept": len(kept),
                "position_bias": _bias(groups, place, answers, first),
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


def told(answers: Answers[Any], stage: str, on_error: str, suspected: int = 0) -> Notes:
    """A note of each kind of failure, of repairs, and of texts that tried to instruct."""
    notes = Notes()
    instead = "the embedded judge's word counts" if on_error == "embedded" else "they count as 0"
    for code in sorted(set(answers.failed.values())):
        count = sum(one == code for one in answers.failed.values())
        notes.add("failure", stage, code, f"{answers.details.get(code, code)}; {instead}", count)
    for code, count in sorted(answers.repairs.items()):
        notes.add("repair", stage, f"lm_{code}", f"the model's answer was repaired: {code}", count)
    if suspected:
        text = "texts that try to instruct the judge were cut, and what they may gain is bounded"
        notes.add("info", stage, "injection_suspected", text, suspected)  # no repair: it must not stop --strict
    return notes


def _bias(groups: list[list[str]], place: dict[str, int], answers: Answers[Judgement], first: Floats) -> float:
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
