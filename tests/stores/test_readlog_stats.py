"""Statistics over a log, counted again by hand."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from reading import pipeline, read, record

from memrank import pipeline as pipelines
from memrank.score.drift import stability_index
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_stats import stats

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
FOUR = [record(name, f"The rate of {name} is four percent.", days=k + 1) for k, name in enumerate("abcd")]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    now = [MONDAY]
    real = pipelines.moment
    monkeypatch.setattr(pipelines, "moment", lambda at: now[0] if at is None else real(at))
    return now


def test_an_empty_log(tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db")})
    read(of, FOUR)
    assert of.flush() is None
    found = stats(ReadLog(tmp_path / "log.db"), since=4e9, drift_threshold=0.2)
    assert (found.reads, found.cache_hit_rate, found.latency_ms, found.weeks, found.average_decay) == (
        0,
        None,
        None,
        (),
        None,
    )


def test_counts(tmp_path: Path, clock: list[datetime]) -> None:
    of = pipeline(
        relevance={"a": 0.9, "b": 0.6, "c": 0.3, "d": 0.1},
        ranker={"weights": {"relevance": 1.0}, "relevance_threshold": 0.2, "staleness_threshold": "36h"},
        pruner={"decay_threshold": 0.5, "drop_threshold": 0.65, "keep_last_turns": 0},
        review={"top_score_below": 0.0, "ambiguity_margin": 0.0},
        reads={"log": str(tmp_path / "log.db")},
    )
    ranking = read(of, FOUR)
    read(of, FOUR)
    clock[0] += timedelta(days=7)
    read(of, FOUR, "rates")
    assert of.flush() is None
    log = ReadLog(tmp_path / "log.db")
    found = stats(log, since=0.0, drift_threshold=0.2)
    assert (found.reads, found.distinct, found.cache_hits, found.cache_hit_rate) == (3, 2, 1, 1 / 3)
    assert (found.first_at, found.last_at) == (MONDAY.timestamp(), clock[0].timestamp())
    assert found.latency_ms is not None
    assert found.latency_ms.p50 <= found.latency_ms.p95 <= found.latency_ms.p99
    assert (found.timeouts, found.invalid_answers, found.fallbacks) == (0, 0, 0)
    # b is past the staleness threshold and scores 0.6: a reason to look, in every read.
    assert ranking.meta.review_reasons == ("stale_but_high",)
    assert (found.review_rate, found.review_undecided, found.stale_high) == (1.0, 2, 3)
    decays = [item.decay for item in (*ranking.results, *ranking.excluded)]
    assert found.average_decay == pytest.approx(np.mean([decay for decay in decays if decay is not None]))
    dropped = sum(item.action == "drop" for item in (*ranking.results, *ranking.excluded))
    assert found.dropped_share == pytest.approx(dropped / 4)
    assert [(week.week, week.reads) for week in found.weeks] == [("2026-W10", 2), ("2026-W11", 1)]
    bins = np.bincount([int(item.score * 10) for item in ranking.results], minlength=10)
    assert found.weeks[1].bins == tuple(bins.tolist())
    assert found.bins == tuple((3 * bins).tolist())
    assert found.weeks[0].psi is None
    assert found.weeks[1].psi == stability_index(2.0 * bins, 1.0 * bins)
    assert not found.weeks[1].drifted
    later = stats(log, since=clock[0].timestamp(), drift_threshold=0.2)
    assert (later.reads, [week.week for week in later.weeks]) == (1, ["2026-W11"])


def test_drift_is_told(tmp_path: Path, clock: list[datetime]) -> None:
    for week, said in enumerate((0.9, 0.9, 0.2)):
        clock[0] = MONDAY + timedelta(days=7 * week)
        of = pipeline(
            relevance=dict.fromkeys("abcd", said),
            ranker={"weights": {"relevance": 1.0}, "supersession": {"infer": False}},
            reads={"log": str(tmp_path / "log.db"), "cache": None},
        )
        for k in range(10):
            read(of, FOUR, f"rate {week} {k}")
        assert of.flush() is None
    found = stats(ReadLog(tmp_path / "log.db"), since=0.0, drift_threshold=0.2)
    assert [week.drifted for week in found.weeks] == [False, False, True]
    strict = stats(ReadLog(tmp_path / "log.db"), since=0.0, drift_threshold=1e9)
    assert not any(week.drifted for week in strict.weeks)
