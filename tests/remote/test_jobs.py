"""Several calls at once: in order, bounded, on time, and ended cleanly."""

import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest
from remote.modelserver import Server, ask, completion, hangs, http, says, serving, status

from memrank.errors import LmBudget, LmRefused, LmServerError
from memrank.remote import Remote, Unanswered

Make = Callable[..., Remote]


def test_answers_come_in_the_order_of_the_jobs(remote: Make) -> None:
    """The first job is answered only after all the others were."""
    others = threading.Semaphore(0)

    def first(lm: dspy.LM) -> int:
        for _ in range(7):
            assert others.acquire(timeout=10)
        return 0

    def other(place: int) -> Callable[[dspy.LM], int]:
        def job(lm: dspy.LM) -> int:
            ask(lm)
            others.release()
            return place

        return job

    with serving(says("fine")) as server:
        reading = remote(server.endpoint).reading()
        assert reading.map([first, *map(other, range(1, 8))]) == list(range(8))
    assert reading.counts.calls == 7


def test_no_jobs_are_no_answers(remote: Make) -> None:
    reading = remote("http://127.0.0.1:1").reading()
    assert reading.map([]) == []


def test_at_most_so_many_calls_at_once(remote: Make) -> None:
    now, most, lock, full = [0], [0], threading.Lock(), threading.Barrier(3)

    def act(server: Server, peer: socket.socket) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        full.wait(10)  # three are here at the same time
        with lock:
            now[0] -= 1
        peer.sendall(http(completion("fine")))

    with serving(act) as server:
        reading = remote(server.endpoint, concurrency=3).reading()
        assert reading.map([ask] * 12) == ["fine"] * 12
    assert most == [3]


def test_jobs_without_an_answer_say_why(remote: Make) -> None:
    with serving(status("500 Oops")) as server:
        reading = remote(server.endpoint, concurrency=1, retries=0).reading()
        [first, *_] = reading.map([ask] * 2)
    assert isinstance(first, Unanswered)
    assert first.reason == "server"
    assert isinstance(first.error, LmServerError)


def test_what_the_deadline_overtakes_is_unanswered(remote: Make) -> None:
    with serving(says("fine"), hangs) as server:
        reading = remote(server.endpoint, concurrency=1).reading(deadline=0.3)
        started = time.perf_counter()
        answers = reading.map([ask] * 5)
        assert time.perf_counter() - started < 2
    assert answers[0] == "fine"
    assert [getattr(answer, "reason", None) for answer in answers[1:]] == ["deadline"] * 4
    assert reading.counts.calls == 2


def test_a_job_that_never_ends_is_left(remote: Make) -> None:
    """Such as one whose server's name is being looked up: nothing can end that."""
    ever = threading.Event()
    reading = remote("http://127.0.0.1:1").reading(deadline=0.05)
    try:
        assert reading.map([lambda lm: ever.wait(30)]) == [Unanswered("deadline")]
    finally:
        ever.set()


def test_the_first_jobs_get_the_calls_that_are_left(remote: Make) -> None:
    with serving(says("fine")) as server:
        made = remote(server.endpoint, max_calls=5, max_calls_per_run=7)
        answers = made.reading().map([ask] * 8)
        assert answers == ["fine"] * 5 + [Unanswered("budget")] * 3
        assert made.reading().map([ask] * 8)[2:] == [Unanswered("budget")] * 6
    assert (made.counts.calls, made.counts.refused) == (7, 9)


def test_a_key_that_is_refused_ends_all(remote: Make) -> None:
    with serving(status("401 Who?")) as server:
        reading = remote(server.endpoint, concurrency=1, api_key_env="K", environ={"K": "k"}).reading()
        with pytest.raises(LmRefused, match="K"):
            reading.map([ask] * 50)
    assert len(server.bodies) == 1
    assert reading.is_over


def test_calls_on_their_way_end_with_the_refused_one(remote: Make) -> None:
    hanging = threading.Event()

    def hang(server: Server, peer: socket.socket) -> None:
        hanging.set()
        hangs(server, peer)

    def refuse(server: Server, peer: socket.socket) -> None:
        assert hanging.wait(10)
        peer.sendall(http(b"{}", status="401 Who?"))

    with serving(hang, refuse) as server:
        reading = remote(server.endpoint, concurrency=2, deadline="20s", read_deadline="20s").reading()
        started = time.perf_counter()
        with pytest.raises(LmRefused):
            reading.map([ask] * 2)
        for thread in threading.enumerate():
            if thread.name == "memrank-lm":
                thread.join(10)
        assert time.perf_counter() - started < 10


def test_a_defect_of_a_job_is_raised(remote: Make) -> None:
    def broken(lm: dspy.LM) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        remote("http://127.0.0.1:1").reading().map([broken])


def test_settings_of_the_caller_count_in_every_job(remote: Make) -> None:
    trace: list[object] = []
    with dspy.context(trace=trace):
        seen = remote("http://127.0.0.1:1").reading().map([lambda lm: dspy.settings.trace is trace] * 4)
    assert seen == [True] * 4


def test_a_budget_error_inside_a_job_is_its_reason(remote: Make) -> None:
    with serving(says("fine")) as server:
        reading = remote(server.endpoint, max_calls=1).reading()
        [answer] = reading.map([lambda lm: ask(lm) + ask(lm)])
    assert isinstance(answer, Unanswered)
    assert answer.reason == "budget"
    assert isinstance(answer.error, LmBudget)


CTRL_C = """
    import sys, threading
    from memrank.remote import Remote
    from memrank.speclm import LmSpec

    remote = Remote(LmSpec(model="local/m", endpoint=sys.argv[1], deadline="60s", read_deadline="60s"), environ={})
    reading = remote.reading()
    try:
        reading.map([lambda lm: lm("Hello")] * 4)
    except KeyboardInterrupt:
        for thread in threading.enumerate():
            if thread.name == "memrank-lm":
                thread.join(10)
                assert not thread.is_alive()
        print("interrupted", reading.counts.calls, reading.is_over)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_the_calls_on_their_way() -> None:
    arrived = threading.Semaphore(0)

    def hang(server: Server, peer: socket.socket) -> None:
        arrived.release()
        hangs(server, peer)

    with serving(hang) as server:
        command = [sys.executable, "-c", textwrap.dedent(CTRL_C), server.endpoint]
        root = Path(__file__).resolve().parents[2]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root) as process:
            for _ in range(4):
                assert arrived.acquire(timeout=60)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (out.strip(), err) == ("interrupted 4 True", "")
