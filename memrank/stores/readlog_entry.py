"""One read on its way into the log: everything computed that can be computed without the log itself."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

import numpy as np

from memrank.fileio import canonical_json
from memrank.recorded import Recorded, pack, pack_counts, record
from memrank.records import record_text, write_record
from memrank.result import Meta, utc_text
from memrank.score.pack import DROP
from memrank.slate import REASONS, Column, Slate
from memrank.stores.readlog_exchanges import Packed, packed
from memrank.stores.readlog_file import digest
from memrank.text.redact import Redactor
from memrank.types import Bools, Exchange, Memory

TextPolicy = Literal["off", "hashed", "full"]

BINS = 10
"""Bins of equal width that returned scores are counted in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where answers come from: what is the same for every read of a pipeline."""

    spec_sha256: str
    spec: str
    """As JSON, what was set and not the defaults."""
    memrank: str
    analyzer: str
    model: str
    """Version of the coefficients that judged."""
    stale_score_above: float
    check_older_than: float
    high_stakes: bool = False
    """Whether everything that is left out waits for a person, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the pipeline."""

    read_id: str
    at: datetime
    as_of: datetime
    query_id: str
    latency_ms: float
    cached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A call and, unless the answer came from the cache, what it was made of."""

    call: Call
    pool: Slate | None = None
    """As the prefilter left it."""
    final: Slate | None = None
    context: str = ""
    """Everything that was asked, as canonical JSON."""
    meta: Meta | None = None
    exchanges: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A judged memory that was not returned."""

    id: str
    kind: Literal["excluded", "drop"]
    """`drop`: for good, because it is out of date or a turn of a conversation that goes; nothing brings it back."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A read as rows."""

    call: Call
    row: Mapping[str, object]
    """Columns of `records`; empty where the answer came from the cache. Digests are to be salted."""
    memories: tuple[Memory, ...]
    digests: tuple[bytes, ...]
    checks: tuple[str, ...]
    """Ids of old memories that scored high."""
    left_out: tuple[LeftOut, ...]
    """Under high stakes: each waits for a person."""
    namespace: str | None
    exchanges: Packed | None = None
    """Under high stakes: what a model was asked, and answered."""


class Digests:
    """Digests of memories, remembered for those last seen: most reads judge the same ones. For one thread."""

    CAPACITY = 20_000

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Memory, bytes]] = {}

    def of(self, memory: Memory) -> bytes:
        """SHA-256 of all that the memory states."""
        found = self._kept.get(id(memory))
        if found is None:
            if len(self._kept) >= self.CAPACITY:
                self._kept.clear()
            found = self._kept[id(memory)] = (memory, digest(record_text(memory)))
        return found[1]


def encode(reading: Reading, origin: Origin, policy: TextPolicy, redactor: Redactor, digests: Digests) -> Entry:
    """The rows of a read."""
    pool, final, meta = reading.pool, reading.final, reading.meta
    if pool is None or final is None or meta is None:
        return Entry(call=reading.call, row={}, memories=(), digests=(), checks=(), left_out=(), namespace=None)
    recorded = record(pool, final)
    memories = tuple(pool.tenant.memories[row] for row in pool.rows.tolist())
    full = policy == "full"
    asked = json.dumps(_asked(recorded)) if full else None
    shown = None if asked is None else _cleaned(_asked(recorded), redactor)
    row: dict[str, object] = {
        "read_id": reading.call.read_id,
        "context": digest(reading.context),
        "query": None if policy == "off" else digest(recorded.query.text),
        "asked": None if shown is None else json.dumps(shown),
        "redacted": int(shown is not None and json.dumps(shown) != asked),
        "namespace": recorded.namespace,
        "as_of": utc_text(recorded.query.as_of),
        "spec": origin.spec_sha256,
        "store_version": meta.store_version,
        "memrank": origin.memrank,
        "analyzer": origin.analyzer,
        "judge": "embedded",
        "model": origin.model,
        "prompts": None,
        "validation": "valid",
        "limits": json.dumps(asdict(recorded.limits)),
        "numbers": pack(recorded.numbers),
        "holding": pack_counts(recorded.holding),
        "visible": recorded.visible,
        "idf": json.dumps(recorded.idf),
        "time": json.dumps(_time(recorded, words=full)),
        "pool": json.dumps(recorded.pool_columns),
        "pool_notes": json.dumps([asdict(note) for note in recorded.pool_notes]),
        "notes": json.dumps([asdict(note) for note in recorded.notes]),
        "summaries": _by_place(recorded.summaries, redactor) if full else None,
        "said": _by_place(recorded.justifications, redactor) if full and origin.high_stakes else None,
        "reasons": json.dumps(meta.review_reasons),
        **_figures(recorded, origin, meta),
    }
    return Entry(
        call=reading.call,
        row=row,
        memories=memories,
        digests=tuple(map(digests.of, memories)),
        checks=_checks(recorded, memories, origin),
        left_out=_left_out(recorded, memories, pool.tenant.turn[pool.rows]) if origin.high_stakes else (),
        namespace=recorded.namespace,
        exchanges=packed(reading.exchanges, redactor) if full and origin.high_stakes else None,
    )


def _asked(recorded: Recorded) -> dict[str, object]:
    query = recorded.query
    return {
        "text": query.text,
        "id": query.id,
        "namespace": query.namespace,
        "filters": {name: list(values) for name, values in query.filters.items()},
        "domain": query.domain,
        "phase": query.phase,
        "observations": list(query.observations),
        "constraints": list(query.constraints),
    }


def _cleaned(value: object, redactor: Redactor) -> object:
    """The same value with secrets removed from every text in it."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {name: _cleaned(inner, redactor) for name, inner in value.items()}
    return [_cleaned(inner, redactor) for inner in value] if isinstance(value, list) else value


def cleaned_record(memory: Memory, redactor: Redactor) -> tuple[str, bool]:
    """The record of a memory with secrets removed from its texts, and whether there were any.

    Its id and namespace stay: they are what it is found by.
    """
    record = write_record(memory)
    kept = {name: record[name] for name in ("id", "namespace") if name in record}
    cleaned = _cleaned(record, redactor)
    text = canonical_json({**cleaned, **kept}) if isinstance(cleaned, dict) else ""
    return text, text != canonical_json(record)


def _time(recorded: Recorded, *, words: bool) -> dict[str, object]:
    time, period = recorded.time, recorded.time.period
    return {
        "sensitivity": time.sensitivity.value,
        "asks_previous": time.asks_previous,
        "evidence": time.evidence if words else "",
        "period": period
        and {
            "start": period.start and period.start.isoformat(),
            "end": period.end and period.end.isoformat(),
            "text": period.text if words else "",
        },
    }


def _by_place(texts: Mapping[int, str], redactor: Redactor) -> str | None:
    """Texts by the places of the candidates that they are about."""
    if not texts:
        return None
    return json.dumps({str(k): redactor.clean(text) for k, text in texts.items()})


def without_summaries(packed: str | None, places: set[int]) -> str | None:
    """Summaries as they are recorded, without those of the candidates at these places."""
    if packed is None or not places:
        return packed
    summaries = json.loads(packed)
    left = {k: text for k, text in summaries.items() if int(k) not in places}
    return packed if len(left) == len(summaries) else json.dumps(left)


def _figures(recorded: Recorded, origin: Origin, meta: Meta) -> dict[str, object]:
    """What statistics are made of."""
    numbers = recorded.numbers
    returned = numbers[Column.REASON] == 0
    scores = numbers[Column.SCORE][returned]
    outdated = (numbers[Column.STALE_FLAG] > 0) | (numbers[Column.SUPERSEDED] > 0)
    action, decay = numbers.get(Column.ACTION), numbers.get(Column.DECAY)
    return {
        "judged": meta.total_candidates,
        "returned": meta.returned_count,
        "dropped": int((action >= DROP).sum()) if action is not None else 0,
        "stale_high": int((outdated & (numbers[Column.RAW_SCORE] > origin.stale_score_above)).sum()),
        "mean_decay": float(decay.mean()) if decay is not None and len(decay) else None,
        "top_score": float(scores.max()) if len(scores) else None,
        "scores": json.dumps(np.bincount((scores * BINS).astype(np.int64).clip(0, BINS - 1), minlength=BINS).tolist()),
    }


def _checks(recorded: Recorded, memories: Sequence[Memory], origin: Origin) -> tuple[str, ...]:
    """Returned memories that are old and scored high: whether they still hold should be looked at."""
    numbers = recorded.numbers
    old = (numbers[Column.DATED] > 0) & (numbers[Column.AGE] > origin.check_older_than)
    high = numbers[Column.RAW_SCORE] > origin.stale_score_above
    chosen = np.flatnonzero(old & high & (numbers[Column.REASON] == REASONS.index("")))
    return tuple(memories[k].id for k in chosen.tolist())


def _left_out(recorded: Recorded, memories: Sequence[Memory], turns: Bools) -> tuple[LeftOut, ...]:
    """What was judged and not returned, and whether that is for good; `turns`: what is a turn of a conversation."""
    numbers = recorded.numbers
    superseded, action = numbers[Column.SUPERSEDED] > 0, numbers.get(Column.ACTION)
    gone = turns & (action >= DROP) if action is not None else np.zeros_like(turns)
    found = []
    for k in np.flatnonzero(numbers[Column.REASON] != REASONS.index("")).tolist():
        reason = REASONS[int(numbers[Column.REASON][k])]
        out_of_date = "superseded" if superseded[k] else reason if reason in ("stale", "expired") else None
        final = out_of_date or ("turn_dropped" if gone[k] else None)
        kind: Literal["excluded", "drop"] = "excluded" if final is None else "drop"
        found.append(LeftOut(id=memories[k].id, kind=kind, reason=final or reason))
    return tuple(found)
