"""The measures of the comparison against a plain second implementation, and the bootstrap against what it must hold."""

import math
from typing import Any

import metrics
import numpy as np
import pytest
import tables
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.intervals import Estimate

IDS = [f"m{i}" for i in range(14)]
Row = dict[str, Any]


def plain(row: Row, results: list[str]) -> dict[str, float]:
    """The same measures, written down as one says them, with loops."""
    ranked: list[str] = []
    for name in results:
        if name not in ranked:
            ranked.append(name)
    meta = row["metadata"]
    out: dict[str, float] = {}
    if meta.get("must_not"):
        out["must_not@10"] = 1.0 if any(name in meta["must_not"] for name in ranked[:10]) else 0.0
    relevant = set(row["relevant"])
    if len(relevant) == 0:
        out["empty_ok"] = 1.0 if ranked == [] else 0.0
        return out
    for k in (1, 5, 10, 50):
        out[f"R@{k}"] = sum(1 for name in ranked[:k] if name in relevant) / len(relevant)
    if len(relevant) >= 3:
        out["P@3"] = sum(1 for name in ranked[:3] if name in relevant) / 3
    gain = 0.0
    reciprocal = 0.0
    for place, name in enumerate(ranked[:10], start=1):
        if name in relevant:
            gain += 1 / math.log2(place + 1)
            reciprocal = max(reciprocal, 1 / place)
    out["nDCG@10"] = gain / sum(1 / math.log2(place + 1) for place in range(1, min(10, len(relevant)) + 1))
    out["MRR@10"] = reciprocal
    stale = meta.get("stale") or []
    if stale and not meta.get("asks_previous"):
        now = meta.get("current") or [name for name in relevant if name not in stale]
        if now:
            first = min([ranked.index(name) for name in now if name in ranked], default=1000)
            old = min([ranked.index(name) for name in stale if name in ranked], default=1000)
            out["current_first"] = 1.0 if first < old else 0.0
            out["stale@1"] = 1.0 if ranked[:1] and ranked[0] in stale else 0.0
    return out


some = st.lists(st.sampled_from(IDS), max_size=5)
rows = st.builds(
    lambda relevant, stale, current, must_not, previous: {
        "relevant": relevant,
        "metadata": {"stale": stale, "current": current, "must_not": must_not, "asks_previous": previous},
    },
    some,
    some,
    some,
    some,
    st.booleans(),
)


@given(row=rows, results=st.lists(st.sampled_from(IDS), max_size=16))
def test_measures_agree_with_the_plain_implementation(row: Row, results: list[str]) -> None:
    row["relevant"] = list(dict.fromkeys(row["relevant"]))
    assert metrics.judge(row, results) == pytest.approx(plain(row, results))


def test_a_known_ranking() -> None:
    row = {"relevant": ["a", "b"], "metadata": {"stale": ["b"], "must_not": ["x"]}}
    values = metrics.judge(row, ["b", "a", "x"])
    assert values == pytest.approx(
        {
            "must_not@10": 1.0,
            "R@1": 0.5,
            "R@5": 1.0,
            "R@10": 1.0,
            "R@50": 1.0,
            "nDCG@10": 1.0,
            "MRR@10": 1.0,
            "current_first": 0.0,
            "stale@1": 1.0,
        }
    )


def test_a_query_without_an_answer_wants_nothing() -> None:
    assert metrics.judge({"relevant": []}, []) == {"empty_ok": 1.0}
    assert metrics.judge({"relevant": [], "metadata": None}, ["a"]) == {"empty_ok": 0.0}


def asked(group: str, number: int, **fields: object) -> list[Row]:
    return [{"id": f"{group}{i}", "relevant": ["a"], "group": group, **fields} for i in range(number)]


def test_related_queries_are_drawn_together_where_there_are_enough_groups() -> None:
    many = [row for group in "abcdef" for row in asked(group, 3)]
    assert metrics.clusters(many)[1] == "group"
    assert metrics.clusters(asked("a", 4) + asked("b", 4))[1] == "query"
    split = [row for part in "uvwxyz" for row in asked("a", 2, split_group=part)]
    assert metrics.clusters(split)[1] == "split_group"


def bounds(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def test_an_estimate_holds_its_mean_and_is_the_same_each_time() -> None:
    rows = asked("a", 60)
    values = [{"R@10": float(i % 3 == 0)} if i % 2 else {"empty_ok": 1.0} for i in range(60)]
    first = metrics.Bootstrap(rows, "one", 400).estimates(values)
    again = metrics.Bootstrap(rows, "one", 400).estimates(values)
    low, high = bounds(first["R@10"])
    assert first["R@10"].mean == pytest.approx(1 / 3)
    assert first["R@10"].n == 30
    assert 0.1 < low < first["R@10"].mean < high < 0.6
    assert bounds(again["R@10"]) == (low, high)
    assert bounds(first["empty_ok"]) == (1.0, 1.0)
    assert "nDCG@10" not in first


def test_whole_groups_widen_the_interval() -> None:
    rows = [row for group in range(10) for row in asked(f"g{group}", 20)]
    values = [{"R@10": float(int(row["group"][1:]) % 2)} for row in rows]
    low, high = bounds(metrics.Bootstrap(rows, "grouped", 500).estimates(values)["R@10"])
    alone = [{**row, "group": "one"} for row in rows]
    lower, higher = bounds(metrics.Bootstrap(alone, "grouped", 500).estimates(values)["R@10"])
    assert high - low > 2 * (higher - lower)


def test_a_difference_is_paired() -> None:
    rows = asked("a", 50)
    draw = np.random.default_rng(1).random(50)
    bootstrap = metrics.Bootstrap(rows, "paired", 300)
    worse = bootstrap.estimates([{"R@10": float(value)} for value in draw])["R@10"]
    better = bootstrap.estimates([{"R@10": float(value) + 0.1} for value in draw])["R@10"]
    change = better.minus(worse)
    assert change.mean == pytest.approx(0.1)
    assert bounds(change) == pytest.approx((0.1, 0.1))


def test_sets_count_alike_whatever_their_size() -> None:
    small = metrics.Bootstrap(asked("a", 4), "small", 100).estimates([{"R@10": 1.0}] * 4)
    large = metrics.Bootstrap(asked("a", 400), "large", 100).estimates([{"R@10": 0.0, "stale@1": 1.0}] * 400)
    mean = metrics.across([small, large])
    assert mean["R@10"].mean == 0.5
    assert mean["stale@1"].mean == 1.0


def test_best_knows_which_measures_are_better_when_lower() -> None:
    rows = asked("a", 3)
    bootstrap = metrics.Bootstrap(rows, "best", 10)
    high = bootstrap.estimates([{"R@10": 1.0, "stale@1": 1.0}] * 3)
    low = bootstrap.estimates([{"R@10": 0.0, "stale@1": 0.0}] * 3)
    systems = {"high": high, "low": low}
    assert metrics.best(systems, "R@10") == "high"
    assert metrics.best(systems, "stale@1") == "low"
    assert metrics.best(systems, "nDCG@10") is None


@pytest.mark.parametrize(
    ("values", "signed", "text"),
    [
        ([0.5] * 4, False, ".500 [.50, .50]"),
        ([1.0] * 4, False, "1.000 [1.00, 1.00]"),
        ([-0.25] * 4, True, "-.250 [-.25, -.25]"),
        ([0.0] * 4, True, "+.000 [+.00, +.00]"),
    ],
)
def test_figures_are_short(values: list[float], signed: bool, text: str) -> None:
    estimate = metrics.Bootstrap(asked("a", 4), "figure", 20).estimates([{"R@10": value} for value in values])["R@10"]
    assert tables.figure(estimate, signed=signed) == text
