"""Putting scores together: partial sorting equals full sorting, nothing depends on the order given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import columns, shares, tied

from memrank.score import fuse

Floats = NDArray[np.float64]


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(tied(n), tied(n), st.permutations(range(n)), st.integers(1, 14))))
def test_top_is_the_start_of_the_full_order(case: tuple[Floats, Floats, list[int], int]) -> None:
    score, tie, place, k = case
    last = np.array(place, dtype=np.float64)
    expected = sorted(range(len(score)), key=lambda i: (-score[i], -tie[i], -last[i]))
    assert fuse.order(score, tie, last).tolist() == expected
    assert fuse.top(score, k, tie, last).tolist() == expected[:k]


def test_top_of_nothing_is_nothing() -> None:
    assert fuse.top(np.empty(0), 5, np.empty(0)).tolist() == []


@given(columns(9, st.floats(-1e6, 1e6)), st.permutations(range(9)))
def test_standardising_never_depends_on_the_order(values: Floats, shuffled: list[int]) -> None:
    place = np.array(shuffled)
    assert fuse.standardise(values)[place].tolist() == fuse.standardise(values[place]).tolist()


@given(columns(9, st.floats(-1e6, 1e6)).filter(lambda values: values.std() > 1e-3))
def test_standardised_values_have_mean_zero_and_deviation_one(values: Floats) -> None:
    z = fuse.standardise(values)
    assert float(z.mean()) == pytest.approx(0, abs=1e-6)
    assert float(z.std()) == pytest.approx(1, abs=1e-6)
    assert (np.diff(z[np.argsort(values)]) >= 0).all()


@pytest.mark.parametrize(
    "values", [[], [3.0], [0.0, 0.0], [7.1] * 5, [1e300] * 3, [1.0, 1.0 + 1e-16], [0.1 + 0.2, 0.3]]
)
def test_empty_single_and_constant_standardise_to_zero(values: list[float]) -> None:
    assert fuse.standardise(np.array(values)).tolist() == [0.0] * len(values)


def test_values_are_standardised_among_the_sample_alone() -> None:
    values = np.array([1.0, 3.0, 1e9])
    z = fuse.standardise(values, np.array([True, True, False]))
    assert z[:2].tolist() == [-1.0, 1.0]
    assert fuse.standardise(values, np.zeros(3, dtype=np.bool_)).tolist() == [0.0, 0.0, 0.0]


@given(columns(5), columns(5), shares)
def test_weighted_is_the_sum(relevance: Floats, freshness: Floats, weight: float) -> None:
    parts = {"relevance": relevance, "freshness": freshness}
    mixed = fuse.weighted(parts, {"relevance": weight, "freshness": 1 - weight})
    assert mixed == pytest.approx(weight * relevance + (1 - weight) * freshness, abs=1e-12)
    assert ((mixed >= 0) & (mixed <= 1)).all()
    assert fuse.weighted(parts, {"relevance": 1.0}).tolist() == relevance.tolist()


@given(columns(5), columns(5), columns(5), shares, shares)
def test_bounded_is_the_product_and_a_middling_part_changes_nothing(
    relevance: Floats, freshness: Floats, importance: Floats, a: float, b: float
) -> None:
    parts = {"relevance": relevance, "freshness": freshness, "importance": importance}
    mixed = fuse.bounded(relevance, parts, {"freshness": a, "importance": b})
    expected = np.minimum(1, relevance * (1 + a * (freshness - 0.5)) * (1 + b * (importance - 0.5)))
    assert mixed == pytest.approx(expected, abs=1e-12)
    assert ((mixed >= 0) & (mixed <= 1)).all()
    # No boost overpowers relevance: each moves it by half of its alpha at most.
    assert (mixed <= relevance * (1 + a / 2) * (1 + b / 2) + 1e-12).all()
    assert (mixed >= np.minimum(1, relevance * (1 - a / 2) * (1 - b / 2)) - 1e-12).all()
    neutral = fuse.bounded(relevance, {**parts, "freshness": np.full(5, 0.5)}, {"freshness": a})
    assert neutral.tolist() == relevance.tolist()
