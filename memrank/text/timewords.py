"""Single expressions of time in a cleaned text ("March 2025", "last week", "3 days ago"), each resolved on its own.

`periods` joins and modifies them. All patterns work on lower-case text with single spaces and plain quotes and hyphens.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from memrank.text import calendar as cal
from memrank.text.calendar import Span
from memrank.text.datewords import AHEAD, MONTH, NUMERIC, WHICH, Rules, bare_month, which_of, yearly
from memrank.text.lazy import Pattern
from memrank.text.years import RIGHT, YEAR, bare_years

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNT = rf"(?P<count>[1-9][0-9]{{0,2}}|an?|{'|'.join(_NUMBERS)}|(?:a )?couple(?: of)?|(?:a )?few)"
_COUNTS = {word: n for n, word in enumerate(_NUMBERS, 1)}
_COUNTS |= {"a": 1, "an": 1, "a couple": 2, "couple": 2, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3}
UNITS = r"(?P<unit>minute|hour|day|week|weekend|month|quarter|year|decade)s?"
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEK)})"
_WEEKDAYS = {day: n for n, day in enumerate(_WEEK)}
_SEASONS = {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
_BACK = frozenset(("last", "past", "previous", "preceding"))


@dataclass(frozen=True, slots=True)
class Atom:
    """An expression at `start:end` of the text. `span` is None where it names an impossible date."""

    start: int
    end: int
    span: Span | None


def number(word: str) -> int:
    """The value of a word that COUNT matches."""
    return _COUNTS[word] if word in _COUNTS else int(word)


def _calendar_unit(m: re.Match[str], now: datetime) -> Span | None:
    """ "Last week" is the calendar week before; "the past week" and "in the last week" are the 7 days up to now."""
    which, unit = which_of(m), m["unit"]
    if which in AHEAD or which == "this":
        return cal.calendar_unit(now, unit, 0 if which == "this" else 1)
    over = unit in ("week", "month", "year") and _OVER_THE.search(m.string[max(0, m.start() - 12) : m.start()])
    if unit != "weekend" and (which == "past" or over or unit in ("decade", "hour")):
        return Span(start=cal.shift(now, unit, -1), end=now, unit="part")
    return cal.calendar_unit(now, unit, -1)


_OVER_THE = Pattern(r"\b(?:in|over|during|within|for) the $")


def _rolling(m: re.Match[str], now: datetime) -> Span | None:
    count = number(m["count"])
    if which_of(m) in _BACK:
        return Span(start=cal.shift(now, m["unit"], -count), end=now, unit="part")
    return Span(start=now, end=cal.shift(now, m["unit"], count), unit="part")


def _ago(m: re.Match[str], now: datetime) -> Span | None:
    count = number(m["count"])
    return cal.ago(now, m["unit"], count if m["way"] == "ago" else -count)


def _weekday(m: re.Match[str], now: datetime) -> Span | None:
    """The latest one before today; after next, by, until the first one after today; "this Friday" is this week's."""
    wanted, today, which = _WEEKDAYS[m["weekday"]], now.weekday(), which_of(m)
    cue = _WEEKDAY_CUE.search(m.string[max(0, m.start() - 12) : m.start()])
    if not (which or cue):
        return None
    if which == "this":
        return cal.day_of(now, wanted - today)
    if which in AHEAD or (cue and cue[1] in ("by", "until", "till")):
        return cal.day_of(now, (wanted - today - 1) % 7 + 1)
    return cal.day_of(now, -((today - wanted - 1) % 7 + 1))


_WEEKDAY_CUE = Pattern(r"\b(on|since|before|after|by|until|till) (?:the )?$")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}


def _near_day(m: re.Match[str], now: datetime) -> Span | None:
    offset = _DAYS[m["day"]]
    return cal.part_of_day(now, m["part"], offset) if m["part"] else cal.day_of(now, offset)


def _near_part(m: re.Match[str], now: datetime) -> Span | None:
    if m[0] in ("tonight", "last night"):
        return cal.part_of_day(now, "night", 0 if m[0] == "tonight" else -1)
    return cal.part_of_day(now, m["part"], 0)


def _to_date(_m: re.Match[str], now: datetime) -> Span | None:
    return Span(start=cal.year_span(now.year).start, end=now, unit="part")


def _season(m: re.Match[str], now: datetime) -> Span | None:
    season = _SEASONS[m["season"]]
    if m["year"]:
        return cal.season_span(int(m["year"]), season)
    if not m["which"]:
        return None
    return yearly(which_of(m), now, lambda year: cal.season_span(year, season))


_NAMES = "|".join(sorted(cal.NAMED_DAYS, key=len, reverse=True))
_DAY_CUE = Pattern(r"\b(?:on|at|over|during|since|before|after|by|until|till) $")


def _named_day(m: re.Match[str], now: datetime) -> Span | None:
    build = cal.NAMED_DAYS[m["name"]]
    if m["year"]:
        return build(int(m["year"]))
    if not (m["which"] or _DAY_CUE.search(m.string[max(0, m.start() - 8) : m.start()])):
        return None
    return yearly(which_of(m), now, build)


_OF_YEAR = rf"(?:(?: of|,)? (?P<year>{YEAR}){RIGHT})?(?!\w)"
_WORDS: Rules = tuple(
    (Pattern(pattern), resolver)
    for pattern, resolver in (
        (rf"\b(?:{WHICH} )?{MONTH}(?!\w)", bare_month),
        (rf"\b{WHICH} (?P<unit>hour|week|weekend|month|quarter|year|decade)\b", _calendar_unit),
        (rf"\b(?P<which>last|past|previous|preceding|next|coming|following) {COUNT} {UNITS}\b", _rolling),
        (rf"(?<![\w.,/-]){COUNT} {UNITS} (?P<way>ago|from now)\b", _ago),
        (rf"\b(?:{WHICH} )?{WEEKDAY}\b", _weekday),
        (rf"\b(?P<day>{'|'.join(_DAYS)})(?: (?P<part>morning|afternoon|evening|night))?\b", _near_day),
        (r"\b(?:tonight|last night|this (?P<part>morning|afternoon|evening))\b", _near_part),
        (r"\b(?:year[- ]to[- ]date|ytd)\b", _to_date),
        (rf"\b(?:{WHICH} )?(?P<season>{'|'.join(_SEASONS)}){_OF_YEAR}", _season),
        (rf"\b(?:{WHICH} )?(?P<name>{_NAMES}){_OF_YEAR}", _named_day),
    )
)
_HINT = Pattern(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|last|past|this|previous|preceding|next|coming|upcoming"
    r"|following|ago\b|from now|on|since|before|after|by|until|till|today|yesterday|tomorrow|tonight|year[- ]to|ytd"
    r"|spring|summer"
    r"|autumn|fall|winter|new year|christmas|valentine|halloween|thanksgiving|easter)"
)
_DIGIT = Pattern(r"[0-9]")


def expressions(text: str, now: datetime) -> list[Atom]:
    """The expressions of a cleaned text in reading order, none overlapping another: longer ones win, then earlier."""
    found: list[Atom] = []
    rules = chain(NUMERIC if _DIGIT.search(text) else (), _WORDS if _HINT.search(text) else ())
    for pattern, resolver in rules:
        for m in pattern.finditer(text):
            try:
                span = resolver(m, now)
            except (ValueError, OverflowError):
                found.append(Atom(m.start(), m.end(), None))
            else:
                if span is not None:
                    found.append(Atom(m.start(), m.end(), span))
    found += (Atom(start, end, cal.year_span(year)) for start, end, year in bare_years(text))
    return _apart(found, len(text))


def _apart(atoms: list[Atom], length: int) -> list[Atom]:
    taken = bytearray(length)
    kept: list[Atom] = []
    for atom in sorted(atoms, key=lambda a: (a.start - a.end, a.start)):
        if not any(taken[atom.start : atom.end]):
            taken[atom.start : atom.end] = b"\1" * (atom.end - atom.start)
            kept.append(atom)
    return sorted(kept, key=lambda a: a.start)
