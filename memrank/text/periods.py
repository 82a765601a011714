"""The period that a query names ("last week", "from March to May 2025", "before 2019"), resolved against its `as_of`.

Choices where usage differs: weeks begin on Monday; "last week" is the calendar week before, "the past week" and "in the
last week" the 7 days up to now; "few" is 3 and "couple" 2; "N days ago" is the 24 hours that begin N * 24 hours back,
and longer units are centred N units back; "in March" is the latest March that has begun; a bare 3/22 counts only after
a word like "on" and is read month first; a fiscal year is the calendar year of its name; seasons are northern and run
by whole months (winter 2024 begins in December 2024); "until 2010", "by 2010" and "as of 2010" include 2010 and are
open before it; "since" and "after" end at `as_of`, and are open after it where they begin later; "early", "mid",
"late" (also "end of") are thirds. Events without a date ("since the merger") and impossible dates name no period.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from memrank.errors import UsageError
from memrank.text import calendar as cal
from memrank.text.calendar import Span, Third
from memrank.text.lazy import Pattern
from memrank.text.timewords import COUNT, UNITS, Atom, expressions, number
from memrank.text.years import SCAN
from memrank.types import Period

_PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\u02bc": "'",
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2014": "-",
    }
)
_RANGE = Pattern(r"(?: ?- ?|,? (?:to|until|till|up to|through|thru) (?:the )?)")
_LIST = Pattern(
    r"(?:,? (?:and|or|vs\.?|versus|against|over) (?:in )?|, ?|/| ?& ?|,? (?:as )?(?:compared|relative) (?:to|with) )"
)
_BETWEEN = Pattern(r"\bbetween (?:the )?(?:years )?$")
_THIRD = Pattern(
    r"\b(?:(?P<early>early|(?:start|beginning) of)|(?P<mid>mid|middle of)|(?P<late>late|end of))(?:[ -](?:in )?"
    r"(?:the )?)$"
)
_NTH = Pattern(
    r"\b(?P<nth>first|second|third|fourth|fifth|last|final|1st|2nd|3rd|4th|5th) (?P<unit>day|week|month|quarter|half)"
    r" (?:(?:of|in) )?(?:the )?(?:(?:fiscal|financial) )?(?:year )?$"
)
_NTHS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "fifth": 4, "5th": 4}
_BOUND = Pattern(
    r"\b(?:(?P<since>since|starting(?: in| on| from)?|from)|(?P<after>after|later than|post)"
    r"|(?P<before>before|prior to|earlier than|pre)"
    r"|(?P<until>until|till|up until|up to|by|through|as of|as at|no later than|not later than))"
    r"(?:[ -](?:about |around )?(?:the )?(?:end of |year )?)$"
)
_NEAR = Pattern(rf"\b(?:(?P<the>the)|{COUNT}) {UNITS} (?P<way>before|after) (?:the )?$")
_ONWARD = Pattern(r" (?:on(?:ward|wards)?\b(?! )|onwards?\b|and later\b|or later\b)")
_LOOK_BACK = 40


@dataclass(frozen=True, slots=True)
class _Piece:
    """An expression with its qualifier ("the first week of May 2023") at `first:last` of the text."""

    first: int
    last: int
    span: Span


@dataclass(frozen=True, slots=True)
class _Named:
    """A resolved expression at `first:last` of the text; the bounds may be open."""

    first: int
    last: int
    start: datetime | None
    end: datetime | None


def clean(text: str) -> str:
    """The part of a query that is read: its first 2,000 characters, single spaces, plain quotes and hyphens."""
    return " ".join(text.lstrip()[:SCAN].translate(_PLAIN).split())


def find_period(text: str, as_of: datetime) -> Period | None:
    """The period that the first 2,000 characters of a query name, or None. Of several the longest expression counts.

    `as_of` is an aware time in any zone (UsageError for a naive one); the bounds are UTC. Linear in the text.
    """
    plain = clean(text)
    named = _named(_lower(plain), utc(as_of))
    if not named:
        return None
    best = max(named, key=lambda n: (n.last - n.first, -n.first))
    return Period(start=best.start, end=best.end, text=plain[best.first : best.last])


def utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise UsageError("as_of has no time zone", hint="give an aware time, such as 2026-03-20T09:00:00Z")
    return moment.astimezone(UTC)


def _lower(text: str) -> str:
    """Lower case at the same positions: the few letters that would grow stay as they are."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _named(text: str, now: datetime) -> list[_Named]:
    pieces = [_qualified(text, atom, atom.span) for atom in expressions(text, now) if atom.span is not None]
    named: list[_Named] = []
    at = 0
    while at < len(pieces):
        piece, at = pieces[at], at + 1
        while at < len(pieces):
            joined = _joined(text, piece, pieces[at])
            if joined is None:
                break
            piece, at = joined, at + 1
        named.append(_bounded(text, piece, now))
    return named


def _qualified(text: str, atom: Atom, span: Span) -> _Piece:
    before = text[max(0, atom.start - _LOOK_BACK) : atom.start]
    third = _THIRD.search(before)
    nth = None if third else _NTH.search(before)
    qualified: Span | None = None
    if third and span.unit in ("week", "month", "quarter", "season", "year", "decade", "century"):
        which: Third = "early" if third["early"] else "mid" if third["mid"] else "late"
        qualified = cal.third_of(span, which)
    elif nth and span.unit in ("week", "month", "quarter", "year", "decade"):
        qualified = cal.nth_of(span, _NTHS.get(nth["nth"], -1), nth["unit"])
    found = third or nth
    if qualified is None or found is None:
        return _Piece(atom.start, atom.end, span)
    return _Piece(atom.start - len(before) + found.start(), atom.end, qualified)


def _joined(text: str, left: _Piece, right: _Piece) -> _Piece | None:
    """Both pieces as one: a range ("from .. to", "2004-2005", "between .. and") or a list ("2019, 2018 and 2017")."""
    gap = text[left.last : right.first]
    listed = not _RANGE.fullmatch(gap)
    between = gap.strip() == "and" and _BETWEEN.search(text[max(0, left.first - _LOOK_BACK) : left.first])
    if listed and not between and not (_LIST.fullmatch(gap) and _same_kind(left.span, right.span)):
        return None
    start, end = _start_before(left.span, right.span), right.span.end
    if start >= right.span.start:
        if not _same_kind(left.span, right.span):
            return None
        start, end = min(left.span.start, right.span.start), max(left.span.end, right.span.end)
    unit = left.span.unit if left.span.unit == right.span.unit else "part"
    return _Piece(left.first, right.last, Span(start=start, end=end, unit=unit))


def _same_kind(left: Span, right: Span) -> bool:
    return left.unit == right.unit and left.unit in ("year", "quarter", "month", "decade", "day")


def _start_before(left: Span, right: Span) -> datetime:
    """Where the left side of a pair begins; left without a year ("from March to May 2025"), the last one before."""
    if left.month is None:
        return left.start
    month, day = left.month, left.day or 1
    year = right.start.year if (month, day) < (right.start.month, right.start.day) else right.start.year - 1
    try:
        return left.start.replace(year=year)
    except ValueError:  # 29 February of a common year
        return left.start


def _beside(span: Span, near: re.Match[str]) -> Span:
    """ "The week before 3 May" touches that day; "two weeks before 3 May" is what "two weeks ago" meant on it."""
    back, unit = near["way"] == "before", near["unit"]
    edge = span.start if back else span.end
    try:
        if near["the"]:
            other = cal.shift(edge, unit, -1 if back else 1)
            return Span(start=min(edge, other), end=max(edge, other), unit="part")
        return cal.ago(span.start, unit, number(near["count"]) * (1 if back else -1))
    except (ValueError, OverflowError):  # beyond the calendar
        return span


def _bounded(text: str, piece: _Piece, now: datetime) -> _Named:
    """Opens a side of the span for "since", "before", "until" and the like."""
    before = text[max(0, piece.first - _LOOK_BACK) : piece.first]
    near = _NEAR.search(before)
    if near:
        span = _beside(piece.span, near)
        return _Named(piece.first - len(before) + near.start(), piece.last, span.start, span.end)
    bound, onward = _BOUND.search(before), _ONWARD.match(text, piece.last)
    kind = "since" if onward else bound.lastgroup if bound else None
    if kind is None or (bound is not None and bound[0].startswith("from ") and not onward):
        return _Named(piece.first, piece.last, piece.span.start, piece.span.end)
    first = piece.first if bound is None else piece.first - len(before) + bound.start()
    last = piece.last if onward is None else onward.end()
    if kind in ("since", "after"):
        start = piece.span.start if kind == "since" else piece.span.end
        return _Named(first, last, start, now if start < now else None)
    return _Named(first, last, None, piece.span.start if kind == "before" else piece.span.end)
