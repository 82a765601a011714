"""What a read is made of, apart from the text of its memories: enough to judge its pool again, and to compare.

The pool is what the prefilter left. BM25, standardisation and neighbours depend on the whole tenant, so the columns of
the pool are kept as they are; what the later stages do with them can be computed anew from the pool's memories alone.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memrank.score import bm25
from memrank.score.fuse import order
from memrank.score.words import Bag
from memrank.slate import Column, Limits, Slate
from memrank.tenant import Rows, Tenant
from memrank.text.tokens import tokenizer_of
from memrank.types import Floats, Note, Query, TimeOfQuery

SAID = (
    *(Column.SAID, Column.JUDGED_BY, Column.SUSPECTED),
    *(Column.TIME_SAID, Column.TIMED_BY, Column.SUMMARIZED_BY),
)
"""What a model that was asked said, and of whom."""
LINKED, PROTECTED, KEPT = "linked", "protected", "kept"
"""Names beside those of columns: whether what supersedes a candidate was known at as_of; what the pruner must keep,
and what it kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One read over n candidates."""

    query: Query
    namespace: str | None
    """The tenant that was read, which need not be the one that was asked for."""
    limits: Limits
    pool_columns: tuple[Column, ...]
    """The columns that the pool came with; the others are what the later stages added."""
    numbers: Mapping[str, Floats]
    """Every column at the end, LINKED, PROTECTED and KEPT: float64, shape (n,)."""
    holding: NDArray[np.int64]
    """How many visible memories hold each term of the pool, in the order in which its memories first use them."""
    visible: int
    """How many memories the read could see."""
    idf: tuple[float | None, ...]
    """Of each distinct term of the query in its order; None for one that no visible memory holds."""
    time: TimeOfQuery
    pool_notes: tuple[Note, ...]
    notes: tuple[Note, ...]
    summaries: Mapping[int, str]
    justifications: Mapping[int, str] = field(default_factory=dict)
    """Candidate to what a model said for its relevance."""


def record(pool: Slate, final: Slate) -> Recorded:
    """From the slate that the prefilter left and the one at the end."""
    tenant, rows = pool.tenant, pool.rows
    terms = pool_terms(tenant, rows)
    asked = dict.fromkeys(tokenizer_of(tenant.language).terms(pool.query.text))
    successor = tenant.successor[rows]
    created = tenant.times.created_start[successor]
    known = (successor < 0) | pool.visible[successor] | ~(created > pool.query.as_of.timestamp())
    return Recorded(
        query=pool.query,
        namespace=tenant.namespace,
        limits=pool.limits,
        pool_columns=tuple(pool.columns),
        numbers={
            **{column.value: values for column, values in final.columns.items()},
            LINKED: (tenant.linked[rows] & known).astype(np.float64),
            PROTECTED: pool.protected.astype(np.float64),
            KEPT: final.protected.astype(np.float64),
        },
        holding=bm25.holding(tenant.postings, terms, pool.visible),
        visible=int(pool.visible.sum()),
        idf=tuple(pool.query_terms.get(term) for term in asked),
        time=final.time,
        pool_notes=pool.notes,
        notes=final.notes,
        summaries=final.summaries,
        justifications=final.justifications,
    )


def pool_of(recorded: Recorded, tenant: Tenant) -> Slate:
    """The slate as the prefilter left it, over a tenant of the candidates alone, in their order.

    Raises ValueError where the memories cannot be those of the record: their terms are others than were counted.
    """
    rows = np.arange(len(tenant.memories), dtype=np.int64)
    terms = pool_terms(tenant, rows)
    if len(terms) != len(recorded.holding):
        raise ValueError("the terms of the memories are not those that were recorded")
    idf = np.zeros(len(tenant.numeric))
    idf[terms] = bm25.idf_of_counts(recorded.visible, recorded.holding)
    asked = dict.fromkeys(tokenizer_of(tenant.language).terms(recorded.query.text))
    if len(asked) != len(recorded.idf):
        raise ValueError("the terms of the query are not those that were recorded")
    weights = {term: weight for term, weight in zip(asked, recorded.idf, strict=True) if weight is not None}
    return Slate(
        query=recorded.query,
        tenant=replace(tenant, linked=recorded.numbers[LINKED] > 0),
        rows=rows,
        visible=np.ones(len(rows), dtype=np.bool_),
        protected=recorded.numbers[PROTECTED] > 0,
        # A model is not asked again: what it said belongs to what is judged anew.
        columns={name: recorded.numbers[name] for name in (*recorded.pool_columns, *SAID) if name in recorded.numbers},
        limits=recorded.limits,
        query_terms=weights,
        idf=idf,
        time=recorded.time,  # where a model read it; rules read it anew
        summaries=recorded.summaries,  # where a model wrote them
        justifications=recorded.justifications,
        notes=recorded.pool_notes,
    )


def final_of(recorded: Recorded, pool: Slate) -> Slate:
    """The slate at the end of the read as it was recorded, from its pool."""
    columns = {column: recorded.numbers[column] for column in Column if column in recorded.numbers}
    return replace(
        pool,
        columns=columns,
        protected=recorded.numbers[KEPT] > 0,
        time=recorded.time,
        summaries=recorded.summaries,
        justifications=recorded.justifications,
        notes=recorded.notes,
    )


def pool_terms(tenant: Tenant, rows: Rows) -> Rows:
    """The distinct terms of some memories, in the order of first use: the same for the same memories of any tenant."""
    ids = Bag.of(tenant.distinct, tenant.distinct_start, rows).ids
    place = np.empty(len(tenant.numeric), dtype=np.int64)
    place[ids[::-1]] = np.arange(len(ids))[::-1]  # of repeated ones the last assignment stays: their first place
    return np.asarray(ids[place[ids] == np.arange(len(ids))], dtype=np.int64)


def pack(numbers: Mapping[str, Floats]) -> bytes:
    """Columns as bytes. What is the same for every candidate takes up one number, and what is so for most only the
    others; the rest is kept as it is: digits of scores hardly compress, and reads are waiting.
    """
    names = list(numbers)
    table = np.stack([numbers[name] for name in names])
    n = table.shape[1]
    first = table[:, :1] if n else np.zeros((len(names), 1))
    differs = table.view(np.int64) != first.view(np.int64)  # by their bits: 0.0 equals -0.0 and is written differently
    counts = differs.sum(axis=1)
    dense = counts > n // 3
    sparse = differs & ~dense[:, None]
    head = {"n": n, "names": names, "first": first[:, 0].tolist(), "dense": np.flatnonzero(dense).tolist()}
    places = np.flatnonzero(sparse).astype("<i4")
    head["sparse"] = len(places)
    parts = (places.tobytes(), table[sparse].astype("<f8").tobytes(), table[dense].astype("<f8").tobytes())
    return b"".join((json.dumps(head).encode(), b"\n", *parts))


def unpack(data: bytes) -> dict[str, Floats]:
    """What `pack` was given. Raises ValueError for anything else."""
    try:
        line, _, body = data.partition(b"\n")
        head = json.loads(line)
        n, count, names = head["n"], head["sparse"], head["names"]
        table = np.repeat(np.array(head["first"], dtype=np.float64)[:, None], n, axis=1)
        places = np.frombuffer(body, dtype="<i4", count=count)
        table.reshape(-1)[places] = np.frombuffer(body, dtype="<f8", count=count, offset=4 * count)
        rest = np.frombuffer(body, dtype="<f8", offset=12 * count)
        table[head["dense"]] = rest.reshape(len(head["dense"]), n)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError("these are no columns") from error
    table.flags.writeable = False
    return dict(zip(names, table, strict=True))


def pack_counts(counts: NDArray[np.int64]) -> bytes:
    """Counts as bytes, each as wide as the largest needs."""
    width = 1 if counts.max(initial=0) < 1 << 8 else 2 if counts.max() < 1 << 16 else 4
    return bytes([width]) + counts.astype(f"<u{width}").tobytes()


def unpack_counts(data: bytes) -> NDArray[np.int64]:
    """What `pack_counts` was given. Raises ValueError for anything else."""
    if not data or data[0] not in (1, 2, 4) or (len(data) - 1) % data[0]:
        raise ValueError("these are no counts")
    return np.frombuffer(data, dtype=f"<u{data[0]}", offset=1).astype(np.int64)


def first_returned(recorded: Recorded, ids: Sequence[str], count: int) -> list[int]:
    """Places of the first results, best first; `ids` are those of the candidates."""
    numbers = recorded.numbers
    kept = np.flatnonzero(numbers[Column.REASON] == 0)
    when = np.where(numbers[Column.DATED] > 0, numbers[Column.WHEN], -np.inf)
    by_id = np.argsort(np.argsort(np.array(ids, dtype=object)[kept], kind="stable")).astype(np.float64)
    found: list[int] = kept[order(numbers[Column.SCORE][kept], when[kept], -by_id)][:count].tolist()
    return found
