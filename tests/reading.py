"""Small pipelines over records written out in a test, and their answers in forms that can be compared."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from strategies import AS_OF

from memrank.pipeline import Pipeline, Ranking
from memrank.registry import build
from memrank.result import Item
from memrank.slate import Slate
from memrank.spec import Spec

NOW = "2026-03-20T09:00:00Z"
KEEP_ALL = {"decay_threshold": 1.0, "drop_threshold": 1.0, "keep_last_turns": 0, "max_tokens": 1_000_000}

Record = Mapping[str, object]


def pipeline(
    *,
    prefilter: Mapping[str, object] | None = None,
    temporal: Mapping[str, object] | None = None,
    ranker: Mapping[str, object] | None = None,
    pruner: Mapping[str, object] | None = KEEP_ALL,
    relevance: Mapping[str, float] | None = None,
    store: Path | None = None,
    embedder: str = "none",
    **more: object,
) -> Pipeline:
    """All four stages (three where `pruner` is None). `relevance`: what the judge says of each id."""
    stages: list[Mapping[str, object]] = [
        {"kind": "prefilter.hybrid.v1", **(prefilter or {})},
        {"kind": "temporal.v1", "sensitivity": "recent", **(temporal or {})},
        {"kind": "ranker.v1", **(ranker or {})},
    ]
    if pruner is not None:
        stages.append({"kind": "pruner.v1", **pruner})
    spec = {"memrank": 1, "name": "test", "index": {"embedder": embedder}, "stages": stages, **more}
    built = build(Spec.model_validate(spec), Path(), "0" * 64, store=store)
    if relevance is not None:
        built.ranker.judge = _Said(relevance)
    return built


class _Said:
    """A judge whose mind is made up."""

    def __init__(self, relevance: Mapping[str, float]) -> None:
        self._relevance = relevance

    def __call__(self, *, slate: Slate) -> SimpleNamespace:
        said = [self._relevance[slate.memory(k).id] for k in range(len(slate))]
        return SimpleNamespace(answer=np.array(said, dtype=np.float64))


def record(name: str, content: str | None = None, *, days: float | None = 1, **fields: object) -> Record:
    """A record made some days before NOW, or without any date."""
    made = {} if days is None else {"created_at": (AS_OF - timedelta(days=days)).isoformat()}
    text = f"The rate of {name} is four percent." if content is None else content
    return {"id": name, "content": text, **made, **fields}


def read(of: Pipeline, memories: Sequence[Record] | None = None, query: str = "rate", **arguments: Any) -> Ranking:
    """A read as of NOW."""
    return of(query, **{"as_of": NOW, "memories": memories, **arguments})


def ids(items: Sequence[Item]) -> list[str]:
    """In the order given."""
    return [item.id for item in items]


def reasons(ranking: Ranking) -> dict[str, str | None]:
    """Id to the reason of each excluded memory."""
    return {item.id: item.reason for item in ranking.excluded}


def canonical(ranking: Ranking, *ignored: str) -> str:
    """The whole answer as text, but for the time it took and these fields of its meta."""
    body = ranking.to_dict()
    for name in ("latency_ms", *ignored):
        del body["meta"][name]
    return json.dumps(body, sort_keys=True)


def when(days: float) -> datetime:
    """An instant before NOW."""
    return AS_OF - timedelta(days=days)
