"""Budgets, deadlines, the circuit breaker, concurrency: what bounds a read however much there is to ask."""

import logging
import os
import socket
import threading
import tracemalloc
from collections.abc import Iterator

import pytest
from faults.lm_server import (
    ACTS,
    FAULTY_ANSWERS,
    TRANSPORT_FAULTS,
    Answer,
    Cut,
    Drip,
    LmServer,
    Redirect,
    Reset,
    SlowHeaders,
    Status,
    at_random,
    flapping,
)
from lmreading import IDS, POOL, QUERY, SPARE, asking, codes, embedded, fallen, relevance, timed, whole
from reading import read, record

MANY = [record(f"n{k}", f"Note {k}: the rate of fund {k} is {k} percent.", days=k) for k in range(200)]
MANY_IDS = sorted(str(one["id"]) for one in MANY)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses that this process tried to connect to."""
    tried: list[object] = []
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def counted(self: socket.socket, address: object) -> None:
        tried.append(address)
        connect(self, address)  # type: ignore[arg-type]

    def counted_ex(self: socket.socket, address: object) -> int:
        tried.append(address)
        return connect_ex(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", counted)
    monkeypatch.setattr(socket.socket, "connect_ex", counted_ex)
    return tried


def closed_port() -> str:
    """An endpoint of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_server_that_is_down_costs_one_attempt_for_all_reads(attempts: list[object]) -> None:
    of = asking(closed_port(), batch=1)
    plain = relevance(read(embedded(), POOL, QUERY))
    for _ in range(20):
        ranking = read(of, POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == IDS
        assert relevance(ranking) == plain
    assert len(attempts) == 1


@pytest.mark.parametrize("act", [Status(503), Reset(), Cut(), SlowHeaders()])
def test_repeated_failures_open_the_circuit(act: object) -> None:
    with LmServer([act] * 200) as server:  # type: ignore[list-item]
        of = asking(server, deadline="0.1s", read_deadline="0.4s")
        for _ in range(12):
            whole(read(of, POOL, QUERY))
        assert len(server.calls) < 24
        before = len(server.calls)
        for _ in range(3):
            whole(read(of, POOL, QUERY))
        assert len(server.calls) <= before + 1


@pytest.mark.parametrize("act", [SlowHeaders(), Drip(), Drip(gap=0.1)], ids=["silent", "dripping", "slowly"])
def test_a_call_ends_at_its_deadline(act: object) -> None:
    with LmServer([act] * 50) as server:  # type: ignore[list-item]
        ranking, took = timed(asking(server, deadline="0.3s", read_deadline="0.6s", retries=0))
        whole(ranking)
        assert fallen(ranking) == IDS
        assert took < 0.6 + SPARE
        assert len(server.calls) == 1


def test_a_read_ends_at_its_deadline_however_many_calls_are_left() -> None:
    with LmServer([SlowHeaders()] * 500) as server:
        of = asking(server, batch=1, concurrency=1, deadline="0.3s", read_deadline="0.5s", retries=0, max_calls=1000)
        ranking, took = timed(of)
        whole(ranking)
        assert fallen(ranking) == IDS
        assert took < 0.5 + SPARE


def test_the_calls_of_a_read_are_counted_before_they_are_made() -> None:
    with LmServer() as server:
        of = asking(server, batch=2, max_calls=2, concurrency=1)
        ranking = read(of, POOL, QUERY)
        whole(ranking)
        assert len(server.calls) == 2
        assert len(fallen(ranking)) == 2
        assert codes(ranking, "failure")
        assert ranking.meta.lm_calls == 2
        whole(read(of, POOL, QUERY))
        assert len(server.calls) == 4


def test_retries_count_towards_the_budget() -> None:
    with LmServer([Status(503)] * 50) as server:
        whole(read(asking(server, batch=1, max_calls=3), POOL, QUERY))
        assert len(server.calls) <= 3


def test_validation_retries_count_towards_the_budget() -> None:
    with LmServer([ACTS["nan"]] * 50) as server:
        whole(read(asking(server, batch=1, max_calls=7), POOL, QUERY))
        assert len(server.calls) <= 7


@pytest.mark.parametrize(
    ("limit", "calls"),
    [({"max_calls_per_run": 3}, 3), ({"max_tokens_per_run": 250}, 3), ({"max_cost_per_run": 0.0}, 1)],
    ids=["calls", "tokens", "cost"],
)
def test_the_budget_of_a_run_ends_all_later_reads(limit: dict[str, object], calls: int) -> None:
    with LmServer() as server:
        of = asking(server, price={"input": 100.0, "output": 100.0}, **limit)
        for _ in range(6):
            ranking = read(of, POOL, QUERY)
            whole(ranking)
        assert len(server.calls) <= calls
        assert fallen(ranking) == IDS
        assert codes(ranking, "failure")


def test_results_do_not_depend_on_the_order_of_arrival() -> None:
    gate = threading.Event()

    def late(acts: int) -> Iterator[object]:
        for _ in range(acts):
            yield Answer(gate=gate)
        while True:
            yield Answer()

    with LmServer() as server:
        of = asking(server, batch=1, concurrency=6, deadline="5s", read_deadline="10s")
        first = relevance(read(of, POOL, QUERY))
        server.script(late(2))  # type: ignore[arg-type]
        opener = threading.Timer(0.2, gate.set)
        opener.start()
        second = relevance(read(of, POOL, QUERY))
        opener.join()
        assert second == first


def test_no_more_calls_at_once_than_the_spec_allows() -> None:
    with LmServer([Answer(pause=0.05)] * 6) as server:
        read(asking(server, batch=1, concurrency=2), POOL, QUERY)
        assert len(server.calls) == 6
        assert server.peak == 2


def test_ten_batches_of_a_slow_server_take_two_rounds() -> None:
    with LmServer([Answer(pause=0.2)] * 40) as server:
        of = asking(server, batch=20, concurrency=8, deadline="5s", read_deadline="10s", pool=200)
        read(of, POOL, QUERY)
        server.script([Answer(pause=0.2)] * 40)
        ranking, took = timed(of, MANY)
        whole(ranking, MANY_IDS)
        assert fallen(ranking) == []
        assert server.peak <= 8
        assert took < 2.0


def test_a_thousand_reads_of_a_server_that_fails_at_random() -> None:
    # A stalling call takes its whole deadline; the others fail at once.
    stalling = {"slow", "drip", "die"}
    faults = [act for name, act in {**TRANSPORT_FAULTS, **FAULTY_ANSWERS}.items() if name not in stalling]
    pool, names = POOL[:3], IDS[:3]
    with LmServer(at_random(11, 0.3, faults)) as server:
        of = asking(server, deadline="2s", read_deadline="4s")
        judged = 0
        for k in range(1000):
            ranking = read(of, pool, f"{QUERY} {k}")
            whole(ranking, names)
            judged += not fallen(ranking)
        assert len(server.calls) <= 3000
        assert judged > 300


def test_a_flapping_server_is_used_whenever_it_is_up() -> None:
    with LmServer(flapping(Status(500), good=3)) as server:
        of = asking(server)
        for k in range(30):
            ranking = read(of, POOL, f"{QUERY} {k}")
            whole(ranking)
            assert fallen(ranking) == []
        assert 30 <= len(server.calls) <= 60


def test_reads_leave_nothing_behind() -> None:
    with LmServer() as server:
        of = asking(server, cache=50)
        for k in range(60):
            read(of, POOL[:3], f"{QUERY} {k}")
        server.script(())
        before_threads = threading.active_count()
        tracemalloc.start()
        start = tracemalloc.get_traced_memory()[0]
        for k in range(200):
            read(of, POOL[:3], f"{QUERY} again {k}")
            server.calls.clear()
        grown = tracemalloc.get_traced_memory()[0] - start
        tracemalloc.stop()
        assert grown < 1_000_000
        assert threading.active_count() <= before_threads + 2
        if os.path.isdir("/proc/self/fd"):  # noqa: PTH112
            assert len(os.listdir("/proc/self/fd")) < 200  # noqa: PTH208


@pytest.mark.parametrize("name", ["401", "500", "429_absurd", "html", "prose", "nan", "cut", "answer"])
def test_keys_and_texts_are_in_no_log_and_no_note(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-never-to-be-seen")
    caplog.set_level(logging.INFO)
    with LmServer([ACTS[name]] * 20) as server:
        ranking = read(asking(server, api_key_env="SCRIPTED_KEY"), POOL, QUERY)
        whole(ranking)
        said = caplog.text + " ".join(note.detail for note in ranking.notes)
        assert "never-to-be-seen" not in said
        assert "office plants" not in said
        assert "sk-never" not in str(ranking.to_dict())


def test_litellm_is_never_imported() -> None:
    import sys

    with LmServer([ACTS["500"], ACTS["prose"]]) as server:
        whole(read(asking(server), POOL, QUERY))
    assert "litellm" not in sys.modules


def test_a_redirect_takes_neither_key_nor_prompt_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-never-to-be-seen")
    with LmServer() as other, LmServer([Redirect(f"{other.url}/chat/completions")] * 9) as server:
        ranking = read(asking(server, api_key_env="SCRIPTED_KEY"), POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == IDS
        assert other.connections == 0


def test_an_answer_without_end_fills_no_memory() -> None:
    with LmServer([ACTS["endless_body"], ACTS["endless_headers"]] * 9) as server:
        of = asking(server, deadline="3s", read_deadline="6s")
        tracemalloc.start()
        ranking, took = timed(of)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        whole(ranking)
        assert fallen(ranking) == IDS
        assert peak < 100_000_000
        assert took < 6 + SPARE
