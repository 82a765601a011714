"""Dates by name and number ("3 March 2025", "2025-03", "Q1 2024", "the 1990s") as patterns, each with its meaning.

All patterns work on lower-case text with single spaces and plain quotes and hyphens.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from memrank.text import calendar as cal
from memrank.text.calendar import Span
from memrank.text.lazy import Pattern
from memrank.text.years import AFTER_PREFIX, LEFT, RIGHT, YEAR

MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS = {
    name: n
    for n, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)
}
_CLEAR_MONTHS = frozenset(("january", "february", "july", "september", "october", "november", "december"))
"""The other names are also words or people (May, March, April, June, August), or short forms."""
AHEAD = frozenset(("next", "coming", "upcoming", "following"))
WHICH = r"(?P<which>last|this past|past|this|previous|next|coming|upcoming)"

_CUE = Pattern(
    r"(?:\b(?:in|during|since|until|till|by|before|after|from|between|through|throughout|on|early|mid|late"
    r"|(?:end|start|beginning|middle|half|week|day|month|rest|as|course) of|as at|dated) (?:the )?|\bmid-)$"
)
_LOOSE_CUE = Pattern(r"\b(?:for|of|to|and|or|over) $")
_MONTH_BEFORE = Pattern(rf"\b{MONTH}\.?(?: [0-9]{{1,2}}| [0-9]{{4}})?(?:,| to| and| until| through| ?-) ?$")
_MONTH_AFTER = Pattern(rf"(?: ?- ?| to | and | until | through ){MONTH}\b")


Resolver: TypeAlias = Callable[[re.Match[str], datetime], Span | None]
Rules: TypeAlias = tuple[tuple[Pattern, Resolver], ...]
"""Patterns, each with what gives its span: None where it is no date after all, ValueError for an impossible date."""


def yearly(which: str | None, now: datetime, build: Callable[[int], Span]) -> Span:
    if which in AHEAD:
        return cal.next_starting(now, build)
    if which == "this":
        return build(now.year)
    return cal.latest_ended(now, build) if which else cal.latest_started(now, build)


def which_of(m: re.Match[str]) -> str | None:
    return "past" if m["which"] == "this past" else m["which"]


def _cued(m: re.Match[str], loose: bool = False) -> bool:
    """Whether the words before (or a month right after) make an ambiguous word a date."""
    before = m.string[max(0, m.start() - 24) : m.start()]
    if _CUE.search(before) or (loose and _LOOSE_CUE.search(before)):
        return True
    return bool(_MONTH_BEFORE.search(before) or _MONTH_AFTER.match(m.string, m.end()))


def _month(m: re.Match[str]) -> int:
    return _MONTHS[m["month"][:3]]


def _full_year(text: str) -> int:
    """`23` after FY or an apostrophe is 2023, `98` is 1998."""
    year = int(text.lstrip("'"))
    return year if year >= 100 else year + (2000 if year < 70 else 1900)


def _iso_day(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.day_span(int(m["year"]), int(m["month"]), int(m["day"]))


def _iso_month(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.month_span(int(m["year"]), int(m["month"]))


def _slashed(m: re.Match[str], now: datetime) -> Span | None:
    """Month first (United States) unless only day first can be meant. Without a year: after a cue only."""
    first, second = int(m["first"]), int(m["second"])
    month, day = (second, first) if first > 12 else (first, second)
    if m["year"]:
        return cal.day_span(int(m["year"]), month, day)
    return cal.latest_started(now, lambda year: cal.day_span(year, month, day)) if _cued(m) else None


def _day_and_month(m: re.Match[str], now: datetime) -> Span | None:
    month, day = _month(m), int(m["day"])
    last = int(m["last"] or 0)
    if last and last <= day:  # no range: "room 10 and 3 March"; only the number beside the month is a day
        day, last = (last, 0) if m.start("last") < m.start("month") else (day, 0)
    if m["year"]:
        first = cal.day_span(int(m["year"]), month, day)
    else:
        sure = m["month"] in _CLEAR_MONTHS or bool(m["suffix"]) or " of " in m[0] or _cued(m, loose=True)
        if not sure:
            return None
        first = cal.latest_started(now, lambda year: cal.day_span(year, month, day))
    if last:
        return Span(start=first.start, end=cal.day_span(first.start.year, month, last).end, unit="part")
    return first if m["year"] else Span(start=first.start, end=first.end, unit="day", month=month, day=day)


def _month_of_year(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.month_span(int(m["year"]), _month(m))


def bare_month(m: re.Match[str], now: datetime) -> Span | None:
    month = _month(m)
    if not (
        m["which"]
        or m["month"] in _CLEAR_MONTHS
        or _cued(m, loose=m["month"] not in ("may", "mar", "march", "dec", "jun"))
    ):
        return None
    span = yearly(which_of(m), now, lambda year: cal.month_span(year, month))
    return span if m["which"] else Span(start=span.start, end=span.end, unit="month", month=month)


def _quarter(m: re.Match[str], now: datetime) -> Span | None:
    quarter = int(m["quarter"])
    if m["year"]:
        return cal.quarter_span(_full_year(m["year"]), quarter)
    if not (_cued(m, loose=True) or m["report"] is not None):
        return None
    return cal.latest_started(now, lambda year: cal.quarter_span(year, quarter))


def _half(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.months_span(_full_year(m["year"]), 6 * int(m["half"]) - 5, 6, "part")


def _fiscal(m: re.Match[str], _now: datetime) -> Span | None:
    """A fiscal year is taken as the calendar year of its name: when companies close their books is not known here."""
    return cal.year_span(_full_year(m["year"]))


def _decade(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.decade_span(int(m["year"]))


def _short_decade(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.decade_span(1900 + int(m["tens"]))


def _century(m: re.Match[str], _now: datetime) -> Span | None:
    return cal.century_span(int(m["number"]))


def _years(m: re.Match[str], _now: datetime) -> Span | None:
    first = int(m["year"])
    last = int(m["to"]) if len(m["to"]) == 4 else first - first % 100 + int(m["to"])
    if last <= first:
        return None
    return Span(start=cal.year_span(first).start, end=cal.year_span(last).end, unit="part")


_Y2 = rf"(?P<year>{YEAR}|'?[0-9]{{2}})"
_SUFFIX = r"(?P<suffix>st|nd|rd|th)?"
_NOT_MORE = r"(?![0-9a-z%$€£]|[.,:/][0-9])"
_TO = r" ?(?:-|to|and|until|through) ?"
_DAY_FIRST = (
    rf"{LEFT}(?P<day>[0-9]{{1,2}})(?:{_TO}(?P<last>[0-9]{{1,2}}))?{_SUFFIX}(?: of)? {MONTH}\b\.?(?:,? "
    rf"(?P<year>{YEAR}){RIGHT})?"
)
_MONTH_FIRST = (
    rf"\b{MONTH}\.? (?:the )?(?P<day>[0-9]{{1,2}}){_SUFFIX}(?:{_TO}(?P<last>[0-9]{{1,2}}))?{_NOT_MORE}(?:,? "
    rf"(?P<year>{YEAR}){RIGHT})?"
)
_QUARTERS = (
    rf"\bq(?P<quarter>[1-4])(?:(?:[ -]?|,? of |/)(?:fy ?)?{_Y2}{RIGHT}|(?![\w-]))(?P<report>(?= (?:results|earnings"
    rf"|report|revenue|numbers|sales)\b))?"
)
NUMERIC: Rules = tuple(
    (Pattern(pattern), resolver)
    for pattern, resolver in (
        (
            rf"{LEFT}(?P<year>{YEAR})(?P<sep>[-/])(?P<month>[0-9]{{1,2}})(?P=sep)(?P<day>[0-9]{{1,2}})(?![0-9])",
            _iso_day,
        ),
        (rf"{LEFT}(?P<year>{YEAR})-(?P<month>0[1-9]|1[0-2])(?![\w%]|[-.,:/][0-9])", _iso_month),
        (rf"{LEFT}(?P<day>[0-9]{{1,2}})\.(?P<month>[0-9]{{1,2}})\.(?P<year>{YEAR}){RIGHT}", _iso_day),
        (rf"{LEFT}(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})(?:/(?P<year>{YEAR}))?{RIGHT}", _slashed),
        (_DAY_FIRST, _day_and_month),
        (_MONTH_FIRST, _day_and_month),
        (rf"\b{MONTH}\.?,?(?: of)?[ -](?P<year>{YEAR}){RIGHT}", _month_of_year),
        (_QUARTERS, _quarter),
        (rf"{LEFT}(?P<year>{YEAR})[- ]?q(?P<quarter>[1-4])\b(?P<report>)", _quarter),
        (rf"\bh(?P<half>[12]) ?{_Y2}{RIGHT}", _half),
        (rf"\b(?:fy ?|(?:fiscal|financial)(?: year)? ){_Y2}{RIGHT}", _fiscal),
        (rf"{AFTER_PREFIX}(?P<year>1[0-9]{{2}}0|2[01][0-9]0)'?s\b", _decade),
        (r"(?:(?<=\bthe )|(?<=\bearly )|(?<=\bmid )|(?<=\blate )|(?<=\bmid-)|')'?(?P<tens>[3-9]0)'?s\b", _short_decade),
        (r"\b(?P<number>1[1-9]|2[01])(?:th|st)[ -]century\b", _century),
        (rf"{LEFT}(?P<year>{YEAR}) ?- ?(?P<to>{YEAR}){RIGHT}", _years),
        (rf"{LEFT}(?P<year>{YEAR})-(?P<to>1[3-9]|[2-9][0-9]){RIGHT}", _years),
    )
)
