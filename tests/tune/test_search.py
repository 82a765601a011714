"""The search: never below its start, the same for the same seed, stoppable; and what is told of its result."""

import numpy as np
import pytest

from memrank.parameters import Parameter, parameters, values_of
from memrank.tune.judge import inner_folds
from memrank.tune.problem import Bound, Problem
from memrank.tune.search import Found, Step, paired, search
from memrank.tune.sensitivity import learning_curve, sensitivity

FREE = ("composite", "temporal.half_life.default", "thresholds")


def _found(problem: Problem, *, workers: int = 1, seed: int = 0, free: tuple[str, ...] = FREE) -> Found:
    some = parameters(problem.spec, free)
    return search(problem, some, values_of(problem.spec, some), seed=seed, workers=workers, evaluations=300)


def test_the_same_seed_finds_the_same_with_any_number_of_workers(problem: Problem) -> None:
    one = _found(problem)
    assert one == _found(problem, workers=4)
    assert one.best.objective >= one.history[0].objective
    assert one.evaluations <= 300
    assert one.best == one.candidates[0]
    assert values_of(problem.spec, parameters(problem.spec, FREE)) in [dict(c.values) for c in one.candidates]


def test_the_judge_and_the_fusion_are_searched_too(problem: Problem) -> None:
    found = _found(problem, free=("judge", "prefilter.neighbour_weight"))
    assert {step.what for step in found.history} >= {"start", "judge", "fusion"}
    assert found.best.objective >= found.history[0].objective


def test_what_is_feasible_comes_first(problem: Problem) -> None:
    some = parameters(problem.spec, FREE)
    start = values_of(problem.spec, some)
    (stale,) = problem.metrics([start], ["stale@1"])["stale@1"]
    bound = Bound(max=float(np.nanmean(stale)) - 0.01)
    bounded = Problem(problem._pipeline, problem.queries, "nDCG@10", {"stale@1": bound})
    found = search(bounded, some, start, evaluations=300)
    assert found.history[0].violation > 0
    assert found.best.violation < found.history[0].violation


def test_stopping_keeps_the_best_so_far(problem: Problem) -> None:
    some = parameters(problem.spec, FREE)
    seen: list[Step] = []
    found = search(problem, some, values_of(problem.spec, some), progress=seen.append, stop=lambda: len(seen) >= 2)
    assert found.stopped
    assert len(seen) == 2
    assert found.best.objective == seen[-1].objective


def test_an_interrupt_keeps_the_best_so_far(problem: Problem) -> None:
    def interrupt(step: Step) -> None:
        if step.what != "start":
            raise KeyboardInterrupt

    some = parameters(problem.spec, FREE)
    found = search(problem, some, values_of(problem.spec, some), progress=interrupt)
    assert found.stopped
    assert found.best.objective >= found.history[0].objective


def test_values_stay_within_their_bounds(problem: Problem) -> None:
    some = (
        Parameter("ranker.weights.freshness", 0.05, 0.1),
        Parameter("temporal.kernel", choices=("linear", "power")),
        Parameter("temporal.half_life.default", 7776000.0, 7776000.0, "log"),
        Parameter("temporal.half_life.episode", 3600.0, 7776000.0, "log"),
    )
    start: dict[str, float | str] = {"ranker.weights.freshness": 0.07, "temporal.kernel": "linear"}
    start |= {"temporal.half_life.default": 7776000.0, "temporal.half_life.episode": 7776000.0}
    for candidate in search(problem, some, start, evaluations=200).candidates:
        assert 0.05 <= float(candidate.values["ranker.weights.freshness"]) <= 0.1
        assert candidate.values["temporal.half_life.default"] == 7776000.0
        assert candidate.values["temporal.kernel"] in ("linear", "power")


def test_sensitivity_and_the_learning_curve_tell_of_every_value(problem: Problem) -> None:
    some = parameters(problem.spec, FREE)
    start = values_of(problem.spec, some)
    told = sensitivity(problem, some, {**start, "ranker.weights.freshness": 0.5}, start)
    assert {one.path for one in told} == {one.path for one in some}
    by_path = {one.path: one for one in told}
    assert by_path["ranker.weights.freshness"].importance < 0
    assert all(one.low <= one.value <= one.high for one in told)  # type: ignore[operator]
    assert by_path["ranker.relevance_threshold"].importance == 0
    curve = learning_curve(problem.part(range(40)), problem.part(range(40, 60)), _found, shares=(0.25, 1.0))
    assert [one.share for one in curve] == [0.25, 1.0]
    assert curve[0].queries < curve[1].queries == 40


def test_folds_split_no_group() -> None:
    groups = ["a", "b", "a", "c", "c", "c", "d"]
    folds = inner_folds(groups, 3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(7))
    assert sum(len({groups[k] for k in fold}) for fold in folds) == 4


def test_the_error_of_a_mean_counts_groups() -> None:
    alone = paired(np.array([0.0, 1.0, 0.0, 1.0]), ["a", "b", "c", "d"])
    together = paired(np.array([0.0, 1.0, 0.0, 1.0]), ["a", "b", "a", "b"])
    assert alone[0] == together[0] == 0.5
    assert alone[1] == pytest.approx(np.std([0, 1, 0, 1], ddof=1) / 2)
    assert together[1] > alone[1]
