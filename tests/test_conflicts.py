"""Outdated values at read time, on small stores with the bundled model."""

import json

import pytest
from reading import canonical, ids, pipeline, read, record

OLD = record("old", "The staging API listens on port 8080.", days=90)
NEW = record("new", "The staging API listens on port 9443 now.", days=2)
OTHERS = [
    record("db", "The staging database listens on port 5432.", days=40),
    record("lunch", "Team lunch is on Fridays at the corner place.", days=5),
    record("deploy", "Deploys to staging run every night at two.", days=60),
    record("owner", "Petra owns the billing service.", days=80),
]
QUERY = "Which port does the staging API listen on?"


def ranker(**supersession: object) -> dict[str, object]:
    return {"weights": {"relevance": 1.0}, "supersession": supersession}


def test_the_newer_value_takes_the_place_of_the_older_one_which_stands_right_below_it() -> None:
    blind = read(pipeline(embedder="wordllama", ranker=ranker(infer=False)), [OLD, NEW, *OTHERS], QUERY)
    assert ids(blind.results)[0] == "old"  # it is the shorter match: without a look at the other, it wins
    ranking = read(pipeline(embedder="wordllama", ranker=ranker()), [OLD, NEW, *OTHERS], QUERY)
    assert ids(ranking.results)[:2] == ["new", "old"]
    new, old = ranking.results[0], ranking.results[1]
    assert new.score == pytest.approx(blind.results[0].score)
    assert [(a.code, a.by) for a in new.adjustments] == [("newer", "old")]
    assert [(a.code, a.by) for a in old.adjustments] == [("outdated", "new")]
    assert "outdated" in old.flags
    assert "seems outdated by new" in old.justification
    assert (old.outdated_by, new.outdated_by) == ("new", None)
    lines = {
        item.id: line for item in (new, old) for line in ranking.context().split("\n") if f'id="{item.id}"' in line
    }
    assert ' outdated_by="new">' in lines["old"]
    assert "outdated_by" not in lines["new"]
    for item in ranking.results:
        factor = 1.0
        for adjustment in item.adjustments:
            factor *= adjustment.factor
        assert item.score == pytest.approx(item.raw_score * factor, abs=1e-12)


def test_nothing_is_outdated_for_a_question_about_the_earlier_value() -> None:
    asked = "Which port did the staging API listen on previously?"
    ranking = read(pipeline(embedder="wordllama", temporal={"sensitivity": "auto"}, ranker=ranker()), [OLD, NEW], asked)
    assert not any("outdated" in item.flags for item in ranking.results)


@pytest.mark.parametrize(
    "pair",
    [
        (OLD, record("twin", "The staging API listens on port 8080.", days=2)),  # says nothing new
        (record("ship", "The harbour port of Aldmere takes no ships in winter.", days=90), NEW),  # of something else
        (OLD, record("undated", "The staging API listens on port 9443.", days=None)),
    ],
    ids=["repetition", "another thing", "undated"],
)
def test_what_is_no_newer_value_outdates_nothing(pair: tuple[dict[str, object], dict[str, object]]) -> None:
    ranking = read(pipeline(embedder="wordllama", ranker=ranker(threshold=0.5)), [*pair, *OTHERS[1:]], QUERY)
    assert not any("outdated" in item.flags for item in (*ranking.results, *ranking.excluded))


@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ("What is Mia's favourite food?", "Mia's favourite food is sushi.", "Tom's favourite food is pizza."),
        ("Was invoice 4471 paid?", "Invoice 4471 was paid in full.", "Invoice 4472 was paid in part."),
        ("Where is the Berlin office?", "The Berlin office is in Torstrasse.", "The Munich office is in Sendling."),
    ],
)
def test_a_name_or_number_of_the_query_is_not_outdated_by_another_one(query: str, old: str, new: str) -> None:
    memories = [record("old", old, days=60), record("new", new, days=1), *OTHERS]
    ranking = read(pipeline(embedder="wordllama", ranker=ranker()), memories, query)
    assert ids(ranking.results)[0] == "old"


def test_an_explicit_link_is_not_judged_a_second_time() -> None:
    linked = {**OLD, "superseded_by": "new"}
    ranking = read(pipeline(embedder="wordllama", ranker=ranker(), pruner=None), [linked, NEW, *OTHERS], QUERY)
    old = next(item for item in ranking.results if item.id == "old")
    assert [a.code for a in old.adjustments] == ["superseded"]


def test_other_tenants_and_the_order_of_the_input_leave_no_trace() -> None:
    memories = [dict(item, namespace="a") for item in (OLD, NEW, *OTHERS)]
    foreign = [dict(item, namespace="b", content=f"{item['content']} Or not.") for item in memories]
    of = pipeline(embedder="wordllama", ranker=ranker())
    alone = read(of, memories, QUERY, namespace="a")
    mixed = read(of, [*foreign, *reversed(memories)], QUERY, namespace="a")
    ignored = ("store_version", "read_id")
    assert json.loads(canonical(alone, *ignored)) == json.loads(canonical(mixed, *ignored))
