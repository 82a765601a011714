"""Reads through a scripted model server, and what holds of every one of them however the server behaves."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from faults.lm_server import LmServer
from reading import Record, pipeline, read, record

from memrank.pipeline import Pipeline, Ranking
from memrank.result import Item

QUERY = "What is the current interest rate of the central bank?"
POOL: Sequence[Record] = (
    record("m1", "The central bank set the interest rate to 4.25 percent.", days=2),
    record("m2", "The interest rate was 5 percent a year ago.", days=380),
    record("m3", "Analysts expect two cuts of the rate by June.", days=5),
    record("m4", "The office plants are watered on Tuesdays.", days=3),
    record("m5", "Current account balances are shown in the bank's app.", days=30),
    record("m6", "Lunch is at noon."),
)
IDS = sorted(str(one["id"]) for one in POOL)
FAST: Mapping[str, object] = {
    "model": "local/scripted",
    "deadline": "0.5s",
    "read_deadline": "1.5s",
    "retry_wait": "0s",
    "cache": 0,
    "decoys": 0,
}
"""One judgement of every batch and no more; what decoys add stands in tests/injection and tests/faults/test_lm_decoys.
"""
SPARE = 2.0
"""Seconds that a busy machine may add to a read on top of its deadline."""


def asking(
    server: LmServer | str,
    judge: str = "lm",
    *,
    ranker: Mapping[str, object] | None = None,
    pool: int = 100,
    **lm: object,
) -> Pipeline:
    """A pipeline whose relevance is judged by the model behind this server."""
    endpoint = server if isinstance(server, str) else server.url
    return pipeline(
        prefilter={"top_k": pool},
        ranker={"judge": judge, **(ranker or {})},
        pruner=None,
        lm={**FAST, "endpoint": endpoint, **lm},
    )


def embedded(**ranker: object) -> Pipeline:
    """The same without a model."""
    return pipeline(ranker=ranker, pruner=None)


def items(ranking: Ranking) -> dict[str, Item]:
    """Every judged memory."""
    return {item.id: item for item in (*ranking.results, *ranking.excluded)}


def relevance(ranking: Ranking) -> dict[str, float]:
    """What each memory's relevance was judged to be."""
    return {name: item.scores["relevance"] for name, item in items(ranking).items()}


def fallen(ranking: Ranking) -> list[str]:
    """The memories that the model did not judge."""
    return sorted(name for name, item in items(ranking).items() if "scoring_error" in item.flags)


def codes(ranking: Ranking, level: str | None = None) -> list[str]:
    """The codes of the notes, in order."""
    return [note.code for note in ranking.notes if level is None or note.level == level]


def whole(ranking: Ranking, ids: Sequence[str] = IDS) -> None:
    """Nobody is lost, nobody comes twice, and every number is one that can be."""
    listed = [item.id for item in (*ranking.results, *ranking.excluded)]
    assert sorted(listed) == sorted(ids)
    for item in (*ranking.results, *ranking.excluded):
        for value in (item.score, item.raw_score, *item.scores.values()):
            assert math.isfinite(value)
            assert 0 <= value <= 1
        total = sum(weight * item.scores[name] for name, weight in item.weights.items())
        assert item.raw_score == pytest.approx(total, abs=1e-9)
    assert [item.rank for item in ranking.results] == list(range(1, len(ranking.results) + 1))


def timed(
    of: Pipeline, memories: Sequence[Record] = POOL, query: str = QUERY, **arguments: Any
) -> tuple[Ranking, float]:
    """A read and the seconds it took."""
    started = time.monotonic()
    ranking = read(of, memories, query, **arguments)
    return ranking, time.monotonic() - started
