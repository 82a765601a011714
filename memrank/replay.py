"""A recorded read, judged again: whether the same comes out, what has changed since, and what would come out if.

The pool is judged anew from what was recorded of it; nothing is searched again. Where a store stands as it stood then,
the whole read is run again, too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memrank.asrecorded import assembled, recorded_spec, tenant_of
from memrank.errors import DataError, UsageError
from memrank.fileio import canonical_json
from memrank.indexing import Analyzer
from memrank.pipeline import UNQUEUED, quiet
from memrank.plain import plain_text
from memrank.recorded import Recorded, final_of, pool_of
from memrank.records import record_text
from memrank.registry import build, make_stage
from memrank.result import Item, Result, to_dict
from memrank.slate import Column, Slate
from memrank.spec import PrefilterSpec, PrunerSpec, Spec
from memrank.specfile import SpecFile, spec_sha256
from memrank.stores.base import Snapshot
from memrank.stores.readlog import Kept, ReadLog
from memrank.text.counted import counted, verb
from memrank.types import Memory, Note, TimeOfQuery
from memrank.version import __version__, shipped_model
from memrank.whatif import changed, differing, freed

MAX_DIFFERENCES = 20
OF_MODEL = {"injection_suspected", "decoy_answered", "no_decoy"}
"""Codes of notes, beside `lm_...`, on what a language model was shown and said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreThenAndNow:
    """What became of a store since a read."""

    then: str
    now: str
    changed: tuple[str, ...]
    """Ids of judged memories that say something else now."""
    gone: tuple[str, ...]
    rerun: bool | None
    """Whether the whole read, run again, gave the same bytes; None where the store has moved on."""

    @property
    def moved_on(self) -> bool:
        """Whether anything in it has changed."""
        return self.then != self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A memory whose place, score or fate differs between two answers; ranks from 1, None where it is excluded."""

    id: str
    rank: tuple[int | None, int | None]
    score: tuple[float, float]
    reason: tuple[str | None, str | None]
    action: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of judging a recorded read again."""

    read_id: str
    reproduced: bool | None
    """Whether the same bytes came out; None where it cannot be told, or settings were changed."""
    unavailable: tuple[str, ...]
    """Ids of memories whose text is not to be had any more: forgotten, or recorded without."""
    differences: tuple[str, ...]
    """Paths in the JSON form that differ, at most MAX_DIFFERENCES."""
    since: tuple[str, ...]
    """What else has changed since the read: memrank, its coefficients, the spec."""
    store: StoreThenAndNow | None
    settings: tuple[str, ...]
    moves: tuple[Move, ...]
    """Under changed settings: what moved, best first as it was."""
    review: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Under changed settings: why the read asked for a person, and why it would; empty where it would not."""
    result: Result | None
    """What came out now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a replay may look at besides the log."""

    query: str | None = None
    """The text of the query, where the log does not keep it; where it does, it must be the same."""
    spec: SpecFile | None = None
    """The spec as it is now."""
    store: Path | None = None


def replay(log: ReadLog, kept: Kept, settings: Sequence[str], sources: Sources) -> Replay:
    """Judge the pool of a read again, under its own spec or with settings changed.

    Raises UsageError for settings that cannot be answered, and where the log lacks the query's text and none is given;
    DataError where settings are to be tried and memories are unavailable.
    """
    spec = recorded_spec(kept)
    changed_spec = changed(kept.spec or "", settings) if settings else spec
    recorded = _with_query(log, kept, sources.query)
    snapshot = _now(recorded, spec, sources)
    memories = _memories(log, kept, snapshot)
    unavailable = tuple(c.id for c, memory in zip(kept.candidates, memories, strict=True) if memory is None)
    known = [memory for memory in memories if memory is not None]
    base: dict[str, Any] = {
        "read_id": kept.read_id,
        "unavailable": unavailable,
        "since": _since(kept, spec, sources.spec),
        "settings": tuple(settings),
    }
    if unavailable and settings:
        raise DataError(
            f"{len(unavailable)} of {counted(len(memories), 'judged memory', 'judged memories')} "
            f"{verb(len(unavailable))} unavailable: what if cannot be answered",
            hint="--store FILE, where a store still holds them as they were",
        )
    if unavailable:
        store = _then_and_now(log, kept, snapshot, None)
        return Replay(**base, reproduced=None, differences=(), store=store, moves=(), result=None)
    tenant = tenant_of(recorded, known, Analyzer(spec.index.language, spec.index.embedder))
    try:
        pool = pool_of(recorded, tenant)
    except ValueError as fault:
        return Replay(**base, reproduced=False, differences=(str(fault),), store=None, moves=(), result=None)
    again = _judged(pool, spec)
    then = assembled(_completed(final_of(recorded, pool), again, kept), spec, kept)
    if settings:
        pool = replace(pool, limits=freed(recorded.limits, settings))
        now = assembled(_judged(pool, changed_spec), changed_spec, kept, spec_sha256(changed_spec))
        review = then.meta.review_reasons, now.meta.review_reasons
        moved = moves(then, now)
        return Replay(**base, reproduced=None, differences=(), store=None, moves=moved, review=review, result=now)
    now = assembled(again, spec, kept)
    differences = _differences(to_dict(then), to_dict(now))
    store = _then_and_now(log, kept, snapshot, _run_again(recorded, spec, kept, sources, then, snapshot))
    return Replay(**base, reproduced=not differences, differences=differences, store=store, moves=(), result=now)


def moves(then: Result, now: Result) -> tuple[Move, ...]:
    """What differs between two answers over one pool, in the order of the first."""
    after = {item.id: item for item in (*now.results, *now.excluded)}
    found = [(item, after[item.id]) for item in (*then.results, *then.excluded)]
    return tuple(
        Move(
            id=a.id,
            rank=(a.rank, b.rank),
            score=(a.score, b.score),
            reason=(a.reason, b.reason),
            action=(a.action, b.action),
        )
        for a, b in found
        if _fate(a) != _fate(b)
    )


def _fate(item: Item) -> tuple[object, ...]:
    return item.rank, item.score, item.reason, item.action


def _with_query(log: ReadLog, kept: Kept, query: str | None) -> Recorded:
    """The record with the text of its query.

    Raises UsageError where that is neither in the log nor given, and for another text than the one that was asked.
    """
    other = UsageError("the query is not the one that was asked", hint="it must be the same to the letter")
    if kept.query_known:
        if query is not None and plain_text(query) != kept.recorded.query.text:
            raise UsageError(other.message, hint="leave it out: the log holds the text of this query")
        return kept.recorded
    hint = "--query TEXT: it is compared with what was recorded"
    if query is None:
        raise UsageError("the log does not hold the text of this query, or not all of it", hint=hint)
    if kept.query_hash is None:
        raise UsageError(
            "this read was recorded without any hash of its query (reads.text: off): it cannot be replayed",
            hint="reads.text: hashed or full",
        )
    if log.hash_of(plain_text(query)) != kept.query_hash:
        raise other
    return replace(kept.recorded, query=replace(kept.recorded.query, text=plain_text(query)))


def _now(recorded: Recorded, spec: Spec, sources: Sources) -> Snapshot | None:
    """The store as it is, where one is named."""
    if sources.store is None and (sources.spec is None or sources.spec.spec.store is None):
        return None
    folder = sources.spec.folder if sources.spec is not None else Path()
    reader = build(_over_today(spec, sources), folder, "", store=sources.store)
    store = reader.store
    if store is None:
        return None
    tolerance = next(stage.future_tolerance for stage in spec.stages if isinstance(stage, PrefilterSpec))
    return store.snapshot(recorded.namespace, recorded.query.as_of, recorded.query.filters, tolerance)


def _over_today(spec: Spec, sources: Sources) -> Spec:
    """The recorded spec over the store of today's, without a log."""
    store = spec.store if sources.spec is None else sources.spec.spec.store
    return spec.model_copy(update={"reads": None, "store": store})


def _memories(log: ReadLog, kept: Kept, snapshot: Snapshot | None) -> list[Memory | None]:
    """Each candidate as it was: from the log, else from a store that still says the same; None where it is nowhere."""
    there = {} if snapshot is None else {memory.id: memory for memory in snapshot.tenant.memories}
    found: list[Memory | None] = []
    for candidate in kept.candidates:
        if candidate.memory is not None and not candidate.redacted:
            found.append(candidate.memory)
            continue
        memory = there.get(candidate.id)
        same = memory is not None and log.hash_of(record_text(memory)) == candidate.hash
        found.append(memory if same else None)
    return found


def _judged(pool: Slate, spec: Spec) -> Slate:
    """The slate that the stages after the prefilter make of a pool."""
    analyzer = Analyzer(spec.index.language, spec.index.embedder)
    slate = pool
    with quiet():
        for params in spec.stages:
            if isinstance(params, PrefilterSpec) or (pool.limits.rank_only and isinstance(params, PrunerSpec)):
                continue
            slate = make_stage(params, analyzer, spec.lm)[1](slate)
    return slate


def _completed(final: Slate, again: Slate, kept: Kept) -> Slate:
    """What was recorded without its words, with the words of the replay: they are not what is compared then."""
    wordless = [
        k
        for k, candidate in enumerate(kept.candidates)
        if (candidate.redacted or candidate.memory is None) and k in again.summaries
    ]
    summaries = {**final.summaries, **{k: again.summaries[k] for k in wordless}}
    if Column.SUMMARIZED_BY in final.columns and Column.SUMMARIZED_BY in again.columns:
        by = final[Column.SUMMARIZED_BY].copy()
        by[wordless] = again[Column.SUMMARIZED_BY][wordless]
        final = final.extend({Column.SUMMARIZED_BY: by})
    time = again.time if not kept.query_known and _bare(final.time) == _bare(again.time) else final.time
    return replace(final, summaries=summaries, time=time, notes=_of_code(final.notes))


def _of_code(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Without what a language model did then: it is not asked again."""
    return tuple(note for note in notes if not note.code.startswith("lm_") and note.code not in OF_MODEL)


def _bare(time: TimeOfQuery) -> TimeOfQuery:
    return replace(time, evidence="", period=time.period and replace(time.period, text=""))


def _since(kept: Kept, spec: Spec, today: SpecFile | None) -> tuple[str, ...]:
    found = []
    if kept.memrank != __version__:
        found.append(f"memrank {kept.memrank} is now {__version__}")
    if kept.model != shipped_model():
        found.append(f"the coefficients {kept.model} are now {shipped_model()}")
    analyzer = Analyzer(spec.index.language, spec.index.embedder).id
    if kept.analyzer != analyzer:
        found.append(f"the analyzer {kept.analyzer} is now {analyzer}")
    if today is not None and today.sha256 != kept.spec_sha256:
        found.append(f"the spec has changed: {', '.join(differing(spec, today.spec)) or 'in its form'}")
    return tuple(found)


def _then_and_now(log: ReadLog, kept: Kept, snapshot: Snapshot | None, rerun: bool | None) -> StoreThenAndNow | None:
    if snapshot is None:
        return None
    there = {memory.id: memory for memory in snapshot.tenant.memories}
    changed_ids, gone = [], []
    for candidate in kept.candidates:
        memory = there.get(candidate.id)
        if memory is None:
            gone.append(candidate.id)
        elif kept.query_hash is not None and log.hash_of(record_text(memory)) != candidate.hash:
            changed_ids.append(candidate.id)
    return StoreThenAndNow(
        then=kept.store_version, now=snapshot.version, changed=tuple(changed_ids), gone=tuple(gone), rerun=rerun
    )


def _run_again(
    recorded: Recorded, spec: Spec, kept: Kept, sources: Sources, then: Result, snapshot: Snapshot | None
) -> bool | None:
    """Whether the whole read gives the same over a store that stands as it stood; None where that is not known."""
    if snapshot is None or snapshot.version != kept.store_version:
        return None
    folder = sources.spec.folder if sources.spec is not None else Path()
    # A model is not asked again: what it says now would say nothing of the store.
    pipeline = build(_over_today(spec, sources), folder, kept.spec_sha256, store=sources.store, lm=False)
    query, limits = recorded.query, recorded.limits
    ranking = pipeline(
        query.text,
        as_of=query.as_of,
        namespace=recorded.namespace,
        filters=query.filters,
        top_k=limits.top_k,
        max_tokens=limits.max_tokens,
        rank_only=limits.rank_only,
        query_id=query.id,
        domain=query.domain,
        phase=query.phase,
        observations=query.observations,
        constraints=query.constraints,
    )
    if ranking.meta.read_id != kept.read_id:  # the log does not hold all that was asked: it is another read
        return None
    # It is run without a log, and says so where stakes are high.
    notes = _of_code(note for note in ranking.notes if note != UNQUEUED)
    return not _differences(to_dict(then), to_dict(replace(ranking.result, notes=notes)))


def _differences(then: object, now: object, path: str = "") -> tuple[str, ...]:
    """Paths at which two JSON values differ, latency aside."""
    if path == "meta.latency_ms" or canonical_json(then) == canonical_json(now):
        return ()
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = [(f"{path}.{k}" if path else k, then.get(k), now.get(k)) for k in dict.fromkeys([*then, *now])]
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(then, now, strict=True))]
    else:
        return (path,)
    found = [inner for name, a, b in pairs for inner in _differences(a, b, name)]
    return tuple(found[:MAX_DIFFERENCES])
