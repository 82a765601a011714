"""Weighted kappa against its definition by a table of classes; rank correlation against its definition by ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.agreement import kappa_terms, ranks, spearman, weighted_kappa
from memrank.types import Floats

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40)


def kappa(pairs: Floats) -> float:
    terms = kappa_terms(pairs[:, 0], pairs[:, 1])
    return float(weighted_kappa(np.append(terms.sum(axis=0), len(pairs))))


def by_table(pairs: Floats) -> float:
    """Cohen 1968: one minus the weighted disagreement, seen over expected."""
    seen = np.zeros((5, 5))
    for a, b in pairs.astype(int):
        seen[a - 1, b - 1] += 1
    place = np.arange(5)
    weight = (place[:, None] - place[None, :]) ** 2
    expected = np.outer(seen.sum(1), seen.sum(0)) / seen.sum()
    return float(1 - (weight * seen).sum() / (weight * expected).sum())


@given(PAIRS)
def test_kappa_is_that_of_the_table(given_pairs: list[tuple[int, int]]) -> None:
    pairs = np.array(given_pairs, dtype=np.float64)
    if len({a for a, _ in given_pairs} | {b for _, b in given_pairs}) == 1:
        assert np.isnan(kappa(pairs))
    else:
        assert kappa(pairs) == pytest.approx(by_table(pairs), abs=1e-9)


def test_kappa_of_full_agreement_and_of_the_opposite() -> None:
    same = np.array([[1, 1], [3, 3], [5, 5]], dtype=np.float64)
    assert kappa(same) == pytest.approx(1.0)
    assert kappa(np.array([[1, 5], [5, 1]], dtype=np.float64)) == pytest.approx(-1.0)


def test_many_samples_at_once() -> None:
    same, opposite = [[1.0, 1.0], [3.0, 3.0]], [[1.0, 3.0], [3.0, 1.0]]
    sums = [[*kappa_terms(*np.array(pairs).T).sum(axis=0), 2.0] for pairs in (same, opposite)]
    assert weighted_kappa(np.array(sums)) == pytest.approx([1.0, -1.0])


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), max_size=30))
def test_rank_correlation(given_pairs: list[tuple[int, int]]) -> None:
    one, two = (np.array([pair[k] for pair in given_pairs], dtype=np.float64) for k in (0, 1))
    found = spearman(one, two)
    if len(set(one.tolist())) < 2 or len(set(two.tolist())) < 2:
        assert np.isnan(found)
        return
    slow = [[(values < x).sum() + ((values == x).sum() + 1) / 2 for x in values] for values in (one, two)]
    assert ranks(one).tolist() == slow[0]
    assert found == pytest.approx(float(np.corrcoef(slow[0], slow[1])[0, 1]), abs=1e-12)
    assert spearman(two, one) == pytest.approx(found)
    assert spearman(-one, two) == pytest.approx(-found)
    assert spearman(one**3, two) == pytest.approx(found)
