"""A query's relation to time as a language model reads it; the rules' reading counts where it does not answer."""

from datetime import UTC, datetime

import dspy

from memrank.lmanswers import AnswerError, Repairs, choice
from memrank.slate import TIMELESS, Slate
from memrank.stages.judged import TimeRead
from memrank.stages.lm.asking import ask_each
from memrank.stages.lm.demos import SENSITIVITY
from memrank.stages.lm.showing import shown_query
from memrank.stages.lm.signatures import QuerySensitivity
from memrank.text.sensitivity import read_time
from memrank.types import Notes, Period, Sensitivity, TimeOfQuery

NAMES = tuple(one.value for one in Sensitivity)


class LmReadTime(dspy.Module):  # type: ignore[misc]
    """One call a read, before anything is judged. Where the model does not answer in a valid way, the rules do."""

    def __init__(self, *, by_tense: bool = False) -> None:
        super().__init__()
        self._by_tense = by_tense
        self.predict = dspy.Predict(QuerySensitivity)
        self.predict.demos = list(SENSITIVITY)

    def forward(self, *, slate: Slate) -> dspy.Prediction:
        """A prediction whose `answer` is a `TimeRead`."""
        return dspy.Prediction(answer=self._read(slate))

    async def aforward(self, *, slate: Slate) -> dspy.Prediction:
        """As `forward`."""
        return type(self).forward(self, slate=slate)

    def _read(self, slate: Slate) -> TimeRead:
        notes = Notes()
        if slate.reading is None and slate.time is not TIMELESS:  # a record, of what the model read then
            return TimeRead(time=slate.time, notes=notes)
        rules = read_time(slate.query.text, slate.query.as_of, by_tense=self._by_tense)
        if slate.reading is None:
            notes.add("info", "temporal", "no_lm", "no model was asked: rules read the query's relation to time")
            return TimeRead(time=rules, notes=notes)
        question = {"query": shown_query(slate.query).text, "as_of": slate.query.as_of.isoformat()}
        (answer,) = ask_each(self.predict, slate.reading, [question], _time)
        if answer.value is None:
            notes.add("failure", "temporal", answer.code, f"{answer.said}; rules read the query's relation to time")
            return TimeRead(time=rules, notes=notes)
        return TimeRead(time=answer.value, notes=notes)


def _time(prediction: dspy.Prediction) -> TimeOfQuery:
    """Raises AnswerError."""
    sensitivity = Sensitivity(choice(prediction.sensitivity, "sensitivity", NAMES, Repairs()))
    previous = prediction.asks_previous
    if not isinstance(previous, bool):
        raise AnswerError("asks_previous must be true or false")
    return TimeOfQuery(
        sensitivity=sensitivity,
        period=_period(prediction.period),
        asks_previous=previous,
        evidence="as the language model reads the query",
    )


def _period(value: object) -> Period | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise AnswerError("period must be null or have a start and an end")
    start, end = _moment(value.get("start")), _moment(value.get("end"))
    if start is None and end is None:
        return None
    if start is not None and end is not None and start >= end:
        raise AnswerError("period must start before it ends")
    return Period(start=start, end=end, text="as the language model reads it")


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        utc = None if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        utc = None
    if utc is None:
        raise AnswerError("start and end must be ISO 8601 in UTC, or null")
    return utc
