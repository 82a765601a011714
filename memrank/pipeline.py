"""The pipeline: proves when it is built that its stages fit together, and runs them over a snapshot of a store."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import dspy
import numpy as np
from dspy.dsp.utils.settings import main_thread_config, thread_local_overrides

from memrank.asking import ask, limits, moment
from memrank.assemble import assemble, with_latency, with_use
from memrank.cache import CacheInfo
from memrank.cancelling import CALLS, Calls, in_thread
from memrank.chain import gaps
from memrank.errors import SpecError, UsageError
from memrank.fileio import canonical_json, sha256_hex
from memrank.reads import Read, Reads
from memrank.result import Item, Meta, Result, to_dict
from memrank.slate import Limits, Slate
from memrank.spec import Spec
from memrank.stages.base import Stage
from memrank.stages.prefilter import Prefilter
from memrank.stages.pruner import Pruner
from memrank.stores.base import Snapshot, Store, Uses
from memrank.stores.given import Given
from memrank.tenant import Rows
from memrank.types import Note, Query

if TYPE_CHECKING:  # they bring sqlite3, which a pipeline without a log does without
    from memrank.remote import Remote
    from memrank.stores.readlog import ReadLog
    from memrank.stores.readlog_review import Decision

WRITABLE = frozenset(
    {"callbacks", "history", "forward"}
    | {"candidate_programs", "mb_candidate_programs", "trial_logs", "detailed_results", "simba_idx", "score"}
    | {"total_calls", "prompt_model_total_calls", "results_best", "results_latest", "flag_compilation_error_occurred"}
)
"""What dspy itself sets on a program: its own state, a `forward` in the place of ours, and what optimizers report."""


UNQUEUED = Note(
    level="failure",
    stage="reads",
    code="no_review_queue",
    detail="high_stakes: nothing can wait for review, because the spec has no read log (reads: {log: FILE})",
)
"""Of every read of high stakes that is not logged."""


class Ranking(dspy.Prediction):  # type: ignore[misc]
    """The answer of one read, as a `dspy.Prediction` whose fields are `results`, `excluded`, `meta` and `notes`."""

    results: tuple[Item, ...]
    excluded: tuple[Item, ...]
    meta: Meta
    notes: tuple[Note, ...]

    def __init__(self, base: "Ranking | dict[str, Any] | None" = None, **fields: Any) -> None:
        """As dspy makes copies of a prediction; `of` is how a read makes one."""
        super().__init__(base, **fields)
        self._read: tuple[Result, Spec] | None = base._read if isinstance(base, Ranking) else None

    @classmethod
    def of(cls, result: Result, spec: Spec) -> "Ranking":
        """The ranking of a result."""
        ranking = cls(results=result.results, excluded=result.excluded, meta=result.meta, notes=result.notes)
        ranking._read = (result, spec)
        return ranking

    @property
    def result(self) -> Result:
        """The whole answer as plain values. Raises AttributeError where no read, or only a part of one, is behind it.

        A field that a copy was given anew counts.
        """
        result, _ = self._origin()
        return replace(result, results=self.results, excluded=self.excluded, meta=self.meta, notes=self.notes)

    @property
    def spec(self) -> Spec:
        """The spec that it was ranked by. Raises AttributeError where no read is behind it."""
        return self._origin()[1]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, `memrank.result/1`."""
        return to_dict(self.result)

    def context(self) -> str:
        """The text block for a system prompt; empty when nothing was returned."""
        from memrank.context import context_block

        return context_block(self.result, self.spec)

    def _origin(self) -> tuple[Result, Spec]:
        if self._read is None:
            raise AttributeError("this Ranking was not made by a read")
        return self._read


class Pipeline(dspy.Module):  # type: ignore[misc]
    """Stages in a row over a store. Immutable once built, reusable, and safe to share between threads."""

    def __init__(
        self,
        spec: Spec,
        stages: Mapping[str, Stage],
        store: Store | None,
        given: Given,
        spec_sha256: str,
        *,
        namespace: str | None = None,
        reads: Reads | None = None,
        remote: "Remote | None" = None,
    ) -> None:
        super().__init__()
        found = gaps(spec.stages)
        if found:
            raise SpecError([f"{_place(gap.index)}: {gap.what}; {gap.allowed}" for gap in found])
        self.spec = spec
        self.store = store
        self.spec_sha256 = spec_sha256
        self._given = given
        self._namespace = namespace
        self._reads = reads
        self._remote = remote
        self._names = tuple(stages)
        for name, stage in stages.items():
            setattr(self, name, stage)
        self._built = True

    def __setattr__(self, name: str, value: object) -> None:
        self._keep(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._keep(name)
        super().__delattr__(name)

    def _keep(self, name: str) -> None:
        """Raises AttributeError for a public name once the pipeline is built: other threads may be reading by it."""
        if "_built" in vars(self) and not name.startswith("_") and name not in WRITABLE:
            raise AttributeError(
                f"{name} cannot be set or deleted: a pipeline stays as it was built; build another one"
            )

    def __call__(self, query: str | None = None, **arguments: Any) -> Ranking:
        """Rank; see `forward` for the arguments."""
        with quiet():
            # By name: optimizers put a `forward` in the place of ours that takes nothing by position.
            answer: Ranking = super().__call__(query=query, **arguments)
        return answer

    async def acall(self, query: str | None = None, **arguments: Any) -> Ranking:
        """Rank without blocking the event loop; may be cancelled."""
        with quiet():
            answer: Ranking = await super().acall(query=query, **arguments)
        return answer

    def forward(
        self,
        query: str | None = None,
        *,
        as_of: str | datetime | None = None,
        memories: Sequence[Mapping[str, object]] | None = None,
        namespace: str | None = None,
        filters: Mapping[str, str | Sequence[str]] | None = None,
        top_k: int | None = None,
        max_tokens: int | None = None,
        rank_only: bool = False,
        query_id: str = "query",
        domain: str | None = None,
        phase: str | None = None,
        observations: Sequence[str] = (),
        constraints: Sequence[str] = (),
    ) -> Ranking:
        """Rank what the store (or `memories`, where given) holds for the query as of a moment.

        `as_of` is ISO 8601 or a datetime (without a zone: UTC), the clock where it is left out. Raises UsageError
        for an empty query or a limit below 1, NamespaceError where the tenant is missing or unknown, DataError for
        memories that cannot be read.
        """
        started = time.perf_counter()
        at = moment(None) if self._reads is not None else None
        asked = ask(
            query,
            as_of=as_of,
            namespace=namespace,
            filters=filters,
            query_id=query_id,
            domain=domain,
            phase=phase,
            observations=observations,
            constraints=constraints,
        )
        limited = limits(top_k=top_k, max_tokens=max_tokens, rank_only=rank_only)
        snapshot = self._snapshot(asked, memories)
        if asked.text != query:
            detail = "lone surrogates of the query became U+FFFD"
            repaired = Note(level="repair", stage="query", code="surrogate_replaced", detail=detail)
            snapshot = replace(snapshot, notes=(*snapshot.notes, repaired))
        if self._reads is None or at is None:
            result = self._read(asked, snapshot, limited).result
            return self._told(with_latency(result, _since(started)))
        context = canonical_json([*_context(asked, snapshot, limited), asked.text != query])
        key = self._reads.key(context, asked.as_of, snapshot.version)
        kept, read = self._reads.kept(key, asked), None
        if kept is None:
            read = self._read(asked, snapshot, limited)
            kept = read.result
            self._reads.keep(key, kept, own=memories is None)
        result = with_latency(kept, _since(started))
        note = self._reads.log(result, asked, at, context, read)
        return self._told(result, *([] if note is None else [note]))

    def _told(self, result: Result, *notes: Note) -> Ranking:
        """The ranking of a result with what is to be said of its way into the log."""
        if self.spec.high_stakes and (self._reads is None or self._reads.writer is None):
            notes = (*notes, UNQUEUED)
        return Ranking.of(replace(result, notes=(*result.notes, *notes)) if notes else result, self.spec)

    def flush(self) -> Note | None:
        """Write what waits for the read log; a note where that failed, None also for a pipeline without a log."""
        writer = self._reads.writer if self._reads is not None else None
        return None if writer is None else writer.flush()

    def close(self) -> Note | None:
        """As `flush`, and close the log; the next read opens it again."""
        writer = self._reads.writer if self._reads is not None else None
        return None if writer is None else writer.close()

    def used(
        self, read_id: str, ids: Sequence[str], *, session: str | None = None, at: str | datetime | None = None
    ) -> Uses | None:
        """Say which memories of a read were of use: kept with the read, and counted in a store that can be written.

        What the store counted; None where it cannot be written. `at` is ISO 8601 or a datetime, the clock where it is
        left out. Raises UsageError without a read log, DataError for a read that is not in it and for memories that
        the read did not judge.
        """
        from memrank.feedback import record_used

        return record_used(self._log(), self.store, read_id, ids, session=session, at=moment(at))

    def decided(self, read_id: str) -> "Decision":
        """What a person decided about a read: `accepted`, `rejected` or `edited`; `undecided` while it waits, and
        `not_queued` for one that asked for nobody.

        Raises UsageError without a read log, DataError for a read that is not in it.
        """
        from memrank.stores.readlog_review import decided

        log = self._log()
        return decided(log, log.find(read_id))

    def _log(self) -> "ReadLog":
        """The log, with everything in it that this pipeline has read."""
        writer = self._reads.writer if self._reads is not None else None
        if writer is None:
            raise UsageError("the spec has no read log", hint="reads: {log: FILE}")
        from memrank.stores.readlog import ReadLog

        writer.flush()
        return ReadLog(writer.path)

    def cache_info(self) -> CacheInfo | None:
        """Hits and misses of the cache since the pipeline was built; None without one."""
        found = self._reads.cache if self._reads is not None else None
        return None if found is None else found.info()

    def candidates(self, query: str | None = None, **arguments: Any) -> Slate:
        """The pool of a query as the prefilter leaves it, before anything is judged: what fitting starts from.

        For `as_of`, `namespace`, `filters` and the rest of a query see `forward`.
        """
        pool: Slate = self._stages()[0](self.opened(query, **arguments))
        return pool

    def opened(self, query: str | None = None, **arguments: Any) -> Slate:
        """All that a read may see, before any stage has run; arguments as of `candidates`."""
        asked = ask(query, **arguments)
        return _open(asked, self._snapshot(asked, None), Limits(), np.empty(0, dtype=np.int64))

    async def aforward(self, query: str | None = None, **arguments: Any) -> Ranking:
        """As `forward`, in a thread; reads that wait for a model do not wait for one another."""
        calls = Calls()
        mark = CALLS.set(calls)
        try:
            # By the class: dspy warns of every `module.forward` that it does not call itself.
            work = partial(type(self).forward, self, query, **arguments)
            return await (asyncio.to_thread(work) if self._remote is None else in_thread(work))
        except asyncio.CancelledError:
            calls.cancel()
            raise
        finally:
            CALLS.reset(mark)

    def _snapshot(self, query: Query, memories: Sequence[Mapping[str, object]] | None) -> Snapshot:
        tolerance = next(s.params.future_tolerance for s in self._stages() if isinstance(s, Prefilter))
        if memories is not None:
            return self._given.store(memories).snapshot(query.namespace, query.as_of, query.filters, tolerance)
        if self.store is None:
            raise UsageError("no memories: the spec names no store and the call gives none", hint="pass memories=[...]")
        namespace = query.namespace if query.namespace is not None else self._namespace
        return self.store.snapshot(namespace, query.as_of, query.filters, tolerance)

    def _read(self, query: Query, snapshot: Snapshot, limited: Limits) -> Read:
        stages = [stage for stage in self._stages() if not (limited.rank_only and isinstance(stage, Pruner))]
        pruner = next((stage for stage in stages if isinstance(stage, Pruner)), None)
        protected = pruner.protects(snapshot) if pruner else np.empty(0, dtype=np.int64)
        slate = pool = _open(query, snapshot, limited, protected)
        reading = self._remote.reading() if self._remote is not None else None
        if reading is not None:
            if (calls := CALLS.get()) is not None:
                calls.made_by(reading)
            slate = pool = replace(slate, reading=reading)
        for stage in stages:
            slate = stage(slate)
            pool = slate if isinstance(stage, Prefilter) else pool
        text, *others = _context(query, snapshot, limited)
        identity = [self.spec_sha256, snapshot.version, text, query.as_of.isoformat(), *others]
        if self.spec.lm is not None and self._remote is None:
            identity.append("no_lm")
        elif reading is not None:  # a model may fail, or say something else the next time: that is another read
            identity.append(_found(slate))
        result = assemble(
            slate,
            self.spec,
            read_id=sha256_hex(canonical_json(identity))[:32],
            spec_sha256=self.spec_sha256,
            store_version=snapshot.version,
        )
        if reading is not None:
            result = with_use(result, reading.counts)
        exchanges = tuple(reading.exchanges) if reading is not None else ()
        return Read(result=result, pool=pool, final=slate, exchanges=exchanges)

    def _stages(self) -> list[Stage]:
        return [getattr(self, name) for name in self._names]


def _found(slate: Slate) -> str:
    """A hash of what a read found of its candidates; not of what asking cost."""
    columns = {name.value: sha256_hex(values.tobytes()) for name, values in slate.columns.items()}
    texts = [sorted((int(k), text) for k, text in each.items()) for each in (slate.summaries, slate.justifications)]
    notes = [(note.level, note.stage, note.code) for note in slate.notes]
    return sha256_hex(canonical_json([slate.rows.tolist(), columns, texts, notes, str(slate.time)]))


def _context(query: Query, snapshot: Snapshot, limited: Limits) -> list[object]:
    """All that was asked, but for the moment."""
    return [
        *(query.text, snapshot.tenant.namespace),
        *(query.filters, query.domain, query.phase, query.observations, query.constraints),
        *(limited.top_k, limited.max_tokens, limited.rank_only),
    ]


def _since(started: float) -> float:
    """Milliseconds that have passed."""
    return (time.perf_counter() - started) * 1e3


def quiet() -> AbstractContextManager[object]:
    """Keeps dspy's process-wide trace and history from growing, unless a caller (an optimizer) collects a trace."""
    trace = thread_local_overrides.get().get("trace")
    # Every context of dspy carries a trace: the process-wide one, unless somebody set out to collect another.
    if trace is not None and trace is not main_thread_config.get("trace"):
        return nullcontext()
    return dspy.context(trace=None, disable_history=True)  # type: ignore[no-any-return]


def _place(index: int | None) -> str:
    return "stages" if index is None else f"stages[{index}]"


def _open(query: Query, snapshot: Snapshot, limits: Limits, protected: Rows) -> Slate:
    """The first slate of a read: every visible memory, no columns."""
    rows = np.flatnonzero(snapshot.visible)
    kept = np.zeros(len(snapshot.visible), dtype=np.bool_)
    kept[protected] = True
    return Slate(
        query=query,
        tenant=snapshot.tenant,
        rows=rows,
        visible=snapshot.visible,
        protected=kept[rows],
        columns={},
        limits=limits,
        notes=snapshot.notes,
    )
