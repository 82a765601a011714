"""Features that know the labels."""

import json
from pathlib import Path

import numpy as np
import pytest
from compiling import SPEC, learnable
from hypothesis import given
from hypothesis import strategies as st

from memrank.evals.evalset import load
from memrank.registry import build
from memrank.specfile import parse_spec
from memrank.tune.leak import auc, leaks


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_the_area_is_that_of_all_pairs(rows: list[tuple[int, bool]]) -> None:
    values, true = np.array([float(v) for v, _ in rows]), np.array([t for _, t in rows])
    pairs = [(a > b) + 0.5 * (a == b) for a in values[true] for b in values[~true]]
    wanted = float(np.mean(pairs)) if pairs else 0.5
    assert auc(values, true) == pytest.approx(max(wanted, 1 - wanted))


def found(folder: Path) -> list[str]:
    evalset = load(folder)
    pipeline = build(parse_spec(SPEC), folder, "x", store=evalset.memories)
    return [one.feature for one in leaks([(q, pipeline.candidates(**q.asked)) for q in evalset.queries]) if one.record]


def test_an_honest_set_has_none(tmp_path: Path) -> None:
    assert found(learnable(tmp_path)) == []


def test_ids_that_know_the_labels_are_named(tmp_path: Path) -> None:
    assert found(learnable(tmp_path / "a", leak="gold")) == ["how the id begins", "the order of ids"]


def test_metadata_that_know_the_labels_are_named(tmp_path: Path) -> None:
    learnable(tmp_path)
    queries, memories = (tmp_path / f"{name}.jsonl" for name in ("queries", "memories"))
    relevant = {name for line in queries.read_text().splitlines() for name in json.loads(line)["relevant"]}
    rows = [json.loads(line) for line in memories.read_text().splitlines()]
    told = [{**row, "metadata": {"is_answer": row["id"] in relevant}} for row in rows]
    memories.write_text("".join(f"{json.dumps(row)}\n" for row in told))
    assert found(tmp_path) == ["metadata.is_answer"]
