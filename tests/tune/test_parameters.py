"""Paths, bounds and values of what is free, and specs with other values."""

from pathlib import Path
from typing import get_args

import pytest

from memrank.errors import SpecError, UsageError
from memrank.halflives import KERNELS
from memrank.parameters import GROUPS, parameters, stage_of, values_of, with_values
from memrank.score.relevance import LEVEL, ORDER
from memrank.spec import RankerSpec, Spec, TemporalSpec
from memrank.speccoefficients import LevelFeature, OrderFeature
from memrank.specfile import parse_spec

AGENT_MEMORY = Path(__file__).parents[2] / "pipelines" / "agent-memory.yaml"


@pytest.fixture
def spec() -> Spec:
    return parse_spec(AGENT_MEMORY.read_text(encoding="utf-8"))


def test_the_spec_names_every_coefficient() -> None:
    assert tuple(name for part in get_args(OrderFeature) for name in get_args(part)) == ORDER
    assert tuple(name for part in get_args(LevelFeature) for name in get_args(part)) == LEVEL


def test_values_survive_being_put_back(spec: Spec) -> None:
    free = parameters(spec, GROUPS, types=("note",))
    values = values_of(spec, free)
    assert values_of(with_values(spec, values), free) == values
    assert all(one.choices or one.low <= float(values[one.path]) <= one.high for one in free)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "none"])
def test_a_half_life_means_the_same_under_every_kernel(kernel: str, spec: Spec) -> None:
    given = {"temporal.kernel": kernel, "temporal.half_life.note": 86400.0 * 3}
    changed = with_values(spec, given)
    assert values_of(changed, parameters(changed, {"temporal.half_life.note": [60, "30d"]})) == {
        "temporal.half_life.note": pytest.approx(86400.0 * 3)
    }


def test_weights_sum_to_one_and_relevance_takes_the_rest(spec: Spec) -> None:
    ranker = stage_of(with_values(spec, {"ranker.weights.freshness": 0.25}), RankerSpec)
    assert ranker is not None
    assert dict(ranker.weights) == {"relevance": 0.75, "freshness": 0.25, "importance": 0.0, "authority": 0.0}
    crowded = {f"ranker.weights.{name}": 0.6 for name in ("freshness", "importance")}
    ranker = stage_of(with_values(spec, crowded), RankerSpec)
    assert ranker is not None
    assert dict(ranker.weights) == {"relevance": 0.0, "freshness": 0.5, "importance": 0.5, "authority": 0.0}


def test_what_is_not_free_stays_as_it_is_written(spec: Spec) -> None:
    changed = with_values(spec, {"ranker.coefficients.order.years": 0.5})
    assert stage_of(changed, TemporalSpec) == stage_of(spec, TemporalSpec)
    ranker = stage_of(changed, RankerSpec)
    assert ranker is not None
    assert ranker.coefficients is not None
    assert ranker.coefficients.order == {"years": 0.5}
    assert "coefficients" not in spec.model_dump_json()


def test_crossing_pruner_thresholds_are_pulled_up(spec: Spec) -> None:
    changed = with_values(spec, {"pruner.keep_below": 0.6, "pruner.decay_threshold": 0.3})
    pruner = changed.stages[-1].model_dump()
    assert pruner["keep_below"] == pruner["decay_threshold"] == 0.6


@pytest.mark.parametrize(
    "free",
    [
        ["ranker.weight.freshness"],
        ["ranker.alphas.freshness"],
        ["temporal.half_life"],
        {"ranker.weights.freshness": [0.5, 0.1]},
        {"ranker.weights.freshness": ["much"]},
        {"temporal.half_life.note": [0, 10]},
        {"temporal.kernel": ["cosine"]},
    ],
)
def test_what_cannot_be_free_is_refused(free: list[str], spec: Spec) -> None:
    with pytest.raises(UsageError):
        parameters(spec, free)


def test_values_out_of_range_are_refused(spec: Spec) -> None:
    with pytest.raises(SpecError):
        with_values(spec, {"ranker.relevance_threshold": 2.0})
