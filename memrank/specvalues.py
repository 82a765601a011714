"""Values of a spec that have a unit or a range of their own: durations, moments, shares, counts."""

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from memrank.text.dates import format_duration, parse_as_of, parse_duration


def _duration(value: object) -> float:
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError("this is no duration; allowed: a number with a unit, such as 90s, 5m, 24h, 7d or 2w")


def _grace(value: object) -> float:
    return 0.0 if value == "0s" else _duration(value)


def format_grace(seconds: float) -> str:
    """A duration as it is written; unlike `format_duration`, of 0 seconds too."""
    return "0s" if seconds == 0 else format_duration(seconds)


def _moment(value: object) -> str:
    text = value.isoformat() if isinstance(value, date) else value
    if isinstance(text, str):
        parse_as_of(text)
        return text
    raise ValueError("this is no time; allowed: ISO 8601, such as 2026-03-20T09:00:00Z")


def _version(value: object) -> object:
    if type(value) is int:  # Python holds true and 1.0 equal to 1
        return value
    raise ValueError("this is no version of the spec format; allowed: 1")


CUT_METRICS = ("recall@k", "R@k", "P@k", "nDCG@k", "MRR@k", "stale@k", "must_not@k")
"""Metrics of the first k results, k from 1 to 1000."""
METRICS = (
    *("MRR", "MAP", "MAE", "MAE_relevance", "MAE_freshness", "MAE_combined", "ECE", "Brier"),
    *("current_first", "empty_ok", "coverage", "risk", "sensitivity", "actions", "leaks"),
    *("latency_p50", "latency_p95", "latency_p99", "lm_calls", "lm_tokens", "cost_usd"),
    *("lm_sent", "lm_fallbacks", "lm_invalid", "lm_timeouts", "position_bias"),
)
"""`MAE` is `MAE_combined`; latencies are in milliseconds."""
METRIC = (
    f"^(({'|'.join(name.removesuffix('@k') for name in CUT_METRICS)})@([1-9][0-9]{{0,2}}|1000)|{'|'.join(METRICS)})$"
)
"""The names of all metrics, case as written."""


def _metric(name: str) -> str:
    if re.fullmatch(METRIC[1:-1], name):  # `$` would let a line end pass
        return name
    allowed = f"{', '.join(CUT_METRICS)} (k from 1 to 1000), {', '.join(METRICS)}"
    raise ValueError(f"there is no such metric; allowed: {allowed}")


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as fault:
        raise ValueError(f"this is no regular expression ({fault}); allowed: the syntax of Python's re") from None
    return text


_DURATION_SCHEMA = WithJsonSchema(
    {
        "type": "string",
        "pattern": r"^[0-9]{1,30}(\.[0-9]{1,30})? ?(s|m|h|d|w|mo|y)$",
        "examples": ["90s", "24h", "14d", "2w"],
    }
)
Duration = Annotated[
    float, BeforeValidator(_duration), PlainSerializer(format_duration, return_type=str), _DURATION_SCHEMA
]
Grace = Annotated[float, BeforeValidator(_grace), PlainSerializer(format_grace, return_type=str), _DURATION_SCHEMA]
"""A duration that may be `0s`."""
Time = Annotated[
    str, BeforeValidator(_moment), WithJsonSchema({"type": "string", "examples": ["2026-03-20T09:00:00Z"]})
]
Share = Annotated[float, Field(ge=0, le=1)]
Points = Annotated[float, Field(ge=1, le=10)]
"""Importance on the scale from 1 to 10."""
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Regex = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_regex)]
FormatVersion = Annotated[Literal[1], BeforeValidator(_version)]
MetricKey = Annotated[str, AfterValidator(_metric)]
Metric = Annotated[MetricKey, WithJsonSchema({"type": "string", "pattern": METRIC})]
