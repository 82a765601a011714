"""What a turn does by its words; and any text is read in time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.talk import CUES, SCANNED, called, clipped, cues_of, ends_in_question, questions


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("I'll send it on Friday.", "promise"),
        ("I\u2019ll send it on Friday.", "promise"),
        ("Let me check that for you.", "promise"),
        ("Could you book a table for two?", "request"),
        ("Book the Central.", "request"),
        ("Not now; after lunch.", "later"),
        ("Done, the invoice was sent.", "done"),
        ("I am allergic to penicillin, never give me that.", "lasting"),
    ],
)
def test_cues(text: str, cue: str) -> None:
    assert cue in cues_of(text)
    assert cue in cues_of(text.upper().replace("\u2019", "'"))
    assert cue in CUES


def test_words_within_others_are_no_cues() -> None:
    assert cues_of("The willow stood still.") == frozenset()
    assert cues_of("") == frozenset()


def test_questions_are_counted() -> None:
    assert questions("Where? And when? Good.") == 2
    assert questions("Nothing asked.") == questions("") == 0


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Why?", True), ('He asked "why?" ', True), ("(why?)\n", True), ("Why? Because.", False), ("", False)],
)
def test_what_is_said_last(text: str, asks: bool) -> None:
    assert ends_in_question(text) is asks


def test_the_function_that_is_called() -> None:
    assert called(" Orders.find (id=1)") == "orders.find"
    assert called("find(other())") == "find"
    assert called('{"name": "find"}') is None
    assert called("") is None
    assert called("1(2)") is None


def test_of_a_long_turn_the_start_and_the_end_are_read() -> None:
    filler = "x " * SCANNED
    assert clipped("x" * SCANNED) == "x" * SCANNED
    assert len(clipped(filler)) == SCANNED + 1
    assert "promise" in cues_of("I'll send it. " + filler)
    assert "promise" in cues_of(filler + " I'll send it.")
    assert "promise" not in cues_of(filler + " I'll send it. " + filler)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert cues_of(text) <= set(CUES)
    assert questions(text) <= text.count("?")
    assert called(text) is None or "(" in text


@pytest.mark.parametrize(
    "piece", ["a", "?", "a?", " ", "f (", "leave ", "not ", "\x00", "\u0130", "\ud800", "i'll ", "."]
)
def test_hostile_repetition_is_read_in_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    cues_of(text)
    questions(text)
    called(text)
    ends_in_question(text)
