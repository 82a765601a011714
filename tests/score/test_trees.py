"""Boosted trees: a plain walk as the oracle, single precision at the thresholds, and reading what was written."""

import json
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score import contradiction
from memrank.score.trees import CHUNK, Trees, dump, load

singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
EDGES = (0.0, -0.0, 1e-45, -1e-45, 1.17549435e-38, 0.1, 1 / 3, 1.0, 16777216.0, 3.4028234663852886e38)


@st.composite
def forests(draw: st.DrawFn) -> Trees:
    """Some trees of one depth."""
    depth, count, width = draw(st.integers(0, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    inner, leaves = 2**depth - 1, 2**depth
    numbers = st.one_of(singles, st.sampled_from(EDGES).map(lambda x: float(np.float32(x))))
    thresholds = draw(st.lists(numbers, min_size=count * inner, max_size=count * inner))
    chosen = draw(st.lists(st.integers(0, width - 1), min_size=count * inner, max_size=count * inner))
    values = draw(st.lists(st.floats(-3, 3), min_size=count * leaves, max_size=count * leaves))
    return Trees(
        features=tuple(f"f{i}" for i in range(width)),
        base=draw(st.floats(-3, 3)),
        feature=np.array(chosen, dtype=np.int64).reshape(count, inner),
        threshold=np.array(thresholds, dtype=np.float32).reshape(count, inner),
        value=np.array(values, dtype=np.float64).reshape(count, leaves),
    )


def walked(trees: Trees, row: dict[str, float]) -> float:
    """What one row sums up to, a node at a time."""
    total = trees.base
    for k in range(len(trees.value)):
        node = 0
        while node < trees.feature.shape[1]:
            x = np.float32(row[trees.features[trees.feature[k, node]]])
            node = 2 * node + (1 if x <= trees.threshold[k, node] else 2)
        total += float(trees.value[k, node - trees.feature.shape[1]])
    return total


@given(forests(), st.data())
def test_the_sum_is_that_of_a_plain_walk(trees: Trees, data: st.DataObject) -> None:
    # Thresholds themselves are among the values: that is where a side is chosen.
    on_edge = st.sampled_from([float(x) for x in trees.threshold.ravel()] or [0.0])
    rows = data.draw(st.lists(st.lists(st.one_of(singles, on_edge), min_size=3, max_size=3), max_size=6))
    columns = {f"f{i}": np.array([row[i] for row in rows], dtype=np.float64) for i in range(3)}
    expected = [walked(trees, {name: float(column[k]) for name, column in columns.items()}) for k in range(len(rows))]
    assert trees.margin(columns).tolist() == expected
    chances = trees.probability(columns)
    assert chances == pytest.approx(1 / (1 + np.exp(-np.array(expected))))
    assert chances.shape == (len(rows),)


@given(forests())
def test_what_is_written_is_read_again(trees: Trees) -> None:
    text = json.dumps(dump(trees))
    again = load(json.loads(text))
    assert json.dumps(dump(again)) == text
    assert again.features == trees.features
    assert again.feature.shape == trees.feature.shape
    assert (again.feature == trees.feature).all()
    assert (again.threshold == trees.threshold).all()
    assert np.abs(again.value - trees.value).max() <= 5.1e-7
    assert abs(again.base - trees.base) <= 5.1e-7


def stump(threshold: float) -> Trees:
    """One tree that asks one question: 0 at most the threshold, 1 above."""
    return Trees(
        features=("x",),
        base=0.0,
        feature=np.zeros((1, 1), dtype=np.int64),
        threshold=np.array([[threshold]], dtype=np.float32),
        value=np.array([[0.0, 1.0]]),
    )


@pytest.mark.parametrize("edge", EDGES[:-1])
def test_values_are_compared_in_single_precision(edge: float) -> None:
    single = np.float32(edge)
    above, below = np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))
    # A double that is above the threshold by less than a single can tell is at the threshold.
    hair = np.nextafter(np.float64(single), np.inf)
    side = stump(edge).margin({"x": np.array([below, single, hair, above], dtype=np.float64)})
    assert side.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_what_is_not_a_number_counts_as_low_and_what_has_no_bound_as_it_is() -> None:
    assert stump(0.5).margin({"x": np.array([np.nan, np.inf, -np.inf])}).tolist() == [0.0, 1.0, 0.0]


def test_more_rows_than_are_looked_at_together() -> None:
    x = np.arange(2.0 * CHUNK + 1)
    assert stump(CHUNK - 0.5).margin({"x": x}).tolist() == (x >= CHUNK).tolist()


def test_no_rows_and_columns_that_nobody_asks_for() -> None:
    assert stump(0.5).margin({"x": np.zeros(0)}).tolist() == []
    assert stump(0.5).probability({"x": np.zeros(0)}).shape == (0,)
    assert stump(0.5).margin({"y": np.zeros(1), "x": np.ones(1)}).tolist() == [1.0]
    with pytest.raises(KeyError):
        stump(0.5).margin({"y": np.zeros(1)})


@pytest.mark.parametrize("features", [7, "x"])
def test_names_are_a_list(features: object) -> None:
    with pytest.raises(TypeError, match="list of names"):
        load({**dump(stump(0.5)), "features": features})


def test_the_shipped_trees_are_kept_as_they_would_be_written() -> None:
    raw = json.loads(files("memrank.data").joinpath("contradiction.json").read_text(encoding="utf-8"))
    assert dump(contradiction.shipped().trees) == raw["model"]
