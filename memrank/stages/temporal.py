"""temporal.v1: how fresh each candidate is for this query, by the query's sensitivity and the spec's kernel."""

from typing import Any, ClassVar, Literal

import dspy
import numpy as np

from memrank.errors import SpecError
from memrank.halflives import curve
from memrank.pertype import PerType
from memrank.score import temporal
from memrank.slate import JUDGES, Column, Slate
from memrank.spec import TemporalSpec
from memrank.speclm import LmSpec
from memrank.stages.base import EmbeddedPredict, Stage, asked
from memrank.stages.judged import Timed, TimeRead
from memrank.stages.lm.signatures import PeriodView, QuerySensitivity
from memrank.text.sensitivity import read_time
from memrank.types import Bools, Floats, Notes, Sensitivity, TimeOfQuery

UNDATED_NEUTRAL = 0.5


class EmbeddedReadTime(EmbeddedPredict[TimeOfQuery]):
    """Rules in place of a model."""

    def __init__(self, signature: type[dspy.Signature], by_tense: bool) -> None:
        super().__init__(signature)
        self._by_tense = by_tense

    def judge(self, slate: Slate) -> TimeOfQuery:
        """See `text.sensitivity.read_time`."""
        return read_time(slate.query.text, slate.query.as_of, by_tense=self._by_tense)

    def inputs(self, slate: Slate) -> dict[str, Any]:
        """Fields of `QuerySensitivity`."""
        return {"query": slate.query.text, "as_of": slate.query.as_of.isoformat(), "faults": []}

    def outputs(self, slate: Slate, answer: TimeOfQuery) -> dict[str, Any]:
        """Fields of `QuerySensitivity`."""
        period = answer.period
        view = period and PeriodView(
            start=period.start.isoformat() if period.start else None,
            end=period.end.isoformat() if period.end else None,
        )
        return {"sensitivity": answer.sensitivity.value, "period": view, "asks_previous": answer.asks_previous}


class Temporal(Stage):
    """Freshness in [0, 1] and the flags that go with dates."""

    kind: ClassVar[str] = "temporal.v1"
    signature: ClassVar[type[dspy.Signature]] = QuerySensitivity

    def __init__(self, params: TemporalSpec, lm: LmSpec | None = None) -> None:
        super().__init__()
        self.params = params
        by_tense = params.unmarked == "tense"
        self.read_time = (
            EmbeddedReadTime(QuerySensitivity, by_tense) if params.read_time == "embedded" else _model(lm, by_tense)
        )
        self.judge = None if params.judge == "embedded" else _judge(lm)

    def forward(self, slate: Slate) -> Slate:
        """See `Stage`."""
        notes = Notes()
        answer = asked(self.read_time, slate)
        if isinstance(answer, TimeRead):
            notes.extend(answer.notes.as_tuple())
        time: TimeOfQuery = answer.time if isinstance(answer, TimeRead) else answer
        if self.params.sensitivity != "auto":
            time = TimeOfQuery(
                sensitivity=Sensitivity(self.params.sensitivity),
                period=time.period,
                asks_previous=time.asks_previous,
                evidence="set by the spec",
            )
        now = slate.query.as_of.timestamp()
        first, last = effective(slate, self.params.clock)
        dated = ~np.isnan(last)
        age = np.where(dated, np.maximum(0.0, now - last), 0.0)
        undated = int((~dated).sum())
        if undated == len(slate) and undated:
            notes.add("info", "temporal", "no_dates_at_all", "no candidate has a date: scored as time-agnostic")
            time = TimeOfQuery(
                sensitivity=Sensitivity.TIME_AGNOSTIC,
                period=time.period,
                asks_previous=time.asks_previous,
                evidence="no candidate has a date",
            )
        elif undated and not _ageless(time):
            policy = "0" if self.params.undated == "zero" else f"{UNDATED_NEUTRAL}"
            notes.add("info", "temporal", "no_date", f"undated candidates have freshness {policy}", undated)
        times, rows = slate.tenant.times, slate.rows
        past = time.sensitivity is Sensitivity.HISTORICAL or time.asks_previous
        invalid = (times.valid[rows] > now) | ((times.invalid[rows] <= now) & (not past))
        columns = {
            Column.AGE: age,
            Column.WHEN: np.where(dated, last, 0.0),
            Column.DATED: dated.astype(np.float64),
            Column.FRESHNESS: self._freshness(slate, time, age, first, last, dated),
            Column.FUTURE_DATE: (dated & (first > now)).astype(np.float64),
            Column.EXPIRED: (times.expires[rows] <= now).astype(np.float64),
            Column.INVALID_THEN: invalid.astype(np.float64),
        }
        if self.judge is None:
            return slate.extend(columns, notes, time=time)
        return self._swayed(
            slate.extend({**columns, Column.RECENCY: columns[Column.FRESHNESS].copy()}, notes, time=time)
        )

    def _swayed(self, slate: Slate) -> Slate:
        """Freshness as the judge has it, within bounds of what is computed; where age matters at all."""
        none = np.zeros(len(slate))
        own = slate[Column.RECENCY]
        if _ageless(slate.time):
            return slate.extend({Column.TIME_SAID: none, Column.TIMED_BY: none.copy()})
        timed: Timed = asked(self.judge, slate)
        by = np.where(timed.by_model, JUDGES.index("lm"), np.where(timed.failed, JUDGES.index("failed"), 0))
        suspected = np.maximum(slate.columns.get(Column.SUSPECTED, none), timed.suspected)
        columns = {
            Column.FRESHNESS: np.where(timed.by_model, temporal.swayed(own, timed.said, timed.suspected), own),
            Column.TIME_SAID: timed.said.copy(),
            Column.TIMED_BY: by.astype(np.float64),
            Column.SUSPECTED: suspected,
        }
        return slate.extend(columns, timed.notes, figures={**slate.figures, **timed.figures})

    def _freshness(
        self, slate: Slate, time: TimeOfQuery, age: Floats, first: Floats, last: Floats, dated: Bools
    ) -> Floats:
        params = self.params
        period = time.period
        if _ageless(time):
            return np.ones_like(age)
        match time.sensitivity:
            case Sensitivity.HISTORICAL:
                start = period.start.timestamp() if period and period.start else None
                end = period.end.timestamp() if period and period.end else None
                away = temporal.distance(np.where(dated, first, 0.0), np.where(dated, last, 0.0), start, end)
                fresh = temporal.exponential(away, params.historical_half_life)
            case Sensitivity.REAL_TIME:
                half_life = params.real_time_half_life or params.real_time_window / 4
                fresh = temporal.real_time(age, half_life, params.real_time_window)
            case _:
                fresh = self._kernel(slate, age)
        return np.where(dated, fresh, UNDATED_NEUTRAL if params.undated == "neutral" else 0.0)

    def _kernel(self, slate: Slate, age: Floats) -> Floats:
        params = self.params
        age = temporal.graced(age, params.offset)

        def of(values: PerType | None) -> Floats:
            by_type = np.array([values.of(name) if values else np.nan for name in slate.tenant.types], dtype=np.float64)
            return by_type[slate.tenant.type_code[slate.rows]]

        return curve(params, age, of)


def _model(lm: LmSpec | None, by_tense: bool) -> dspy.Module:
    from memrank.stages.lm.sensitivity import LmReadTime

    if lm is None:
        raise SpecError(["read_time: lm without a model; allowed: an lm section"])
    return LmReadTime(by_tense=by_tense)


def _judge(lm: LmSpec | None) -> dspy.Module:
    from memrank.stages.lm.freshness import LmFreshness

    if lm is None:
        raise SpecError(["temporal.v1: judge: lm without a model; allowed: an lm section"])
    return LmFreshness(lm)


def _ageless(time: TimeOfQuery) -> bool:
    """Whether the age of a memory is no fault for this query: no time matters, or the past without any period."""
    named = time.period is not None and (time.period.start is not None or time.period.end is not None)
    return time.sensitivity is Sensitivity.TIME_AGNOSTIC or (time.sensitivity is Sensitivity.HISTORICAL and not named)


def effective(slate: Slate, clock: Literal["event", "created", "accessed"]) -> tuple[Floats, Floats]:
    """First and last second of each candidate's effective time, NaN where it has none.

    `event`: event_date, else created_at; `created`: created_at, else event_date; `accessed`: the later of
    created_at and last_accessed_at. A coarse date is a span, an instant has first == last.
    """
    times, rows = slate.tenant.times, slate.rows
    created = times.created_start[rows], times.created[rows]
    event = times.event_start[rows], times.event[rows]
    first, second = (event, created) if clock == "event" else (created, event)
    missing = np.isnan(first[1])
    start, end = np.where(missing, second[0], first[0]), np.where(missing, second[1], first[1])
    if clock == "accessed":
        accessed = times.accessed[rows]
        accessed = np.where(accessed > slate.query.as_of.timestamp(), np.nan, accessed)  # not known then
        later = ~np.isnan(accessed) & ~(end >= accessed)
        start, end = np.where(later, accessed, start), np.where(later, accessed, end)
    return start, end
