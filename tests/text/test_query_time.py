"""Reading a query's relation to time: the labelled set, periods by hand, and what holds for any text."""

import json
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import UsageError
from memrank.text.periods import find_period
from memrank.text.sensitivity import read_time
from memrank.text.years import bare_years
from memrank.types import Period, Sensitivity

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "query_time.jsonl").read_text(encoding="utf-8").splitlines()
]
FLOORS = {"tune": (0.97, 0.98, 0.97), "held-out": (0.99, 0.99, 0.99)}
"""Shares of right sensitivity, right period (both bounds, or none) and right asks_previous."""
NOON = datetime(2025, 6, 18, 12, tzinfo=UTC)
"""A Wednesday."""


def bounds(period: Period | None) -> tuple[str | None, str | None]:
    if period is None:
        return None, None
    return tuple(moment.isoformat() if moment else None for moment in (period.start, period.end))  # type: ignore[return-value]


def named(text: str, as_of: datetime = NOON) -> str:
    """The bounds as short text: `2025-03-01 2025-04-01`, `-` where open, empty without a period."""
    period = find_period(text, as_of)
    if period is None:
        return ""
    shown = [moment.strftime("%Y-%m-%dT%H:%M") if moment else "-" for moment in (period.start, period.end)]
    return " ".join(moment.removesuffix("T00:00") for moment in shown)


@pytest.mark.parametrize("part", FLOORS)
def test_accuracy_on_the_labelled_set(part: str) -> None:
    rows = [row for row in ROWS if row["part"] == part]
    right = [0, 0, 0]
    for row in rows:
        read = read_time(row["query"], datetime.fromisoformat(row["as_of"]))
        right[0] += read.sensitivity.value == row["sensitivity"]
        right[1] += bounds(read.period) == (row["start"], row["end"])
        right[2] += read.asks_previous == row["asks_previous"]
    assert len(rows) >= 180
    for got, floor in zip(right, FLOORS[part], strict=True):
        assert got / len(rows) >= floor


def test_labelled_set_is_balanced_and_has_no_twins() -> None:
    assert len({row["query"].casefold() for row in ROWS}) == len(ROWS) >= 360
    for part in FLOORS:
        classes = [row["sensitivity"] for row in ROWS if row["part"] == part]
        assert all(classes.count(kind.value) >= 25 for kind in Sensitivity)


@pytest.mark.parametrize(
    "change", [str.upper, str.lower, str.title, lambda q: f"  \t{q}\n ", lambda q: q.rstrip("?.") + "?!"]
)
def test_case_blanks_and_closing_punctuation_change_nothing(change: "object") -> None:
    for row in ROWS:
        as_of = datetime.fromisoformat(row["as_of"])
        plain, changed = read_time(row["query"], as_of), read_time(change(row["query"]), as_of)  # type: ignore[operator]
        assert changed.sensitivity == plain.sensitivity, row["query"]
        assert changed.asks_previous == plain.asks_previous, row["query"]
        assert bounds(changed.period) == bounds(plain.period), row["query"]


@pytest.mark.parametrize("hours", [-11, -5, 9, 14])
def test_the_zone_of_as_of_does_not_matter(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    for row in ROWS:
        as_of = datetime.fromisoformat(row["as_of"])
        assert read_time(row["query"], as_of.astimezone(zone)) == read_time(row["query"], as_of)


def test_naive_as_of_is_refused() -> None:
    with pytest.raises(UsageError, match="time zone"):
        find_period("last week", NOON.replace(tzinfo=None))
    with pytest.raises(UsageError, match="time zone"):
        read_time("last week", NOON.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the past weekend", "2025-06-14 2025-06-16"),
        ("over the last week", "2025-06-11T12:00 2025-06-18T12:00"),
        ("last week", "2025-06-09 2025-06-16"),
        ("previous quarter", "2025-01-01 2025-04-01"),
        ("next 3 days", "2025-06-18T12:00 2025-06-21T12:00"),
        ("1 day ago", "2025-06-17T12:00 2025-06-18T12:00"),
        ("3 days ago", "2025-06-15T12:00 2025-06-16T12:00"),
        ("on 3/22", "2025-03-22 2025-03-23"),
        ("22/3/2025", "2025-03-22 2025-03-23"),
        ("28.12.2023", "2023-12-28 2023-12-29"),
        ("the 4th of July", "2024-07-04 2024-07-05"),
        ("on Feb 29", "2024-02-29 2024-03-01"),
        ("in August", "2024-08-01 2024-09-01"),
        ("in June", "2025-06-01 2025-07-01"),
        ("last June", "2024-06-01 2024-07-01"),
        ("next June", "2026-06-01 2026-07-01"),
        ("from November to February", "2024-11-01 2025-03-01"),
        ("from 3 to 10 March 2025", "2025-03-03 2025-03-11"),
        ("March 3-10, 2025", "2025-03-03 2025-03-11"),
        ("from March 2024 to May 2025", "2024-03-01 2025-06-01"),
        ("from 2018 to 2017", "2017-01-01 2019-01-01"),
        ("2018 compared to 2019", "2018-01-01 2020-01-01"),
        ("2012-15", "2012-01-01 2016-01-01"),
        ("from 2019 onwards", "2019-01-01 2025-06-18T12:00"),
        ("after 2030", "2031-01-01 -"),
        ("pre-2019", "- 2019-01-01"),
        ("as of 1 May 2025", "- 2025-05-02"),
        ("by Friday", "- 2025-06-21"),
        ("this Friday", "2025-06-20 2025-06-21"),
        ("on Wednesday", "2025-06-11 2025-06-12"),
        ("the week before 3 May 2025", "2025-04-26 2025-05-03"),
        ("two days before March 3, 2025", "2025-03-01 2025-03-02"),
        ("the last week of May", "2025-05-25 2025-06-01"),
        ("third quarter of 2024", "2024-07-01 2024-10-01"),
        ("the end of 2020", "2020-09-01 2021-01-01"),
        ("in the 19th century", "1801-01-01 1901-01-01"),
        ("mid-1990s", "1994-01-01 1997-01-01"),
        ("Easter 2025", "2025-04-20 2025-04-21"),
        ("last Thanksgiving", "2024-11-28 2024-11-29"),
        ("New Year's Eve 2024", "2024-12-31 2025-01-01"),
        ("winter 2024", "2024-12-01 2025-03-01"),
        ("year to date", "2025-01-01 2025-06-18T12:00"),
        ("yesterday evening", "2025-06-17T18:00 2025-06-18"),
        ("2\N{EN DASH}3 March 2025", "2025-03-02 2025-03-04"),
        ("on Valentine\N{RIGHT SINGLE QUOTATION MARK}s Day", "2025-02-14 2025-02-15"),
        ("In 2019, what changed in the first week of May 2019?", "2019-05-01 2019-05-08"),
    ],
)
def test_periods(text: str, expected: str) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "since the merger",
        "before the surgery",
        "2000 dollars",
        "room 2019",
        "4,500 users in 2000 stores",
        "version 3.11",
        "ISO 9001",
        "$1999",
        "call 555-123-2019",
        "a 9/10 split",
        "24/7 support",
        "timeout of 90s",
        "on February 30, 2025",
        "February 29 2023",
        "31 June 2025",
        "13/13/2020",
        "may I ask",
        "they march on",
        "Mondays",
        "a Sunday roast",
        "fall damage",
        "christmas tree",
        "spend 2000 on food",
        "2019-nCoV",
        "in 2200",
        "in 999",
        "Q10",
        "coenzyme q1",
        "3 may be enough",
        "http error 2003",
        "v2.2019.1",
        "0 days ago",
    ],
)
def test_no_period(text: str) -> None:
    assert named(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What happened in  the first week of\tMay 2023?", "first week of May 2023"),
        ("Who chaired it before 2019?", "before 2019"),
        ("Q3 results, please", "Q3"),
        ("Sales from March to May 2025", "March to May 2025"),
    ],
)
def test_the_words_that_name_the_period(text: str, words: str) -> None:
    period = find_period(text, NOON)
    assert period is not None
    assert period.text == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("revenue in 2019, 2018 and fy2017", [2019, 2018, 2017]),
        ("2000 dollars in room 2019, iso 9001, 1066", []),
        ("in 1066", [1066]),
        ("", []),
    ],
)
def test_bare_years(text: str, expected: list[int]) -> None:
    assert [year for _, _, year in bare_years(text)] == expected


@pytest.mark.parametrize(
    ("text", "sensitivity", "previous"),
    [
        ("What was the current ratio in 2019?", Sensitivity.HISTORICAL, False),
        ("What do the current assets consist of?", Sensitivity.TIME_AGNOSTIC, False),
        ("What was the profit before tax?", Sensitivity.TIME_AGNOSTIC, False),
        ("What is the drug used to treat?", Sensitivity.TIME_AGNOSTIC, False),
        ("What is this flour used to make?", Sensitivity.TIME_AGNOSTIC, False),
        ('Who wrote the song "Right Now"?', Sensitivity.TIME_AGNOSTIC, False),
        ("Does work on the latest release continue?", Sensitivity.RECENT, False),
        ("What did my manager say in our previous conversation?", Sensitivity.TIME_AGNOSTIC, False),
        ("Which landlord did I have before moving?", Sensitivity.HISTORICAL, True),
        ("How long before the trial did she resign?", Sensitivity.TIME_AGNOSTIC, False),
        ("Is the bridge closed?", Sensitivity.REAL_TIME, False),
        ("Is everything set up?", Sensitivity.TIME_AGNOSTIC, False),
        ("What has changed since 2015?", Sensitivity.HISTORICAL, False),
        ("What has changed since Monday?", Sensitivity.RECENT, False),
    ],
)
def test_cues(text: str, sensitivity: Sensitivity, previous: bool) -> None:
    read = read_time(text, NOON)
    assert (read.sensitivity, read.asks_previous) == (sensitivity, previous), read.evidence


def test_evidence_quotes_the_words() -> None:
    assert "'latest'" in read_time("What is the latest build?", NOON).evidence
    assert "'March 2025'" in read_time("What broke in March 2025?", NOON).evidence


PIECES = st.sampled_from(
    [
        "in",
        "on",
        "since",
        "before",
        "after",
        "until",
        "2019",
        "2018",
        "0999",
        "march",
        "may",
        "3",
        "3rd",
        "29",
        "30",
        "feb",
        "of",
        "the",
        "first",
        "week",
        "last",
        "past",
        "this",
        "next",
        "months",
        "ago",
        "few",
        "from",
        "to",
        "between",
        "and",
        "early",
        "mid",
        "end",
        "Q1",
        "FY23",
        "1990s",
        "monday",
        "today",
        "christmas",
        "summer",
        "2025-02-30",
        "13/13/2020",
        "31.12.2019",
        "century",
        "19th",
        "999",
        "years",
        "12",
        "months",
        ",",
        "-",
        "/",
        "?",
        "\x00",
        "\u2028",
        "'90s",
        "decade",
        "weekend",
        "one",
        "2199",
        "2100s",
        "couple",
        "now",
        "who",
        "did",
        "my",
        "current",
    ]
)
MOMENTS = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))]),
)


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=12).map(" ".join)), as_of=MOMENTS)
def test_any_text_reads_without_error(text: str, as_of: datetime) -> None:
    read = read_time(text, as_of)
    assert read.evidence
    if read.period is None:
        return
    assert read.period.text
    start, end = read.period.start, read.period.end
    assert start is not None or end is not None
    assert start is None or end is None or start < end


@pytest.mark.parametrize(
    "unit",
    [
        "2019 ",
        "2019, 2018 and ",
        "before ",
        "who ",
        "1/1/",
        "early ",
        "first week of ",
        "may to ",
        " ",
        "2",
        "\x00",
        "is ",
        "did ",
        "current ",
        "current a-a ",
        "İ",
        '"',
        "how did ",
        "past 3 ",
        "which do my my ",
        "before i was ",
        "\ud800",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    began = time.perf_counter()
    read_time(text, NOON)
    assert time.perf_counter() - began < 0.2


def test_only_the_beginning_is_read() -> None:
    assert find_period("x " * 1000 + "in 2019", NOON) is None
    assert named("x " * 900 + "in 2019") == "2019-01-01 2020-01-01"
