"""Whether stages fit together is known before anything is built, and every gap is reported at once."""

from itertools import permutations

import pytest
from factories import spec
from hypothesis import given
from hypothesis import strategies as st

from memrank.chain import PROVIDES, REQUIRES, RESULT, gaps
from memrank.errors import SpecError
from memrank.registry import build
from memrank.slate import Column
from memrank.spec import Spec, StageSpec

STAGES = spec().stages
KINDS = [stage.kind for stage in STAGES]


def test_every_kind_declares_what_it_needs_and_gives() -> None:
    assert set(PROVIDES) == set(REQUIRES) == set(KINDS)
    given_columns = frozenset[Column]().union(*PROVIDES.values())
    assert frozenset[Column]().union(*REQUIRES.values()) <= given_columns
    assert given_columns >= RESULT
    assert sum(map(len, PROVIDES.values())) == len(given_columns), "no two stages write one column"


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_only_the_one_order_fits(order: tuple[int, ...]) -> None:
    stages = [STAGES[i] for i in order]
    fits = order in ((0, 1, 2, 3),)
    assert (gaps(stages) == []) == fits


@given(st.lists(st.sampled_from(STAGES), max_size=5, unique_by=lambda stage: stage.kind))
def test_gaps_name_the_stage_and_what_it_misses(stages: list[StageSpec]) -> None:
    provided: set[Column] = set()
    for i, stage in enumerate(stages):
        found = [gap for gap in gaps(stages) if gap.index == i]
        missing = REQUIRES[stage.kind] - provided
        assert bool(found) == bool(missing)
        for gap in found:
            assert all(str(column) in gap.what for column in missing)
            assert stage.kind in gap.what
            assert gap.allowed
        provided |= PROVIDES[stage.kind]
    assert any(gap.index is None for gap in gaps(stages)) == bool(RESULT - provided)


def test_a_pipeline_that_does_not_fit_is_not_built(tmp_path: object) -> None:
    backwards = Spec.model_validate(
        {"memrank": 1, "name": "x", "stages": [{"kind": "pruner.v1"}, {"kind": "temporal.v1"}]}
    )
    with pytest.raises(SpecError) as caught:
        build(backwards, None, "0" * 64)  # type: ignore[arg-type]
    faults = caught.value.faults
    assert [fault.partition(":")[0] for fault in faults] == ["stages[0]", "stages[1]", "stages"]
    assert "put prefilter.hybrid.v1 before it" in faults[1]


def test_three_stages_without_a_pruner_fit() -> None:
    assert gaps(STAGES[:3]) == []
