"""Records of a conversation as elements: kinds, turns, names, repairs with notes."""

import numpy as np
import pytest
from hypothesis import given
from speaking import Record, assistant, call, conversations, document, elements, output, user

from memrank.dialogue.elements import read_elements
from memrank.errors import DataError, UsageError


def codes(*records: Record) -> list[tuple[str, int]]:
    return [(note.code, note.count) for note in read_elements(records)[1]]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"role": "user"}, "user"),
        ({"role": "Human"}, "user"),
        ({"role": "assistant"}, "assistant"),
        ({"role": "developer"}, "system"),
        ({"role": "tool"}, "tool_output"),
        ({"role": "assistant", "memory_type": "tool_call"}, "tool_call"),
        ({"role": "tool", "memory_type": "Tool-Output"}, "tool_output"),
        ({"memory_type": "function_result"}, "tool_output"),
        ({"memory_type": "document", "role": "user"}, "document"),
        ({"role": "moderator"}, "user"),
        ({"turn": 4}, "user"),
        ({"memory_type": "fact"}, "document"),
        ({}, "document"),
    ],
)
def test_kinds(record: Record, kind: str) -> None:
    assert elements({"content": "x", **record})[0].kind == kind


def turns(*records: Record) -> list[int]:
    return [element.turn for element in elements(*records)]


def test_turns_without_numbers() -> None:
    assert turns(user("a"), assistant("b"), call("f()"), output("c"), user("d"), user("e"), assistant("f")) == [
        *[0, 1, 1, 1],
        *[2, 3, 4],
    ]


def test_turn_numbers_are_counted_without_gaps() -> None:
    assert turns(user("a", turn=3), assistant("b", turn=3), user("c", turn=90), user("d", turn=91)) == [0, 0, 1, 2]


def test_numbers_of_another_session_start_again() -> None:
    given = [user("a", turn=1, session_id="x"), user("b", turn=2, session_id="x"), user("c", turn=1, session_id="y")]
    assert turns(*given) == [0, 1, 2]
    assert codes(*given) == []


def test_what_comes_up_in_a_numbered_turn_belongs_to_it() -> None:
    given = [user("a", turn=1), document("d1"), document("d2"), call("f()", "x"), output("y", "x"), user("b", turn=2)]
    assert turns(*given) == [0, 0, 0, 0, 0, 1]
    assert turns(document("d"), user("a", turn=1)) == [0, 1]


def test_turns_and_clocks_that_go_backwards_are_said() -> None:
    assert codes(user("a", turn=5), assistant("b", turn=4), user("c", turn=3)) == [("turns_backwards", 2)]
    assert turns(user("a", turn=5), assistant("b", turn=4), user("c", turn=5)) == [0, 1, 2]
    later, sooner = {"created_at": "2026-03-20"}, {"created_at": "2026-03-01"}
    assert codes(user("a", **later), user("b"), user("c", **sooner)) == [("clock_backwards", 1)]
    assert codes(user("a", **sooner), user("b", **later), user("c", **later)) == []
    assert [element.content for element in elements(user("a", **later), user("c", **sooner))] == ["a", "c"]


def test_a_repeated_id_counts_once_at_its_last_place() -> None:
    given = [user("a", id="1"), user("b", id="2"), user("c", id="1"), user("d", id="1")]
    assert [(e.id, e.content) for e in elements(*given)] == [("2", "b"), ("1", "d")]
    assert codes(*given) == [("repeated_id", 2)]


@pytest.mark.parametrize("nothing", [{}, {"id": None}, {"id": ""}, {"id": []}])
def test_without_an_id_the_place_is_the_name(nothing: Record) -> None:
    assert [e.id for e in elements(user("a", **nothing), user("b", id="x"), user("c", **nothing))] == ["#1", "x", "#3"]


def test_a_name_that_another_element_has_is_not_taken() -> None:
    """An unnamed element is no repetition of one that happens to be called like its place."""
    given = [user("a"), user("b", id="#1"), user("c", id="#4"), user("d"), user("e", id="##1")]
    assert [(e.id, e.content) for e in elements(*given)] == [
        ("###1", "a"), ("#1", "b"), ("#4", "c"), ("##4", "d"), ("##1", "e"),
    ]  # fmt: skip
    assert codes(*given) == []


@given(conversations())
def test_ids_are_unique_turns_have_no_gaps_and_nothing_unnamed_is_lost(records: list[Record]) -> None:
    found = elements(*records)
    ids = [element.id for element in found]
    assert len(set(ids)) == len(ids)
    assert len(found) == sum("id" not in r for r in records) + len({r["id"] for r in records if "id" in r})
    numbers = [element.turn for element in found]
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
    assert numbers == sorted(numbers)


def test_calls_and_pins() -> None:
    found = elements(call("f()", "x"), {**output("y"), "tool_call_id": 7}, user("z", pinned=True, call_id=""))
    assert [(e.call_id, e.pinned) for e in found] == [("x", False), ("7", False), (None, True)]


@pytest.mark.parametrize("records", ["text", b"x", {"content": "x"}, 5, None])
def test_no_list(records: object) -> None:
    with pytest.raises(UsageError, match="must be a list of records"):
        read_elements(records)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [{"role": "user"}, "text", None, {"id": {"x": 1}, "content": "y"}, [1]])
def test_a_bad_record_is_named_by_its_place(bad: object) -> None:
    with pytest.raises(DataError, match=r"elements\[1\]"):
        read_elements([user("a"), bad])  # type: ignore[list-item]


def test_odd_values_are_read_or_refused_without_a_traceback() -> None:
    assert elements({"id": np.int64(7), "content": "x"})[0].id == "7"
    assert elements(user("a \ud800 b"))[0].content == "a \ufffd b"
    assert elements() == ()
    assert elements(user(""))[0].content == ""
    assert [e.content for e in read_elements(iter([user("a"), user("b")]))[0]] == ["a", "b"]
