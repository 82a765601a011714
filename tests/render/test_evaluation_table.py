"""The table of an evaluation: what it says, on any width, and nothing that could steer a terminal."""

import math
from typing import Any

import pytest
from factories import HOSTILE

from memrank.evals.compare import compare
from memrank.evals.outcome import Failed
from memrank.evals.report import Figure, GateResult, Report
from memrank.render.comparison import comparison_text
from memrank.render.evaluation import FAILURES, MEANINGS, evaluation_text, gate_text, interval, number
from memrank.specvalues import CUT_METRICS, METRICS


def figure(value: float, n: int = 10) -> Figure:
    return Figure(value=value, low=value - 0.1, high=value + 0.1, n=n)


def report(**changes: Any) -> Report:
    given: dict[str, Any] = {
        "evalset": "finance",
        "part": "all",
        "spec": "desk",
        "spec_sha256": "1",
        "queries_sha256": "2",
        "store_version": "3",
        "seed": 7,
        "resamples": 1000,
        "unit": "split_group",
        "queries": 12,
        "scored": 10,
        "failed": 1,
        "unscored": 1,
        "figures": {"R@5": figure(0.7126), "latency_p50": figure(2.04), "lm_calls": figure(0.0)},
        "by_category": {"lookup": {"nDCG@10": figure(0.5, 4), "R@10": figure(0.25, 3)}, "abstain": {}},
        "deciles": (),
        "gates": (GateResult(metric="R@5", value=0.7126, low=0.8, high=None, passed=False),),
        "outcomes": (Failed(query_id="q7", values={"R@5": 0.0}, code="namespace", message="no such tenant"),),
        **changes,
    }
    return Report(**given)


def text(found: Report, width: int | None = 120, **options: Any) -> str:
    return evaluation_text(found, width=width, colour=False, **options)


def test_it_says_what_was_measured_on_what() -> None:
    lines = text(report()).splitlines()
    assert lines[:3] == [
        "desk on finance, all parts",
        "12 queries: 10 scored, 1 failed, 1 unscored",
        "95 % intervals: 1000 resamples by split_group, seed 7",
    ]
    assert lines[5].split()[:5] == ["R@5", "0.713", "[0.613,", "0.813]", "10"]
    assert "gate R@5 >= 0.8: 0.7126, FAILED" in lines
    assert lines[-1] == "failed: q7: no such tenant [namespace]"
    assert text(report(part="fit")).startswith("desk on finance, part fit\n")


def test_what_costs_nothing_is_not_shown() -> None:
    assert "lm_calls" not in text(report())
    assert "lm_calls" in text(report(figures={"lm_calls": figure(2.0)}))


def test_categories_on_demand() -> None:
    assert "lookup" not in text(report())
    lines = text(report(), by_category=True).splitlines()
    head = next(line for line in lines if line.endswith("category"))
    row = next(line for line in lines if line.endswith("lookup"))
    assert head.split() == ["nDCG@10", "R@10", "n", "category"]
    assert row.split() == ["0.500", "0.250", "4", "lookup"]
    assert not any(line.endswith("abstain") for line in lines), "nothing was measured there"


def test_every_metric_has_a_meaning() -> None:
    assert {name.removesuffix("@k") for name in (*CUT_METRICS, *METRICS)} <= set(MEANINGS)


def test_many_failures_are_counted() -> None:
    failures = tuple(Failed(query_id=f"q{k}", values={}, code="data", message="x") for k in range(FAILURES + 3))
    lines = text(report(outcomes=failures)).splitlines()
    assert lines[-1] == "and 3 more"
    assert sum(line.startswith("failed: ") for line in lines) == FAILURES
    assert "failed: " not in text(report(outcomes=()))


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, None])
def test_lines_keep_to_the_width(width: int | None) -> None:
    widest = max(
        len(line) for block in text(report(), width, by_category=True).split("\n\n")[1:3] for line in block.split("\n")
    )
    assert widest <= (160 if width is None else max(width, 40))


def test_numbers() -> None:
    assert number("R@5", 0.71249) == "0.712"
    assert number("Brier", -0.0001) == "0.000"
    assert number("latency_p95", 12.345) == "12.3"
    assert number("ECE", math.nan) == "-"
    assert interval("R@5", Figure(value=1.0, low=math.nan, high=math.nan, n=1)) == "-"


def test_gates_say_their_bounds() -> None:
    both = GateResult(metric="MAP", value=0.5, low=0.4, high=0.9, passed=True)
    assert gate_text(both) == "gate MAP >= 0.4 and <= 0.9: 0.5, passed"
    none = GateResult(metric="MAE", value=None, low=None, high=0.15, passed=False)
    assert gate_text(none) == "gate MAE <= 0.15: not measured, FAILED"


def test_nothing_measured() -> None:
    assert "nothing could be measured" in text(report(figures={}))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_can_steer_the_terminal(hostile: str) -> None:
    failed = Failed(query_id=hostile, values={}, code="data", message=hostile)
    found = report(spec=hostile, evalset=hostile, by_category={hostile: {"R@10": figure(0.5)}}, outcomes=(failed,))
    shown = text(found, by_category=True)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert len(shown.splitlines()) == len(
        text(report(by_category={"c": {"R@10": figure(0.5)}}), by_category=True).splitlines()
    )


def compared(**changes: Any) -> str:
    outcomes = [Failed(query_id=f"q{k}", values={"nDCG@10": 0.5}, code="data", message="") for k in range(20)]
    lost = [Failed(query_id=f"q{k}", values={"nDCG@10": k % 2 / 2}, code="data", message="") for k in range(20)]
    first, other = report(outcomes=tuple(outcomes)), report(spec="new", outcomes=tuple(lost), **changes)
    return comparison_text(compare([first, other], [str(k) for k in range(20)]), width=120, colour=False)


def test_several_side_by_side() -> None:
    lines = compared().splitlines()
    assert lines[0] == "finance, all parts: 12 queries; failed reads: desk 1, new 1"
    assert "new against desk" in lines
    row = next(line for line in lines if line.startswith("nDCG@10")).split()
    assert row[1:4] == ["0.500", "0.250", "-0.250"]
    assert row[-1] == "worse"
    assert row[-5:-1] == ["0", "10", "10", "20"]
    assert sum(line.endswith(("q0", "q2", "q18")) for line in lines) == 3
    assert "new: gate R@5 >= 0.8: 0.7126, FAILED" in lines


def test_equal_ones_lost_nothing() -> None:
    one = report(outcomes=(Failed(query_id="q", values={"nDCG@10": 0.5}, code="data", message=""),) * 1)
    assert "no query lost" in comparison_text(compare([one, one], ["g"]), width=80, colour=False)
