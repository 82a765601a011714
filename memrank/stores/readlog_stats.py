"""What a read log says about its reads taken together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memrank.score.drift import stability_index
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_entry import BINS

TIMEOUTS = frozenset({"timeout", "lm_timeout", "deadline"})
"""Codes of notes on a model that was too late."""
INVALID = frozenset({"invalid_answer", "lm_invalid", "answer_repaired"})
"""Codes of notes on an answer of a model that was not as asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Percentiles in milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """The returned scores of one week."""

    week: str
    """ISO 8601, in UTC: `2026-W12`."""
    reads: int
    bins: tuple[int, ...]
    """How many lie in each tenth from 0 to 1."""
    psi: float | None
    """Population stability index against the first week; None for that one."""
    drifted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Figures over the calls of a span of time. Shares are from 0 to 1; None where there is nothing to take them of."""

    reads: int
    distinct: int
    first_at: float | None
    last_at: float | None
    latency_ms: Latency | None
    """Of reads that were ranked, not answered from the cache."""
    cached_latency_ms: Latency | None
    cache_hits: int
    cache_hit_rate: float | None
    timeouts: int
    invalid_answers: int
    fallbacks: int
    """Notes of level failure."""
    review_rate: float | None
    review_undecided: int
    average_decay: float | None
    dropped_share: float | None
    """Of the judged memories, per read, averaged."""
    stale_high: int
    """Judged memories that were stale or superseded and scored high."""
    bins: tuple[int, ...]
    weeks: tuple[Week, ...]
    drift_threshold: float


_SELECT = """
SELECT c.read_id, c.at, c.latency_ms, c.cached, r.notes, r.reasons, r.mean_decay, r.dropped, r.judged, r.stale_high,
       r.scores
FROM reads AS c LEFT JOIN records AS r USING (read_id) WHERE c.at >= ? ORDER BY c.at, c.number
"""


def stats(log: ReadLog, *, since: float, drift_threshold: float) -> Stats:
    """Figures over the calls from `since` on (seconds since 1970)."""
    with log.transaction() as connection:
        rows = connection.execute(_SELECT, (since,)).fetchall()
        undecided = "SELECT count(*) FROM review WHERE decision = 'undecided' AND at >= ?"
        (waiting,) = connection.execute(undecided, (since,)).fetchone()
    hits = sum(row[3] for row in rows)
    notes = [note for row in rows if row[4] for note in json.loads(row[4])]
    weeks = _weeks(rows, drift_threshold)
    return Stats(
        reads=len(rows),
        distinct=len({row[0] for row in rows}),
        first_at=rows[0][1] if rows else None,
        last_at=rows[-1][1] if rows else None,
        latency_ms=_latency(row[2] for row in rows if not row[3]),
        cached_latency_ms=_latency(row[2] for row in rows if row[3]),
        cache_hits=hits,
        cache_hit_rate=hits / len(rows) if rows else None,
        timeouts=_counted(notes, TIMEOUTS),
        invalid_answers=_counted(notes, INVALID),
        fallbacks=sum(note["count"] for note in notes if note["level"] == "failure"),
        review_rate=_mean(float(row[5] != "[]") for row in rows if row[5] is not None),
        review_undecided=waiting,
        average_decay=_mean(row[6] for row in rows if row[6] is not None),
        dropped_share=_mean(row[7] / row[8] for row in rows if row[8]),
        stale_high=sum(row[9] or 0 for row in rows),
        bins=tuple(np.sum([week.bins for week in weeks], axis=0).tolist()) if weeks else (0,) * BINS,
        weeks=weeks,
        drift_threshold=drift_threshold,
    )


def _weeks(rows: Sequence[Sequence[object]], threshold: float) -> tuple[Week, ...]:
    counts: dict[str, list[list[int]]] = {}
    for row in rows:
        if isinstance(row[1], float) and isinstance(row[10], str):
            year, week, _ = datetime.fromtimestamp(row[1], UTC).isocalendar()
            counts.setdefault(f"{year}-W{week:02d}", []).append(json.loads(row[10]))
    found: list[Week] = []
    first = None
    for name, scores in counts.items():
        total = np.sum(scores, axis=0).astype(np.float64)
        psi = None if first is None else stability_index(first, total)
        first = total if first is None else first
        bins = tuple(total.astype(np.int64).tolist())
        found.append(Week(week=name, reads=len(scores), bins=bins, psi=psi, drifted=(psi or 0.0) > threshold))
    return tuple(found)


def _latency(values: Iterable[float]) -> Latency | None:
    found = list(values)
    if not found:
        return None
    p50, p95, p99 = np.percentile(found, [50, 95, 99]).tolist()
    return Latency(p50=p50, p95=p95, p99=p99)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def _counted(notes: Iterable[Mapping[str, Any]], codes: frozenset[str]) -> int:
    return sum(int(note["count"]) for note in notes if note["code"] in codes)
