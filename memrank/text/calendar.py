"""Calendar arithmetic in UTC: spans of days, weeks, months, quarters, seasons and named days.

Impossible dates raise ValueError, dates outside the years 1 to 9999 ValueError or OverflowError, as `datetime` does.
"""

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["part", "day", "week", "weekend", "month", "quarter", "season", "year", "decade", "century"]
Third: TypeAlias = Literal["early", "mid", "late"]

DAY = timedelta(days=1)
WEEK = 7 * DAY
_HALF_WIDTH = {"week": WEEK / 2, "month": 15 * DAY, "quarter": 45 * DAY, "year": 182.5 * DAY, "decade": 1825 * DAY}
"""How far "N units ago" reaches to either side: people count weeks and longer by rounding."""
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_FIXED = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1), "day": DAY, "week": WEEK, "weekend": WEEK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """`start` inclusive, `end` exclusive, UTC. `month` (and `day`) are set where the words left the year open."""

    start: datetime
    end: datetime
    unit: Unit
    month: int | None = None
    day: int | None = None


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def day_span(year: int, month: int, day: int) -> Span:
    start = datetime(year, month, day, tzinfo=UTC)
    return Span(start=start, end=start + DAY, unit="day")


def day_of(moment: datetime, offset: int = 0) -> Span:
    """The calendar day of `moment`, `offset` days later."""
    start = midnight(moment) + offset * DAY
    return Span(start=start, end=start + DAY, unit="day")


def week_of(moment: datetime, offset: int = 0) -> Span:
    """The week of `moment` from Monday on, `offset` weeks later."""
    start = midnight(moment) - moment.weekday() * DAY + offset * WEEK
    return Span(start=start, end=start + WEEK, unit="week")


def weekend_of(moment: datetime, offset: int = 0) -> Span:
    """Saturday and Sunday of the week of `moment`, `offset` weeks later."""
    week = week_of(moment, offset)
    return Span(start=week.end - 2 * DAY, end=week.end, unit="weekend")


def months_span(year: int, month: int, count: int, unit: Unit) -> Span:
    """`count` months from the first of a month on; `month` may lie outside 1..12."""
    first = year * 12 + month - 1
    return Span(start=_first_of(first), end=_first_of(first + count), unit=unit)


def _first_of(months: int) -> datetime:
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


def month_span(year: int, month: int) -> Span:
    return months_span(year, month, 1, "month")


def quarter_span(year: int, quarter: int) -> Span:
    return months_span(year, 3 * quarter - 2, 3, "quarter")


def year_span(year: int) -> Span:
    return months_span(year, 1, 12, "year")


def decade_span(year: int) -> Span:
    return months_span(year - year % 10, 1, 120, "decade")


def century_span(number: int) -> Span:
    """The 19th century is 1801 to 1900."""
    return months_span(100 * number - 99, 1, 1200, "century")


def season_span(year: int, season: int) -> Span:
    """Northern, by whole months: 0 spring (March on), 1 summer, 2 autumn, 3 winter, which ends in the next year."""
    return months_span(year, 3 * season + 3, 3, "season")


def calendar_unit(moment: datetime, unit: str, offset: int) -> Span:
    """The week, weekend, month, quarter, year or day that holds `moment`, `offset` units later."""
    if unit == "day":
        return day_of(moment, offset)
    if unit == "week":
        return week_of(moment, offset)
    if unit == "weekend":
        return weekend_of(moment, offset)
    if unit == "month":
        return month_span(moment.year, moment.month + offset)
    if unit == "quarter":
        return months_span(moment.year, 3 * ((moment.month - 1) // 3) + 1 + 3 * offset, 3, "quarter")
    if unit == "year":
        return year_span(moment.year + offset)
    return decade_span(moment.year + 10 * offset)


def shift(moment: datetime, unit: str, count: int) -> datetime:
    """`moment` moved by `count` units; months keep the day of the month, or the last one the month has."""
    fixed = _FIXED.get(unit)
    if fixed is not None:
        return moment + count * fixed
    months = moment.year * 12 + moment.month - 1 + count * _MONTHS_IN[unit]
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        raise ValueError("year out of range")
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


def ago(moment: datetime, unit: str, count: int) -> Span:
    """What "`count` units ago" names (`count` negative: from now).

    Minutes, hours and days: the `count`-th whole unit back from `moment` ("3 days ago" begins 72 hours back and
    lasts 24). Longer units: one unit wide, centred `count` units back.
    """
    at = shift(moment, unit, -count)
    half = _HALF_WIDTH.get(unit)
    if half is None:
        width = _FIXED[unit]
        return Span(start=at, end=at + width, unit="day" if width == DAY else "part")
    return Span(start=at - half, end=at + half, unit="week" if unit == "week" else "month")


def part_of_day(moment: datetime, part: str, offset: int) -> Span:
    """Morning 05-12, afternoon 12-18, evening 18-24, night 18-06 of the next day; `offset` in days."""
    first, last = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}[part]
    start = midnight(moment) + offset * DAY
    return Span(start=start + timedelta(hours=first), end=start + timedelta(hours=last), unit="part")


def latest_started(moment: datetime, build: Callable[[int], Span]) -> Span:
    """The newest of the yearly spans `build(year)` that has begun by `moment`, in the last nine years."""
    for year in range(moment.year, moment.year - 9, -1):
        try:
            span = build(year)
        except ValueError:
            continue
        if span.start <= moment:
            return span
    raise ValueError("no such day")


def latest_ended(moment: datetime, build: Callable[[int], Span]) -> Span:
    """The newest of the yearly spans that is over by the start of the day of `moment`."""
    today = midnight(moment)
    return next(span for span in map(build, range(moment.year, moment.year - 4, -1)) if span.end <= today)


def next_starting(moment: datetime, build: Callable[[int], Span]) -> Span:
    """The first of the yearly spans that begins after `moment`."""
    return next(span for span in map(build, range(moment.year, moment.year + 3)) if span.start > moment)


def third_of(span: Span, which: Third) -> Span:
    """The early, middle or late part. Months: days 1-10, 11-20, 21 on; decades: years 0-3, 4-6, 7-9; else thirds."""
    start, end = span.start, span.end
    if span.unit == "month":
        first, second = start + 10 * DAY, start + 20 * DAY
    elif span.unit == "decade":
        first, second = start.replace(year=start.year + 4), start.replace(year=start.year + 7)
    elif span.unit in ("year", "quarter", "season"):
        months = {"year": 4}.get(span.unit, 1)
        first, second = shift(start, "month", months), shift(start, "month", 2 * months)
    else:
        first, second = start + (end - start) / 3, start + (end - start) * 2 / 3
    bounds = {"early": (start, first), "mid": (first, second), "late": (second, end)}[which]
    return Span(start=bounds[0], end=bounds[1], unit="part")


def nth_of(span: Span, index: int, unit: str) -> Span | None:
    """The `index`-th day, week, month, quarter or half of a span (-1 the last); None where it has no such part."""
    if unit == "half":
        middle = shift(span.start, "month", 6) if span.unit == "year" else span.start + (span.end - span.start) / 2
        if index in (0, -1, 1):
            pieces = (span.start, middle) if index == 0 else (middle, span.end)
            return Span(start=pieces[0], end=pieces[1], unit="part")
        return None
    start = shift(span.end, unit, -1) if index < 0 else shift(span.start, unit, index)
    end = span.end if index < 0 else min(shift(start, unit, 1), span.end)
    if not span.start <= start < end:
        return None
    kept: Unit = "day" if unit == "day" else "week" if unit == "week" else "month" if unit == "month" else "quarter"
    return Span(start=start, end=end, unit=kept)


def easter(year: int) -> Span:
    """Easter Sunday by the anonymous Gregorian computus (Meeus, Astronomical Algorithms, chapter 8)."""
    a, (b, c) = year % 19, divmod(year, 100)
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * weekday) // 451
    month, day = divmod(h + weekday - 7 * m + 114, 31)
    return day_span(year, month, day + 1)


def thanksgiving(year: int) -> Span:
    """The fourth Thursday of November (United States)."""
    first = datetime(year, 11, 1, tzinfo=UTC)
    return day_span(year, 11, 22 + (3 - first.weekday()) % 7)


NAMED_DAYS: dict[str, Callable[[int], Span]] = {
    "new year": lambda year: day_span(year, 1, 1),
    "new year's": lambda year: day_span(year, 1, 1),
    "new year's day": lambda year: day_span(year, 1, 1),
    "new year's eve": lambda year: day_span(year, 12, 31),
    "christmas": lambda year: day_span(year, 12, 25),
    "christmas day": lambda year: day_span(year, 12, 25),
    "christmas eve": lambda year: day_span(year, 12, 24),
    "valentine's day": lambda year: day_span(year, 2, 14),
    "valentine's": lambda year: day_span(year, 2, 14),
    "halloween": lambda year: day_span(year, 10, 31),
    "thanksgiving": thanksgiving,
    "easter": easter,
    "easter sunday": easter,
}
