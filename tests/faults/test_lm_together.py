"""Many reads at once, answers that are kept, and the cascade, while the server fails."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from faults.lm_server import ACTS, FAULTY_ANSWERS, Answer, LmServer, SlowHeaders, Status, at_random
from lmreading import IDS, POOL, QUERY, asking, embedded, fallen, relevance, whole
from reading import NOW, canonical, read


def test_threads_share_a_pipeline_whose_server_fails_at_random() -> None:
    faults = [Status(500), Status(429, "0"), ACTS["reset"], ACTS["nan"], ACTS["missing_id"], ACTS["prose"]]
    with LmServer(at_random(3, 0.3, faults)) as server:
        of = asking(server, batch=2, deadline="5s", read_deadline="10s")
        with ThreadPoolExecutor(8) as pool:
            rankings = list(pool.map(lambda k: read(of, POOL, f"{QUERY} {k}"), range(80)))
    for ranking in rankings:
        whole(ranking)


def test_the_same_faults_give_the_same_answer() -> None:
    acts = [ACTS[name] for name in ("nan", "missing_id", "500", "answer", "prose", "prose")]
    answers = []
    for _ in range(2):
        with LmServer(acts) as server:
            of = asking(server, batch=2, concurrency=1)
            answers.append(canonical(read(of, POOL, QUERY), "read_id", "spec_sha256"))
    first, second = (answer.partition('"notes"') for answer in answers)
    assert first == second


def test_an_invalid_answer_is_never_kept() -> None:
    with LmServer() as server:
        well = relevance(read(asking(server), POOL, QUERY))
        for name in sorted(FAULTY_ANSWERS):
            of = asking(server, cache=1000)
            server.script([ACTS[name]] * 2)
            whole(read(of, POOL, QUERY))
            after = read(of, POOL, QUERY)
            whole(after)
            assert fallen(after) == []
            assert relevance(after) == well


def test_a_kept_answer_saves_the_call() -> None:
    with LmServer() as server:
        of = asking(server, cache=1000)
        first = relevance(read(of, POOL, QUERY))
        assert relevance(read(of, POOL, QUERY)) == first
        assert len(server.calls) == 1
        changed = [{**POOL[0], "content": "The central bank cut the rate to 4 percent."}, *POOL[1:]]
        read(of, changed, QUERY)
        assert len(server.calls) == 2
        assert server.calls[1].prompt.ids == ["m1"]
        read(of, POOL, f"{QUERY} Please.")
        assert sorted(server.calls[2].prompt.ids) == IDS


def test_what_is_kept_is_bounded() -> None:
    with LmServer() as server:
        of = asking(server, cache=6)
        for k in range(3):
            read(of, POOL, f"{QUERY} {k}")
        read(of, POOL, f"{QUERY} 2")
        assert len(server.calls) == 3
        read(of, POOL, f"{QUERY} 0")
        assert len(server.calls) == 4


def test_a_cascade_asks_about_less_and_loses_nobody() -> None:
    with LmServer([ACTS["answer"], *[ACTS["500"]] * 10]) as server:
        of = asking(server, "cascade", ranker={"top_k": 2})
        whole(read(of, POOL, QUERY))
        sent = [one for call in server.calls for one in call.prompt.ids]
        assert len(sent) < len(IDS)
        before = len(server.calls)
        ranking = read(of, POOL, f"{QUERY} Please.")
        whole(ranking)
        assert relevance(ranking) == relevance(read(embedded(top_k=2), POOL, f"{QUERY} Please."))
        assert set(fallen(ranking)) == {one for call in server.calls[before:] for one in call.prompt.ids}


def test_the_second_model_answers_where_the_first_is_down() -> None:
    with LmServer([Status(503)] * 50) as first, LmServer() as second:
        of = asking(first, fallbacks=[{"model": "local/other", "endpoint": second.url}])
        ranking = read(of, POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == []
        assert len(first.calls) == 2
        assert len(second.calls) == 1
        assert second.calls[0].body["model"] == "other"


def test_a_read_that_is_cancelled_ends() -> None:
    async def cancelled(server: LmServer) -> None:
        of = asking(server, deadline="20s", read_deadline="25s")
        task = asyncio.create_task(of.acall(QUERY, as_of=NOW, memories=POOL))
        while not server.calls:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.cancelled()

    started = time.monotonic()
    with LmServer([SlowHeaders()] * 9) as server:
        asyncio.run(cancelled(server))
        assert time.monotonic() - started < 10


def test_answers_after_the_deadline_change_nothing() -> None:
    with LmServer([Answer(pause=0.7)] * 20) as server:
        of = asking(server, deadline="0.3s", read_deadline="0.3s", cache=1000, retries=0)
        ranking = read(of, POOL, QUERY)
        whole(ranking)
        assert fallen(ranking) == IDS
        kept = [item.score for item in ranking.results]
        server.closing.wait(0.8)
        assert [item.score for item in ranking.results] == kept
