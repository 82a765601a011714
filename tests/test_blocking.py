"""Pairs worth comparing: each once, near duplicates among them, and the same ones in whatever order memories stand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from factories import HOSTILE, memory
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memrank.blocking import CELLS, LEAST_COSINE, NEIGHBOURS, PARTNERS, PREFIX, WHOLE, proposals
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.tenant import Tenant
from memrank.types import Memory


def tenant_of(memories: Sequence[Memory], *, embedded: bool = True) -> Tenant:
    analyzer, vocabulary = Analyzer(embedder="wordllama" if embedded else "none"), Vocabulary()
    return Tenant.build(None, index(memories, analyzer, vocabulary), vocabulary, analyzer.language)


def told(*contents: str) -> list[Memory]:
    return [memory(f"m{i:04}", content) for i, content in enumerate(contents)]


def pairs(tenant: Tenant, among: NDArray[np.bool_] | None = None) -> list[tuple[int, int]]:
    one, two = proposals(tenant, among)
    return list(zip(one.tolist(), two.tolist(), strict=True))


def ids(tenant: Tenant) -> set[frozenset[str]]:
    return {frozenset((tenant.memories[a].id, tenant.memories[b].id)) for a, b in pairs(tenant)}


def with_vectors(n: int, vectors: NDArray[np.float64]) -> Tenant:
    """Memories without a word, so that meaning alone proposes."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return replace(tenant_of(told(*["the of"] * n), embedded=False), vectors=unit.astype(np.float32))


def sentences(n: int, twins: int, seed: int = 0) -> list[str]:
    """Sentences of ten words out of 3,000; the last ones say the same as the first ones but for one word."""
    draw = np.random.default_rng(seed)
    said = [[f"word{k}" for k in draw.choice(3_000, 10, replace=False)] for _ in range(n - twins)]
    for k in range(twins):
        again = list(said[k])
        again[int(draw.integers(10))] = f"other{k}"
        said.append(again)
    return [" ".join(words) for words in said]


@pytest.mark.parametrize("embedded", [True, False])
@pytest.mark.parametrize(
    ("contents", "found"),
    [
        ([], []),
        (["The rate is 4%."], []),
        (["", ""], []),
        (["is it", "the of"], []),
        (["!!!", "..."], []),
        (["", "The rate is 4%."], []),
        (["The rate is 4%.", "The rate is 5%."], [(0, 1)]),
        (["The rate is 4%.", "", "The rate is 5%."], [(0, 2)]),
    ],
)
def test_few_memories(embedded: bool, contents: list[str], found: list[tuple[int, int]]) -> None:
    assert pairs(tenant_of(told(*contents), embedded=embedded)) == found


def test_only_those_among_which_pairs_are_asked_for() -> None:
    tenant = tenant_of(told(*["The rate is 4%."] * 4))
    assert pairs(tenant, np.array([True, False, True, True])) == [(0, 2), (0, 3), (2, 3)]
    assert pairs(tenant, np.array([True, False, False, False])) == []
    assert pairs(tenant, np.zeros(4, dtype=np.bool_)) == []


def test_what_is_left_out_does_not_make_a_word_common() -> None:
    many = tenant_of(told("rate is 4", "rate is 5", *["rate is 6"] * 60), embedded=False)
    assert pairs(many) == []
    assert pairs(many, np.arange(62) < 2) == [(0, 1)]


@pytest.mark.parametrize("embedded", [True, False])
def test_two_thousand_memories_beside_every_pair(embedded: bool) -> None:
    tenant = tenant_of(told(*sentences(2_000, 150)), embedded=embedded)
    found = pairs(tenant)
    assert found == sorted(set(found))
    assert all(a < b for a, b in found)
    assert len(found) <= 2_000 * PARTNERS
    held = np.zeros((2_000, len(tenant.vocabulary)), dtype=np.float32)
    for row in range(2_000):
        held[row, tenant.distinct[tenant.distinct_start[row] : tenant.distinct_start[row + 1]]] = 1
    shared = held @ held.T
    union = held.sum(axis=1)[:, None] + held.sum(axis=1)[None, :] - shared
    near = np.argwhere(np.triu(shared / union >= 0.6, 1)).tolist()
    assert len(near) == 150
    assert {(a, b) for a, b in near} <= set(found)


def test_the_nearest_in_meaning_are_proposed() -> None:
    vectors = np.random.default_rng(1).normal(size=(400, 6))
    tenant = with_vectors(400, vectors)
    assert tenant.vectors is not None
    cosine = tenant.vectors.astype(np.float64) @ tenant.vectors.T.astype(np.float64)
    np.fill_diagonal(cosine, -2)
    found = set(pairs(tenant))
    for row in range(400):
        for other in np.argsort(-cosine[row])[:NEIGHBOURS].tolist():
            if cosine[row, other] >= LEAST_COSINE:
                assert (min(row, other), max(row, other)) in found


def test_twins_in_meaning_find_each_other_in_a_large_store() -> None:
    n, twins = WHOLE + 400, 200
    vectors = np.random.default_rng(2).normal(size=(n, 16))
    vectors[n - twins :] = vectors[:twins]
    found = set(pairs(with_vectors(n, vectors)))
    assert {(k, n - twins + k) for k in range(twins)} <= found


@pytest.mark.parametrize("n", [WHOLE, 2_200])
def test_a_store_that_says_one_thing_over_and_over(n: int) -> None:
    assert n < WHOLE + 1 or n * n > CELLS  # in one table, and in parts
    found = pairs(tenant_of(told(*["The rate is 4%."] * n)))
    assert found == sorted(set(found))
    assert {row for pair in found for row in pair} == set(range(n))


def test_a_few_that_are_the_same_are_all_compared() -> None:
    for embedded in (True, False):
        tenant = tenant_of(told(*["The rate is 4%."] * 6), embedded=embedded)
        assert pairs(tenant) == list(combinations(range(6), 2))


WORDS = ("rate", "fee", "fund", "bond", "cash", "loan", "price", "bank", "note", "desk", "4%", "5%")
FEW = st.lists(st.sampled_from(WORDS), max_size=14)


@given(st.lists(FEW.map(" ".join), max_size=24), st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_memories_does_not_matter(contents: list[str], random: object, embedded: bool) -> None:
    memories = told(*contents)
    mixed = list(memories)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert ids(tenant_of(mixed, embedded=embedded)) == ids(tenant_of(memories, embedded=embedded))


@pytest.mark.parametrize("embedded", [True, False])
def test_the_order_of_many_memories_does_not_matter(embedded: bool) -> None:
    # Longer than PREFIX, and words as rare as each other: ties wherever there can be any.
    memories = told(*[f"{said} {said[::-1]}" for said in sentences(WHOLE + 200, 100)], *["The rate is 4%."] * 60)
    assert len(memories[0].content.split()) > PREFIX
    mixed = [memories[k] for k in np.random.default_rng(3).permutation(len(memories))]
    assert ids(tenant_of(mixed, embedded=embedded)) == ids(tenant_of(memories, embedded=embedded))


def test_hostile_and_foreign_text() -> None:
    tenant = tenant_of(told(*HOSTILE, *HOSTILE, "利率上升到百分之四", "利率上升到百分之五", "9" * 100_000))
    found = pairs(tenant)
    assert found == sorted(set(found))
    assert (len(HOSTILE) * 2, len(HOSTILE) * 2 + 1) in found


def test_a_wish_is_compared_with_preferences_of_its_kind_though_they_share_no_word() -> None:
    tenant = tenant_of(
        told("Prefers the window seat.", "The bridge was painted.", "Put me on the aisle, please."), embedded=False
    )
    assert ids(tenant) == {frozenset(("m0000", "m0002"))}


def test_one_wish_is_compared_with_so_many_preferences_at_most() -> None:
    tenant = tenant_of(told(*["Prefers mornings."] * 200, "Afternoons suit me better."), embedded=False)
    wish = [pair for pair in ids(tenant) if "m0200" in pair]
    assert 0 < len(wish) <= PARTNERS
