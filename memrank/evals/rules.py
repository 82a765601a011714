"""Rankings by one plain signal each. A golden set that one of them solves measures nothing else."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from memrank.errors import NamespaceError, UsageError
from memrank.evals.evalset import Evalset
from memrank.evals.labelfaults import TOLERANCE, time_of
from memrank.evals.labels import Labelled
from memrank.indexing import Analyzer
from memrank.plain import plain_text
from memrank.score import bm25
from memrank.stores.base import Snapshot
from memrank.stores.jsonl import FileStore
from memrank.types import Floats

KEPT = 50
"""Results of a ranking."""
SOLVED = 0.9
"""A rule that is right at rank 1 more often solves the set."""
K1, B = 1.2, 0.75
END = datetime(9999, 12, 31, tzinfo=UTC)
"""The time of a query that has none: everything is known."""

Ranked = Sequence[str]


@dataclass(frozen=True, slots=True)
class _Read:
    """A query, and the memories that it may see."""

    snapshot: Snapshot
    text: str
    now: float
    """Seconds since 1970."""
    analyzer: Analyzer


def rankings(evalset: Evalset) -> Mapping[str, Sequence[Ranked]]:
    """Rule to the ids of every query of the set, best first, at most KEPT. Of a query that cannot be asked, none.

    Each rule orders what the tenant of a query knew by its time. `bm25` and `dense` read what memrank scores, with its
    words and its vectors; `newest` goes by the event, else by the recording, and what lies ahead counts as now.
    Of equals, the first one in the file leads.
    """
    analyzer = Analyzer()
    store = FileStore(evalset.memories, analyzer)
    found: dict[str, list[Ranked]] = {name: [] for name in RULES}
    for query in evalset.queries:
        read = _read(store, analyzer, query)
        for name, rule in RULES.items():
            found[name].append([] if read is None else _order(read.snapshot, rule(read)))
    return found


def right_first(queries: Sequence[Labelled], ranked: Sequence[Ranked]) -> tuple[int, int]:
    """How often the first result is relevant, and of how many queries that have an answer."""
    asked = [(query, ids) for query, ids in zip(queries, ranked, strict=True) if query.relevant]
    return sum(bool(ids) and ids[0] in query.relevant for query, ids in asked), len(asked)


def _read(store: FileStore, analyzer: Analyzer, query: Labelled) -> _Read | None:
    asked = query.asked
    try:
        now = time_of(query) or END
        snapshot = store.snapshot(asked.get("namespace"), now, asked["filters"], TOLERANCE.total_seconds())
    except (NamespaceError, UsageError):
        return None
    return _Read(snapshot, plain_text(asked.get("query") or ""), now.timestamp(), analyzer)


def _order(snapshot: Snapshot, scores: Floats) -> Ranked:
    rows = np.flatnonzero(snapshot.visible)
    best = rows[np.argsort(-scores[rows], kind="stable")[:KEPT]]
    return [snapshot.tenant.memories[int(row)].id for row in best]


def _words(read: _Read) -> Floats:
    tenant = read.snapshot.tenant
    terms = read.analyzer.terms(read.text)
    counts = Counter(tenant.vocabulary[term] for term in terms if term in tenant.vocabulary)
    return bm25.score(tenant.postings, counts, k1=K1, b=B, visible=read.snapshot.visible)[0]


def _meaning(read: _Read) -> Floats:
    tenant = read.snapshot.tenant
    vector = read.analyzer.vector(read.text)
    if vector is None or tenant.vectors is None:
        return np.zeros(len(tenant.memories))
    return (tenant.vectors @ vector).astype(np.float64)


def _newest(read: _Read) -> Floats:
    times = read.snapshot.tenant.times
    when = np.where(np.isnan(times.event), times.created, times.event)
    return np.where(np.isnan(when), -np.inf, np.minimum(when, read.now))


RULES: Mapping[str, Callable[[_Read], Floats]] = {"bm25": _words, "dense": _meaning, "newest": _newest}
