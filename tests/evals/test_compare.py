"""Differences between reports: paired, corrected, counted, and the queries that lost the most."""

import json
import math
from collections.abc import Sequence

import pytest
from evaluating import failed, report, scored
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import UsageError
from memrank.evals.compare import FINEST, LEVEL, Comparison, Difference, compare, to_dict
from memrank.evals.outcome import Unscored
from memrank.evals.report import Report

N = 60
GROUPS = [f"g{k // 2}" for k in range(N)]


def of(values: Sequence[float], measure: str = "nDCG@10", **more: object) -> Report:
    return report([scored(f"q{k}", {measure: value}) for k, value in enumerate(values)], **more)


def one(comparison: Comparison, measure: str = "nDCG@10", other: int = 0) -> Difference:
    return next(found for found in comparison.others[other].differences if found.measure == measure)


def test_a_clear_gain_is_better_and_its_mirror_is_worse() -> None:
    low, high = [0.2 + 0.001 * k for k in range(N)], [0.6 + 0.001 * k for k in range(N)]
    gain = one(compare([of(low), of(high)], GROUPS))
    assert gain.verdict == gain.told == "better"
    assert (gain.wins, gain.ties, gain.losses, gain.n) == (N, 0, 0, N)
    assert gain.first == pytest.approx(sum(low) / N)
    assert gain.difference == pytest.approx(0.4)
    assert gain.low == pytest.approx(0.4)
    assert gain.high == pytest.approx(0.4)
    loss = one(compare([of(high), of(low)], GROUPS))
    assert loss.verdict == "worse"
    assert (loss.wins, loss.losses) == (0, N)
    assert loss.p == gain.p


def test_less_is_better_where_it_is() -> None:
    more, less = [0.6] * N, [0.2] * N
    comparison = compare([of(more, "stale@1"), of(less, "stale@1")], GROUPS, ranked_by=["stale@1"])
    found = one(comparison, "stale@1")
    assert found.verdict == "better"
    assert found.difference == pytest.approx(-0.4)
    assert found.wins == N
    assert comparison.others[0].changes[0].gain == pytest.approx(0.4)


def test_chance_is_even() -> None:
    first = [(k * 7 % 11) / 10 for k in range(N)]
    other = [(k * 5 % 11) / 10 for k in range(N)]
    found = one(compare([of(first), of(other)], GROUPS))
    assert found.verdict == found.told == "even"
    assert found.low < 0 < found.high
    assert found.corrected > LEVEL


def test_what_is_the_same_everywhere_is_not_tested_and_weakens_nothing() -> None:
    same = report([scored(f"q{k}", {"nDCG@10": 0.1 * (k % 5), "MAP": 0.3}) for k in range(N)])
    other = report([scored(f"q{k}", {"nDCG@10": 0.1 * (k % 5) + 0.2, "MAP": 0.3}) for k in range(N)])
    comparison = compare([same, other], GROUPS)
    assert comparison.tests == 1
    assert one(comparison).corrected == one(comparison).p
    unchanged = one(comparison, "MAP")
    assert math.isnan(unchanged.p)
    assert unchanged.told == "same"
    assert (unchanged.wins, unchanged.ties, unchanged.losses) == (0, N, 0)


def test_the_correction_is_for_all_pipelines_and_measures_together() -> None:
    first = report([scored(f"q{k}", {"nDCG@10": 0.1, "MAP": 0.1}) for k in range(N)])
    other = report([scored(f"q{k}", {"nDCG@10": 0.2 + 0.01 * (k % 3), "MAP": 0.2}) for k in range(N)])
    comparison = compare([first, other, other], GROUPS)
    assert comparison.tests == 4
    assert one(comparison).corrected == pytest.approx(4 * one(comparison).p)
    assert [name for name, _ in comparison.named] == ["first", "first (2)", "first (3)"]


def test_there_are_enough_resamples_to_find_anything_among_many_tests() -> None:
    names = [f"R@{k}" for k in range(1, 31)]
    first = report([scored(f"q{k}", dict.fromkeys(names, 0.1)) for k in range(N)], resamples=10)
    other = report([scored(f"q{k}", dict.fromkeys(names, 0.9)) for k in range(N)], resamples=10)
    comparison = compare([first, other], GROUPS)
    assert comparison.resamples == FINEST * 30
    assert {found.verdict for found in comparison.others[0].differences if found.measure in names} == {"better"}


def test_only_queries_that_both_have_a_measure_for_count() -> None:
    first = report([scored("a", {"MAP": 0.5}), scored("b", {"MAP": 0.5}), scored("c", {})])
    other = report([scored("a", {"MAP": 0.75}), scored("b", {}), scored("c", {"MAP": 1.0})])
    found = one(compare([first, other], ["1", "2", "3"]), "MAP")
    assert found.n == 1
    assert (found.first, found.other) == (0.5, 0.75)
    assert math.isnan(found.low)  # one group tells nothing of others
    assert found.verdict == "even"


def test_a_failure_counts_as_a_loss_and_is_named() -> None:
    first = report([scored("a", {"nDCG@10": 0.4}), scored("b", {"nDCG@10": 1.0})])
    other = report([scored("a", {"nDCG@10": 0.2}), failed("b", {"nDCG@10": 0.0})])
    changes = compare([first, other], ["1", "2"]).others[0].changes
    assert [(change.query_id, change.failed) for change in changes] == [("b", True), ("a", False)]
    assert changes[0].gain == -1


def test_queries_stand_by_their_loss_by_the_first_measure_that_they_have() -> None:
    first = report(
        [
            scored("won", {"nDCG@10": 0.5}),
            scored("empty", {"empty_ok": 1.0}),
            scored("lost", {"nDCG@10": 0.5}),
            scored("other", {"MAP": 0.5}),
            Unscored(query_id="none", why="no labels"),
        ]
    )
    other = report(
        [
            scored("won", {"nDCG@10": 0.75}),
            scored("empty", {"empty_ok": 0.0}),
            scored("lost", {"nDCG@10": 0.25}),
            scored("other", {"MAP": 0.25}),
            Unscored(query_id="none", why="no labels"),
        ]
    )
    changes = compare([first, other], list("abcde")).others[0].changes
    assert [(one.query_id, one.measure, one.gain) for one in changes] == [
        ("empty", "empty_ok", -1.0),
        ("lost", "nDCG@10", -0.25),
        ("won", "nDCG@10", 0.25),
    ]


def test_costs_are_told_and_not_tested() -> None:
    first = report([scored(f"q{k}", {"MAP": 0.5}, latency_ms=10.0 + k, lm_calls=0) for k in range(N)])
    other = report([scored(f"q{k}", {"MAP": 0.5}, latency_ms=5.0 + k, lm_calls=2) for k in range(N)])
    comparison = compare([first, other], GROUPS)
    assert comparison.tests == 0
    calls, median = one(comparison, "lm_calls"), one(comparison, "latency_p50")
    assert (calls.first, calls.other, calls.told) == (0, 2, "not tested")
    assert (calls.wins, calls.losses) == (0, N)
    assert median.difference == pytest.approx(-5)
    assert median.low == median.high == pytest.approx(-5)
    assert all(found.measure not in ("lm_tokens", "cost_usd") for found in comparison.others[0].differences)


def test_the_same_seed_gives_the_same_comparison() -> None:
    reports = [of([(k * 7 % 11) / 10 for k in range(N)]), of([(k * 5 % 11) / 10 for k in range(N)])]
    assert to_dict(compare(reports, GROUPS)) == to_dict(compare(reports, GROUPS))
    seeded = [of([(k * 7 % 11) / 10 for k in range(N)], seed=8), reports[1]]
    assert one(compare(seeded, GROUPS)).low != one(compare(reports, GROUPS)).low


def test_the_answer_for_programs_is_json() -> None:
    first = report([scored("a", {"nDCG@10": 0.5})])
    row = to_dict(compare([first, report([failed("a", {"nDCG@10": 0.0})], spec="second")], ["1"]))
    told = json.loads(json.dumps(row, allow_nan=False))
    assert told["schema"] == "memrank.comparison/1"
    assert told["first"] == "first"
    (other,) = told["others"]
    assert other["spec"] == "second"
    assert other["differences"][0]["p"] is None
    assert other["queries"] == [
        {"query_id": "a", "measure": "nDCG@10", "first": 0.5, "other": 0.0, "gain": -0.5, "failed": True}
    ]


@pytest.mark.parametrize("reports", [[], [of([0.5])]], ids=["none", "one"])
def test_one_report_is_no_comparison(reports: list[Report]) -> None:
    with pytest.raises(UsageError, match="at least two"):
        compare(reports, ["1"] * len(reports))


@pytest.mark.parametrize(
    "other",
    [
        of([0.5, 0.5], queries_sha256="d" * 64),
        of([0.5, 0.5], part="fit"),
        of([0.5]),
        report([scored("q1", {"MAP": 0.5}), scored("q0", {"MAP": 0.5})]),
    ],
    ids=["another set", "another part", "fewer", "another order"],
)
def test_reports_on_other_queries_are_refused(other: Report) -> None:
    with pytest.raises(UsageError, match="other queries"):
        compare([of([0.5, 0.5]), other], ["1", "2"])


def test_groups_must_be_as_many_as_queries() -> None:
    with pytest.raises(UsageError, match="1 groups for 2 queries"):
        compare([of([0.5, 0.5]), of([0.5, 0.5])], ["1"])


values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=8, max_size=8)


@given(first=values, other=values)
def test_swapping_the_pipelines_mirrors_everything(first: list[float], other: list[float]) -> None:
    groups = list("aabbccdd")
    there, back = (one(compare([of(a), of(b)], groups)) for a, b in ((first, other), (other, first)))
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert there.wins + there.ties + there.losses == there.n == 8
    assert there.low == pytest.approx(-back.high)
    assert there.p == back.p or (math.isnan(there.p) and math.isnan(back.p))
    assert {there.verdict, back.verdict} in ({"even"}, {"better", "worse"})
    assert there.low <= there.difference + 1e-12
    assert there.difference <= there.high + 1e-12
