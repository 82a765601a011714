"""A pipeline asked every query of a golden set: what became of each, in their order, however many threads ask."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memrank.errors import DataError, MemrankError, NamespaceError, StoreError, UsageError
from memrank.evals.evalset import Evalset
from memrank.evals.journal import Journal, key_of
from memrank.evals.labels import Labelled
from memrank.evals.measure import measures, worst
from memrank.evals.outcome import Failed, Judged, Outcome, Scored, Unscored
from memrank.pipeline import Pipeline
from memrank.result import Item, Result
from memrank.score.temporal import DAY
from memrank.spec import PrunerSpec
from memrank.stores.readers import read_memories
from memrank.text.counted import counted, verb
from memrank.version import __version__, shipped_model

TOP_K = 50
"""Results of a ranking that are compared with the labels."""
EXPLAINED = 3
"""Results whose reasons are kept for the list of the worst queries."""
FEWEST_PLACES = 3
"""New judgements of a model from which on a read tells of its position bias: two go with their places by chance."""
MESSAGE = 300
"""Characters of a failure's message that are kept."""


def evaluate(
    pipeline: Pipeline,
    evalset: Evalset,
    queries: Sequence[Labelled],
    *,
    jobs: int = 1,
    seed: int = 0,
    also: Collection[str] = (),
    journal: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """What became of each query, in their order.

    Each is ranked without the pruner, 50 results at the most; where actions are labelled, it is read once more with
    the whole chain. A read that fails is an outcome too. A query that states no time is asked as of the newest time in
    the set, never the clock: what a pipeline is worth must not change from day to day. `pipeline` reads the memories of
    the set; one with a cache would answer from it. The outcomes are the same for any number of `jobs` (threads), but
    for their latencies. `also` names metrics that are taken beside the usual ones, such as `nDCG@7`.

    `journal` is where outcomes are kept as they come: a run that was killed is given the same path, and goes on where
    it stopped. `seed` only keeps journals of different seeds apart: reads draw nothing. `progress` is told how many
    more are done, from this thread. Raises DataError for query ids that are repeated, UsageError for a pipeline without
    a store, and what its store raises where it cannot be read.
    """
    _check(queries)
    key = journal_key(pipeline, evalset, seed=seed, also=also)
    asker = _Asker(pipeline, queries, evalset, tuple(also))
    told = progress or _ignore
    with Journal(journal, key) if journal is not None else nullcontext() as kept:
        outcomes = {query.id: kept.done[query.id] for query in queries if query.id in kept.done} if kept else {}
        told(len(outcomes))
        left = [query for query in queries if query.id not in outcomes]
        asker.index(left)
        with closing(_asked(asker, left, jobs)) as found:
            for outcome in found:
                if kept:
                    kept.add(outcome)
                outcomes[outcome.query_id] = outcome
                told(1)
    return [outcomes[query.id] for query in queries]


def journal_key(pipeline: Pipeline, evalset: Evalset, *, seed: int = 0, also: Collection[str] = ()) -> str:
    """Names all that outcomes depend on: a journal of another key is begun anew. Raises what `evaluate` does."""
    if pipeline.store is None:
        raise UsageError("no memories: the pipeline has no store", hint="build it over the memories of the evalset")
    made_by = [__version__, shipped_model(), pipeline.spec_sha256, pipeline.store.store_version()]
    return key_of(*made_by, evalset.queries_sha256, seed, sorted(also))


def _ignore(done: int) -> None:
    """Nobody watches."""


def _check(queries: Sequence[Labelled]) -> None:
    repeated = [name for name, times in Counter(query.id for query in queries).items() if times > 1]
    if repeated:
        raise DataError(
            f"{counted(len(repeated), 'query id')} {verb(len(repeated))} repeated, the first: {repeated[0][:80]!r}",
            hint="outcomes are told apart by the ids of their queries",
        )


def _asked(asker: "_Asker", queries: Sequence[Labelled], jobs: int) -> Generator[Outcome, None, None]:
    """The outcomes as they come. Whoever stops early waits for those that are being read, and for no others."""
    if jobs <= 1:
        yield from map(asker, queries)
        return
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="memrank-eval")
    try:
        for future in as_completed([pool.submit(asker, query) for query in queries]):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Asker:
    """Asks one query. Safe to share between threads."""

    def __init__(
        self, pipeline: Pipeline, queries: Sequence[Labelled], evalset: Evalset, also: tuple[str, ...]
    ) -> None:
        self._pipeline = pipeline
        self._also = also
        self._pruned = any(isinstance(stage, PrunerSpec) for stage in pipeline.spec.stages)
        timeless = any("as_of" not in query.asked for query in queries)
        self._newest = newest(evalset.memories) if timeless else None

    def index(self, queries: Sequence[Labelled]) -> None:
        """Have the store index every tenant that will ask, so that no latency is that of the first one to ask."""
        store = self._pipeline.store
        for namespace in dict.fromkeys(query.asked.get("namespace") for query in queries):
            with suppress(NamespaceError):  # its queries will say so
                if store is not None:
                    store.snapshot(namespace, datetime(1970, 1, 1, tzinfo=UTC), {}, 0.0)

    def __call__(self, query: Labelled) -> Outcome:
        if not query.annotated:
            return Unscored(query_id=query.id, why="nobody said what is relevant")
        asked = {"as_of": self._newest, **query.asked}
        try:
            result = self._pipeline(**asked, rank_only=True, top_k=TOP_K).result
            actions = self._actions(asked) if self._pruned and query.expected_actions else None
        except StoreError:  # no fault of the query: nobody could be answered
            raise
        except MemrankError as fault:
            message = fault.message[:MESSAGE]
            values = worst(query, also=self._also, pruned=self._pruned)
            return Failed(query_id=query.id, values=values, code=fault.code, message=message)
        return _compared(query, result, actions, self._also)

    def _actions(self, asked: Mapping[str, Any]) -> dict[str, str]:
        """Id to what the pruner does with it."""
        result = self._pipeline(**asked).result
        return {item.id: item.action for item in (*result.results, *result.excluded) if item.action is not None}


def newest(memories: Path) -> datetime:
    """The newest time at which a memory of a file was recorded, else happened; 1970 where none has a date."""
    times = [
        moment.end
        for memory in read_memories(memories).memories
        for moment in (memory.created_at or memory.event_date,)
        if moment is not None
    ]
    return max(times, default=datetime(1970, 1, 1, tzinfo=UTC))


def _compared(query: Labelled, result: Result, actions: Mapping[str, str] | None, also: Collection[str]) -> Scored:
    judged = judged_of(result, query)
    asked = query.asked.get("namespace", result.namespace)
    items = (*result.results, *result.excluded)
    leaked = sum(item.memory.namespace != asked for item in items)
    ranked = [item.id for item in result.results]
    values = measures(query, ranked, judged, result.sensitivity.value, actions, leaked, also=also)
    meta = result.meta
    return Scored(
        query_id=query.id,
        values=values,
        judged=judged,
        latency_ms=meta.latency_ms,
        lm_calls=meta.lm_calls,
        lm_tokens=meta.lm_tokens,
        lm_cost_usd=meta.lm_cost_usd,
        lm_figures=lm_figures(result),
        top=tuple((item.id, item.score, item.justification) for item in result.results[:EXPLAINED]),
    )


def lm_figures(result: Result) -> dict[str, float]:
    """LM_FIGURES of a read; empty where no model may be asked."""
    told = result.meta.lm_figures
    found = {f"lm_{name}": float(told[name]) for name in ("sent", "invalid", "timeouts") if name in told}
    if "lm_sent" in found:
        fallen = sum(item.judged_by == "failed" for item in (*result.results, *result.excluded))
        found["lm_fallbacks"] = float(fallen)
        if found["lm_sent"] - fallen >= FEWEST_PLACES:
            found["position_bias"] = float(told["position_bias"])
    return found


def judged_of(result: Result, query: Labelled) -> Judged:
    """All that was judged, results first."""
    items = (*result.results, *result.excluded)
    return Judged(
        ids=tuple(item.id for item in items),
        relevance=np.array([item.scores["relevance"] for item in items], dtype=np.float64),
        freshness=np.array([item.scores["freshness"] for item in items], dtype=np.float64),
        score=np.array([_score(item) for item in items], dtype=np.float64),
        age_days=np.array(
            [math.nan if item.age_seconds is None else item.age_seconds / DAY for item in items], dtype=np.float64
        ),
        relevant=np.array([item.id in query.relevant for item in items], dtype=np.bool_),
        returned=len(result.results),
        fits=np.array([query.fits(item.id) for item in items], dtype=np.bool_),
    )


def _score(item: Item) -> float:
    """What ranks it. Those beyond the first 50 are excluded for their place alone, and keep what they were given."""
    if item.reason != "over_top_k":
        return item.score
    return item.raw_score * math.prod(adjustment.factor for adjustment in item.adjustments)
