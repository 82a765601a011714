"""What is read of each element: who said it, what refers to it, what was answered, done, made again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import SAID, Record, assistant, call, conversations, document, elements, output, plain_analyzer, user

from memrank.dialogue.evidence import features, last_turns, reruns
from memrank.dialogue.relations import relations
from memrank.score.dialogue import shipped
from memrank.types import Floats


def of(*records: Record, message: str = "hello") -> dict[str, Floats]:
    return features(elements(*records), message, plain_analyzer())


@settings(max_examples=50)
@given(conversations(), st.sampled_from(SAID))
def test_every_feature_of_the_model_is_one_finite_number_an_element(records: list[Record], message: str) -> None:
    read = elements(*records)
    if not read:
        return
    found = features(read, message, plain_analyzer())
    for part in ("decay", "protected"):
        assert set(shipped().coefficients[part]) <= set(found)
    for name, values in found.items():
        assert values.shape == (len(read),), name
        assert np.all(np.isfinite(values)), name


def test_words_that_two_texts_share() -> None:
    found = relations(["hotel station", "hotel", "", "garden"], plain_analyzer())
    np.testing.assert_array_equal(found.shared, found.shared.T)
    assert found.held[1, 0] == pytest.approx(1.0)
    assert 0 < found.held[0, 1] < 1
    assert found.held[0, 3] == found.held[2, 0] == found.held[2, 2] == 0
    np.testing.assert_array_equal(found.cosine, np.zeros((4, 4)))


def test_a_question_and_its_reply() -> None:
    answered = of(user("Which hotels are near the station?"), assistant("Near the station: the Ibis."))
    assert (answered["unanswered"][0], answered["deferred"][0]) == (0, 0)
    assert answered["answered"][0] > 0
    silent = of(user("Which hotels are near the station?"))
    assert (silent["unanswered"][0], silent["answered"][0]) == (1, 0)
    put_off = of(user("Which hotels are near the station?"), assistant("I don't know, I'll ask."))
    assert (put_off["deferred"][0], put_off["answered"][0]) == (1, 0)


def test_a_result_between_them_is_no_reply() -> None:
    found = of(user("Where is the order?"), call("order(id=1)", "x"), output("order: where?", "x"))
    assert found["unanswered"].tolist() == [1, 0, 0]
    assert found["asks"].tolist() == [1, 0, 0]


def test_a_promise_and_what_keeps_it() -> None:
    promise = assistant("I'll send you the invoice on Friday.")
    assert of(promise, user("Good."))["promised_later"][0] == 1
    kept = of(promise, user("Good."), assistant("The invoice was sent on Friday."))
    assert kept["promised_later"][0] < 0.5
    assert kept["promise_kept"][0] > 0.5


def test_the_same_call_made_again() -> None:
    again = elements(
        call("order(id=123)", "x"),
        output("open", "x"),
        call("stock(id=123)", "y"),
        output("12", "y"),
        call("order(id=123)", "z"),
        output("sent", "z"),
        output("orphan", "none"),
    )
    found = reruns(again, relations([e.content for e in again], plain_analyzer()))
    rows, columns = np.nonzero(found)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 4), (1, 5)]
    assert found[0, 4] == pytest.approx(1.0)


def test_what_belongs_to_the_same_turn_does_not_refer_to_it() -> None:
    same = of(user("hotel station", turn=1), assistant("hotel station", turn=1), user("x", turn=2))
    apart = of(user("hotel station", turn=1), assistant("hotel station", turn=2), user("x", turn=3))
    assert same["referred"][0] == 0
    assert np.expm1(apart["referred"][0]) == pytest.approx(1)


def test_the_first_word_of_the_user_opens() -> None:
    assert of(document("d"), assistant("Hello."), user("a"), user("b"))["opening"].tolist() == [0, 0, 1, 0]
    assert of(document("d"))["opening"].tolist() == [0]


def test_the_last_turns() -> None:
    read = elements(user("a", turn=1), user("b", turn=2), call("f()", turn=2), user("c", turn=7))
    assert last_turns(read, 2).tolist() == [False, True, True, True]
    assert last_turns(read, 0).tolist() == [False] * 4
    assert last_turns(read, 99).tolist() == [True] * 4
    assert last_turns((), 3).tolist() == []
