"""The struct of arrays: columns are checked, read-only and shared; the order of candidates is total."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import NOW, pipeline, record

from memrank.asking import ask
from memrank.slate import Column, Slate
from memrank.stores.given import Given
from memrank.types import Notes


def slate(*names: str) -> Slate:
    of = pipeline()
    memories = [record(name, f"rate {name}", days=i) for i, name in enumerate(names)]
    snapshot = Given(of.prefilter.analyzer).store(memories).snapshot(None, ask("rate", as_of=NOW).as_of, {}, 0.0)
    rows = np.flatnonzero(snapshot.visible)
    return Slate(
        query=ask("rate", as_of=NOW),
        tenant=snapshot.tenant,
        rows=rows,
        visible=snapshot.visible,
        protected=np.zeros(len(rows), dtype=np.bool_),
        columns={},
    )


THREE = slate("a", "b", "c")


def test_columns_are_read_only_and_the_slate_is_frozen() -> None:
    extended = THREE.extend({Column.AGE: np.zeros(3)})
    assert len(extended) == 3
    with pytest.raises(ValueError, match="read-only"):
        extended[Column.AGE][0] = 1.0
    with pytest.raises(FrozenInstanceError):
        extended.columns = {}  # type: ignore[misc]
    assert Column.AGE not in THREE.columns


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (np.zeros(2), TypeError),
        (np.zeros((3, 1)), TypeError),
        (np.zeros(3, dtype=np.float32), TypeError),
        (np.zeros(3, dtype=np.int64), TypeError),
        (np.array([0.0, np.nan, 0.0]), ValueError),
        (np.array([0.0, np.inf, 0.0]), ValueError),
    ],
)
def test_a_column_is_float64_of_the_slates_length_and_finite(values: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="age"):
        THREE.extend({Column.AGE: values})  # type: ignore[dict-item]


def test_notes_of_one_code_are_counted_together() -> None:
    first, second = Notes(), Notes()
    first.add("info", "temporal", "no_date", "first", 2)
    second.add("info", "temporal", "no_date", "second")
    second.add("repair", "temporal", "no_date", "third")
    notes = THREE.extend({}, first).extend({}, second).notes
    assert [(note.level, note.detail, note.count) for note in notes] == [("info", "first", 3), ("repair", "third", 1)]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3), st.permutations(["a", "b", "c"]))
def test_ranked_is_a_total_order(scores: list[float], names: list[str]) -> None:
    of = slate(*names)
    same = of.extend({Column.WHEN: np.zeros(3), Column.DATED: np.ones(3), Column.AGE: np.zeros(3)})
    ranked = [same.memory(int(k)).id for k in same.ranked(np.array(scores), np.zeros(3))]
    by_id = {same.memory(k).id: scores[k] for k in range(3)}
    assert ranked == sorted(by_id, key=lambda name: (-by_id[name], name))


def test_what_has_a_reason_is_not_ranked() -> None:
    same = THREE.extend({Column.WHEN: np.zeros(3), Column.DATED: np.zeros(3), Column.AGE: np.zeros(3)})
    assert same.ranked(np.array([0.1, 0.9, 0.5]), np.array([0.0, 3.0, 0.0])).tolist() == [2, 0]


def test_narrowing_keeps_who_is_protected() -> None:
    protected = replace(THREE, protected=np.array([False, True, False]))
    narrowed = protected.narrow(np.array([1, 2]), {})
    assert [narrowed.memory(k).id for k in range(2)] == ["b", "c"]
    assert narrowed.protected.tolist() == [True, False]
