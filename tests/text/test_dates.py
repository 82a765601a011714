"""Dates and durations: every form of the record format, its borders, and nothing but ValueError."""

import math
import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memrank.text.dates import format_duration, parse_as_of, parse_duration, parse_moment


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


INSTANTS = {
    "2026-03-20T09:00:00Z": (utc(2026, 3, 20, 9), False),
    "2026-03-20t09:00:00z": (utc(2026, 3, 20, 9), False),
    "2026-03-20 09:00:00+02:00": (utc(2026, 3, 20, 7), False),
    "2026-03-20T09:00:00+0100": (utc(2026, 3, 20, 8), False),
    "2026-03-20 09:00:00 +0100": (utc(2026, 3, 20, 8), False),
    "2026-03-20 09:00:00 UTC": (utc(2026, 3, 20, 9), False),
    "2026-03-20T09:00:00.25Z": (utc(2026, 3, 20, 9, 0, 0, 250_000), False),
    "2026-03-20T09:00:00.123456789Z": (utc(2026, 3, 20, 9, 0, 0, 123_456), False),
    "20260320T090000Z": (utc(2026, 3, 20, 9), False),
    "2026-03-20T09:00": (utc(2026, 3, 20, 9), True),
    "2026-03-20 09:00:00": (utc(2026, 3, 20, 9), True),
    "  2026-03-20T09:00  ": (utc(2026, 3, 20, 9), True),
    "1:56 pm on 8 May, 2023": (utc(2023, 5, 8, 13, 56), True),
    "12:05 am on 8 May, 2023": (utc(2023, 5, 8, 0, 5), True),
    "12:05 PM on 8 May, 2023": (utc(2023, 5, 8, 12, 5), True),
    "1:56\u202fPM on 8 May, 2023": (utc(2023, 5, 8, 13, 56), True),
    "2023/04/10 (Mon) 17:50": (utc(2023, 4, 10, 17, 50), True),
    "28.12.2023, 20:01:56": (utc(2023, 12, 28, 20, 1, 56), True),
    "May 8, 2023 at 5pm": (utc(2023, 5, 8, 17), True),
    "Mon, 20 Nov 1995 19:12:08 -0500": (utc(1995, 11, 21, 0, 12, 8), False),
    "06 Nov 1994 08:49:37 GMT": (utc(1994, 11, 6, 8, 49, 37), False),
    "20 Nov 1995 05:30 EST": (utc(1995, 11, 20, 10, 30), False),
    "1716200000": (utc(2024, 5, 20, 10, 13, 20), False),
    "1716200000000": (utc(2024, 5, 20, 10, 13, 20), False),
    "1716200000.5": (utc(2024, 5, 20, 10, 13, 20, 500_000), False),
}

PERIODS = {
    "2026-03-20": ("2026-03-20", utc(2026, 3, 20), utc(2026, 3, 21)),
    "2024-02-29": ("2024-02-29", utc(2024, 2, 29), utc(2024, 3, 1)),
    "20260320": ("2026-03-20", utc(2026, 3, 20), utc(2026, 3, 21)),
    "2023/04/10": ("2023-04-10", utc(2023, 4, 10), utc(2023, 4, 11)),
    "8 May 2023": ("2023-05-08", utc(2023, 5, 8), utc(2023, 5, 9)),
    "May 8, 2023": ("2023-05-08", utc(2023, 5, 8), utc(2023, 5, 9)),
    "8th May, 2023": ("2023-05-08", utc(2023, 5, 8), utc(2023, 5, 9)),
    "28.12.2023": ("2023-12-28", utc(2023, 12, 28), utc(2023, 12, 29)),
    "2026-03": ("2026-03", utc(2026, 3, 1), utc(2026, 4, 1)),
    "2026-12": ("2026-12", utc(2026, 12, 1), utc(2027, 1, 1)),
    "March 2026": ("2026-03", utc(2026, 3, 1), utc(2026, 4, 1)),
    "2026": ("2026", utc(2026, 1, 1), utc(2027, 1, 1)),
    "0001": ("0001", utc(1, 1, 1), utc(2, 1, 1)),
}


@pytest.mark.parametrize("text", INSTANTS)
def test_an_instant_is_read_as_utc(text: str) -> None:
    moment, zoneless = parse_moment(text)
    assert (moment.start, zoneless) == INSTANTS[text]
    assert moment.end == moment.start
    assert moment.text.endswith("Z")


@pytest.mark.parametrize("text", PERIODS)
def test_a_coarse_date_is_a_period_and_stays_coarse(text: str) -> None:
    moment, zoneless = parse_moment(text)
    assert (moment.text, moment.start, moment.end) == PERIODS[text]
    assert not zoneless


@pytest.mark.parametrize(
    "value",
    [
        *("2024-02-30", "2023-02-29", "2024-02-30T10:00:00Z", "2024-13-01", "2024-00-10", "2024-13", "20240230"),
        *("2024-01-01T24:00:00Z", "2016-12-31T23:59:60Z", "0000-01-01", "0000", "2024-01-01T00:00:00+25:00"),
        *("05/08/2023", "8 May 23", "13:56 pm on 8 May, 2023", "0 am on 8 May, 2023", "8 Mai 2023", "8 May 2023 13"),
        *("2024-W10-1", "2024-W10-1T10:00", "2024-05-08x10:00", "yesterday", "", "  ", "-5", "1e5", "１２３４"),
        *("0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-05:00", "9" * 16, "9" * 63, "1" * 5000),
        *(True, False, None, [], {}, object(), -1, 10**5000, 7_258_118_400_000, math.nan, math.inf, -math.inf, 1e300),
    ],
    ids=lambda value: f"{value!r:.30}" if not isinstance(value, int) or abs(value) < 2**64 else "huge",
)
def test_what_cannot_be_read_is_a_value_error_that_says_what_is_allowed(value: object) -> None:
    with pytest.raises(ValueError, match=r"^created_at .* allowed: ISO 8601") as caught:
        parse_moment(value, what="created_at")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31"])
def test_the_last_period_ends_with_the_last_instant(text: str) -> None:
    assert parse_moment(text).moment.end == datetime.max.replace(tzinfo=UTC)


def test_numbers_are_told_apart_by_size() -> None:
    assert parse_moment(0).moment.start == utc(1970, 1, 1)
    assert parse_moment(1_716_200_000).moment == parse_moment(1_716_200_000_000).moment
    assert parse_moment(7_258_118_399).moment.text == "2199-12-31T23:59:59Z"
    assert parse_moment(7_258_118_399_999).moment.text == "2199-12-31T23:59:59.999000Z"
    assert parse_moment(1_716_200_000.25).moment.start.microsecond == 250_000
    assert parse_moment(Fraction(3, 2)).moment.text == "1970-01-01T00:00:01.500000Z"
    assert parse_moment(2024).moment == parse_moment("2024").moment == parse_moment(2024.0).moment


def test_dates_and_datetimes_are_read() -> None:
    assert parse_moment(date(2024, 2, 29)).moment.text == "2024-02-29"
    assert parse_moment(utc(2024, 5, 8, 10).replace(tzinfo=None)) == (parse_moment("2024-05-08T10:00:00Z").moment, True)
    east = datetime(2024, 5, 8, 10, tzinfo=timezone(timedelta(hours=2)))
    assert parse_moment(east) == (parse_moment("2024-05-08T08:00:00Z").moment, False)


def test_a_subclass_of_datetime_becomes_a_plain_one() -> None:
    class Stamp(datetime):
        """As numeric libraries have them."""

    assert type(parse_moment(Stamp(2024, 5, 8, tzinfo=UTC)).moment.start) is datetime


def test_an_as_of_that_is_a_period_means_its_end() -> None:
    assert parse_as_of("2026-03") == utc(2026, 4, 1)
    assert parse_as_of("2026-03-20") == utc(2026, 3, 21)
    assert parse_as_of("2026-03-20T09:00:00+01:00") == utc(2026, 3, 20, 8)
    with pytest.raises(ValueError, match="as_of 'soon'"):
        parse_as_of("soon")


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_text_of_an_instant_reads_as_the_same_instant(value: datetime) -> None:
    moment = parse_moment(value).moment
    assert parse_moment(moment.text) == (moment, False)


@given(st.dates(), st.sampled_from([4, 7, 10]))
def test_the_text_of_a_period_reads_as_the_same_period(value: date, length: int) -> None:
    moment = parse_moment(value.isoformat()[:length]).moment
    assert moment.text == value.isoformat()[:length]
    assert parse_moment(moment.text).moment == moment
    assert moment.start < moment.end


@given(st.integers(365 * 86_400, 7_258_118_399))
def test_epoch_seconds_and_milliseconds_agree(seconds: int) -> None:
    expected = datetime.fromtimestamp(seconds, UTC)
    assert parse_moment(seconds).moment.start == parse_moment(float(seconds)).moment.start == expected
    assert parse_moment(seconds * 1000).moment.start == parse_moment(str(seconds * 1000)).moment.start == expected


@given(
    st.one_of(
        st.text(),
        st.from_regex(r"\A[0-9]{1,4}[-/.T ][0-9]{1,2}[-/.:, ][0-9]{1,4}[ T,](on|at|pm|May|Z|[+]1|[0-9:]{0,8})*\Z"),
        st.integers(),
        st.floats(),
        st.datetimes(),
        st.binary(),
    )
)
@example("2024-")
@example("+" * 64)
def test_nothing_but_a_value_error_is_raised(value: object) -> None:
    for read in (parse_moment, parse_as_of, parse_duration):
        with suppress(ValueError):
            assert read(value) is not None


def test_hostile_texts_take_no_time() -> None:
    started = time.perf_counter()
    for text in ("1" * 64, "a " * 32, "may " * 16, "1:" * 32, " " * 10**6, "x" * 10**6):
        for read in (parse_moment, parse_duration):
            with pytest.raises(ValueError, match="cannot be read"):
                read(text)
    assert time.perf_counter() - started < 0.5


DURATIONS = {
    "90s": 90,
    "5m": 300,
    "24h": 86_400,
    "7d": 604_800,
    "2w": 1_209_600,
    "1mo": 30 * 86_400,
    "1y": 365 * 86_400,
    "1.5h": 5_400,
    "0.1d": 8_640,
    " 14 d ": 14 * 86_400,
}


@pytest.mark.parametrize("text", DURATIONS)
def test_a_duration_is_read_in_seconds(text: str) -> None:
    assert parse_duration(text) == DURATIONS[text]


@pytest.mark.parametrize(
    "text",
    ["", "5", "d", "-5d", "0s", "0.0000001s", "nan d", "inf d", "1e3s", "5M", "5 days", "1001y", "1h30m", 5, None],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"duration.*allowed"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (90, "90s"),
        (5_400, "90m"),
        (86_400, "1d"),
        (604_800, "7d"),
        (1_209_600, "2w"),
        (365 * 86_400, "1y"),
        (0.5, "0.5s"),
    ],
)
def test_a_duration_is_written_as_short_as_it_can_be(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf, 1e12, 10**400])
def test_a_duration_out_of_bounds_is_not_written(seconds: float) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        format_duration(seconds)


@given(st.floats(min_value=1e-6, max_value=3.1536e10))
def test_a_written_duration_reads_as_the_same_seconds(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds
