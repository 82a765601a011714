"""Each view has exactly the documented fields, filled from the same result."""

import json

import pytest
from factories import HOSTILE, item, memory, result, spec

from memrank.errors import UsageError
from memrank.result import Adjustment, Result
from memrank.views import VIEWS, memory_read

THIRD = 1 / 3


@pytest.fixture
def read() -> Result:
    returned = [
        item(memory("a"), scores={"relevance": 0.9}, flags=("pinned",)),
        item(memory("b", days_ago=None), scores={"relevance": THIRD}, stale_flag=True, kernel="real-time-cutoff"),
    ]
    excluded = [
        item(memory("c"), reason="stale", flags=("stale",), stale_flag=True),
        item(memory("d"), scores={"relevance": 0.05}, reason="below_relevance"),
    ]
    return result(returned, excluded)


def view(name: str, of: Result, **pruner: object) -> object:
    return VIEWS[name](of, spec(pruner=pruner))


def test_the_six_views() -> None:
    assert list(VIEWS) == ["memory-read", "memory-list", "passages", "passage-list", "elements", "element-list"]


def test_memory_read(read: Result) -> None:
    shown = memory_read(read)
    assert shown == view("memory-read", read)
    assert shown["query"] == "What is the current rate?"
    assert shown["ranked_results"] == [
        {
            "entry_id": entry.id,
            "relevance_score": entry.scores["relevance"],
            "recency_score": 0.73,
            "composite_score": entry.score,
            "justification": "shares “rate” with the query",
            "excluded": False,
            "stale": False,
        }
        for entry in read.results
    ]
    assert shown["retrieval_metadata"] == {
        "total_candidates": 4,
        "returned_count": 2,
        "excluded_count": 2,
        "stale_count": 1,
    }


def test_memory_read_with_the_excluded(read: Result) -> None:
    entries = memory_read(read, include_excluded=True)["ranked_results"]
    assert isinstance(entries, list)
    assert [(e["entry_id"], e["excluded"], e["stale"]) for e in entries] == [
        ("a", False, False),
        ("b", False, False),
        ("c", True, True),
        ("d", True, False),
    ]
    assert [e["composite_score"] for e in entries[2:]] == [0.0, 0.0]


def test_memory_list(read: Result) -> None:
    rows = view("memory-list", read)
    assert isinstance(rows, list)
    assert [row["memory_id"] for row in rows] == ["a", "b"]
    assert list(rows[0]) == [
        "memory_id",
        "relevance_score",
        "recency_score",
        "combined_score",
        "relevance_justification",
    ]
    assert rows[1]["relevance_score"] == THIRD


def test_passages(read: Result) -> None:
    shown = view("passages", read)
    assert isinstance(shown, dict)
    assert list(shown) == ["query_id", "scored_passages", "scoring_summary"]
    rows = shown["scored_passages"]
    assert [(row["passage_id"], row["excluded"]) for row in rows] == [
        ("a", False),
        ("b", False),
        ("c", True),
        ("d", True),
    ]
    assert rows[0] == {
        "passage_id": "a",
        "semantic_relevance": 0.9,
        "temporal_freshness": 0.73,
        "combined_score": read.results[0].score,
        "excluded": False,
        "reasoning": "shares “rate” with the query",
        "decay_function_applied": "exponential",
        "date_used": "2026-03-18T09:00:00Z",
        "flags": ["pinned"],
    }
    assert rows[1]["date_used"] is None
    assert rows[1]["decay_function_applied"] == "real-time-cutoff"
    assert rows[2]["combined_score"] == 0.0
    assert shown["scoring_summary"] == {
        "total_passages": 4,
        "excluded_count": 2,
        "top_passage_id": "a",
        "score_distribution": {"high": 2, "medium": 1, "low": 1},
    }


def test_passage_list(read: Result) -> None:
    rows = view("passage-list", read)
    assert isinstance(rows, list)
    assert rows[1] == {
        "passage_id": "b",
        "relevance_score": THIRD,
        "freshness_score": 0.73,
        "combined_score": read.results[1].score,
        "time_decay_factor": 0.73,
        "rationale": "shares “rate” with the query",
        "stale_flag": True,
    }
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("decay", "flags", "action", "number", "recommended", "retention"),
    [
        (0.0, (), "keep_full", 1, "retain", "keep_full"),
        (0.3, (), "keep_full", 2, "retain", "keep_full"),
        (0.7, (), "summarize", 3, "compress", "summarize"),
        (0.9, (), "drop", 4, "drop", "drop"),
        (1.0, ("superseded",), "overwrite", 5, "overwrite", "drop"),
        (1.0, ("superseded", "protected"), "keep_full", 5, "retain", "keep_full"),
    ],
)
def test_elements(
    decay: float, flags: tuple[str, ...], action: str, number: int, recommended: str, retention: str
) -> None:
    read = result([item(memory("a"), decay=decay, flags=flags, action=action)])
    shown = view("elements", read)
    assert isinstance(shown, dict)
    (element,) = shown["scored_elements"]
    assert list(element) == [
        "element_id",
        "decay_score",
        "rationale",
        "recommended_action",
        "decay",
        "recommended_retention",
    ]
    assert (element["decay_score"], element["recommended_action"], element["recommended_retention"]) == (
        number,
        recommended,
        retention,
    )
    assert element["decay"] == decay
    shown = view("element-list", read)
    assert isinstance(shown, dict)
    (other,) = shown["decay_scores"]
    assert other == {
        "context_id": "a",
        "decay_score": decay,
        "recommended_retention": retention,
        "rationale": element["rationale"],
    }


def test_elements_cover_all_and_follow_the_specs_thresholds(read: Result) -> None:
    def classes(**pruner: object) -> list[tuple[str, int]]:
        shown = view("elements", read, **pruner)
        assert isinstance(shown, dict)
        return [(element["element_id"], element["decay_score"]) for element in shown["scored_elements"]]

    assert classes() == [("a", 1), ("b", 2), ("c", 4), ("d", 4)]
    assert classes(keep_below=0.1, decay_threshold=0.15, drop_threshold=0.6) == [("a", 3), ("b", 3), ("c", 4), ("d", 4)]


def test_the_rationale_says_what_the_budget_changed() -> None:
    squeezed = item(memory("a"), action="summarize", planned="keep_full", summary="short")
    shown = view("elements", result([squeezed], [item(memory("b"), reason="over_budget")]))
    assert isinstance(shown, dict)
    first, second = (element["rationale"] for element in shown["scored_elements"])
    assert first.endswith("the budget turned keep_full into summarize")
    assert second.endswith("excluded: over_budget")


@pytest.mark.parametrize("name", ["elements", "element-list"])
def test_decay_needs_the_pruner(name: str) -> None:
    ranked = result([item(action=None)], pruned=False)
    with pytest.raises(UsageError, match=name) as caught:
        view(name, ranked)
    assert "--rank-only" in str(caught.value)
    with pytest.raises(UsageError):
        view(name, result(pruned=False))


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_every_result_is_json(name: str, read: Result) -> None:
    bounded = item(
        weights={"freshness": 0.4}, bounded=True, adjustments=[Adjustment(code="superseded", factor=0.5, by="b")]
    )
    hostile = [item(memory(content[:50] + "id", content)) for content in HOSTILE]
    for of in (read, result(), result(excluded=read.excluded), result([bounded], combine="bounded"), result(hostile)):
        shown = view(name, of)
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_empty_results_have_no_top_passage(read: Result) -> None:
    for of in (result(), result(excluded=read.excluded)):
        shown = view("passages", of)
        assert isinstance(shown, dict)
        assert shown["scoring_summary"]["top_passage_id"] is None
        assert view("memory-list", of) == [] == view("passage-list", of)
