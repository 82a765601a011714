"""Golden sets as every compared system sees them: for each query, what its tenant knew by then."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrank.asking import moment
from memrank.errors import NamespaceError
from memrank.evals.labels import FITS
from memrank.indexing import Analyzer
from memrank.queryrows import Row, question
from memrank.stores.jsonl import FileStore
from memrank.tenant import scored_text
from memrank.types import Memory

Floats = NDArray[np.float64]

KNOWN_WITHIN = 86_400.0
"""A memory recorded later than the query's time plus this many seconds is not known yet."""
NEUTRAL_IMPORTANCE = 0.5
"""Of a memory that states none."""


def find(folders: Iterable[Path]) -> list[Path]:
    """Folders with memories.jsonl and queries.jsonl, at or below those given, by name. SystemExit without any."""
    found: dict[str, Path] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("queries.jsonl")):
        if (path.parent / "memories.jsonl").is_file():
            there = found.setdefault(path.parent.name, path.parent)
            if there.resolve() != path.parent.resolve():
                raise SystemExit(f"two golden sets are named {there.name}: {there} and {path.parent}")
    if not found:
        raise SystemExit("no golden set (a folder with memories.jsonl and queries.jsonl) below the folders given")
    return [found[name] for name in sorted(found)]


@dataclass(frozen=True, eq=False)
class Asked:
    """A query and the n memories that it may see, in the order of the file."""

    id: str
    text: str
    now: float
    """Seconds since 1970."""
    memories: Sequence[Memory]
    tenant: str | None
    rows: NDArray[np.int64]
    """Place of each memory in its tenant."""
    similarity: Floats
    """(n,): cosine of the sentence vectors of query and memory."""
    hours: Floats
    """(n,): age by the time of the event, else of recording; the median age where there is neither, 0 without any."""
    unused_hours: Floats
    """(n,): the same, or since it was last used where that is later."""
    dated: NDArray[np.bool_]
    importance: Floats
    """(n,): 0 to 1."""

    def ids(self, order: Iterable[int]) -> list[str]:
        """Ids of the memories at these places."""
        return [self.memories[int(place)].id for place in order]


@dataclass(eq=False)
class GoldenSet:
    """One set: its labelled rows, and what each of them may see."""

    folder: Path
    words: dict[tuple[float, float], list[Floats]] = field(default_factory=dict)
    """BM25 scores by (k1, b), kept for the systems that share them."""

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def memories(self) -> Path:
        """The file of the memories."""
        return self.folder / "memories.jsonl"

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of queries.jsonl, labels included."""
        lines = (self.folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """What `memrank run --queries` asks for each row: never a label."""
        return [question(Row(id=row["id"], fields=row, notes=())) for row in self.rows]

    @cached_property
    def asked(self) -> list[Asked]:
        """Every query with what it may see; nothing where the tenant is unknown."""
        analyzer = Analyzer()
        store = FileStore(self.memories, analyzer)
        return [_asked(store, analyzer, each) for each in self.questions]


def _asked(store: FileStore, analyzer: Analyzer, asked: dict[str, Any]) -> Asked:
    as_of = moment(asked.get("as_of"))
    now = as_of.timestamp()
    try:
        snapshot = store.snapshot(asked.get("namespace"), as_of, asked["filters"], KNOWN_WITHIN)
    except NamespaceError:
        none = np.zeros(0)
        nowhere = np.zeros(0, dtype=np.int64)
        nothing = {"similarity": none, "hours": none, "unused_hours": none, "importance": none, "rows": nowhere}
        return Asked(asked["query_id"], asked["query"], now, (), None, dated=none > 0, **nothing)
    tenant, rows = snapshot.tenant, np.flatnonzero(snapshot.visible)
    times = tenant.times
    when = np.where(np.isnan(times.event), times.created, times.event)[rows]
    used = np.fmax(when, times.accessed[rows])
    importance = tenant.importance[rows]
    return Asked(
        id=asked["query_id"],
        text=asked["query"],
        now=now,
        memories=[tenant.memories[int(row)] for row in rows],
        tenant=tenant.namespace,
        rows=rows,
        similarity=(tenant.vectors[rows] @ analyzer.vector(asked["query"])).astype(np.float64),
        hours=_hours(now, when),
        unused_hours=_hours(now, used),
        dated=np.isfinite(when),
        importance=np.where(np.isnan(importance), NEUTRAL_IMPORTANCE, importance),
    )


def _hours(now: float, when: Floats) -> Floats:
    known = np.isfinite(when)
    ages = np.maximum(0.0, now - when) / 3600.0
    return np.where(known, ages, np.median(ages[known]) if known.any() else 0.0)


def fitting_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a set that may be fitted on: its part `fit`, and what states no part."""
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    return [row for row in found if row.get("split", "fit") == "fit"]


def relevant_ids(row: Mapping[str, Any]) -> set[str]:
    """What helps to answer, listed or graded; grade 0 is none."""
    given = row["relevant"]
    return {name for name, grade in given.items() if grade > 0} if isinstance(given, Mapping) else set(given)


def fitting_ids(row: Mapping[str, Any]) -> set[str]:
    """What speaks to the question, however old, as memrank's own evaluation has it (`Labelled.fits`)."""
    meta = row.get("metadata") or {}
    given = meta.get("scores") or row.get("scores") or {}
    by_hand = {name: one["relevance"] for name, one in given.items() if one.get("relevance") is not None}
    plain = (relevant_ids(row) | set(meta.get("stale") or [])) - by_hand.keys()
    return plain | {name for name, value in by_hand.items() if value >= FITS}


def text_of(memory: Memory) -> str:
    """What all systems read of a memory: the same text that memrank scores."""
    return scored_text(memory)
