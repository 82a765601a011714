"""What the answer to one golden query is worth: which measures apply, their values by hand, and what a failure gets."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.evals.labels import Labelled, read_labels
from memrank.evals.measure import ALWAYS, lower_is_better, measures, worst
from memrank.evals.outcome import LM_FIGURES, Judged
from memrank.queryrows import Row
from memrank.specvalues import METRIC, METRICS

IDS = [f"m{i}" for i in range(8)]
OVERALL = {"ECE", "latency_p50", "latency_p95", "latency_p99", "lm_calls", "lm_tokens", "cost_usd", *LM_FIGURES}
"""Metrics that are no measures of a single query."""


def labelled(**fields: Any) -> Labelled:
    row = Row(id="q", fields={"query": "who?", "relevant": [], **fields}, notes=())
    return read_labels(row, "q")


def judged(ids: list[str], relevance: list[float], *, relevant: list[bool] | None = None) -> Judged:
    values = np.array(relevance, dtype=np.float64)
    return Judged(
        ids=tuple(ids),
        relevance=values,
        freshness=values / 2,
        score=values / 4,
        age_days=np.zeros(len(ids)),
        relevant=np.array(relevant or [False] * len(ids), dtype=np.bool_),
        returned=len(ids),
    )


def of(query: Labelled, ranked: list[str], *also: str, **given: Any) -> dict[str, float]:
    asked = {"judged": None, "sensitivity": None, "actions": None, "leaked": 0, **given}
    return measures(query, ranked, also=also, **asked)


def test_a_known_ranking() -> None:
    query = labelled(relevant={"a": 2, "b": 1}, stale=["b"], must_not=["x"])
    assert of(query, ["b", "a", "b", "x"]) == pytest.approx(
        {
            "R@1": 0.5,
            "R@5": 1,
            "R@10": 1,
            "R@50": 1,
            "MRR@10": 1,
            "MRR": 1,
            "MAP": 1,
            "nDCG@10": (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)),
            "current_first": 0,
            "stale@1": 1,
            "must_not@10": 1,
            "coverage": 1,
            "risk": 0,
        }
    )


def test_precision_is_taken_where_k_are_relevant() -> None:
    three, two = labelled(relevant=["a", "b", "c"]), labelled(relevant=["a", "b"])
    assert of(three, ["a", "x", "b"])["P@3"] == pytest.approx(2 / 3)
    assert "P@3" not in of(two, ["a", "x", "b"])
    assert of(two, ["a", "x", "b"], "P@2")["P@2"] == 0.5
    assert "P@3" not in worst(two)
    assert worst(three)["P@3"] == 0


def test_a_query_without_an_answer_wants_nothing() -> None:
    assert of(labelled(), []) == {"empty_ok": 1}
    assert of(labelled(), ["a"]) == {"empty_ok": 0, "risk": 1}


def test_nothing_returned_where_something_is_relevant() -> None:
    values = of(labelled(relevant=["a"], stale=["b"]), [])
    assert values["coverage"] == values["current_first"] == values["stale@1"] == values["MAP"] == 0
    assert "risk" not in values


@pytest.mark.parametrize(
    ("ranked", "first"),
    [(["new", "old"], 1), (["old", "new"], 0), (["x", "new"], 1), (["old"], 0), (["x"], 0), (["kept", "old"], 0)],
)
def test_the_current_value_stands_above_every_outdated_one(ranked: list[str], first: float) -> None:
    query = labelled(relevant=["new", "kept"], stale=["old", "older"], current=["new"])
    assert of(query, ranked)["current_first"] == first


def test_a_query_that_asks_for_the_earlier_value_is_not_measured_by_the_new_one() -> None:
    values = of(labelled(relevant=["old"], stale=["old"], current=["new"], asks_previous=True), ["old"])
    assert not {"current_first", "stale@1"} & set(values)


def test_cuts_are_taken_as_asked() -> None:
    query = labelled(relevant=["a"], stale=["s"], must_not=["x"])
    values = of(query, ["a", "s", "x"], "stale@2", "must_not@2", "must_not@3", "recall@1", "MRR@1", "MAE", "ECE")
    assert (values["stale@1"], values["stale@2"], values["must_not@2"], values["must_not@3"]) == (0, 1, 0, 1)
    assert values["recall@1"] == values["MRR@1"] == 1
    assert not {"MAE", "ECE"} & set(values)


@pytest.mark.parametrize("name", ["R@", "R@0", "R@x", "R@-1", "MRR@", "MAP@3", "constant", "", "@", "R@²"])
def test_other_names_are_passed_over(name: str) -> None:
    query = labelled(relevant=["a"])
    assert name not in of(query, ["a"], name)
    assert name not in worst(query, also=[name])


def test_errors_against_scores_given_by_hand() -> None:
    scores = {
        "a": {"relevance": 1.0, "freshness": 0.5, "combined": 0.1},
        "b": {"relevance": 0.2, "combined": 0.3},
        "missed": {"relevance": 0.6, "freshness": 0.9},
    }
    query = labelled(relevant=["a"], scores=scores)
    values = of(query, ["a"], "MAE", judged=judged(["a", "b"], [0.8, 0.4]))
    # What was not judged was given 0; how fresh it would have been nobody said.
    assert values["MAE_relevance"] == pytest.approx((0.2 + 0.2 + 0.6) / 3)
    assert values["MAE_freshness"] == pytest.approx(0.1)
    assert values["MAE_combined"] == values["MAE"] == pytest.approx((0.1 + 0.2) / 2)
    assert not any(name.startswith("MAE") for name in of(query, ["a"]))
    assert not any(name.startswith("MAE") for name in of(labelled(), [], judged=judged([], [])))
    only = labelled(scores={"a": {"freshness": 0.5}})
    assert of(only, [], judged=judged(["b"], [0.5])) == {"Brier": 0.25, "empty_ok": 1}
    assert {name for name in worst(only) if name.startswith("MAE")} == {"MAE_freshness"}


def test_brier_of_what_was_judged() -> None:
    query = labelled(relevant=["a"])
    values = of(query, ["a"], judged=judged(["a", "b"], [0.8, 0.4], relevant=[True, False]))
    assert values["Brier"] == pytest.approx((0.04 + 0.16) / 2)
    assert "Brier" not in of(query, [], judged=judged([], []))


def test_sensitivity_and_actions_are_measured_where_labelled_and_told() -> None:
    query = labelled(sensitivity="recent", expected_actions={"a": "keep_full", "b": ["drop", "summarize"], "c": "drop"})
    values = of(query, [], sensitivity="recent", actions={"a": "summarize", "b": "summarize"})
    assert values["sensitivity"] == 1
    assert values["actions"] == pytest.approx(2 / 3)  # c is not in the context
    assert of(query, [], sensitivity="real-time")["sensitivity"] == 0
    assert not {"sensitivity", "actions"} & set(of(query, []))
    assert not {"sensitivity", "actions"} & set(of(labelled(), [], sensitivity="recent", actions={}))
    assert "actions" not in worst(query, pruned=False)


def test_leaks_are_counted_where_a_namespace_was_asked() -> None:
    assert of(labelled(group="tenant"), ["a", "b"], leaked=2)["leaks"] == 2
    assert worst(labelled(group="tenant"))["leaks"] == 0
    assert "leaks" not in of(labelled(), ["a"])


def test_every_metric_of_a_spec_is_known() -> None:
    query = labelled(
        relevant=["a"],
        stale=["b"],
        group="t",
        sensitivity="recent",
        must_not=["x"],
        expected_actions={"a": "drop"},
        scores={"a": {"relevance": 1, "freshness": 1, "combined": 1}},
    )
    answered = {"judged": judged(["a"], [1.0]), "sensitivity": "recent", "actions": {"a": "drop"}}
    values = of(query, ["a"], *METRICS, **answered) | of(labelled(), [], *METRICS)
    assert set(METRICS) - set(values) == OVERALL
    assert all(re.fullmatch(METRIC[1:-1], name) for name in ALWAYS)
    lower = {name for name in METRICS if lower_is_better(name)}
    assert lower == OVERALL - {"position_bias"} | {
        "MAE",
        "MAE_relevance",
        "MAE_freshness",
        "MAE_combined",
        "Brier",
        "risk",
        "leaks",
    }
    assert lower_is_better("stale@3")
    assert lower_is_better("must_not@7")
    assert not any(map(lower_is_better, ("R@1", "recall@5", "P@3", "nDCG@10", "MRR@10")))


some = st.lists(st.sampled_from(IDS), max_size=5, unique=True)
queries = st.builds(
    labelled,
    relevant=some,
    stale=some,
    current=some,
    must_not=some,
    asks_previous=st.booleans(),
    sensitivity=st.sampled_from([None, "recent"]),
    scores=st.dictionaries(
        st.sampled_from(IDS),
        st.fixed_dictionaries({"relevance": st.floats(0, 1), "freshness": st.floats(0, 1)}),
        max_size=3,
    ),
    expected_actions=st.dictionaries(st.sampled_from(IDS), st.sampled_from(["keep_full", "drop"]), max_size=3),
)


@given(query=queries, ranked=st.lists(st.sampled_from(IDS), max_size=12), said=st.lists(st.floats(0, 1), max_size=8))
def test_a_failure_is_never_worth_more_than_an_answer(query: Labelled, ranked: list[str], said: list[float]) -> None:
    also = ("MAE", "P@1", "stale@3", "recall@2")
    values = of(query, ranked, *also, judged=judged(IDS[: len(said)], said), sensitivity="recent", actions={})
    failed = worst(query, also=also)
    assert set(failed) - {"risk", "Brier", "MAE_freshness"} <= set(values) <= set(failed)
    for name, value in values.items():
        assert 0 <= value <= 1
        assert (failed[name] >= value) if lower_is_better(name) else (failed[name] <= value)
