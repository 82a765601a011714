"""What another system returned for the queries of a golden set, measured like an answer of memrank."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from memrank.errors import DataError
from memrank.evals.evalset import Evalset
from memrank.evals.evaluate import TOP_K
from memrank.evals.labels import Labelled
from memrank.evals.measure import measures, worst
from memrank.evals.outcome import Failed, Judged, Outcome, Scored, Unscored
from memrank.stores.readers import read_memories

MISSING = "missing"
"""Code of a query that a run says nothing of."""


def outcomes_of(
    run: Mapping[str, Sequence[str]], evalset: Evalset, queries: Sequence[Labelled], *, also: Collection[str] = ()
) -> list[Outcome]:
    """What a run (query id to the ids returned, best first) is worth, an outcome a query, in their order.

    The first 50 ids count, as of a read of memrank. A query that the run lacks has failed. Scores are not looked at:
    nothing is said of calibration, nor of the time that an answer took. Raises DataError for queries that the set does
    not hold, and where no id is one of its memories.
    """
    _same_queries(run, evalset)
    tenants = _tenants(evalset)
    if any(run.values()) and not any(name in tenants for ids in run.values() for name in ids):
        raise DataError("the run names no memory of the golden set", hint="was it made with the same memories?")
    return [_outcome(query, run.get(query.id), tenants, also) for query in queries]


def _same_queries(run: Mapping[str, Sequence[str]], evalset: Evalset) -> None:
    unknown = sorted(set(run) - {query.id for query in evalset.queries})
    if unknown:
        raise DataError(
            f"{len(unknown)} query ids of the run are not in {evalset.name}, the first: {unknown[0][:80]!r}",
            hint="was it made with the same golden set?",
        )


def _tenants(evalset: Evalset) -> dict[str, set[str | None]]:
    """Id to the namespaces that hold such a memory."""
    found: dict[str, set[str | None]] = {}
    for memory in read_memories(evalset.memories).memories:
        found.setdefault(memory.id, set()).add(memory.namespace)
    return found


def _outcome(
    query: Labelled, ids: Sequence[str] | None, tenants: Mapping[str, set[str | None]], also: Collection[str]
) -> Outcome:
    if not query.annotated:
        return Unscored(query_id=query.id, why="nobody said what is relevant")
    if ids is None:
        values = {name: value for name, value in worst(query, also=also, pruned=False).items() if _of_ids(name)}
        return Failed(query_id=query.id, values=values, code=MISSING, message="the run says nothing of this query")
    ranked = list(dict.fromkeys(ids))[:TOP_K]
    asked = query.asked.get("namespace")
    leaked = sum(asked not in tenants.get(name, {asked}) for name in ranked)
    return Scored(
        query_id=query.id,
        values=measures(query, ranked, None, None, None, leaked, also=also),
        judged=_nothing_judged(),
        latency_ms=math.nan,
    )


def _of_ids(measure: str) -> bool:
    """Whether ids are all that a measure needs: a run has no more."""
    return measure not in ("sensitivity", "Brier") and not measure.startswith("MAE")


def _nothing_judged() -> Judged:
    none = np.zeros(0)
    return Judged(
        ids=(), relevance=none, freshness=none, score=none, age_days=none, relevant=np.zeros(0, np.bool_), returned=0
    )
