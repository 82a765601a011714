"""How well the time of each candidate suits the query, as a language model has it; code's number bounds its word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dspy
import numpy as np
from pydantic import BaseModel

from memrank.lmanswers import Repairs, share, text
from memrank.slate import JUDGES, Column, Slate
from memrank.speclm import LmSpec
from memrank.stages.judged import Timed
from memrank.stages.lm.asking import ask, batches, prepared
from memrank.stages.lm.demos import FRESHNESS
from memrank.stages.lm.keeping import Keeper
from memrank.stages.lm.ranking import told
from memrank.stages.lm.showing import names, shown, shown_query
from memrank.stages.lm.signatures import PassageFreshness, PeriodView
from memrank.stages.views import QueryView
from memrank.tenant import Rows
from memrank.types import Notes, TimeOfQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Suits:
    """How well the time of one passage suits the query."""

    freshness: float
    """In [0, 1]."""
    rationale: str


class LmFreshness(dspy.Module):  # type: ignore[misc]
    """Asks about the candidates whose freshness is no matter of rules alone: dated ones, not beyond the cut-off.

    The slate has freshness as code computes it (`recency`) and the relation of the query to time. What comes back is
    the model's bare word: how far it may move the number is not its business. Where it says nothing, code's number
    stands, also under `on_error: zero`: it is exact.
    """

    def __init__(self, spec: LmSpec) -> None:
        super().__init__()
        self.predict = dspy.Predict(PassageFreshness)
        self.predict.demos = list(FRESHNESS)
        self._spec = spec
        self._kept: Keeper[Suits] = Keeper(spec, self.predict)

    def forward(self, *, slate: Slate) -> dspy.Prediction:
        """A prediction whose `answer` is a `Timed`."""
        return dspy.Prediction(answer=self._judged(slate))

    async def aforward(self, *, slate: Slate) -> dspy.Prediction:
        """As `forward`."""
        return type(self).forward(self, slate=slate)

    def _judged(self, slate: Slate) -> Timed:
        n = len(slate)
        if Column.TIME_SAID in slate.columns:
            return _recorded(slate)
        by_model, failed, suspected = (np.zeros(n, dtype=np.bool_) for _ in range(3))
        said = np.zeros(n)
        if slate.reading is None:
            notes = Notes()
            notes.add("info", "temporal", "no_lm", "no model was asked: freshness is as code computes it")
            return Timed(said=said, by_model=by_model, failed=failed, suspected=suspected, notes=notes)
        picked, beyond = np.split(_open(slate), [prepared(self._spec)])
        called = names([slate.memory(int(k)).id for k in picked])
        place = dict(zip(called, picked.tolist(), strict=True))
        views = {}
        for name, k in place.items():
            one = shown(slate.memory(k), name)
            date = datetime.fromtimestamp(float(slate[Column.WHEN][k]), UTC).isoformat(timespec="seconds")
            views[name] = one.view.model_copy(update={"date": date})
            suspected[k] = one.suspected
        query, period = shown_query(slate.query), _period(slate.time)
        context = _Context(query=query, sensitivity=slate.time.sensitivity.value, period=period)
        keys, kept = self._kept.found(context, views)
        groups = batches([name for name in called if name not in kept], self._spec.batch, slate.query.text)

        def inputs(ids: Sequence[str], faults: Sequence[str]) -> dict[str, object]:
            shown_now = [views[one] for one in ids]
            return {**dict(context), "passages": shown_now, "faults": list(faults)}

        answers = ask(self.predict, slate.reading, groups, inputs, "judgements", suits)
        self._kept.keep(keys, answers.accepted)
        judged = {**kept, **answers.accepted}
        for name, k in place.items():
            found = judged.get(name)
            by_model[k], failed[k] = found is not None, found is None
            said[k] = 0.0 if found is None else found.freshness
        failed[beyond] = True
        gap = np.abs(said - slate[Column.RECENCY])[by_model]
        return Timed(
            said=said,
            by_model=by_model,
            failed=failed,
            suspected=suspected,
            notes=told(answers, "temporal", "embedded", int(suspected.sum()), len(beyond)),
            figures={
                "time_sent": len(picked) + len(beyond) - len(kept),
                "time_kept": len(kept),
                "freshness_gap": float(gap.mean()) if len(gap) else 0.0,
            },
        )


def _recorded(slate: Slate) -> Timed:
    """What the model said then. Who is suspected is read anew: the record tells also of whom others suspected later."""
    by, suspected = slate[Column.TIMED_BY], np.zeros(len(slate), dtype=np.bool_)
    for k in np.flatnonzero(by > 0).tolist():
        memory = slate.memory(k)
        suspected[k] = shown(memory, memory.id).suspected
    return Timed(
        said=slate[Column.TIME_SAID],
        by_model=by == JUDGES.index("lm"),
        failed=by == JUDGES.index("failed"),
        suspected=suspected,
    )


class _Context(BaseModel):
    """What an answer depends on besides the passage."""

    query: QueryView
    sensitivity: str
    period: PeriodView | None


def suits(fields: Mapping[str, object], repairs: Repairs) -> Suits:
    """The freshness of one passage. Raises AnswerError."""
    return Suits(
        freshness=share(fields.get("freshness"), "freshness", repairs),
        rationale=text(fields.get("rationale"), "rationale", repairs),
    )


def _open(slate: Slate) -> Rows:
    """Dated candidates that are not worthless by rule, the likeliest first, so that a budget goes to them."""
    places = np.flatnonzero((slate[Column.DATED] > 0) & (slate[Column.RECENCY] > 0))
    ids = slate.tenant.id_order[slate.rows]
    return np.asarray(places[np.lexsort((ids[places], -slate[Column.FUSED][places]))])


def _period(time: TimeOfQuery) -> PeriodView | None:
    if time.period is None:
        return None
    start, end = (None if one is None else one.isoformat() for one in (time.period.start, time.period.end))
    return PeriodView(start=start, end=end)
