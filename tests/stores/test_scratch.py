"""Queries over one row at a time, in memory."""

import math

import pytest

from memrank.stores.scratch import one_by_one


def test_each_row_is_alone() -> None:
    rows = [("a", 1.0), ("b", None), ("c", 2.0)]
    query = "SELECT id, x, exp(x), power(x, 2), (SELECT count(*) FROM t) FROM t WHERE x >= :least"
    found = list(one_by_one(query, "t", ("id", "x"), rows, {"least": 1.0}))
    assert found[0] == [("a", 1.0, math.exp(1.0), 1.0, 1)]
    assert found[1] == []
    assert found[2] == [("c", 2.0, pytest.approx(math.exp(2.0)), 4.0, 1)]
