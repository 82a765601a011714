"""Answers of a model once checked: exactly the ids given, each with values in range, or faults."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.lmanswers import (
    AnswerError,
    Judgement,
    Repairs,
    check,
    choice,
    judgement,
    share,
    text,
    whole,
)

IDS = ["a", "b", "c"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(IDS),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["id", "relevance", "justification", "excluded", "combined"]), inner, max_size=5
        )
    ),
    max_leaves=20,
)


def row(identity: object, relevance: object, why: object = "because", **more: object) -> dict[str, object]:
    return {"id": identity, "relevance": relevance, "justification": why, **more}


@given(ANYTHING | st.lists(ANYTHING))
def test_any_answer_gives_ids_that_were_given_or_faults(items: object) -> None:
    checked = check(IDS, items, judgement)
    assert set(checked.accepted) <= set(IDS)
    assert list(checked.accepted) == [one for one in IDS if one in checked.accepted]
    assert all(0 <= one.relevance <= 1 and one.justification for one in checked.accepted.values())
    assert checked.faults or list(checked.accepted) == IDS
    assert checked.missing(IDS) == [one for one in IDS if one not in checked.accepted]


@given(st.permutations(IDS), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_a_whole_answer_is_taken_in_any_order(order: list[str], values: list[float]) -> None:
    checked = check(IDS, [row(one, value) for one, value in zip(order, values, strict=True)], judgement)
    assert not checked.faults
    assert {one: found.relevance for one, found in checked.accepted.items()} == dict(zip(order, values, strict=True))
    assert checked.repairs.get("order", 0) == (order != IDS)


@pytest.mark.parametrize(
    ("given_value", "read", "repair"),
    [(0.8, 0.8, None), (1, 1.0, None), (0, 0.0, None), ("0.8", 0.8, "number_as_text"), ("80 %", 0.8, "percent")],
)
def test_what_is_safe_to_read_is_read(given_value: object, read: float, repair: str | None) -> None:
    repairs = Repairs()
    assert share(given_value, "relevance", repairs) == read
    assert dict(repairs) == ({} if repair is None else {repair: 1})


@pytest.mark.parametrize(
    "value", [80, -0.1, 1.0001, "80", "high", "", None, True, [0.5], math.nan, math.inf, 10**400, "1e999", "0.8 of 1"]
)
def test_no_other_value_is_a_share(value: object) -> None:
    with pytest.raises(AnswerError, match="it must be a number from 0 to 1"):
        share(value, "relevance", Repairs())


def test_an_id_that_nobody_gave_is_left_out_and_said() -> None:
    checked = check(["a"], [row("a", 0.5), row("ghost", 1)], judgement)
    assert list(checked.accepted) == ["a"]
    assert checked.repairs == {"unknown_id": 1}
    assert checked.faults == ("'ghost' is none of the ids given",)


def test_an_id_judged_twice_counts_where_both_agree() -> None:
    assert check(["a"], [row("a", 0.5)] * 2, judgement).accepted == {
        "a": Judgement(relevance=0.5, justification="because")
    }
    assert check(["a"], [row("a", 0.5), row("a", 0.6)], judgement).accepted == {}
    assert check(["a"], [row("a", 0.5), row("a", 80)], judgement).accepted == {}


def test_ids_may_be_numbers() -> None:
    assert list(check(["7"], [row(7, 0.5)], judgement).accepted) == ["7"]


def test_one_wrong_value_spoils_one_judgement() -> None:
    checked = check(IDS, [row("a", 0.5), row("b", 80), row("c", 0.1)], judgement)
    assert list(checked.accepted) == ["a", "c"]
    assert checked.faults == ("b: relevance is 80; it must be a number from 0 to 1",)


@pytest.mark.parametrize(
    "more",
    [
        {"combined_score": 0.9, "freshness": 0.3},
        {"composite": 0.6},
        {"excluded": True},
        {"freshness": 7},
    ],
)
def test_numbers_that_cannot_have_been_meant(more: dict[str, object]) -> None:
    assert check(["a"], [row("a", 0.5, **more)], judgement).accepted == {}


def test_numbers_beside_relevance_are_not_used() -> None:
    checked = check(["a"], [row("a", 0.5, combined_score=0.55, freshness=0.1, excluded=False)], judgement)
    assert checked.accepted["a"].relevance == 0.5


@pytest.mark.parametrize("value", [None, "", "  ", 3, "<think>no</think>", "\u200b"])
def test_a_justification_is_a_sentence(value: object) -> None:
    with pytest.raises(AnswerError):
        text(value, "justification", Repairs())


def test_what_was_thought_aloud_is_taken_out() -> None:
    repairs = Repairs()
    assert text("<think>so and so</think> names the employer", "justification", repairs) == "names the employer"
    assert repairs == {"thinking": 1}
    assert len(text("x" * 10_000, "justification", Repairs())) <= 300


def test_a_choice_in_another_spelling() -> None:
    repairs = Repairs()
    assert choice("Keep full", "action", ["keep_full", "drop"], repairs) == "keep_full"
    assert repairs == {"spelling": 1}
    with pytest.raises(AnswerError, match="none of keep_full, drop"):
        choice("burn", "action", ["keep_full", "drop"], repairs)


@pytest.mark.parametrize(("value", "read"), [(3, 3), ("3", 3), (3.0, 3)])
def test_a_whole_number(value: object, read: int) -> None:
    assert whole(value, "class", 1, 5, Repairs()) == read


@pytest.mark.parametrize("value", [0, 6, 2.5, True, None, "three", math.nan, "9" * 5000])
def test_no_whole_number_in_range(value: object) -> None:
    with pytest.raises(AnswerError):
        whole(value, "class", 1, 5, Repairs())


@given(st.text())
def test_faults_are_short_and_can_stand_in_a_prompt(identity: str) -> None:
    faults = check(["a"], [row(identity, 0.5)], judgement).faults
    assert all(len(fault) < 120 and json.dumps(fault) for fault in faults)
