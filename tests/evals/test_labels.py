"""Labels of a query are read as they were meant, or refused by name."""

import math

import pytest

from memrank.errors import DataError
from memrank.evals.labels import MOST_GRADE, read_labels
from memrank.queryrows import Row


def test_the_largest_grade_is_read() -> None:
    row = Row(id="q", fields={"query": "?", "relevant": {"a": MOST_GRADE, "b": 0, "c": 0.5}}, notes=())
    assert read_labels(row, "q").relevant == {"a": float(MOST_GRADE), "c": 0.5}


@pytest.mark.parametrize("grade", [-1, math.nan, math.inf, 10**400, MOST_GRADE + 1, "1", True, None])
def test_a_grade_that_is_none_is_refused(grade: object) -> None:
    row = Row(id="q", fields={"query": "?", "relevant": {"a": grade}}, notes=())
    with pytest.raises(DataError, match=r"here: relevant is not .* \(from 0 to 1,000,000\)"):
        read_labels(row, "here")
