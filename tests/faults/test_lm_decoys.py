"""What a model raises is checked by a second question: also where that question fails, and within every bound."""

import pytest
from faults.lm_server import ACTS, FATAL, FAULTY_ANSWERS, TRANSPORT_FAULTS, Act, Answer, LmServer, SlowHeaders
from faults.scripted_model import Item
from lmreading import IDS, POOL, QUERY, SPARE, asking, codes, embedded, fallen, items, relevance, timed, whole
from reading import read

FOREVER = 20
FREE = 0.05
"""What no check is needed for."""


def sure(item: Item, query: str) -> float:
    """Raises every memory for the true query, and none for another."""
    return 0.97 if query == QUERY else 0.02


@pytest.fixture(scope="module")
def plain() -> dict[str, float]:
    """What the embedded judge says."""
    return relevance(read(embedded(), POOL, QUERY))


def test_a_second_question_is_asked_and_the_model_believed() -> None:
    with LmServer(opinion=sure) as server:
        ranking = read(asking(server, decoys=1), POOL, QUERY)
        first, second = server.calls
    whole(ranking)
    assert set(relevance(ranking).values()) == {0.97}
    assert first.prompt.query == QUERY
    assert second.prompt.query != QUERY
    assert set(second.prompt.ids) <= set(first.prompt.ids)
    assert ranking.meta.lm_figures["checked"] == len(second.prompt.ids)
    assert ranking.meta.lm_figures["caught"] == 0
    assert codes(ranking) == codes(read(embedded(), POOL, QUERY))


def test_who_is_not_raised_is_not_checked() -> None:
    with LmServer(opinion=lambda item, query: 0.0) as server:
        ranking = read(asking(server, decoys=3), POOL, QUERY)
        assert len(server.calls) == 1
    assert ranking.meta.lm_figures["checked"] == 0


def test_a_model_that_raises_everything_for_anything_is_not_believed(plain: dict[str, float]) -> None:
    with LmServer(opinion=lambda item, query: 0.9) as server:
        ranking = read(asking(server, decoys=1), POOL, QUERY)
    whole(ranking)
    assert all(value <= plain[name] + FREE for name, value in relevance(ranking).items())
    caught = [name for name, item in items(ranking).items() if "injection_suspected" in item.flags]
    assert len(caught) == ranking.meta.lm_figures["caught"] > 0
    assert {items(ranking)[name].judged_by for name in caught} == {"embedded"}
    assert {name: relevance(ranking)[name] for name in caught} == {name: plain[name] for name in caught}
    assert codes(ranking, "failure") == []


@pytest.mark.parametrize("decoys", [1, 3])
@pytest.mark.parametrize("name", sorted({**FAULTY_ANSWERS, **TRANSPORT_FAULTS, **FATAL}))
def test_a_check_that_fails_leaves_the_embedded_word(name: str, decoys: int, plain: dict[str, float]) -> None:
    with LmServer([Answer(), *[ACTS[name]] * FOREVER], opinion=sure) as server:
        ranking, took = timed(asking(server, decoys=decoys))
        whole(ranking)
        assert took < 1.5 + SPARE
        # The judgement, then each round of decoys is a batch: two calls at the most.
        assert 2 <= len(server.calls) <= 1 + 2 * decoys
        assert fallen(ranking) == []
        now = relevance(ranking)
        unchecked = [one for one, value in now.items() if value <= plain[one]]
        assert {one: now[one] for one in unchecked} == pytest.approx({one: plain[one] for one in unchecked})
        if name not in ("extra_id", "double_id"):
            assert unchecked
            assert codes(ranking, "failure")
            assert all(items(ranking)[one].judged_by == "embedded" for one in unchecked)


@pytest.mark.parametrize("name", sorted({**FAULTY_ANSWERS, **TRANSPORT_FAULTS}))
def test_each_batch_fails_on_its_own(name: str) -> None:
    with LmServer([ACTS[name]] * FOREVER, opinion=sure) as server:
        ranking, took = timed(asking(server, decoys=1))
        whole(ranking)
        assert took < 1.5 + SPARE
        assert len(server.calls) <= 4


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_decoys_count_towards_the_budget(most: int, plain: dict[str, float]) -> None:
    with LmServer(opinion=sure) as server:
        ranking = read(asking(server, batch=2, max_calls=most, decoys=1, concurrency=1), POOL, QUERY)
        whole(ranking)
        assert len(server.calls) == ranking.meta.lm_calls <= most
    assert "lm_budget" in codes(ranking, "failure")
    now = relevance(ranking)
    judged = [one for one, item in items(ranking).items() if item.judged_by == "lm"]
    assert all(now[one] == plain[one] for one in IDS if one not in judged)


@pytest.mark.parametrize("decoys", [0, 1, 3])
def test_a_cascade_keeps_calls_for_its_decoys(decoys: int) -> None:
    with LmServer(opinion=sure) as server:
        of = asking(
            server,
            "cascade",
            ranker={"cascade": {"share": 1.0, "margin": 1.0}},
            batch=1,
            max_calls=4,
            decoys=decoys,
            concurrency=1,
        )
        ranking = read(of, POOL, QUERY)
        assert len(server.calls) <= 4
    assert codes(ranking, "failure") == []
    assert ranking.meta.lm_figures["sent"] == 4 // (1 + decoys)


def test_a_check_ends_at_the_deadline_of_the_read(plain: dict[str, float]) -> None:
    acts: list[Act] = [Answer(), *[SlowHeaders()] * FOREVER]
    with LmServer(acts, opinion=sure) as server:
        ranking, took = timed(asking(server, decoys=3, deadline="0.3s", read_deadline="0.6s"))
    whole(ranking)
    assert took < 0.6 + SPARE
    assert all(value <= plain[name] + FREE or value == 0.97 for name, value in relevance(ranking).items())


def test_a_kept_check_is_not_asked_again() -> None:
    with LmServer(opinion=sure) as server:
        of = asking(server, decoys=2, cache=100)
        first = read(of, POOL, QUERY)
        asked = len(server.calls)
        again = read(of, POOL, QUERY)
        assert len(server.calls) == asked == 3
    assert relevance(again) == relevance(first)


def test_the_order_of_the_memories_never_matters() -> None:
    with LmServer(opinion=lambda item, query: 0.9 if item["id"] in ("m1", "m4") or query == QUERY else 0.1) as server:
        one = read(asking(server, decoys=2, batch=2), POOL, QUERY)
        two = read(asking(server, decoys=2, batch=2), list(reversed(POOL)), QUERY)
    assert relevance(one) == relevance(two)
