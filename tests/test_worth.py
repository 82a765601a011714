"""What memories are worth: the same as in a read, and in words that can be followed by hand."""

import pytest
from factories import AS_OF, memory
from hypothesis import given
from hypothesis import strategies as st
from reading import pipeline, read
from strategies import records

from memrank.records import read_record
from memrank.spec import ImportanceSpec
from memrank.types import Memory
from memrank.worth import Valued, value

DAY = 86400.0


def valued(*memories: Memory, **params: object) -> Valued:
    return value(memories, ImportanceSpec.model_validate(params), AS_OF, DAY)


def why(of: Memory, **params: object) -> str:
    return valued(of, **params).why(0)


@given(
    records(least=1),
    st.sampled_from(["exponential", "linear", "none"]),
    st.sampled_from(["use", "retrieval"]),
    st.booleans(),
)
def test_a_memory_is_worth_what_a_read_says(
    given: list[dict[str, object]], decay: str, count_means: str, boost: bool
) -> None:
    params = {
        "decay": decay,
        "rate_per_month": {"default": 0.02, "price": 0.3},
        "boost": boost,
        "floor": 2,
        "ceiling": 9,
        "count_means": count_means,
    }
    ranking = read(pipeline(pruner=None, ranker={"importance": params}), given)
    said = {item.id: item.scores["importance"] for item in (*ranking.results, *ranking.excluded)}
    found = valued(*(read_record(raw, position=i)[0] for i, raw in enumerate(given)), **params)
    worth = {m.id: value for m, value in zip(found.memories, found.importance().tolist(), strict=True)}
    assert worth == said


def test_the_way_in_words() -> None:
    old = memory("a", days_ago=183, importance=0.7, access_count=3)
    assert why(old) == "7 of 10 x 0.98^6.1 months + 1.5 for 3 uses"
    assert why(old, decay="linear") == "7 of 10 x (1 - 0.02 x 6.1 months) + 1.5 for 3 uses"
    assert why(old, decay="none", boost=False) == "7 of 10 (no decay)"
    assert why(old, rate_per_month={"default": 0.5, "note": 0}) == "7 of 10 (no decay) + 1.5 for 3 uses"
    assert why(memory("a", days_ago=30, access_count=1)) == "5 of 10 (not stated) x 0.98^1.0 months + 0.5 for 1 use"
    assert why(memory("a", days_ago=None, importance=0.7)) == "7 of 10 (no date: age 0)"
    assert why(memory("a", days_ago=None, access_count=2)) == "5 of 10 (not stated; no date: age 0) + 1 for 2 uses"


def test_bounds_in_words() -> None:
    assert (
        why(memory("a", importance=0.9, access_count=9))
        == "9 of 10 x 0.98^0.1 months + 3 for 9 uses, 3 at most; 10 at most"
    )
    assert why(memory("a", days_ago=6000, importance=0.3)) == "3 of 10 x 0.98^200.0 months; 1 at least"


def test_what_is_superseded_says_by_what() -> None:
    gone = memory("a", importance=0.9, access_count=6, superseded_by="new\x1b[2J\nrow")
    assert why(gone, floor=2) == "superseded by new\ufffd[2J row: floor 2"
    assert valued(gone, floor=2).worth.points.tolist() == [2.0]


def test_what_was_recorded_later_is_left_out_and_supersedes_nothing() -> None:
    old, other = memory("a", superseded_by="b", namespace="n"), memory("b", namespace="other")
    later = memory("b", days_ago=-2, namespace="n")
    found = valued(old, other, later)
    assert ([m.namespace for m in found.memories], found.later) == (["n", "other"], 1)
    assert found.superseded.tolist() == [False, False]
    soon = valued(old, memory("b", days_ago=-0.5, namespace="n"))  # within the tolerance: known, and of age 0
    assert (soon.superseded.tolist(), soon.months.tolist()[1], soon.later) == ([True, False], 0.0, 0)


def test_retrievals_count_where_the_spec_says_so() -> None:
    found = memory("a", access_count=4, counts_retrievals=True)
    assert valued(found).uses.tolist() == [0.0]
    assert valued(found, count_means="retrieval").uses.tolist() == [4.0]


def test_a_coarse_date_counts_from_its_end() -> None:
    coarse, _ = read_record({"id": "a", "content": "x", "created_at": "2026-02"}, position=0)
    assert valued(coarse).months.tolist() == pytest.approx([(19 + 9 / 24) / 30])


def test_of_nothing_comes_nothing() -> None:
    assert valued().importance().shape == (0,)
