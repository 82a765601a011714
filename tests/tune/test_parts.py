"""The parts of a set: no group in two of them, the size that is needed, the same for the same seed."""

import pytest
from evaluating import labelled
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.labels import Labelled
from memrank.tune.parts import ENOUGH_TO_CHOOSE, FEWEST, FEWEST_REPORTED, Parts, parts_of


def grouped(count: int, each: int = 2, **fields: object) -> list[Labelled]:
    return [labelled(f"q{g}-{k}", split_group=f"g{g}", **fields) for g in range(count) for k in range(each)]


def groups_of(parts: Parts) -> list[set[str | None]]:
    return [{query.split_group for query in part} for part in (parts.fit, parts.choose, parts.report)]


@given(count=st.integers(60, 200), seed=st.integers(0, 99))
def test_every_query_is_in_one_part_and_no_group_in_two(count: int, seed: int) -> None:
    queries = grouped(count)
    parts = parts_of(queries, seed)
    fit, choose, report = groups_of(parts)
    assert len(fit | choose | report) == count
    assert sorted(q.id for q in (*parts.both, *parts.report)) == sorted(q.id for q in queries)
    assert parts == parts_of(queries, seed)
    assert "split by group with seed" in parts.how


def test_parts_that_the_set_states_hold() -> None:
    parts = parts_of([labelled(f"q{k}", split=("fit", "choose", "report")[k % 3]) for k in range(150)], 1)
    assert parts.how == "as the set has them"
    assert {query.id for query in parts.report} == {f"q{k}" for k in range(2, 150, 3)}
    assert parts.folds == ()


def test_a_small_choose_part_is_folded_by_group() -> None:
    parts = parts_of(grouped(60), 3)
    assert len({query.split_group for query in parts.choose}) < ENOUGH_TO_CHOOSE
    places = [k for fold in parts.folds for k in fold]
    assert sorted(places) == list(range(len(parts.both)))
    of = [{parts.both[k].split_group for k in fold} for fold in parts.folds]
    assert sum(map(len, of)) == len(set().union(*of))
    assert parts_of(grouped(300), 3).folds == ()


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (grouped(12), f"to be searched on and chosen by, {FEWEST} needed"),
        (grouped(40), f"8 groups of queries to be reported on, {FEWEST_REPORTED} needed"),
        ([], f"0 groups of queries to be searched on and chosen by, {FEWEST} needed"),
        (grouped(60, split="fit"), f"0 groups of queries to be reported on, {FEWEST_REPORTED} needed"),
        ([labelled(f"q{k}", relevant=None) for k in range(90)], "0 groups"),
    ],
)
def test_sets_that_are_too_small_are_refused_with_the_size_needed(queries: list[Labelled], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parts_of(queries, 1)
