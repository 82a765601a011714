"""Which threads of a conversation are still open."""

from speaking import Record, assistant, call, elements, output, plain_analyzer, user

from memrank.dialogue.evidence import features, idle
from memrank.types import Floats


def of(*records: Record) -> dict[str, Floats]:
    return features(elements(*records), "hello", plain_analyzer())


QUESTION = user("When does the warranty of the dishwasher end?")


def test_small_talk_answers_nothing() -> None:
    assert of(QUESTION, assistant("Hello!"))["deferred"][0] == 1
    assert of(QUESTION, assistant("Hello!"), user("Hi."), assistant("On 4 June."))["deferred"][0] == 0
    assert of(QUESTION, assistant("On 4 June."))["deferred"][0] == 0


def test_what_was_deferred_is_answered_by_what_speaks_of_it() -> None:
    put_off = [QUESTION, assistant("I don't know, I'll ask."), user("Good."), assistant("The chairs are blue.")]
    assert of(*put_off)["deferred"][0] == 1
    assert of(*put_off, user("Well?"), assistant("The warranty ends in June."))["deferred"][0] == 0


def test_after_something_else_was_asked_only_what_speaks_of_it_answers() -> None:
    waits = [QUESTION, assistant("Hello!"), user("Is it raining?"), assistant("Heavily.")]
    assert of(*waits)["deferred"][0] == 1
    assert of(*waits, user("Hm."), assistant("The warranty ends in June."))["deferred"][0] == 0


def test_a_promise_stays_open_until_it_is_told_as_done() -> None:
    promise = assistant("I promise to refund the lamp.")
    assert of(promise, user("Good."))["committed"][0] == 1
    assert of(promise, user("Good."), assistant("I refunded the lamp, the refund was sent."))["committed"][0] < 0.7
    assert of(assistant("I promised her a rose garden in 2019."), user("Good."))["committed"][0] == 0


def test_what_remains_to_be_done() -> None:
    assert of(user("We still need to book the flight."), assistant("Hm."))["remaining"][0] == 1
    assert of(user("You need to see this film."), assistant("Hm."))["remaining"][0] == 0


def test_a_request_waits_unless_a_tool_works_on_it() -> None:
    request = user("Please cancel the order.")
    assert of(request, assistant("Hello!"))["request_waits"][0] == 1
    assert of(request)["request_waits"][0] == 1
    assert of(request, call("cancel(id=1)", "x"), output("ok", "x"))["request_waits"][0] == 0
    assert of(request, assistant("The order is cancelled."))["request_waits"][0] == 0


def test_the_last_request_of_the_user() -> None:
    found = of(user("Please cancel the order."), assistant("Please wait."), user("Book a table."), user("Good."))
    assert found["last_request"].tolist() == [0, 0, 1, 0]
    assert of(user("Good."))["last_request"].tolist() == [0]


def test_a_reply_that_puts_off() -> None:
    assert of(QUESTION, assistant("I'll ask."))["reply_puts_off"].tolist() == [1, 0]
    assert of(QUESTION, assistant("In June."))["reply_puts_off"].tolist() == [0, 0]
    assert of(QUESTION)["reply_puts_off"].tolist() == [0]


def test_what_only_passes_the_time() -> None:
    read = elements(user("Thanks!"), assistant("Shall I book it?"), user("Perfect."), assistant("Great."))
    assert idle(read).tolist() == [True, False, False, True]
    assert idle(()).tolist() == []
