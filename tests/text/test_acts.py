"""Acts of a turn, sentence by sentence; and any signs are read in time."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.acts import asks, commits, remains, requests, sentences
from memrank.text.asides import sets_apart, stands_alone
from memrank.text.corrections import corrects
from memrank.text.replies import puts_off, reply_to_question
from memrank.text.smalltalk import smalltalk

READERS: tuple[Callable[[str], object], ...] = (
    asks, commits, remains, requests, sets_apart, stands_alone, corrects, puts_off, reply_to_question, smalltalk,
)  # fmt: skip


def test_sentences() -> None:
    assert sentences("It is 4.25 percent. See memrank.org; now!\n- Next") == [
        "it is 4.25 percent.", "see memrank.org;", "now!", "next",
    ]  # fmt: skip
    assert sentences("I\u2019ll go") == ["i'll go"]
    assert sentences("") == sentences(" \n") == []


@pytest.mark.parametrize(
    ("read", "text", "found"),
    [
        (commits, "I'll get back to you on Monday.", True),
        (commits, "I promise to refund you.", True),
        (commits, "Shall I send it?", False),
        (commits, "I can't promise that.", False),
        (remains, "The invoice has yet to be paid.", True),
        (remains, "The invoice was paid.", False),
        (requests, "Could you call her?", True),
        (requests, "Cancel the order.", True),
        (requests, "Orders above 50 euros are free.", False),
        (asks, "Thanks. When is it due?", True),
        (asks, "How are you?", False),
        (asks, "Nice, isn't it?", False),
        (corrects, "Sorry, it is 600, not 500.", True),
        (corrects, "What is wrong?", False),
        (smalltalk, "Thanks a lot! Have a nice evening.", True),
        (smalltalk, "Thanks, but it is broken.", False),
        (smalltalk, "", False),
        (puts_off, "It is 5. About the rest I'd have to ask.", True),
        (puts_off, "It is 5.", False),
        (sets_apart, "Unrelated, but the badge is broken.", True),
        (sets_apart, "The badge is broken.", False),
        (stands_alone, "Who audits the books of our bank?", True),
        (stands_alone, "What does it cost?", False),
    ],
)
def test_acts(read: Callable[[str], bool], text: str, found: bool) -> None:
    assert read(text) is found
    assert read(text.upper().replace("'", "\u2019")) is found


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("On 4 June.", "answers"),
        ("Yes.", "answers"),
        ("No, I'll ask why.", "answers"),
        ("Hello!", "waits"),
        ("", "waits"),
        ("One moment.", "waits"),
        ("Which one do you mean?", "waits"),
        ("I don't know.", "defers"),
        ("I'll find out.", "defers"),
        ("The first is 5. For the second I'd have to ask.", "defers"),
    ],
)
def test_replies(reply: str, kind: str) -> None:
    assert reply_to_question(reply) == kind


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    for read in READERS:
        read(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a", "?", "a?", " ", "so ", "so, ", "no, ", "hm, ", "oh ", "thanks ", "please ", "i'll ", "not ", "is a ",
        "a, not ", "you should see ", "i can get ", "book a ", "before a, ", "don't ", "moved a from ",
        "\x00", "\u0130", "\ud800",
    ],
)  # fmt: skip
def test_hostile_repetition_is_read_in_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    for read in READERS:
        read(text)
