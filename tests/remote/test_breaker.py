"""The circuit breaker, with a clock that is moved by hand."""

from memrank.remote.breaker import Breaker


class Clock:
    """Time that stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_failures_in_a_row_open_it() -> None:
    breaker = Breaker(Clock(), failures=3)
    for _ in range(2):
        breaker.failed()
    assert breaker.admits()
    breaker.succeeded()
    for _ in range(2):
        breaker.failed()
    assert breaker.admits()
    breaker.failed()
    assert not breaker.admits()
    assert breaker.is_open


def test_no_connection_opens_it_at_once() -> None:
    breaker = Breaker(Clock())
    breaker.down()
    assert not breaker.admits()


def test_one_call_tries_after_the_window() -> None:
    clock = Clock()
    breaker = Breaker(clock, window=30)
    breaker.down()
    clock.now += 29.9
    assert not breaker.admits()
    clock.now += 0.1
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    assert not breaker.is_open, "the call that tries may connect"
    breaker.failed()
    assert not breaker.admits()
    clock.now += 30
    assert breaker.admits()
    breaker.succeeded()
    assert [breaker.admits() for _ in range(3)] == [True] * 3


def test_a_try_that_says_nothing_lets_the_next_one_try() -> None:
    clock = Clock()
    breaker = Breaker(clock, window=30)
    breaker.down()
    clock.now += 30
    assert breaker.admits()
    breaker.said_nothing()
    assert breaker.admits()
    assert not breaker.admits()
