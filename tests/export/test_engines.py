"""The engines as exports know them, against what their documentation says and examples worked out by hand."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.export.engines.elasticsearch import searched
from memrank.export.engines.painless import evaluate
from memrank.export.engines.point import Point, single
from memrank.export.engines.qdrant import queried
from memrank.export.fields import Fields

NOW = 1_767_225_600.0
NOW_TEXT = "2026-01-01T00:00:00Z"
DAY = 86400
FIELDS = Fields()


def aged(days: float | None, **more: Any) -> Point:
    return Point(relevance=more.pop("relevance", 1.0), effective_at=None if days is None else NOW - days * DAY, **more)


def decayed(kind: str, point: Point, *, offset: int = 5, scale: int = 10, decay: float = 0.3) -> float | None:
    """The decay function alone, over the score of the query replaced by multiplying 1."""
    given = {"origin": NOW_TEXT, "offset": f"{offset * DAY * 1000}ms", "scale": f"{scale * DAY * 1000}ms"}
    function = {kind: {"effective_at": {**given, "decay": decay}}}
    return searched({"query": function_score([function])}, point, FIELDS)


def function_score(functions: list[Any], by: str = "multiply") -> dict[str, Any]:
    query = {"match": {"content": "q"}}
    return {"function_score": {"query": query, "functions": functions, "score_mode": "sum", "boost_mode": by}}


@pytest.mark.parametrize("kind", ["exp", "gauss", "linear"])
def test_decay_is_the_value_at_scale_beyond_offset_on_both_sides(kind: str) -> None:
    assert decayed(kind, aged(15)) == pytest.approx(0.3, abs=1e-12)
    assert decayed(kind, aged(-15)) == pytest.approx(0.3, abs=1e-12)
    assert decayed(kind, aged(5)) == decayed(kind, aged(0)) == 1.0
    assert decayed(kind, aged(None)) == 1.0  # a missing field


def test_decay_functions_have_the_documented_forms() -> None:
    far = 7.0
    assert decayed("exp", aged(12)) == pytest.approx(math.exp(math.log(0.3) / 10 * far))
    assert decayed("gauss", aged(12)) == pytest.approx(math.exp(-far * far / (2 * (-100 / (2 * math.log(0.3))))))
    whole = 10 / (1 - 0.3)
    assert decayed("linear", aged(12)) == pytest.approx((whole - far) / whole)
    assert decayed("linear", aged(400)) == 0.0


def test_functions_of_which_none_matches_count_as_one() -> None:
    never = {"filter": {"exists": {"field": "authority"}}, "weight": 0.25}
    assert searched({"query": function_score([never], "sum")}, aged(1, relevance=0.5), FIELDS) == 1.5
    assert searched({"query": function_score([never, {"weight": 0.0}], "sum")}, aged(1, relevance=0.5), FIELDS) == 0.5


def test_a_score_below_the_least_is_not_found() -> None:
    body = {"query": {"match": {"content": "q"}}, "min_score": 0.5}
    assert searched(body, aged(1, relevance=0.5), FIELDS) == 0.5
    assert searched(body, aged(1, relevance=0.49), FIELDS) is None


@pytest.mark.parametrize("text", ["2025-12-31T00:00:00Z", f"{NOW_TEXT}||-86400s"])
def test_ranges_know_dates_and_date_math(text: str) -> None:
    found = {"bool": {"must": [{"match": {"content": "q"}}], "must_not": [{"range": {"effective_at": {"lt": text}}}]}}
    assert searched({"query": found}, aged(1), FIELDS) == 1.0
    assert searched({"query": found}, aged(1.001), FIELDS) is None
    assert searched({"query": found}, aged(None), FIELDS) == 1.0


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3 - 4 / 8.0", 6.5),
        ("-params.p", -2.0),
        ("Math.min(1.0, Math.max(0.0, _score / params.p))", 0.25),
        ("Math.pow(2.0, -params.p)", 0.25),
        ("(doc['a'].size() == 0 ? 7.0 : doc['a'].value)", 3.0),
        ("(doc['none'].size() == 0 ? 7.0 : doc['none'].value)", 7.0),
        ("(doc['none'].size() == 0 ? 0.0 : Math.max(0.0, doc['none'].value.toInstant().toEpochMilli() / 2.0))", 0.0),
        ("params.map.getOrDefault(doc['t'].value, 1.0)", 5.0),
        (f"ZonedDateTime.parse('{NOW_TEXT}').toInstant().toEpochMilli()", NOW * 1000),
        ("doc['when'].value.toInstant().toEpochMilli()", 12.0),
        ("Math.pow(10.0, 400.0)", math.inf),
    ],
)
def test_painless(source: str, value: float) -> None:
    doc = {"a": 3.0, "t": "x", "when": 12, "none": None}
    assert evaluate(source, 0.5, {"p": 2, "map": {"x": 5.0}}, doc) == value


@pytest.mark.parametrize("source", ["", "1 +", "1 2", "System.exit(0)", "doc['none'].value", "1 # 2", "(1"])
def test_painless_that_no_export_writes_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"Painless|value"):
        evaluate(source, 0.5, {}, {})


def value(formula: Any, point: Point = aged(1), defaults: Any = None) -> float | None:  # noqa: B008 - frozen
    return queried({"query": {"formula": formula, "defaults": defaults or {}}}, point, FIELDS)


@pytest.mark.parametrize("kind", ["exp_decay", "gauss_decay", "lin_decay"])
def test_a_decay_is_its_midpoint_at_scale(kind: str) -> None:
    def at(days: float) -> float | None:
        age = {"sum": [{"datetime": NOW_TEXT}, {"neg": {"datetime_key": "effective_at"}}]}
        return value({kind: {"x": age, "scale": 10 * DAY, "midpoint": 0.3}}, aged(days))

    assert at(10) == pytest.approx(0.3)
    assert at(-10) == pytest.approx(0.3)
    assert at(0) == 1.0


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ({"sum": [1.0, {"mult": [2.0, 3.0]}, {"neg": 4.0}]}, 3.0),
        ({"div": {"left": 1.0, "right": 0.0, "by_zero_default": 7.0}}, 7.0),
        ({"div": {"left": 0.0, "right": 0.0, "by_zero_default": 7.0}}, 0.0),
        ({"abs": -2.0}, 2.0),
        ({"pow": {"base": 2.0, "exponent": -1.0}}, 0.5),
        ({"exp": 0.0}, 1.0),
        ("$score", 0.5),
        ("authority", 0.9),
        ("importance", 0.25),
        ({"key": "memory_type", "match": {"value": "price"}}, 1.0),
        ({"must_not": [{"key": "memory_type", "match": {"any": ["price"]}}]}, 0.0),
        ({"is_empty": {"key": "importance"}}, 1.0),
    ],
)
def test_qdrant_expressions(formula: Any, expected: float) -> None:
    point = aged(1, relevance=0.5, memory_type="price", authority=0.9)
    assert value(formula, point, {"importance": 0.25}) == expected


@pytest.mark.parametrize(
    "formula",
    [
        {"pow": {"base": 10.0, "exponent": 400.0}},
        {"div": {"left": 1.0, "right": 0.0}},
        {"exp_decay": {"x": 1.0, "scale": 0.0, "midpoint": 0.5}},
        {"exp_decay": {"x": 1.0, "scale": 1.0, "midpoint": 1.0}},
        "importance",
        {"log10": 1.0},
    ],
)
def test_what_qdrant_refuses_fails(formula: Any) -> None:
    with pytest.raises(ValueError, match=r"refuses|no default|no expression"):
        value(formula)


@given(st.floats(-1e30, 1e30))
def test_single_precision_keeps_seven_digits(number: float) -> None:
    assert single(number) == pytest.approx(number, rel=1e-7, abs=1e-44)
    assert single(single(number)) == single(number)
