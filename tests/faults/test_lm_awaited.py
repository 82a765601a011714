"""Many reads awaited at once: they overlap, keep their budgets and deadlines, and leave nothing behind."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable

import pytest
from faults.lm_server import ACTS, Answer, LmServer, SlowHeaders
from lmreading import POOL, QUERY, asking, codes, whole
from reading import NOW, canonical, pipeline, read

from memrank.cancelling import AT_ONCE, in_thread
from memrank.errors import UsageError
from memrank.pipeline import Pipeline, Ranking

MANY = 24
PATIENCE = 20.0
"""Seconds after which a test gives up what never comes."""


def reads(of: Pipeline, many: int = MANY) -> list["asyncio.Task[Ranking]"]:
    """As many reads, each of another query."""
    return [asyncio.create_task(of.acall(f"{QUERY} {k}", as_of=NOW, memories=POOL)) for k in range(many)]


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what happens in other threads."""
    given_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < given_up
        await asyncio.sleep(0.005)


def at_work() -> list[str]:
    """Threads of memrank that are alive."""
    return [one.name for one in threading.enumerate() if one.name.startswith("memrank-")]


def test_all_wait_for_the_server_at_the_same_time() -> None:
    gate = threading.Event()

    async def together(server: LmServer) -> list[Ranking]:
        of = asking(server, deadline="20s", read_deadline="25s")
        tasks = reads(of)
        await until(lambda: server.peak == MANY)  # none is answered before all have asked
        gate.set()
        return await asyncio.gather(*tasks)

    with LmServer([Answer(gate=gate)] * MANY) as server:
        found = asyncio.run(together(server))
        alone = [read(asking(server), POOL, f"{QUERY} {k}") for k in range(3)]
    for ranking in found:
        whole(ranking)
        assert codes(ranking, "failure") == []
    for one, other in zip(found, alone, strict=False):
        assert canonical(one, "read_id", "spec_sha256") == canonical(other, "read_id", "spec_sha256")


def test_the_loop_is_free_meanwhile_and_cancelled_reads_leave_nothing() -> None:
    async def cancelled(server: LmServer) -> None:
        of = asking(server, deadline="20s", read_deadline="25s")
        tasks = reads(of)
        await until(lambda: len(server.calls) == MANY)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in outcomes} == {asyncio.CancelledError}
        await until(lambda: not server._peers)  # every connection was closed from our side
        await until(lambda: not at_work())

    with LmServer([SlowHeaders()] * MANY * 2) as server:
        asyncio.run(cancelled(server))
        assert len(server.calls) == MANY


def test_one_that_is_cancelled_disturbs_no_other() -> None:
    gate = threading.Event()

    async def some(server: LmServer) -> list[Ranking]:
        tasks = reads(asking(server, deadline="20s", read_deadline="25s"), 6)
        await until(lambda: server.peak == 6)
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        gate.set()
        return await asyncio.gather(*tasks[1:])

    with LmServer([Answer(gate=gate)] * 6) as server:
        for ranking in asyncio.run(some(server)):
            whole(ranking)
            assert codes(ranking, "failure") == []


def test_the_budget_of_the_run_holds_for_all_of_them() -> None:
    async def all_of_them(server: LmServer) -> list[Ranking]:
        of = asking(server, deadline="20s", read_deadline="25s", max_calls_per_run=5)
        return await asyncio.gather(*reads(of))

    with LmServer() as server:
        found = asyncio.run(all_of_them(server))
        assert len(server.calls) == 5
    for ranking in found:
        whole(ranking)
    assert sum(ranking.meta.lm_calls for ranking in found) == 5
    assert sum(codes(ranking, "failure") == ["lm_budget"] for ranking in found) == MANY - 5


def test_the_budget_of_each_read_holds() -> None:
    async def all_of_them(server: LmServer) -> list[Ranking]:
        of = asking(server, deadline="20s", read_deadline="25s", batch=1, max_calls=2)
        return await asyncio.gather(*reads(of, 8))

    with LmServer() as server:
        found = asyncio.run(all_of_them(server))
        assert len(server.calls) == 16
    assert {ranking.meta.lm_calls for ranking in found} == {2}


@pytest.mark.parametrize("name", ["slow", "drip"])
def test_after_the_deadline_no_thread_is_left(name: str) -> None:
    async def late(server: LmServer) -> list[Ranking]:
        of = asking(server, deadline="0.3s", read_deadline="0.5s")
        found = await asyncio.gather(*reads(of, 8))
        await until(lambda: not at_work())
        return found

    with LmServer([ACTS[name]] * 100) as server:
        for ranking in asyncio.run(late(server)):
            whole(ranking)
            (code,) = codes(ranking, "failure")
            assert code in ("lm_deadline", "lm_timeout", "lm_unreachable")  # unreachable: the breaker opened


def test_faults_and_context_come_through() -> None:
    mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="")

    async def asked() -> str:
        mark.set("here")
        return await in_thread(mark.get)

    assert asyncio.run(asked()) == "here"
    with LmServer() as server, pytest.raises(UsageError):
        asyncio.run(asking(server).acall(""))


def test_no_more_threads_than_there_is_room_for() -> None:
    gate, lock, seen = threading.Event(), threading.Lock(), []

    def work() -> None:
        with lock:
            seen.append(1)
        gate.wait(PATIENCE)

    async def many() -> None:
        tasks = [asyncio.create_task(in_thread(work)) for _ in range(AT_ONCE + 5)]
        await until(lambda: len(seen) == AT_ONCE)
        assert at_work().count("memrank-read") == AT_ONCE
        gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(many())
    assert len(seen) == AT_ONCE + 5


def test_without_a_model_reads_share_the_threads_of_the_loop() -> None:
    async def plain() -> Ranking:
        return await pipeline(pruner=None).acall(QUERY, as_of=NOW, memories=POOL)

    whole(asyncio.run(plain()))
    assert at_work() == []
