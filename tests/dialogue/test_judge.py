"""Judging a conversation: decay, protection, corrections, topic shifts, and reasons that name what was found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import SAID, Record, assistant, call, conversations, document, elements, output, plain_analyzer, user

from memrank.dialogue.judge import Judgement, carried, judge
from memrank.indexing import Analyzer

FIRST = "My budget for the hotel is 500 euros."
SECOND = "Sorry, I was wrong: my budget for the hotel is 600 euros, not 500."
TAIL = [
    user("Which hotels are near the station?"), assistant("The Ibis and the Central."), user("Any with breakfast?"),
    assistant("Both."), user("Good."), assistant("Anything else?"),
]  # fmt: skip


def judged(*records: Record, message: str = "Book the Central hotel.", keep: int = 3, **more: str) -> Judgement:
    return judge(elements(*records), message, plain_analyzer(), keep_last_turns=keep, **more)


@settings(max_examples=60, deadline=None)
@given(conversations(), st.sampled_from(SAID), st.integers(0, 4))
def test_any_conversation_is_judged(records: list[Record], message: str, keep: int) -> None:
    read = elements(*records)
    found = judge(read, message, plain_analyzer(), keep_last_turns=keep)
    n = len(read)
    assert found.decay.shape == (n,)
    assert np.all((found.decay >= 0) & (found.decay <= 1))
    assert len(found.protection) == len(found.replaced_by) == len(found.rationale) == n
    last = sorted({element.turn for element in read})[-keep:] if keep else []
    for i, element in enumerate(read):
        assert found.rationale[i]
        if element.pinned:
            assert found.protection[i] == "pinned"
        if element.turn in last:
            assert found.protection[i] is not None
        newer = found.replaced_by[i]
        if newer is not None:
            assert found.decay[i] == 1.0
            assert found.protection[i] is None or found.protection[newer] is not None
        steps = 0
        while newer is not None:
            newer, steps = found.replaced_by[newer], steps + 1
            assert steps <= n  # what was replaced leads in the end to what was not
    again = judge(read, message, plain_analyzer(), keep_last_turns=keep)
    np.testing.assert_array_equal(again.decay, found.decay)
    assert again.protection == found.protection
    assert again.replaced_by == found.replaced_by


def test_nothing_to_judge() -> None:
    found = judged()
    assert (len(found.decay), found.protection, found.replaced_by, found.rationale) == (0, (), (), ())
    assert not found.topic_shift


def test_a_user_corrects_himself() -> None:
    found = judged(user(FIRST), assistant("Noted, 500 euros."), user(SECOND), assistant("Noted, 600 euros."), *TAIL)
    assert found.replaced_by[0] == 2
    assert found.decay[0] == 1.0
    assert found.replaced_by[2] is None
    assert found.rationale[0].startswith("replaced by #3")


def test_what_says_itself_that_it_is_superseded() -> None:
    found = judged(user("alpha", id="a", superseded_by="b"), user("beta", id="b"), *TAIL)
    assert found.replaced_by[:2] == (1, None)
    assert found.decay[0] == 1.0
    backwards = judged(user("beta", id="b"), user("alpha", id="a", superseded_by="b"), *TAIL)
    assert backwards.replaced_by[:2] == (None, 0)


def test_two_that_supersede_each_other_are_not_both_lost() -> None:
    found = judged(user("alpha", id="a", superseded_by="b"), user("beta", id="b", superseded_by="a"), *TAIL)
    assert found.replaced_by[:2] == (1, None)
    assert judged(user("alpha", id="a", superseded_by="a"), *TAIL).replaced_by[0] is None
    assert judged(user("alpha", id="a", superseded_by="elsewhere"), *TAIL).replaced_by[0] is None


def test_protection_is_carried_to_what_corrects() -> None:
    assert carried(["pinned", None, None, None], [1, 2, None, None]) == (
        "pinned", "corrects_protected", "corrects_protected", None,
    )  # fmt: skip
    assert carried(["pinned", "commitment"], [1, None]) == ("pinned", "commitment")
    assert carried([None, None], [1, None]) == (None, None)
    found = judged(user(FIRST, pinned=True), assistant("Noted."), user(SECOND), assistant("Noted."), *TAIL)
    assert (found.protection[0], found.replaced_by[0], found.protection[2]) == ("pinned", 2, "corrects_protected")


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (assistant("I can't see that today. I'll ask the warehouse and let you know tomorrow."), "commitment"),
        (user("Can you find out why the order is late?"), "open_question"),
        (user("alpha", pinned=True), "pinned"),
    ],
)
def test_what_is_owed_is_protected(record: Record, reason: str) -> None:
    silent = [user("It is raining."), user("My garden is green."), user("The chairs are blue."), user("Red is nice.")]
    found = judged(record, *silent, message="What colours are there?")
    assert found.protection[0] == reason


@pytest.mark.parametrize("since", [0, 5, 30])
def test_a_question_that_nobody_replied_to_stays_open_however_old(since: int) -> None:
    rain = [user(f"It is raining on day {i}.") for i in range(since)]
    found = judged(user("pinned words"), user("Why is it late?"), *rain, message="What colours are there?", keep=0)
    assert found.protection[1] == "open_question"
    replied = judged(user("pinned words"), user("Why is it late?"), assistant("Snow."), *rain, keep=0)
    assert replied.protection[1] is None


def test_an_owed_element_that_was_superseded_stays_protected() -> None:
    promise = assistant("I can't see that today. I'll ask the warehouse and let you know tomorrow.")
    silent = [user("It is raining."), user("My garden is green."), user("The chairs are blue."), user("Red is nice.")]
    found = judged({**promise, "superseded_by": "#3"}, *silent, message="What colours are there?")
    assert (found.protection[0], found.replaced_by[0], found.decay[0]) == ("commitment", 2, 1.0)


def test_a_result_or_a_document_owes_nothing() -> None:
    found = judged(call("f()", "x"), output("I'll send it. Really?", "x"), document("I'll send it. Really?"), *TAIL)
    assert found.protection[:3] == (None, None, None)


def test_the_last_turns_are_protected() -> None:
    assert judged(*TAIL[:-1], assistant("Fine."), keep=2).protection[-2:] == ("last_turns", "last_turns")
    assert judged(user("One."), user("Two."), keep=0).protection == (None, None)


def test_a_topic_shift_pushes_the_old_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not judged(*TAIL, message="Is breakfast in the hotels near the station good?").topic_shift
    assert not judged(*TAIL, message="Anyway, is anything else good?").topic_shift
    other = judged(*TAIL, user("alpha", pinned=True), message="Anyway, repair my bicycle tyre.")
    assert other.topic_shift
    monkeypatch.setattr("memrank.dialogue.judge.PUSH", 0.0)
    still = judged(*TAIL, user("alpha", pinned=True), message="Anyway, repair my bicycle tyre.")
    assert np.all(other.decay[:4] > still.decay[:4])
    assert other.protection == still.protection


def test_small_talk_is_worth_little_but_not_where_it_replies() -> None:
    found = judged(*TAIL[:4], user("Thanks a lot!"), assistant("Shall I book it?"), user("Perfect."))
    assert found.decay[4] >= 0.95
    assert found.rationale[4].endswith("small talk")
    assert "small talk" not in found.rationale[6]


@pytest.mark.parametrize("message", ["", "  \n\t"])
def test_a_message_that_says_nothing_is_no_topic_shift(message: str) -> None:
    assert not judged(*TAIL, message=message).topic_shift


def test_the_phase_of_the_task_counts() -> None:
    records = [document("The hotel in Rome."), document("The garden chairs."), *TAIL]
    one = judged(*records, message="Go on.", phase="garden chairs")
    two = judged(*records, message="Go on.", phase="hotel in Rome")
    assert one.decay[1] < two.decay[1]
    assert two.decay[0] < one.decay[0]


def test_with_an_embedder() -> None:
    found = judge(elements(*TAIL[:2]), "Which hotels near the station are cheap?", Analyzer(), keep_last_turns=1)
    assert np.all((found.decay >= 0) & (found.decay <= 1))
    assert not found.topic_shift
