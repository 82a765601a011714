"""Whether one setting is better than another: objectives, paired gains, constraints."""

import math

import numpy as np
import pytest
from evaluating import failed, report, scored

from memrank.speccompile import ConstraintSpec
from memrank.tune.trial import gain_of, mean_of, missed, objective_of

GROUPS = [f"g{k}" for k in range(40)]


def test_an_objective_is_the_weighted_sum_of_the_means() -> None:
    outcomes = [
        scored("a", {"nDCG@10": 0.5, "MAE": 0.25}),
        scored("b", {"nDCG@10": 1.0}),
        failed("c", {"nDCG@10": 0.0}),
        scored("d", {"R@1": 1.0}),
    ]
    values = objective_of(outcomes, {"nDCG@10": 2.0, "MAE": 1.0})
    assert mean_of(values) == pytest.approx(2 * 0.5 - 0.25)
    assert math.isnan(values[3])
    assert math.isnan(mean_of(objective_of(outcomes, {"MRR": 1.0})))


def test_a_gain_is_real_where_its_interval_leaves_out_none() -> None:
    rng = np.random.default_rng(1)
    before = rng.random(40)
    better = gain_of(before, before + 0.2 + rng.normal(0, 0.05, 40), GROUPS, seed=1, resamples=100, tests=1)
    assert better.real
    assert (better.n, better.groups) == (40, 40)
    assert better.needed is not None
    assert better.needed < 40
    same = gain_of(before, before + rng.normal(0, 0.3, 40), GROUPS, seed=1, resamples=100, tests=1)
    assert not same.real
    worse = gain_of(before, before - 0.2, GROUPS, seed=1, resamples=100, tests=1)
    assert (worse.real, worse.needed) == (False, None)
    one = gain_of(before, before + 1, ["g"] * 40, seed=1, resamples=100, tests=1)
    assert not one.real


def test_more_comparisons_need_more_evidence() -> None:
    rng = np.random.default_rng(2)
    before, after = np.zeros(40), rng.normal(0.05, 0.2, 40)
    one, three = (gain_of(before, after, GROUPS, seed=1, resamples=100, tests=tests) for tests in (1, 3))
    assert three.low < one.low
    assert three.level > one.level == 95


def test_constraints_are_told_with_what_they_are_missed_by() -> None:
    bounds = {"nDCG@10": ConstraintSpec(min=0.8), "P@3": ConstraintSpec(max=0.5), "ECE": ConstraintSpec(max=0.1)}
    first, second = missed(report([]), bounds)
    assert str(first) == "nDCG@10 is 0.7, 0.1 below its min of 0.8"
    assert str(second) == "ECE cannot be measured on these queries"
    assert second.by == 1
