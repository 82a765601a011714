"""Topic shifts: what says so, or stands alone and shares nothing with the last turns."""

import pytest
from speaking import assistant, elements, plain_analyzer, user

from memrank.dialogue.relations import relations
from memrank.dialogue.topic import off_topic, shifted

LAST = (user("Which hotels are near the station?"), assistant("The Ibis and the Central."))


def shift(message: str, *before: dict[str, object]) -> bool:
    read = elements(*(before or LAST))
    related = relations([*(e.content for e in read), message], plain_analyzer())
    return shifted(read, related, message, plain_analyzer())


@pytest.mark.parametrize(
    ("message", "shifts"),
    [
        ("By the way, who repairs bicycles?", True),
        ("Different question: how long is the coffee warm?", True),
        ("My bicycle has a flat tyre.", True),
        ("By the way, is the Central near the station?", False),
        ("And the cheapest?", False),
        ("Is that far?", False),
        ("Good.", False),
        ("", False),
        ("  \n", False),
    ],
)
def test_shifts(message: str, shifts: bool) -> None:
    assert shift(message) is shifts


def test_a_reply_to_a_question_is_none() -> None:
    asked = (user("I need a room."), assistant("For when?"))
    assert not shift("My bicycle has a flat tyre.", *asked)
    assert shift("Who repairs bicycle tyres here?", *asked)


def test_before_anything_was_said_there_is_no_topic() -> None:
    related = relations(["hello"], plain_analyzer())
    assert not shifted((), related, "By the way, hello", plain_analyzer())


def test_what_has_nothing_to_do_with_the_message() -> None:
    read = elements(user("garden chairs"), user("hotel station"))
    found = off_topic(read, relations(["garden chairs", "hotel station", "the garden chairs"], plain_analyzer()))
    assert found.tolist() == [0, 1]
