"""Freshness by the sensitivity of the query: which curve applies, from which clock, and how it is reported."""

from typing import Any

import pytest
from reading import pipeline, read, record


def fresh(temporal: dict[str, object], *memories: Any, query: str = "rate") -> dict[str, float]:
    ranking = read(pipeline(temporal=temporal), memories, query)
    return {item.id: item.scores["freshness"] for item in (*ranking.results, *ranking.excluded)}


@pytest.mark.parametrize(
    ("temporal", "days", "value"),
    [
        ({"half_life": "10d"}, 10, 0.5),
        ({"rate_per_hour": 0.01}, 1, 2.718281828459045**-0.24),
        ({"kernel": "linear", "window": "20d"}, 10, 0.5),
        ({"kernel": "linear", "window": "20d"}, 21, 0.0),
        ({"kernel": "gaussian", "half_life": "10d"}, 20, 0.0625),
        ({"kernel": "power", "scale": "1d", "p": 2.0}, 4, 0.04),
        ({"kernel": "weibull", "half_life": "10d", "beta": 0.5}, 40, 0.25),
        ({"kernel": "cliff", "window": "10d"}, 10, 1.0),
        ({"kernel": "cliff", "window": "10d"}, 10.01, 0.0),
        ({"kernel": "none"}, 10_000, 1.0),
        ({"half_life": "10d", "floor": 0.5}, 10, 0.75),
        ({"half_life": "10d", "offset": "10d"}, 20, 0.5),
        ({"sensitivity": "real-time"}, 0.25, 0.5),
        ({"sensitivity": "real-time"}, 1.0, 0.0625),
        ({"sensitivity": "real-time"}, 1.01, 0.0),
        ({"sensitivity": "real-time", "real_time_window": "4h", "real_time_half_life": "2h"}, 1 / 12, 0.5),
        ({"sensitivity": "historical"}, 5_000, 1.0),
        ({"sensitivity": "time-agnostic"}, 5_000, 1.0),
    ],
)
def test_the_curve(temporal: dict[str, object], days: float, value: float) -> None:
    assert fresh(temporal, record("m", days=days))["m"] == pytest.approx(value, abs=1e-9)


def test_the_past_is_measured_from_the_period_that_the_query_names() -> None:
    found = fresh(
        {"sensitivity": "historical", "historical_half_life": "30d"},
        record("inside", event_date="2025-03-10"),
        record("before", event_date="2025-01-30T00:00:00Z"),
        record("after", event_date="2025-05-01T00:00:00Z"),
        record("month", event_date="2025-03"),
        record("undated", days=None),
        query="What was the rate in March 2025?",
    )
    assert found["inside"] == found["month"] == 1.0
    assert found["before"] == found["after"] == pytest.approx(0.5, abs=0.02)
    assert found["undated"] == 0.0


@pytest.mark.parametrize(
    ("clock", "used"),
    [("event", "2026-03-10T00:00:00Z"), ("created", "2026-03-01T00:00:00Z"), ("accessed", "2026-03-18T00:00:00Z")],
)
def test_the_clock_chooses_the_date(clock: str, used: str) -> None:
    memory = {
        "id": "m",
        "content": "rate",
        "created_at": "2026-03-01T00:00:00Z",
        "event_date": "2026-03-10T00:00:00Z",
        "last_accessed_at": "2026-03-18T00:00:00Z",
    }
    (item,) = read(pipeline(temporal={"clock": clock}), [memory]).results
    assert item.date_used is not None
    assert item.date_used.text == used
    assert item.age_seconds == (read(pipeline(), [memory]).result.query.as_of - item.date_used.end).total_seconds()


def test_a_clock_falls_back_on_the_other_date() -> None:
    event_only = {"id": "m", "content": "rate", "event_date": "2026-03-10T09:00:00Z"}
    for clock in ("event", "created", "accessed"):
        (item,) = read(pipeline(temporal={"clock": clock}), [event_only]).results
        assert item.age_seconds == 10 * 86400.0


@pytest.mark.parametrize(
    ("query", "sensitivity", "kernel"),
    [
        ("What is the share price right now?", "real-time", "real-time-cutoff"),
        ("What is the latest rate?", "recent", "gaussian"),
        ("What was the rate in 2019?", "historical", "historical-preference"),
        ("What is a bond?", "time-agnostic", "none"),
    ],
)
def test_auto_reads_the_query_and_the_kernel_is_reported(query: str, sensitivity: str, kernel: str) -> None:
    ranking = read(pipeline(temporal={"sensitivity": "auto", "kernel": "gaussian"}), [record("m")], query)
    assert ranking.result.sensitivity == sensitivity
    assert {item.kernel for item in (*ranking.results, *ranking.excluded)} == {kernel}


def test_a_spec_may_have_questions_without_a_word_of_time_read_by_their_tense() -> None:
    now, then = "Which rate applies?", "Who agreed to the rate?"
    for query, unmarked, sensitivity in (
        (now, "time-agnostic", "time-agnostic"),
        (now, "tense", "recent"),
        (then, "tense", "historical"),
    ):
        ranking = read(pipeline(temporal={"sensitivity": "auto", "unmarked": unmarked}), [record("m")], query)
        assert ranking.result.sensitivity == sensitivity


def test_a_primary_source_has_more_authority_about_the_past_only() -> None:
    memories = [record("p", source_kind="primary", authority=0.6), record("s", authority=0.6)]
    for sensitivity, expected in (("historical", 0.8), ("recent", 0.6)):
        ranking = read(pipeline(temporal={"sensitivity": sensitivity}), memories)
        authority = {item.id: item.scores["authority"] for item in ranking.results}
        assert authority == {"p": pytest.approx(expected), "s": 0.6}
