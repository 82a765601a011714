"""The fast evaluation against the pipeline itself."""

from dataclasses import replace

import numpy as np
import pytest

from memrank.errors import UsageError
from memrank.evals.evalset import Evalset
from memrank.evals.evaluate import evaluate
from memrank.evals.outcome import Scored
from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.tune.parameters import Number, Parameter, parameters, rounded, with_values
from memrank.tune.problem import Bound, Problem

NAMES = (
    *("nDCG@10", "R@10", "P@3", "MRR", "MRR@10", "MAP", "current_first", "stale@1", "must_not@10", "empty_ok"),
    *("coverage", "risk", "Brier", "MAE_relevance", "MAE_freshness", "MAE_combined", "leaks"),
)
FREE = ("composite", "half_life", "kernel", "thresholds", "importance", "fusion", "judge", "ranker.stale_after")
SHARE = 0.25
"""Of queries that may differ where inferred supersession is that of another setting, here one that is far away."""


def _drawn(free: tuple[Parameter, ...], seed: int) -> dict[str, Number]:
    rng = np.random.default_rng(seed)

    def value(one: Parameter) -> Number:
        share = rng.random()
        if one.choices:
            return one.choices[int(share * len(one.choices))]
        return rounded(
            one.low * (one.high / one.low) ** share if one.scale == "log" else one.low + share * (one.high - one.low)
        )

    return {one.path: value(one) for one in free}


@pytest.mark.parametrize("seed", range(4))
def test_settings_are_worth_what_the_pipeline_makes_of_them(
    seed: int, problem: Problem, pipeline: Pipeline, evalset: Evalset
) -> None:
    values = _drawn(parameters(problem.spec, FREE, types=problem.types), seed)
    changed = build(with_values(problem.spec, values), evalset.folder, f"seed {seed}", store=evalset.memories)
    outcomes = evaluate(changed, evalset, problem.queries)
    assert all(isinstance(one, Scored) for one in outcomes)
    exact = problem.exact_metrics(values, NAMES)
    referred = problem.refer(values).metrics([values], NAMES)
    fast = problem.metrics([values], NAMES)
    for name in NAMES:
        wanted = [one.values.get(name, np.nan) for one in outcomes if isinstance(one, Scored)]
        np.testing.assert_allclose(exact[name], wanted, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(referred[name][0], wanted, atol=1e-9, err_msg=name)
        differ = ~np.isclose(fast[name][0], wanted, atol=1e-9, equal_nan=True)
        assert differ.mean() <= SHARE, name


def test_the_objective_is_the_weighted_sum_of_means(pipeline: Pipeline, evalset: Evalset) -> None:
    mixed = Problem(pipeline, evalset.queries[:40], {"nDCG@10": 0.7, "stale@1": 0.3}, {"stale@1": Bound(max=0.0)})
    found = mixed.metrics([{}], ["nDCG@10", "stale@1"])
    mean, stale = (float(np.nanmean(found[name])) for name in ("nDCG@10", "stale@1"))
    violation, objective = mixed.worth({})
    assert objective == pytest.approx(0.7 * mean - 0.3 * stale)
    assert violation == pytest.approx(stale)
    assert stale > 0


def test_a_part_has_the_values_of_its_queries(problem: Problem) -> None:
    rows = [5, 2, 9]
    np.testing.assert_array_equal(problem.part(rows).measure([{}])[0], problem.measure([{}])[0][rows])
    assert problem.part(rows).queries == tuple(problem.queries[row] for row in rows)


def test_a_query_that_cannot_be_read_is_worth_the_worst(pipeline: Pipeline, evalset: Evalset) -> None:
    lost = replace(evalset.queries[0], asked={**evalset.queries[0].asked, "namespace": "nobody"})
    values = Problem(pipeline, [lost]).metrics([{}], ["nDCG@10", "coverage"])
    assert values["nDCG@10"][0, 0] == values["coverage"][0, 0] == 0.0


@pytest.mark.parametrize("metric", ["ECE", "latency_p95", "actions", "nDCG"])
def test_metrics_that_ranks_do_not_tell_are_refused(metric: str, pipeline: Pipeline, evalset: Evalset) -> None:
    with pytest.raises(UsageError):
        Problem(pipeline, evalset.queries[:2], metric)
