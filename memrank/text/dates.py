"""Dates and durations in the forms that real files use. A value is understood or refused, never guessed."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from numbers import Real
from typing import NamedTuple

from memrank.text.lazy import Pattern
from memrank.types import Moment

LONGEST_TEXT = 64
"""Longer texts are no dates and no durations; it also bounds the work of every pattern below."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_SECONDS_IN_2200 = 7_258_118_400
_FORMS = "ISO 8601 such as 2026-03-20T09:00:00Z, a date, a month (2026-03), a year, or epoch seconds or milliseconds"


class ParsedMoment(NamedTuple):
    """A moment, and whether it is a time that was given without a zone and therefore read as UTC."""

    moment: Moment
    zoneless: bool = False


def parse_moment(value: object, *, what: str = "date") -> ParsedMoment:
    """Read a text, a number, a date or a datetime as a Moment.

    A bare date, month or year is a period that keeps its text (`2026-03`); everything else is an instant in UTC.
    Numbers are epoch seconds, or milliseconds when seconds would be past the year 2199; whole numbers of four digits
    are years. A period that would end after the year 9999 ends with the last instant there is.

    Raises ValueError, naming `what`, for anything else: unknown forms, days and times that do not exist (30 February,
    24:00, second 60, year 0), NaN, bools, ambiguous orders such as 05/08/2023.
    """
    try:
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, datetime):
            return _from_datetime(value)
        if isinstance(value, date):
            return ParsedMoment(_day(value.year, value.month, value.day))
        if isinstance(value, bool) or not isinstance(value, (int, float, Real)):
            raise ValueError(f"a {type(value).__name__} is no date")
        # Numbers of numeric libraries are neither int nor, all of them, float.
        return ParsedMoment(_from_number(value if isinstance(value, (int, float)) else float(value)))
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise ValueError(f"{what} {_shown(value)} cannot be read: {error}; allowed: {_FORMS}") from error


def parse_as_of(value: object, *, what: str = "as_of") -> datetime:
    """The aware UTC time that a text or other value of `parse_moment` means as "now"; a period means its end.

    Raises ValueError.
    """
    return parse_moment(value, what=what).moment.end


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    small = isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64)
    return repr(value) if small else f"of type {type(value).__name__}"


# Instants and periods


def _instant(moment: datetime) -> Moment:
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return Moment(start=utc, end=utc, text=utc.isoformat()[:-6] + "Z")


def _day(year: int, month: int, day: int) -> Moment:
    start = datetime(year, month, day, tzinfo=UTC)
    end = _LAST if start.date() == date.max else start + timedelta(days=1)
    return Moment(start=start, end=end, text=f"{year:04d}-{month:02d}-{day:02d}")


def _month(year: int, month: int) -> Moment:
    start = datetime(year, month, 1, tzinfo=UTC)
    following = (year, month + 1) if month < 12 else (year + 1, 1)
    end = _LAST if following[0] > 9999 else datetime(*following, 1, tzinfo=UTC)
    return Moment(start=start, end=end, text=f"{year:04d}-{month:02d}")


def _year(year: int) -> Moment:
    start = datetime(year, 1, 1, tzinfo=UTC)
    end = _LAST if year == 9999 else datetime(year + 1, 1, 1, tzinfo=UTC)
    return Moment(start=start, end=end, text=f"{year:04d}")


def _from_datetime(value: datetime) -> ParsedMoment:
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if type(aware) is not datetime:  # a subclass may carry more than microseconds into its text
        aware = datetime(
            aware.year, aware.month, aware.day, aware.hour, aware.minute, aware.second, aware.microsecond, tzinfo=UTC
        )
    return ParsedMoment(_instant(aware), value.tzinfo is None)


def _from_number(value: float) -> Moment:
    if not math.isfinite(value):
        raise ValueError("it is not finite")
    number = int(value) if value == int(value) else float(value)
    if isinstance(number, int) and 1000 <= number <= 9999:
        return _year(number)
    if 0 <= number < _SECONDS_IN_2200:
        return _instant(_EPOCH + timedelta(seconds=number))
    if 0 <= number < _SECONDS_IN_2200 * 1000:
        return _instant(_EPOCH + timedelta(milliseconds=number))
    raise ValueError("as epoch seconds or milliseconds it is outside the years 1970 to 2199")


# Texts

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "sept", "september"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        start=1,
    )
    for name in names
}
_ZONE_HOURS = {  # RFC 2822, section 4.3
    **dict.fromkeys(("z", "ut", "utc", "gmt"), 0),
    **dict.fromkeys(("edt",), -4),
    **dict.fromkeys(("est", "cdt"), -5),
    **dict.fromkeys(("cst", "mdt"), -6),
    **dict.fromkeys(("mst", "pdt"), -7),
    "pst": -8,
}

_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? )?"
_TIME = (
    r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?"
    r"(?: ?(?P<zone>z|utc?|gmt|[ecmp][sd]t|[+-][0-9]{2}(?::?[0-9]{2})?)(?: \([a-z]{1,5}\))?)?"
)
_DATES = (
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})",
    r"(?P<year>[0-9]{4})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})(?: \([a-z]{2,9}\))?",
    r"(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})",
    _WEEKDAY + r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?[ -](?P<month>[a-z]{3,9})\.?,?[ -](?P<year>[0-9]{4})",
    _WEEKDAY + r"(?P<month>[a-z]{3,9})\.? (?P<day>[0-9]{1,2})(?:st|nd|rd|th)?,? (?P<year>[0-9]{4})",
)
_PATTERNS = tuple(
    Pattern(pattern) for form in _DATES for pattern in (rf"{form}(?:(?:t|,? (?:at )?){_TIME})?", rf"{_TIME} on {form}")
)
_MONTH_PATTERNS = (
    Pattern(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
    Pattern(r"(?P<month>[a-z]{3,9})\.?,? (?P<year>[0-9]{4})"),
)
_NUMBER = Pattern(r"[0-9]{1,16}(?:\.[0-9]{1,9})?")


def _from_text(given: str) -> ParsedMoment:
    if len(given) > LONGEST_TEXT:
        raise ValueError(f"it is longer than {LONGEST_TEXT} characters")
    text = " ".join(given.split())  # also turns the no-break spaces of some locales into plain ones
    if not text.isascii():
        raise ValueError("it is in no known form")
    if _looks_iso(text):
        try:
            return _from_datetime(datetime.fromisoformat(text[:-1] + "Z" if text[-1] == "z" else text))
        except ValueError:
            pass  # the patterns below read a little more, and say what is wrong
    if _NUMBER.fullmatch(text):
        return ParsedMoment(_from_digits(text))
    lowered = text.lower()
    for pattern in _MONTH_PATTERNS:
        if found := pattern.fullmatch(lowered):
            return ParsedMoment(_month(int(found["year"]), _month_number(found["month"])))
    for pattern in _PATTERNS:
        if found := pattern.fullmatch(lowered):
            return _from_parts(found.groupdict())
    raise ValueError("it is in no known form")


def _looks_iso(text: str) -> bool:
    """A full date and a time in the extended or basic form; week dates are left out, they are coarse."""
    if len(text) > 12 and text[4] == "-":
        return text[10] in "Tt " and text[5] != "W"
    return len(text) > 10 and text[8] in "Tt" and text[:8].isdigit()


def _from_digits(text: str) -> Moment:
    if len(text) == 4:
        return _year(int(text))
    if len(text) == 8 and text.startswith(("19", "20", "21")) and text.isdigit():
        return _day(int(text[:4]), int(text[4:6]), int(text[6:]))
    return _from_number(float(text) if "." in text else int(text))


def _month_number(text: str) -> int:
    number = int(text) if text.isdigit() else _MONTHS.get(text, 0)
    if not 1 <= number <= 12:
        raise ValueError("it names no month")
    return number


def _from_parts(parts: dict[str, str | None]) -> ParsedMoment:
    year, month, day = int(parts["year"] or 0), _month_number(parts["month"] or ""), int(parts["day"] or 0)
    if parts["hour"] is None:
        return ParsedMoment(_day(year, month, day))
    if parts["minute"] is None and parts["half"] is None:
        raise ValueError("its time has no minutes")
    hour, half = int(parts["hour"]), parts["half"]
    if half is not None:
        if not 1 <= hour <= 12:
            raise ValueError("its hour is not in 1..12")
        hour = hour % 12 + (12 if half == "p" else 0)
    zone = parts["zone"]
    moment = datetime(
        year,
        month,
        day,
        hour,
        int(parts["minute"] or 0),
        int(parts["second"] or 0),
        int((parts["fraction"] or "0")[:6].ljust(6, "0")),
        tzinfo=UTC if zone is None else _zone(zone),
    )
    return ParsedMoment(_instant(moment), zone is None)


def _zone(text: str) -> timezone:
    if text in _ZONE_HOURS:
        return timezone(timedelta(hours=_ZONE_HOURS[text]))
    if text[0] not in "+-":
        raise ValueError("its zone is unknown")
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError("its zone is not within -23:59 to +23:59")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


# Durations

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "w": 604_800, "mo": 2_592_000, "y": 31_536_000}
"""Seconds in a unit; a month is 30 days, a year 365. The first named wins where two texts are equally short."""

_DURATION = Pattern(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?(s|mo|m|h|d|w|y)")
_SHORTEST, _LONGEST = 1e-6, 1000.0 * _UNITS["y"]


def parse_duration(text: object) -> float:
    """Seconds in a duration such as `90s`, `5m`, `1.5h`, `7d`, `2w`, `1mo` (30 days), `1y` (365 days).

    Raises ValueError for anything else, and outside one microsecond to 1000 years.
    """
    found = _DURATION.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= LONGEST_TEXT else None
    if found is None:
        raise ValueError(f"duration {_shown(text)} cannot be read; allowed: a number and s, m, h, d, w, mo or y")
    return _bounded(float(Decimal(found[1]) * _UNITS[found[2]]))


def format_duration(seconds: float) -> str:
    """The shortest text that `parse_duration` reads as exactly these seconds. Raises ValueError outside its bounds."""
    exact = Decimal(_bounded(seconds))
    texts = (f"{_plain(float(exact / size))}{unit}" for unit, size in _UNITS.items())
    return min((text for text in texts if _reads_as(text, seconds)), key=len)


def _bounded(seconds: float) -> float:
    if not _SHORTEST <= seconds <= _LONGEST:
        raise ValueError(f"a duration of {_shown(seconds)} seconds is out of bounds; allowed: 0.000001s to 1000y")
    return seconds


def _plain(number: float) -> str:
    text = format(Decimal(repr(number)), "f")
    return text.removesuffix(".0")


def _reads_as(text: str, seconds: float) -> bool:
    found = _DURATION.fullmatch(text)
    return found is not None and float(Decimal(found[1]) * _UNITS[found[2]]) == seconds
