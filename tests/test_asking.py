"""From the arguments of a call to a query: what is refused, what is repaired, what "now" means."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.asking import MAX_QUERY_CHARS, ask, limits, moment
from memrank.errors import UsageError


@pytest.mark.parametrize("text", [None, "", " ", "\t\n", "\u3000"])
def test_an_empty_query(text: str | None) -> None:
    with pytest.raises(UsageError, match="the query is empty"):
        ask(text)


def test_an_oversized_query() -> None:
    ask("x" * MAX_QUERY_CHARS)
    with pytest.raises(UsageError, match="100,001 characters"):
        ask("x" * (MAX_QUERY_CHARS + 1))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"query": 5}, "query is a int"),
        ({"query": ["rate"]}, "query is a list"),
        ({"namespace": 5}, "namespace is a int"),
        ({"query_id": None}, "query_id is a NoneType"),
        ({"domain": 5}, "domain is a int"),
        ({"observations": "one text"}, "observations is a str"),
        ({"constraints": [5]}, "constraints is a int"),
        ({"filters": "tags=x"}, "filters is a str"),
        ({"filters": {"tags": None}}, "the filter 'tags'"),
        ({"filters": {"tags": [["x"]]}}, "the filter 'tags'"),
        ({"filters": {5: "x"}}, "a filter is a int"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        ask(**{"query": "rate", **arguments})


def test_filters_are_texts() -> None:
    asked = ask("rate", filters={"tags": "a", "agent_id": ("b", "c"), "metadata.n": 3, "metadata.open": [True, 2.5]})
    assert asked.filters == {
        "tags": ("a",),
        "agent_id": ("b", "c"),
        "metadata.n": ("3",),
        "metadata.open": ("true", "2.5"),
    }
    assert ask("rate").filters == {}


@given(st.text(alphabet=st.characters(), min_size=1, max_size=20).filter(str.strip))
def test_any_text_is_asked_as_utf_8(text: str) -> None:
    asked = ask(text, query_id=text, namespace=text, filters={"tags": text}, observations=[text])
    for kept in (asked.text, asked.id, asked.namespace or "", asked.filters["tags"][0], asked.observations[0]):
        kept.encode("utf-8")
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert asked.text == text


@pytest.mark.parametrize(
    ("given_moment", "expected"),
    [
        ("2026-03-20T09:00:00Z", datetime(2026, 3, 20, 9, tzinfo=UTC)),
        ("2026-03-20T09:00:00", datetime(2026, 3, 20, 9, tzinfo=UTC)),
        ("2026-03-20T09:00:00-05:00", datetime(2026, 3, 20, 14, tzinfo=UTC)),
        ("2026-03-20", datetime(2026, 3, 21, tzinfo=UTC)),  # a period means its end
        (datetime(2026, 3, 20, 9), datetime(2026, 3, 20, 9, tzinfo=UTC)),  # noqa: DTZ001
        (datetime(2026, 3, 20, 9, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 3, 20, 7, tzinfo=UTC)),
        (1774000800, datetime(2026, 3, 20, 10, tzinfo=UTC)),
    ],
)
def test_now(given_moment: Any, expected: datetime) -> None:
    found = moment(given_moment)
    assert found == expected
    assert found.tzinfo is UTC


def test_now_is_the_clock_where_nothing_is_given() -> None:
    before = datetime.now(UTC)
    assert before <= moment(None) <= datetime.now(UTC)


@pytest.mark.parametrize(
    "unreadable",
    [
        "yesterday",
        "",
        "2026-13-01",
        "10000-01-01",
        "x" * 10_000,
        float("nan"),
        10**400,
        True,
        [],
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_moments_that_cannot_be_read(unreadable: Any) -> None:
    with pytest.raises(UsageError, match="as_of"):
        moment(unreadable)


@pytest.mark.parametrize("name", ["top_k", "max_tokens"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "3"])
def test_limits_are_whole_numbers_from_one_on(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        limits(**{name: value})
    assert getattr(limits(**{name: 1}), name) == 1
