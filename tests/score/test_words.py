"""Word-by-word comparison of a query with a pool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.words import NEAR, Bag, soft_overlap, years

TERMS = 12
bags = st.lists(st.lists(st.integers(0, TERMS - 1), unique=True, max_size=6), max_size=8)


def bag_of(documents: list[list[int]]) -> Bag:
    flat = np.array([term for document in documents for term in document], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    return Bag.of(flat, start, np.arange(len(documents)))


@given(bags, st.lists(st.floats(-1, 1), min_size=TERMS, max_size=TERMS))
def test_totals_and_maxima_are_those_of_a_plain_loop(documents: list[list[int]], numbers: list[float]) -> None:
    bag, value = bag_of(documents), np.array(numbers)
    totals = [sum(numbers[term] for term in document) for document in documents]
    highest = [max((numbers[term] for term in document), default=-9.0) for document in documents]
    np.testing.assert_allclose(bag.total(value), totals, atol=1e-12)
    np.testing.assert_array_equal(bag.highest(value, -9.0), highest)
    np.testing.assert_array_equal(bag.any(value > 0), [any(numbers[t] > 0 for t in d) for d in documents])


@given(bags, st.data())
def test_a_bag_takes_any_rows_in_any_order(documents: list[list[int]], data: st.DataObject) -> None:
    flat = np.array([term for document in documents for term in document], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    rows = data.draw(st.lists(st.integers(0, len(documents) - 1))) if documents else []
    bag = Bag.of(flat, start, np.array(rows, dtype=np.int64))
    assert [bag.ids[bag.owner == k].tolist() for k in range(len(rows))] == [documents[row] for row in rows]


def test_a_word_counts_fully_where_it_stands_and_partly_where_something_near_it_does() -> None:
    bag = bag_of([[0], [1], [2], []])
    near = (NEAR + 1.0) / 2
    first = np.array([1.0, near, NEAR, *[0.0] * (TERMS - 3)])
    assert soft_overlap(bag, [first], [2.0]).tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0])
    second = np.array([0.0, 1.0, *[0.0] * (TERMS - 2)])
    assert soft_overlap(bag, [first, second], [3.0, 1.0]).tolist() == pytest.approx([0.75, 0.625, 0.0, 0.0])


def test_years_lie_within_or_span_the_period() -> None:
    year = np.array([0, 1999, 2004, 2006, 2010])
    bag = bag_of([[2], [1, 4], [1], [0], [3, 1]])
    assert years(bag, year, 2004, 2005).tolist() == [1.0, 0.5, 0.0, 0.0, 0.5]
    assert years(bag, year, 2004, 2006).tolist() == [1.0, 0.5, 0.0, 0.0, 1.0]
