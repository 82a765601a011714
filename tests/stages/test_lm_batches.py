"""What code adds to a batch: nothing. One that judges every memory on its own is heard the same, whatever the batch."""

import hashlib
import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
from faults.lm_server import LmServer
from hypothesis import given, settings
from hypothesis import strategies as st
from lmreading import FAST, QUERY, asking, embedded, fallen, items, relevance, whole
from reading import pipeline, read, record

from memrank.pipeline import Ranking
from memrank.score.agreement import spearman
from memrank.stages.lm import asking as asking_module
from memrank.stages.lm import freshness, ranking
from memrank.stages.lm.showing import Shown, shown
from memrank.types import Memory

MANY = [record(f"m{place}", f"Note {place}: the interest rate of bank {place % 7}.", days=place) for place in range(25)]
SIZES = (1, 10, 20)


def steady(item: Mapping[str, Any], query: str) -> float:
    """An opinion of each memory on its own, like no other."""
    return int(hashlib.sha256(f"{query}\n{item['id']}".encode()).hexdigest()[:8], 16) / 16**8


def said(ranking: Ranking) -> dict[str, tuple[float, str, str | None]]:
    """All that came of the model, by memory."""
    return {name: (one.scores["relevance"], one.justification, one.judged_by) for name, one in items(ranking).items()}


@pytest.mark.parametrize("judge", ["lm", "cascade"])
def test_batches_of_1_10_and_20_agree(judge: str) -> None:
    found = {}
    with LmServer(opinion=steady) as server:
        for size in SIZES:
            before = len(server.calls)
            found[size] = read(asking(server, judge, batch=size), MANY, QUERY)
            asked = 25 if judge == "lm" else 5
            assert len(server.calls) - before == -(-asked // size)
    values = {size: relevance(one) for size, one in found.items()}
    for one, two in ((1, 10), (1, 20), (10, 20)):
        left, right = ([values[size][name] for name in sorted(values[size])] for size in (one, two))
        assert spearman(left, right) == pytest.approx(1.0)
        assert sum(abs(a - b) for a, b in zip(left, right, strict=True)) == 0.0
        assert said(found[one]) == said(found[two])
        assert [item.id for item in found[one].results] == [item.id for item in found[two].results]


@settings(max_examples=10, deadline=None)
@given(size=st.integers(1, 30), seed=st.integers(0, 99))
def test_neither_does_it_matter_in_which_order_memories_come(size: int, seed: int) -> None:
    mixed = random.Random(seed).sample(MANY, len(MANY))
    with LmServer(opinion=steady) as server:
        given_so = said(read(asking(server, batch=size), mixed, QUERY))
        in_order = said(read(asking(server, batch=20), MANY, QUERY))
        shown = {one for call in server.calls for one in call.prompt.ids}
    assert given_so == in_order
    assert shown == set(given_so)


def test_a_cascade_asks_about_the_likeliest_and_leaves_no_gap() -> None:
    likely = relevance(read(embedded(), MANY, QUERY))
    with LmServer(opinion=steady) as server:
        ranking = read(asking(server, "cascade", ranker={"cascade": {"share": 0.4}}), MANY, QUERY)
    asked = {name for name, one in items(ranking).items() if one.judged_by == "lm"}
    assert len(asked) == 10
    assert min(likely[name] for name in asked) >= max(likely[name] for name in likely if name not in asked)


@pytest.mark.parametrize("module", [freshness, ranking])
def test_no_more_are_prepared_than_a_read_could_ask_about(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def counting(memory: Memory, name: str) -> Shown:
        seen.append(name)
        return shown(memory, name)

    monkeypatch.setattr(asking_module, "PREPARED", 4)
    monkeypatch.setattr(module, "shown", counting)
    stage = {"ranker": {"judge": "lm"}} if module is ranking else {"temporal": {"judge": "lm"}}
    with LmServer(opinion=steady) as server:
        lm = {**FAST, "endpoint": server.url, "max_calls": 1, "batch": 3}
        found = read(pipeline(pruner=None, lm=lm, **stage), MANY, QUERY)
        assert len(server.calls) == 1
    whole(found, [str(one["id"]) for one in MANY])
    assert len(seen) == 4
    assert len(fallen(found)) == len(MANY) - 3
    assert [(note.code, note.count) for note in found.notes] == [("lm_budget", len(MANY) - 3)]
