"""The two calls of the Python API: load a spec, or rank a list of memories without one."""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memrank.checking import check_file
from memrank.errors import UsageError
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.spec import Spec
from memrank.specfile import spec_sha256
from memrank.tenant import FILTERS
from memrank.views import memory_read

QUERY_FIELDS = ("domain", "phase", "observations", "constraints")
SHORTEST_DAYS, LONGEST_DAYS = 1e-6, 365_000.0
"""What a spec takes as a half-life: up to a thousand years."""


def load(
    path: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
    lm: bool = True,
    lm_cache: bool = True,
) -> Pipeline:
    """The pipeline of a spec file, over the spec's store or another file.

    Without `lm` no language model is asked, whatever the spec says; without `lm_cache` none of its answers is kept.
    Raises SpecError with every fault of the spec. The store is opened when it is first read.
    """
    file = check_file(path)
    other = Path(store) if store is not None else None
    return build(file.spec, file.folder, file.sha256, store=other, lm=lm, lm_cache=lm_cache)


def read_memory(
    query_context: str | Mapping[str, Any],
    memory_store: Sequence[Mapping[str, object]] | str | os.PathLike[str],
    top_k: int = 10,
    recency_decay_days: float = 7,
    *,
    recency_weight: float = 0.3,
    relevance_threshold: float = 0.5,
    include_excluded: bool = False,
) -> dict[str, object]:
    """Rank a list of memories (or a file of them) in one call; the answer has the fields of the `memory-read` view.

    `query_context` is the question, or a mapping with `query` and, where known, `as_of`, `namespace`, `filters`,
    `domain`, `phase`, `observations`, `constraints`. `recency_decay_days` is the half-life of recency, which
    applies whatever the question asks: composite = (1 - recency_weight) * relevance + recency_weight * recency.
    Memories below `relevance_threshold` are left out. What was read of a list is kept for the next call; a file is
    read anew each time (`load` keeps it). Raises UsageError and DataError as `Pipeline` does.
    """
    context: dict[str, Any] = {"query": query_context} if isinstance(query_context, str) else dict(query_context)
    text = context.pop("query", None) or context.pop("text", None)
    unknown = sorted(set(context) - {"as_of", "namespace", "filters", *QUERY_FIELDS})
    if unknown:
        raise UsageError(
            f"query_context holds {', '.join(map(repr, unknown))}", hint=f"filters are: {', '.join(sorted(FILTERS))}"
        )
    numbers: tuple[tuple[str, object, float, float], ...] = (
        ("recency_decay_days", recency_decay_days, SHORTEST_DAYS, LONGEST_DAYS),
        ("recency_weight", recency_weight, 0, 1),
        ("relevance_threshold", relevance_threshold, 0, 1),
    )
    for name, number, least, most in numbers:
        if not isinstance(number, (int, float)) or not least <= number <= most:
            raise UsageError(f"{name} is {number!r:.40}; it must be a number from {least:g} to {most:g}")
    settings = recency_decay_days, recency_weight, relevance_threshold
    if isinstance(memory_store, (str, os.PathLike)):
        spec = _reading(*settings)
        pipeline = build(spec, Path(), spec_sha256(spec), store=Path(memory_store))
    else:
        context["memories"] = memory_store
        pipeline = _over_lists(*settings)
    ranking = pipeline(text, top_k=top_k, **context)
    return memory_read(ranking.result, include_excluded=include_excluded)


def _reading(recency_decay_days: float, recency_weight: float, relevance_threshold: float) -> Spec:
    return Spec.model_validate(
        {
            "memrank": 1,
            "name": "read-memory",
            "stages": [
                {"kind": "prefilter.hybrid.v1", "top_k": 200},
                {"kind": "temporal.v1", "sensitivity": "recent", "half_life": f"{recency_decay_days:.12f}d"},
                {
                    "kind": "ranker.v1",
                    "weights": {"relevance": 1 - recency_weight, "freshness": recency_weight},
                    "relevance_threshold": relevance_threshold,
                },
            ],
        }
    )


@lru_cache(maxsize=4)
def _over_lists(recency_decay_days: float, recency_weight: float, relevance_threshold: float) -> Pipeline:
    """Kept from call to call, and with it what it has read: a memory that comes again is not embedded again."""
    spec = _reading(recency_decay_days, recency_weight, relevance_threshold)
    return build(spec, Path(), spec_sha256(spec))
