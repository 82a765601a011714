"""Which pairs of a tenant's memories are worth comparing: sharing rare words, close in meaning, wishes of one kind.

Not every pair is looked at. Rare words: two memories are a pair when both hold a word that is among the PREFIX rarest
of each (prefix filtering, Chaudhuri et al. 2006). Meaning: memories are put to the nearest of about sqrt(n) others,
and compared within the PROBES nearest groups. A wish that may share no word with what it changes ("Afternoons suit me
better") is compared with preferences of the same kind. The work grows like n^1.5, unless most memories say the same.

Ties go by id and by the letters of a word, never by place: the order of the memories does not change what is found.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memrank.score import bm25
from memrank.tenant import Tenant
from memrank.text.claims import read_claim
from memrank.types import Bools, Floats
from memrank.updates import asking, preferring

Rows = NDArray[np.int64]

PREFIX = 8
LONGEST_LIST = 40
"""Memories that share a word beyond which it proposes nothing: it would say too little about each."""
NEIGHBOURS = 8
"""Nearest in meaning that each memory is paired with."""
LEAST_COSINE = 0.4
PROBES = 3
PARTNERS = 12
"""Pairs that each memory may propose: the closest by shared rare words and meaning."""
RARE_WORD = 0.15
"""What a shared rare word counts beside a cosine."""
WHOLE = 1_000
"""Memories up to which meaning is compared all with all."""
CELLS = 4_000_000
"""Numbers that are held at once: bounds the memory of a large store, and of one that says one thing over and over."""


def proposals(tenant: Tenant, among: Bools | None = None) -> tuple[Rows, Rows]:
    """Rows (a, b), a < b, of the pairs to compare, each once, in rising order; `among` leaves the others out."""
    n = len(tenant.memories)
    rows = np.argsort(tenant.id_order)
    if among is not None:
        rows = rows[among[rows]]
    if len(rows) < 2:
        return rows[:0], rows[:0]
    found = np.concatenate([_by_words(tenant, rows), *_by_meaning(tenant, rows)])
    keys, counts = np.unique(found[:, 0] * n + found[:, 1], return_counts=True)
    one, two = keys // n, keys % n
    closeness: Floats = RARE_WORD * counts.astype(np.float64)
    if tenant.vectors is not None:
        step = max(1, CELLS // max(1, tenant.vectors.shape[1]))
        for start in range(0, len(keys), step):
            part = slice(start, start + step)
            closeness[part] += np.einsum("id,id->i", tenant.vectors[one[part]], tenant.vectors[two[part]])
    place = tenant.id_order
    own, other = np.concatenate([one, two]), place[np.concatenate([two, one])]
    kept = _closest(own, other, np.tile(closeness, 2)).reshape(2, -1).any(axis=0)
    wishes = _by_kind(tenant, rows)
    keys = np.union1d(keys[kept], wishes[:, 0] * n + wishes[:, 1])
    return keys // n, keys % n


def _closest(own: Rows, other: Rows, closeness: Floats) -> Bools:
    """Which pairs are among the PARTNERS closest of their `own` memory; ties by the `other`."""
    order = np.lexsort((other, -closeness, own))
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order] = place < PARTNERS
    return kept


def _by_words(tenant: Tenant, rows: Rows) -> Rows:
    """Pairs (k, 2) that share one of their rarest words."""
    visible = np.zeros(len(tenant.memories), dtype=np.bool_)
    visible[rows] = True
    weight = bm25.idf_of(tenant.postings, np.arange(len(tenant.postings.starts) - 1), visible)
    letters = np.empty(len(tenant.vocabulary), dtype=np.int64)
    letters[[tenant.vocabulary[term] for term in sorted(tenant.vocabulary)]] = np.arange(len(letters))
    rarest: list[Rows] = []
    for row in rows.tolist():
        terms = tenant.distinct[tenant.distinct_start[row] : tenant.distinct_start[row + 1]].astype(np.int64)
        first = terms[np.lexsort((letters[terms], -weight[terms]))[:PREFIX]]
        rarest.append(np.stack([first, np.full(len(first), row)], axis=1))
    entries = np.concatenate(rarest)
    entries = entries[np.lexsort((entries[:, 1], entries[:, 0]))]
    starts = np.flatnonzero(np.diff(entries[:, 0], prepend=-1))
    found = [np.empty((0, 2), dtype=np.int64)]
    for start, stop in pairwise([*starts, len(entries)]):
        owners = entries[start:stop, 1]
        if 2 <= len(owners) <= LONGEST_LIST:
            one, two = np.triu_indices(len(owners), 1)  # owners rise, so one < two
            found.append(np.stack([owners[one], owners[two]], axis=1))
    return np.concatenate(found)


def _by_kind(tenant: Tenant, rows: Rows) -> Rows:
    """Pairs (k, 2) of a wish and a preference with values of one kind: of each kind and wish, the PARTNERS nearest
    preferences in the order of ids.
    """
    told: dict[str, list[int]] = {}
    wished: list[tuple[str, int, int]] = []
    for place, row in enumerate(rows.tolist()):
        text = tenant.memories[row].content
        prefers, asks = preferring(text), asking(text)
        if not prefers and not asks:
            continue
        for kind in sorted(read_claim(text, tenant.language).kinds):
            if asks:
                wished.append((kind, len(told.get(kind, [])), place))
            if prefers:
                told.setdefault(kind, []).append(place)
    found = [np.empty((0, 2), dtype=np.int64)]
    for kind, at, place in wished:
        own = told.get(kind, [])
        near = np.array(own[max(0, at - PARTNERS // 2) : at + PARTNERS // 2], dtype=np.int64)
        pairs = np.stack([rows[near], np.full(len(near), rows[place])], axis=1)
        found.append(np.sort(pairs[near != place], axis=1))
    return np.unique(np.concatenate(found), axis=0)


def _by_meaning(tenant: Tenant, rows: Rows) -> list[Rows]:
    """Pairs (k, 2) of near neighbours; none without vectors."""
    if tenant.vectors is None:
        return []
    vectors = tenant.vectors[rows]
    if len(rows) <= WHOLE:
        return [_nearest(vectors, rows, rows)]
    pivots = vectors[:: max(1, int(np.sqrt(len(rows))))]
    own = _cosine(vectors, pivots).argmax(axis=1)
    between = _cosine(pivots, pivots)
    found = []
    for k in range(len(pivots)):
        members = np.flatnonzero(own == k)
        near = np.argsort(-between[k], kind="stable")[:PROBES]
        pool = np.flatnonzero(np.isin(own, near))
        step = max(1, CELLS // max(1, len(pool)))
        for start in range(0, len(members), step):
            part = members[start : start + step]
            found.append(_nearest(vectors[part], rows[part], rows[pool], vectors[pool]))
    return found


def _nearest(
    vectors: NDArray[np.float32], members: Rows, pool: Rows, pool_vectors: NDArray[np.float32] | None = None
) -> Rows:
    """Each member with its nearest NEIGHBOURS of the pool, as rows (a, b) with a < b."""
    cosine = _cosine(vectors, vectors if pool_vectors is None else pool_vectors)
    cosine[members[:, None] == pool[None, :]] = -2.0
    k = min(NEIGHBOURS, len(pool))
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    one = np.repeat(members, k)
    two = pool[near].reshape(-1)
    close = np.take_along_axis(cosine, near, axis=1).reshape(-1) >= LEAST_COSINE
    pairs = np.stack([np.minimum(one, two), np.maximum(one, two)], axis=1)
    kept: Rows = pairs[close & (one != two)]
    return kept


def _cosine(one: NDArray[np.float32], two: NDArray[np.float32]) -> Floats:
    # einsum, not a BLAS product: the same sums on any number of threads.
    cosine: Floats = np.einsum("id,jd->ij", one, two).astype(np.float64)
    return cosine
