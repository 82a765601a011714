"""From outcomes to a report: means that can be checked by hand, failures that count, gates, and the JSON form."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from golden import QUERIES, pipeline_over, write_set

from memrank.evals.evalset import Evalset, load
from memrank.evals.evaluate import evaluate
from memrank.evals.labels import Labelled
from memrank.evals.outcome import Failed, Judged, Outcome, Scored, Unscored
from memrank.evals.report import Figure, Report, Subject, gate_result, rank_of, report_of, to_dict, unit_of
from memrank.specevaluate import GateSpec

SCHEMA = json.loads(files("memrank.data").joinpath("eval.schema.json").read_text(encoding="utf-8"))


def labelled(name: str, *, category: str | None = None, group: str | None = None, tenant: str = "a") -> Labelled:
    return Labelled(
        id=name,
        asked={"query": name, "query_id": name, "filters": {}, "namespace": tenant},
        relevant={"m": 1.0},
        scores={},
        stale=frozenset(),
        current=frozenset(),
        must_not=frozenset(),
        sensitivity=None,
        asks_previous=False,
        expected_actions={},
        category=category,
        split=None,
        split_group=group,
    )


def judged(relevance: Sequence[float], relevant: Sequence[bool], returned: int | None = None) -> Judged:
    said = np.array(relevance, dtype=np.float64)
    return Judged(
        ids=tuple(f"m{k}" for k in range(len(relevance))),
        relevance=said,
        freshness=said,
        score=said,
        age_days=said,
        relevant=np.array(relevant, dtype=np.bool_),
        returned=len(relevance) if returned is None else returned,
    )


def scored(
    name: str,
    values: Mapping[str, float],
    of: Judged | None = None,
    *,
    latency_ms: float = 1.0,
    lm_calls: int = 0,
    lm_cost_usd: float = 0.0,
) -> Scored:
    of = judged([0.9], [True]) if of is None else of
    return Scored(
        query_id=name, values=values, judged=of, latency_ms=latency_ms, lm_calls=lm_calls, lm_cost_usd=lm_cost_usd
    )


def failed(name: str, values: Mapping[str, float]) -> Failed:
    return Failed(query_id=name, values=values, code="data", message="it broke")


def evalset_of(queries: Sequence[Labelled]) -> Evalset:
    return Evalset(folder=Path("set"), name="set", queries=tuple(queries), notes=(), queries_sha256="0")


def report(
    outcomes: Sequence[Outcome],
    queries: Sequence[Labelled] | None = None,
    *,
    gates: Mapping[str, GateSpec] | None = None,
    seed: int = 1,
) -> Report:
    queries = [labelled(one.query_id) for one in outcomes] if queries is None else queries
    subject = Subject(spec="s", spec_sha256="1", store_version="2", gates=gates or {})
    return report_of(subject, evalset_of(queries), queries, outcomes, part="all", seed=seed, resamples=200)


def test_a_figure_is_the_mean_over_the_queries_that_it_applies_to() -> None:
    found = report([scored("q1", {"R@5": 1.0}), scored("q2", {"R@5": 0.5, "stale@1": 1.0}), scored("q3", {"R@5": 0.0})])
    assert (found.figures["R@5"].value, found.figures["R@5"].n) == (0.5, 3)
    assert found.figures["R@5"].low <= 0.5 <= found.figures["R@5"].high
    assert (found.figures["stale@1"].value, found.figures["stale@1"].n) == (1.0, 1)


def test_failures_count_and_unscored_do_not() -> None:
    found = report(
        [scored("q1", {"R@5": 1.0}), failed("q2", {"R@5": 0.0, "stale@1": 1.0}), Unscored(query_id="q3", why="none")]
    )
    assert (found.queries, found.scored, found.failed, found.unscored) == (3, 1, 1, 1)
    assert (found.figures["R@5"].value, found.figures["R@5"].n) == (0.5, 2)
    assert found.figures["stale@1"].value == 1.0
    assert found.figures["latency_p50"].n == 1


def test_calibration_is_over_the_memories_of_all_reads() -> None:
    found = report(
        [
            scored("q1", {}, judged([0.95, 0.05], [True, False])),
            scored("q2", {}, judged([0.95], [False])),
            failed("q3", {}),
        ]
    )
    # Above 0.9: two said .95, half of them right; below 0.1: one said .05, none right.
    assert found.figures["ECE"].value == pytest.approx((2 * 0.45 + 1 * 0.05) / 3)
    first, last = found.deciles[0], found.deciles[-1]
    assert (first.n, first.mean, first.share) == (1, pytest.approx(0.05), 0.0)
    assert (last.n, last.mean, last.share) == (2, pytest.approx(0.95), 0.5)
    assert [one.n for one in found.deciles[1:-1]] == [0] * 8
    assert math.isnan(found.deciles[1].mean)


def test_latencies_are_percentiles_and_costs_are_means() -> None:
    outcomes = [scored(f"q{k}", {}, latency_ms=float(k), lm_calls=k, lm_cost_usd=k / 10) for k in range(1, 101)]
    figures = report(outcomes).figures
    assert [figures[name].value for name in ("latency_p50", "latency_p95", "latency_p99")] == [50.0, 95.0, 99.0]
    assert figures["lm_calls"].value == 50.5
    assert figures["cost_usd"].value == pytest.approx(5.05)


def test_risk_and_coverage_by_the_top_score() -> None:
    found = report(
        [
            scored("q1", {}, judged([0.9], [True])),
            scored("q2", {}, judged([0.8], [False])),
            scored("q3", {}, judged([0.7], [True])),
            scored("q4", {}, judged([0.6], [True], returned=0)),
            failed("q5", {}),
        ]
    )
    points = [(one.threshold, one.coverage, one.risk) for one in found.risk_coverage]
    assert points == [(0.9, 0.25, 0.0), (0.8, 0.5, 0.5), (0.7, 0.75, pytest.approx(1 / 3))]


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    found = report([scored(f"q{k}", {}, judged([k / 1000], [True])) for k in range(1, 501)]).risk_coverage
    assert len(found) == 100
    assert (found[0].threshold, found[-1].threshold, found[-1].coverage) == (0.5, 0.001, 1.0)


def test_each_category_has_its_own_figures() -> None:
    queries = [labelled("q1", category="b"), labelled("q2", category="a"), labelled("q3")]
    found = report([scored("q1", {"R@5": 1.0}), scored("q2", {"R@5": 0.0}), scored("q3", {"R@5": 0.5})], queries)
    assert list(found.by_category) == ["a", "b"]
    assert found.by_category["a"]["R@5"].value == 0.0
    assert found.by_category["b"]["R@5"].n == 1
    assert math.isnan(found.by_category["b"]["R@5"].low)


def test_what_is_drawn_together() -> None:
    assert unit_of([labelled("q1", group="g"), labelled("q2")]) == "split_group"
    assert unit_of([labelled(f"q{k}", tenant=f"t{k}") for k in range(5)]) == "tenant"
    assert unit_of([labelled(f"q{k}", tenant=f"t{k}") for k in range(4)]) == "query"
    assert unit_of([]) == "query"


def test_related_queries_widen_the_interval() -> None:
    outcomes = [scored(f"q{k}", {"R@5": float(k // 5 % 2)}) for k in range(100)]
    alone = report(outcomes).figures["R@5"]
    together = report(outcomes, [labelled(f"q{k}", group=f"g{k // 5}") for k in range(100)]).figures["R@5"]
    assert alone.value == together.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_the_same_seed_gives_the_same_report() -> None:
    outcomes = [scored(f"q{k}", {"R@5": k / 20}) for k in range(20)]
    assert to_dict(report(outcomes)) == to_dict(report(outcomes))
    assert report(outcomes, seed=2).figures != report(outcomes).figures


@pytest.mark.parametrize(
    ("gate", "value", "passed"),
    [
        (GateSpec(min=0.5), 0.5, True),
        (GateSpec(min=0.5), 0.49, False),
        (GateSpec(max=0.5), 0.5, True),
        (GateSpec(max=0.5), 0.51, False),
        (GateSpec(min=0.2, max=0.5), 0.3, True),
        (GateSpec(min=0.2, max=0.5), 0.1, False),
        (GateSpec(max=0.5), None, False),
        (GateSpec(min=0.0), 0.0, True),
    ],
)
def test_a_gate_holds_at_its_bound_and_fails_without_a_figure(
    gate: GateSpec, value: float | None, passed: bool
) -> None:
    figure = None if value is None else Figure(value=value, low=0.0, high=1.0, n=3)
    found = gate_result("R@5", gate, figure)
    assert (found.passed, found.value, found.low, found.high) == (passed, value, gate.min, gate.max)


def test_gates_are_on_the_figures() -> None:
    gates = {"R@5": GateSpec(min=0.6), "MAP": GateSpec(min=0.1), "latency_p95": GateSpec(max=100)}
    found = report([scored("q1", {"R@5": 0.5})], gates=gates)
    assert [(gate.metric, gate.passed) for gate in found.gates] == [
        ("R@5", False),
        ("MAP", False),
        ("latency_p95", True),
    ]


def test_measures_stand_in_one_order() -> None:
    names = ["ECE", "nDCG@10", "R@50", "latency_p50", "R@5", "unheard", "current_first", "P@3", "nDCG@3"]
    ordered = sorted(names, key=rank_of)
    assert ordered.index("R@5") < ordered.index("R@50") < ordered.index("P@3") < ordered.index("nDCG@3")
    assert ordered.index("nDCG@3") < ordered.index("nDCG@10") < ordered.index("ECE") < ordered.index("latency_p50")
    assert ordered[-1] == "unheard"


def test_without_any_outcome_there_is_nothing_to_say() -> None:
    found = report([])
    assert (found.figures, found.deciles, found.risk_coverage, found.queries) == ({}, (), (), 0)
    jsonschema.Draft202012Validator(SCHEMA).validate(to_dict(found))
    only = report([Unscored(query_id="q", why="none")])
    assert only.figures == {}


def test_reads_that_judged_nothing_have_no_calibration() -> None:
    found = report([scored("q", {"empty_ok": 1.0}, judged([], []))])
    assert "ECE" not in found.figures
    jsonschema.Draft202012Validator(SCHEMA).validate(to_dict(found))


def test_the_json_form_keeps_to_its_schema(tmp_path: Path) -> None:
    evalset = load(write_set(tmp_path / "set"))
    pipeline = pipeline_over(evalset.folder)
    outcomes = evaluate(pipeline, evalset, evalset.queries)
    subject = Subject(
        spec="desk",
        spec_sha256=pipeline.spec_sha256,
        store_version="v",
        gates={"R@5": GateSpec(min=0.1), "recall@7": GateSpec(max=2)},
    )
    found = report_of(subject, evalset, evalset.queries, outcomes, part="all", seed=1, resamples=100)
    body = to_dict(found)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(body, allow_nan=False)))
    assert [one["status"] for one in body["outcomes"]] == ["scored", "scored", "scored", "failed", "unscored"]
    assert [one["query_id"] for one in body["outcomes"]] == [row["id"] for row in QUERIES]
    assert body["gates"][1] == {"metric": "recall@7", "value": None, "min": None, "max": 2.0, "passed": False}
    assert set(body["by_category"]) == {"stale-twin", "lookup", "abstain"}
