"""What a read owes: numbers that can be recomputed, everything judged accounted for, order independence, isolation."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reading import KEEP_ALL, NOW, canonical, ids, pipeline, read, reasons, record, when
from strategies import AS_OF, records

from memrank.errors import DataError, NamespaceError, UsageError
from memrank.pipeline import Pipeline, Ranking
from memrank.render.explain import explain_text
from memrank.slate import REASONS
from memrank.stores.readers import dump_jsonl, read_memories
from memrank.tenant import count_tokens
from memrank.views import elements

DAY = 86400.0
WEIGHTED = pipeline(
    temporal={"half_life": {"default": "14d", "price": "1d"}},
    ranker={
        "weights": {"relevance": 0.5, "freshness": 0.3, "importance": 0.15, "authority": 0.05},
        "stale_after": "365d",
        "staleness_threshold": "90d",
        "min_score": 0.2,
    },
)
BOUNDED = pipeline(
    ranker={"combine": "bounded", "alphas": {"freshness": 0.8, "importance": 0.3, "authority": 0.1}, "top_k": 5},
    pruner={"max_tokens": 12, "keep_last_turns": 0},
)
UNPRUNED = pipeline(pruner=None, temporal={"sensitivity": "historical"})
ALL = pytest.mark.parametrize("of", [WEIGHTED, BOUNDED, UNPRUNED], ids=["weighted", "bounded", "unpruned"])
quick = settings(
    deadline=None,
    max_examples=40,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)


def recomputed(body: Mapping[str, Any]) -> float:
    """raw_score from the numbers that are shown beside it."""
    parts = body["scores"]
    if "alphas" in body:
        boosts = math.prod(1 + alpha * (parts[name] - 0.5) for name, alpha in body["alphas"].items())
        return min(1.0, parts["relevance"] * boosts)
    return sum(weight * parts[name] for name, weight in body["weights"].items())


def check(ranking: Ranking, top_k: int | None = None) -> None:
    """What holds for every answer."""
    body = ranking.to_dict()
    json.dumps(body, allow_nan=False)
    meta, results, excluded = body["meta"], body["results"], body["excluded"]
    everything = [*results, *excluded]
    assert len({item["id"] for item in everything}) == len(everything) == meta["total_candidates"]
    assert meta["returned_count"] == len(results)
    assert meta["excluded_count"] == len(excluded)
    assert meta["stale_count"] == sum(item["reason"] == "stale" for item in excluded)
    raws = [item["raw_score"] for item in everything]
    distribution = {
        "high": sum(raw >= 0.7 for raw in raws),
        "medium": sum(0.4 <= raw < 0.7 for raw in raws),
        "low": sum(raw < 0.4 for raw in raws),
    }
    assert meta["score_distribution"] == distribution
    assert [item["rank"] for item in results] == list(range(1, len(results) + 1))
    assert all(a["score"] >= b["score"] for a, b in pairwise(results))
    for item in everything:
        for value in (item["score"], item["raw_score"], *item["scores"].values()):
            assert 0 <= value <= 1
    for item in results:
        assert item["raw_score"] == pytest.approx(recomputed(item), abs=1e-9)
        way = item["raw_score"] * math.prod(adjustment["factor"] for adjustment in item["adjustments"])
        assert item["score"] == pytest.approx(way, abs=1e-9)
    for item in excluded:
        assert item["score"] == 0
        assert item["reason"] in REASONS[1:]
    free = [item for item in results if "protected" not in item["flags"]]
    assert all(item["score"] > 0 or item["raw_score"] == 0 for item in free)
    if top_k is not None:
        assert len(free) <= top_k


@ALL
@quick
@given(records(), st.sampled_from(["rate", "fee of the fund", "What was the rate before?", "current price", "zzz"]))
def test_every_number_can_be_recomputed_and_every_memory_is_accounted_for(
    of: Pipeline, memories: list[dict[str, object]], query: str
) -> None:
    check(read(of, memories, query))


@ALL
@quick
@given(records(), st.data())
def test_the_order_of_the_input_never_matters(
    of: Pipeline, memories: list[dict[str, object]], data: st.DataObject
) -> None:
    for i, memory in enumerate(memories):  # each has one predecessor at most, as in a history
        memory.pop("superseded_by", None)
        if i and i % 3 == 0:
            memory["superseded_by"] = f"m{i - 1}"
    shuffled = data.draw(st.permutations(memories))
    assert canonical(read(of, memories, "rate of the fund")) == canonical(read(of, shuffled, "rate of the fund"))


@quick
@given(records(), st.integers(1, 6), st.integers(1, 60))
def test_limits_hold(memories: list[dict[str, object]], top_k: int, max_tokens: int) -> None:
    ranking = read(WEIGHTED, memories, top_k=top_k, max_tokens=max_tokens)
    check(ranking, top_k)
    assert count_tokens(ranking.context()) <= max_tokens
    kept = sum(item.tokens for item in ranking.results)
    over = any(note.code == "protected_over_budget" for note in ranking.notes)
    assert over == (kept > max_tokens)
    if over:
        assert all("protected" in item.flags or item.tokens == 0 for item in ranking.results)


@quick
@given(records(least=1))
def test_rank_only_ranks_and_leaves_the_pruner_out(memories: list[dict[str, object]]) -> None:
    ranking = read(BOUNDED, memories, rank_only=True)
    check(ranking, 5)
    for item in (*ranking.results, *ranking.excluded):
        assert (item.action, item.planned, item.decay, item.summary) == (None, None, None, None)
        assert "protected" not in item.flags
        assert item.reason not in ("over_budget",)


@quick
@given(records(), records(least=1))
def test_another_tenant_changes_nothing(mine: list[dict[str, object]], theirs: list[dict[str, object]]) -> None:
    own = [{**one, "namespace": "mine"} for one in mine] or [{"id": "m0", "content": "rate", "namespace": "mine"}]
    other = [{**one, "namespace": "theirs", "access_count": "many"} for one in theirs]
    both = [one for pair in zip(own, other, strict=False) for one in pair]
    both += own[len(other) :] + other[len(own) :]
    names = ("store_version", "read_id")  # these name the whole store
    alone = read(WEIGHTED, own, namespace="mine")
    together = read(WEIGHTED, both, namespace="mine")
    assert canonical(alone, *names) == canonical(together, *names)


@quick
@given(records(least=1), st.lists(st.integers(2, 400), max_size=4))
def test_what_is_not_yet_known_changes_nothing(memories: list[dict[str, object]], days: Sequence[int]) -> None:
    later = [record(f"later{i}", "rate fee fund", days=-d, pinned=True) for i, d in enumerate(days)]
    names = ("store_version", "read_id")
    assert canonical(read(WEIGHTED, memories), *names) == canonical(read(WEIGHTED, [*later, *memories]), *names)


# Exclusions


def test_reasons_and_their_precedence() -> None:
    relevance = {"good": 0.9, "low": 0.1, "old": 0.9, "poor": 0.31, "gone": 0.9, "untrue": 0.9, "all": 0.0, "two": 0.1}
    of = pipeline(ranker={"relevance_threshold": 0.3, "stale_after": "30d", "min_score": 0.45}, relevance=relevance)
    past = when(5).isoformat()
    memories = [
        record("good"),
        record("low"),
        record("old", days=31),
        record("poor", days=29),
        record("gone", expires_at=past),
        record("untrue", invalid_at=past),
        record("all", days=900, expires_at=past, invalid_at=past),
        record("two", days=900),
    ]
    ranking = read(of, memories)
    check(ranking)
    assert ids(ranking.results) == ["good"]
    assert reasons(ranking) == {
        "low": "below_relevance",
        "old": "stale",
        "poor": "below_min_score",
        "gone": "expired",
        "untrue": "invalid_then",
        "all": "expired",
        "two": "below_relevance",
    }
    flags = {item.id: item.flags for item in ranking.excluded}
    assert flags["all"] == ("expired", "invalid_then")
    assert flags["old"] == ("stale",)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"expires_at": NOW}, "expired"),
        ({"expires_at": "2026-03-20T09:00:01Z"}, None),
        ({"expires_at": "2026-03-20T10:00:00+01:00"}, "expired"),
        ({"expires_at": "2026-03-20"}, None),  # a day ends at its end
        ({"expires_at": "2026-03"}, None),
        ({"expires_at": "2026-02"}, "expired"),
        ({"invalid_at": NOW}, "invalid_then"),
        ({"invalid_at": "2026-03-20T09:00:01Z"}, None),
        ({"valid_at": "2026-03-20T09:00:01Z"}, "invalid_then"),
        ({"valid_at": NOW}, None),
        ({"valid_at": "2026"}, None),
        ({"valid_at": "2025-01-01", "invalid_at": "2027-01-01"}, None),
    ],
)
def test_expiry_and_validity_at_their_edges(fields: dict[str, object], reason: str | None) -> None:
    ranking = read(WEIGHTED, [record("m", **fields)])
    assert reasons(ranking) == ({"m": reason} if reason else {})


def test_a_query_about_the_past_keeps_what_is_no_longer_valid_but_not_what_expired() -> None:
    memories = [
        record("untrue", days=40, invalid_at=when(5).isoformat()),
        record("expired", days=40, expires_at=when(5).isoformat()),
        record("not-yet", days=1, valid_at=when(-5).isoformat()),
    ]
    of = pipeline(temporal={"sensitivity": "historical"})
    ranking = read(of, memories)
    assert ids(ranking.results) == ["untrue"]
    assert ranking.results[0].flags == ("invalid_then",)
    assert reasons(ranking) == {"expired": "expired", "not-yet": "invalid_then"}
    previous = read(pipeline(), memories, "What was the rate previously?")
    assert previous.result.asks_previous
    assert "untrue" in ids(previous.results)


@pytest.mark.parametrize("sensitivity", ["real-time", "recent", "historical", "time-agnostic"])
def test_stale_applies_only_where_age_matters(sensitivity: str) -> None:
    of = pipeline(
        temporal={"sensitivity": sensitivity, "real_time_window": "400d"},
        ranker={"stale_after": "30d", "staleness_threshold": "10d"},
    )
    memories = [record("new", days=9.99), record("aging", days=10), record("edge", days=30), record("old", days=30.01)]
    ranking = read(of, memories)
    check(ranking)
    stale = {item.id: item.stale_flag for item in (*ranking.results, *ranking.excluded)}
    if sensitivity in ("real-time", "recent"):
        assert reasons(ranking) == {"old": "stale"}
        assert stale == {"new": False, "aging": True, "edge": True, "old": True}
    else:
        assert reasons(ranking) == {}
        assert not any(stale.values())


def test_min_score_and_relevance_threshold_keep_what_equals_them() -> None:
    relevance = {"a": 0.5, "b": 0.25}
    of = pipeline(ranker={"weights": {"relevance": 1.0}, "relevance_threshold": 0.5}, relevance=relevance)
    memories = [record("a"), record("b")]
    assert reasons(read(of, memories)) == {"b": "below_relevance"}
    of = pipeline(ranker={"weights": {"relevance": 1.0}, "min_score": 0.5}, relevance=relevance)
    ranking = read(of, memories)
    assert reasons(ranking) == {"b": "below_min_score"}
    assert ranking.excluded[0].raw_score == 0.25


def test_top_k_of_the_call_goes_before_that_of_the_spec() -> None:
    memories = [record(f"m{i}", days=i) for i in range(6)]
    of = pipeline(ranker={"top_k": 4})
    assert len(read(of, memories).results) == 4
    assert Counter(reasons(read(of, memories, top_k=2)).values()) == {"over_top_k": 4}
    assert len(read(of, memories, top_k=6).results) == 6
    with pytest.raises(UsageError, match="top_k is 0"):
        read(of, memories, top_k=0)


# Time


def test_freshness_is_the_kernel_of_the_age_by_type() -> None:
    of = pipeline(temporal={"half_life": {"default": "10d", "price": "1d"}, "offset": "0s"})
    memories = [record("note", days=10), record("price", days=2, memory_type="price"), record("now", days=0)]
    fresh = {item.id: (item.scores["freshness"], item.age_seconds) for item in read(of, memories).results}
    assert fresh == {"note": (0.5, 10 * DAY), "price": (0.25, 2 * DAY), "now": (1.0, 0.0)}


def test_floor_and_offset_of_the_spec() -> None:
    of = pipeline(temporal={"half_life": "10d", "offset": "5d", "floor": 0.2})
    memories = [record("grace", days=5), record("half", days=15), record("ancient", days=20_000)]
    fresh = {item.id: item.scores["freshness"] for item in read(of, memories).results}
    assert fresh == {"grace": 1.0, "half": pytest.approx(0.6), "ancient": pytest.approx(0.2)}


@pytest.mark.parametrize(
    ("created", "age"),
    [
        ("2026-03-19T09:00:00Z", 1.0),
        ("2026-03-19T10:00:00+01:00", 1.0),
        ("2026-03-18T23:00:00-10:00", 1.0),
        ("2026-03-19T09:00:00", 1.0),  # without a zone: UTC
        ("2026-03-18", 33 / 24),  # from the end of the day
        ("2026-03-20", 0.0),
        ("2026-03", 0.0),
        ("2026", 0.0),
        ("2025", 31 + 28 + 19 + 9 / 24),
        (1773910800, 1.0),
        (1773910800000, 1.0),
    ],
)
def test_ages_of_zones_and_coarse_dates(created: object, age: float) -> None:
    ranking = read(WEIGHTED, [{"id": "m", "content": "rate", "created_at": created, "pinned": True}])
    assert ranking.results[0].age_seconds == pytest.approx(age * DAY)


def test_undated_and_future() -> None:
    memories = [record("undated", days=None), record("dated"), record("plan", event_date="2026-05-01T00:00:00Z")]
    zero = read(pipeline(), memories)
    found = {item.id: item for item in (*zero.results, *zero.excluded)}
    assert found["undated"].scores["freshness"] == 0
    assert found["undated"].flags == ("no_date",)
    assert (found["undated"].date_used, found["undated"].age_seconds) == (None, None)
    assert found["plan"].scores["freshness"] == 1
    assert found["plan"].flags == ("future_date",)
    assert [note.code for note in zero.notes] == ["no_date"]
    neutral = read(pipeline(temporal={"undated": "neutral"}), memories)
    assert {item.id: item.scores["freshness"] for item in neutral.results}["undated"] == 0.5


def test_a_pool_without_any_date_is_time_agnostic() -> None:
    ranking = read(pipeline(), [record("a", days=None), record("b", days=None)])
    assert {item.scores["freshness"] for item in ranking.results} == {1.0}
    assert ranking.result.sensitivity == "time-agnostic"
    assert {item.kernel for item in ranking.results} == {"none"}
    assert [note.code for note in ranking.notes] == ["no_dates_at_all"]
    assert all(item.flags == ("no_date",) for item in ranking.results)


def test_known_at_as_of_with_a_day_of_tolerance() -> None:
    memories = [record("edge", days=-1), record("beyond", days=-1 - 1e-4), record("past"), record("undated", days=None)]
    ranking = read(pipeline(), memories)
    assert set(ids(ranking.results)) == {"edge", "past", "undated"}
    assert ranking.meta.total_candidates == 3
    strict = read(pipeline(prefilter={"future_tolerance": "0s"}), memories)
    assert set(ids(strict.results)) == {"past", "undated"}


def test_as_of_before_everything_is_an_empty_answer() -> None:
    ranking = read(pipeline(), [record("a"), record("b")], as_of="1999-01-01")
    check(ranking)
    assert (ranking.results, ranking.excluded) == ((), ())
    assert [note.code for note in ranking.notes] == ["nothing_visible"]
    assert ranking.context() == ""


@pytest.mark.parametrize("as_of", ["0001-01-01", "9999-12-31T23:59:59Z", AS_OF, AS_OF.replace(tzinfo=None)])
@pytest.mark.parametrize("query", ["rate last week", "rate next decade", "rate in 2025", "rate 3 years ago"])
def test_any_moment_can_be_asked_about(as_of: Any, query: str) -> None:
    check(read(pipeline(temporal={"sensitivity": "auto"}), [record("a"), record("b", days=None)], query, as_of=as_of))


def test_ties_break_by_newer_effective_time_then_by_id() -> None:
    of = pipeline(ranker={"weights": {"relevance": 1.0}}, relevance=dict.fromkeys("abcdef", 0.5))
    memories = [
        record("f", "Mortgages.", days=None),
        record("e", "A ferry to Hvar.", days=None),
        record("d", "Black coffee?", days=3),
        record("c", "Nineteen guests came.", days=2),
        record("b", "Repair the bicycle!", days=2),
        record("a", "Snow on Tuesday.", days=9, event_date="2026-03-19T00:00:00Z"),
    ]
    assert ids(read(of, memories).results) == ["a", "b", "c", "d", "e", "f"]


def test_of_two_plans_the_later_one_is_newer() -> None:
    of = pipeline(ranker={"weights": {"relevance": 1.0}}, relevance={"a": 0.5, "b": 0.5})
    memories = [record("a", event_date="2026-04-01T00:00:00Z"), record("b", event_date="2026-06-01T00:00:00Z")]
    assert ids(read(of, memories).results) == ["b", "a"]


# Supersession


def superseding(**ranker: object) -> Pipeline:
    # A pruner that keeps what was superseded would need no successor: look at the ranking itself.
    return pipeline(pruner=None, ranker=ranker, relevance={"old": 0.9, "new": 0.2, "newest": 0.1, "other": 0.5})


def test_a_successor_ranks_above_and_inherits_relevance() -> None:
    memories = [record("old", days=1, superseded_by="new", importance=0.9), record("new", days=30), record("other")]
    ranking = read(superseding(), memories)
    check(ranking)
    found = {item.id: item for item in ranking.results}
    assert found["new"].rank < found["old"].rank  # type: ignore[operator]
    assert found["old"].score < found["new"].score
    assert found["new"].scores["relevance"] == 0.9
    assert found["new"].flags == ("inherited_relevance",)
    assert found["old"].flags == ("superseded",)
    assert found["old"].scores["importance"] == pytest.approx(0.1)
    (adjustment,) = found["old"].adjustments
    assert (adjustment.code, adjustment.by) == ("superseded", "new")


def test_a_chain_of_successors_comes_out_newest_first() -> None:
    memories = [record("new", superseded_by="newest"), record("old", superseded_by="new"), record("newest", days=90)]
    ranking = read(superseding(), memories)
    check(ranking)
    assert ids(ranking.results) == ["newest", "new", "old"]
    assert {item.scores["relevance"] for item in ranking.results} == {0.9}


def test_a_successor_outside_the_pool_is_brought_in() -> None:
    memories = [record("old", superseded_by="new"), record("new", "nothing alike", days=400), record("other")]
    of = pipeline(pruner=None, prefilter={"top_k": 2}, relevance={"old": 0.9, "new": 0.2, "other": 0.5})
    ranking = read(of, memories, "rate four percent")
    assert set(ids(ranking.results)) == {"old", "new", "other"}
    assert ids(ranking.results).index("new") < ids(ranking.results).index("old")


def test_a_memory_that_names_itself_is_not_superseded() -> None:
    memories = [record("old", superseded_by="old"), record("other")]
    plain = [record("old"), record("other")]
    names = ("store_version", "read_id")
    assert canonical(read(superseding(), memories), *names) == canonical(read(superseding(), plain), *names)


@pytest.mark.parametrize("hidden", ["unknown to the store", "hidden by a filter"])
def test_a_link_counts_where_what_it_names_is_not_among_the_candidates(hidden: str) -> None:
    memories = [record("old", superseded_by="new", agent_id="a"), record("other", agent_id="a")]
    if hidden == "hidden by a filter":
        memories.append(record("new", days=0.5, agent_id="b"))
    of = pipeline(pruner=None, relevance={"old": 0.8, "other": 0.1})
    ranking = read(of, memories, filters={"agent_id": "a"})
    old = next(item for item in ranking.results if item.id == "old")
    assert "superseded" in old.flags
    assert old.scores["importance"] == 0.1
    assert [(a.code, a.by, a.factor) for a in old.adjustments] == [("superseded", "new", 0.5)]


def test_a_successor_that_was_not_known_yet_changes_nothing() -> None:
    memories = [record("old", days=10, superseded_by="new"), record("new", days=2)]
    before = read(superseding(), memories, as_of=when(5))
    assert ids(before.results) == ["old"]
    assert before.results[0].flags == ()
    assert ids(read(superseding(), memories).results) == ["new", "old"]


def test_a_query_for_the_earlier_value_turns_demotion_off() -> None:
    memories = [record("old", days=10, superseded_by="new"), record("new", days=2)]
    ranking = read(superseding(), memories, "What was the rate previously?")
    check(ranking)
    assert ids(ranking.results) == ["old", "new"]
    assert all(item.adjustments == () and item.flags == () for item in ranking.results)


def test_circles_are_defined() -> None:
    memories = [record("old", superseded_by="new"), record("new", superseded_by="old")]
    ranking = read(superseding(), memories)
    check(ranking)
    assert [item.adjustments[0].factor for item in ranking.results] == [0.5, 0.5]


def test_the_pruner_overwrites_what_was_superseded() -> None:
    of = pipeline(relevance={"old": 0.9, "new": 0.2})
    ranking = read(of, [record("old", superseded_by="new"), record("new")])
    check(ranking)
    assert ids(ranking.results) == ["new"]
    assert [(item.id, item.action, item.decay) for item in ranking.excluded] == [("old", "overwrite", 1.0)]


def test_what_was_superseded_is_overwritten_whatever_else_excludes_it() -> None:
    memories = [
        record("low", superseded_by="new"),
        record("old", days=90, superseded_by="new"),
        record("dead", days=9, superseded_by="new", expires_at=when(1).isoformat()),
        record("poor"),
        record("new"),
    ]
    of = pipeline(
        ranker={"relevance_threshold": 0.5, "stale_after": "30d"},
        relevance={"low": 0.1, "old": 0.9, "dead": 0.9, "poor": 0.2, "new": 0.9},
    )
    ranking = read(of, memories)
    check(ranking)
    assert {item.id: (item.reason, item.planned, item.action) for item in ranking.excluded} == {
        "low": ("below_relevance", "overwrite", "overwrite"),
        "old": ("stale", "overwrite", "overwrite"),
        "dead": ("expired", "overwrite", "overwrite"),
        "poor": ("below_relevance", "drop", "drop"),
    }
    rows = {row["element_id"]: row for row in elements(ranking.result, ranking.spec)["scored_elements"]}  # type: ignore[attr-defined]
    for name in ("low", "old", "dead"):
        assert (rows[name]["decay_score"], rows[name]["recommended_action"]) == (5, "overwrite")
        assert "overwritten by new" in rows[name]["rationale"]
    assert "overwritten" not in rows["poor"]["rationale"]
    assert "age 90 d is above stale_after 30 d" in explain_text(ranking.result, ranking.spec)


def test_a_protected_memory_that_was_superseded_stays_and_says_by_what() -> None:
    ranking = read(pipeline(), [record("old", superseded_by="new", pinned=True), record("new")])
    (old,) = (row for row in elements(ranking.result, ranking.spec)["scored_elements"] if row["element_id"] == "old")  # type: ignore[attr-defined]
    assert (old["decay_score"], old["recommended_action"]) == (5, "retain")
    assert old["rationale"].endswith("overwritten by new; protected")


def test_what_was_planned_stands_beside_what_was_done() -> None:
    memories = [record("a", days=1), record("b", "word " * 100, days=2)]
    pruned = read(pipeline(), memories, max_tokens=20).to_dict()
    assert [(row["reason"], row["planned"], row["action"]) for row in pruned["excluded"]] == [
        ("over_budget", "keep_full", "drop")
    ]
    ranked = read(pipeline(ranker={"top_k": 1}), memories, rank_only=True).to_dict()
    for row in (*ranked["results"], *ranked["excluded"]):
        assert (row["planned"], row["action"]) == (None, None)
    assert len(ranked["excluded"]) == 1


# Protection and budget


def test_pins_stay_whatever_they_score_and_say_why_they_score_nothing() -> None:
    of = pipeline(
        ranker={"relevance_threshold": 0.5, "stale_after": "30d"},
        relevance={"pin": 0.1, "old": 0.9, "plain": 0.1, "good": 0.9, "dead": 0.9},
    )
    memories = [
        record("pin", pinned=True),
        record("old", days=90, pinned=True),
        record("dead", pinned=True, expires_at=when(1).isoformat()),
        record("plain"),
        record("good"),
    ]
    ranking = read(of, memories)
    check(ranking)
    found = {item.id: item for item in ranking.results}
    assert set(found) == {"good", "pin", "old"}
    assert found["pin"].score == 0
    assert [(a.code, a.factor, a.by) for a in found["pin"].adjustments] == [("below_relevance", 0.0, None)]
    assert [a.code for a in found["old"].adjustments] == ["stale"]
    assert found["old"].flags == ("stale", "pinned", "protected")
    assert reasons(ranking) == {"plain": "below_relevance", "dead": "expired"}
    (dead,) = (item for item in ranking.excluded if item.id == "dead")
    assert dead.flags == ("expired", "pinned")  # nothing keeps what has expired, and nothing says so
    ranked = read(of, memories, rank_only=True)
    assert ids(ranked.results) == ["good"]


def test_a_pin_outside_the_pool_is_brought_in_unless_only_ranks_are_wanted() -> None:
    memories = [record("pin", "nothing alike", pinned=True), *(record(f"m{i}", days=i) for i in range(5))]
    of = pipeline(prefilter={"top_k": 3}, ranker={"top_k": 2})
    assert "pin" in ids(read(of, memories).results)
    assert len(read(of, memories).results) == 3
    ranked = read(of, memories, rank_only=True)
    assert "pin" not in ids(ranked.results) + ids(ranked.excluded)


def test_the_last_turns_of_the_newest_session_stay() -> None:
    turns = [
        record(f"{session}{n}", f"Something said {n}", days=start - n / 100, role="user", session_id=session, turn=n)
        for session, start in (("old", 9), ("new", 2))
        for n in range(5)
    ]
    of = pipeline(
        ranker={"relevance_threshold": 0.99},
        pruner={"keep_last_turns": 2},
        relevance={one["id"]: 0.1 for one in turns},  # type: ignore[misc]
    )
    assert set(ids(read(of, turns).results)) == {"new3", "new4"}
    assert set(ids(read(of, turns, as_of=when(8)).results)) == {"old3", "old4"}
    assert ids(read(of, turns, rank_only=True).results) == []


def test_protected_memories_over_the_budget_are_kept_with_a_note() -> None:
    memories = [record("pin", "x" * 4000, pinned=True), record("free")]
    ranking = read(pipeline(pruner={**KEEP_ALL, "max_tokens": 100}), memories)
    check(ranking)
    assert ids(ranking.results) == ["pin"]
    assert reasons(ranking) == {"free": "over_budget"}
    assert ranking.results[0].tokens == 1000
    assert "protected_over_budget" in [note.code for note in ranking.notes]


def test_one_giant_leaves_room_for_the_rest() -> None:
    relevance = {"giant": 0.9, **{f"m{i}": 0.5 for i in range(4)}}
    memories = [record("giant", "rate " * 50_000), *(record(f"m{i}") for i in range(4))]
    for limit, kept in ((20, {"m0", "m1"}), (60, {"giant", "m0", "m1"}), (400, set(relevance))):
        ranking = read(pipeline(relevance=relevance), memories, max_tokens=limit)
        check(ranking)
        assert sum(item.tokens for item in ranking.results) <= limit
        assert set(ids(ranking.results)) == kept


def test_a_summary_stands_beside_the_whole_content() -> None:
    text = " ".join(f"Sentence number {i} says little." for i in range(50)) + " The rate is nine percent."
    ranking = read(pipeline(pruner={"decay_threshold": 0.0, "keep_below": 0.0}), [record("long", text), record("b")])
    long = next(item for item in ranking.results if item.id == "long")
    assert long.action == "summarize"
    assert long.summary is not None
    assert "nine percent" in long.summary
    assert long.content == text
    assert long.tokens == -(-len(long.summary.encode()) // 4) <= 40


# Scope


def tenants() -> list[Mapping[str, object]]:
    return [record("a1", namespace="ana"), record("b1", namespace="bo"), record("b2", namespace="bo")]


def test_reads_of_several_tenants_fail_closed() -> None:
    of = pipeline()
    with pytest.raises(NamespaceError, match="holds 2 namespaces"):
        read(of, tenants())
    with pytest.raises(NamespaceError, match="no namespace 'eve'"):
        read(of, tenants(), namespace="eve")
    with pytest.raises(NamespaceError):
        read(of, tenants(), namespace="an")
    assert ids(read(of, tenants(), namespace="ana").results) == ["a1"]
    assert read(of, [record("a", namespace="solo")]).result.namespace == "solo"
    with pytest.raises(NamespaceError):  # memories of nobody are a tenant of their own
        read(of, [record("nobody"), record("a", namespace="ana")])


def test_notes_name_nothing_of_another_tenant(tmp_path: Path) -> None:
    memories = [
        record("mine", namespace="ana", importance=7),
        record("secret", namespace="bo", importance=7, created_at="no date"),
        record("secret", namespace="bo"),
    ]
    file = tmp_path / "memories.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in memories), encoding="utf-8")
    for ranking in (
        read(pipeline(), memories, namespace="ana"),
        pipeline(store=file)("rate", as_of=NOW, namespace="ana"),
    ):
        assert "secret" not in json.dumps(ranking.to_dict())
        assert "mine" in json.dumps(ranking.to_dict()["notes"])
    codes = {note.code for note in pipeline(store=file)("rate", as_of=NOW, namespace="bo").notes}
    assert codes >= {"value_unreadable", "repeated_id"}
    # Whoever imports the file sees all of them.
    assert {note.code for note in read_memories(file).notes} >= {"value_unreadable", "repeated_id"}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"agent_id": "planner"}, {"a", "c"}),
        ({"agent_id": ["planner", "writer"]}, {"a", "b", "c"}),
        ({"tags": "fx"}, {"a", "b"}),
        ({"tags": ["fx", "bonds"]}, {"a", "b", "c"}),
        ({"agent_id": "planner", "tags": "fx"}, {"a"}),
        ({"metadata.desk": "rates"}, {"a"}),
        ({"metadata.year": 2025}, {"b"}),
        ({"metadata.year": ["2025", 2026]}, {"a", "b"}),
        ({"metadata.open": True}, {"c"}),
        ({"agent_id": "nobody"}, set()),
        ({"agent_id": []}, set()),
        ({}, {"a", "b", "c", "d"}),
    ],
)
def test_filters(filters: Mapping[str, Any], found: set[str]) -> None:
    memories = [
        record("a", agent_id="planner", tags=["fx"], desk="rates", year=2026),
        record("b", agent_id="writer", tags=["fx", "equity"], metadata={"year": 2025}),
        record("c", agent_id="planner", tags="bonds", open=True),
        record("d"),
    ]
    ranking = read(pipeline(), memories, filters=filters)
    assert set(ids(ranking.results)) == found
    assert ranking.meta.total_candidates == len(found)


@pytest.mark.parametrize(
    "filters", [{"content": "x"}, {"namespace": "bo"}, {"unknown": "x"}, {"tags": None}, {"tags": {"a": 1}}, ["tags"]]
)
def test_filters_that_there_are_not(filters: Any) -> None:
    with pytest.raises(UsageError, match="filter"):
        read(pipeline(), [record("a")], filters=filters)


# Bad and extreme input


def test_an_empty_store_and_a_single_candidate() -> None:
    empty = read(pipeline(), [])
    check(empty)
    assert empty.meta.total_candidates == 0
    assert empty.meta.needs_review is False
    one = read(pipeline(), [record("only")])
    check(one)
    assert ids(one.results) == ["only"]


def test_everything_excluded_is_an_empty_answer() -> None:
    of = pipeline(ranker={"relevance_threshold": 0.9}, relevance={"a": 0.1, "b": 0.2})
    ranking = read(of, [record("a"), record("b")])
    check(ranking)
    assert ranking.results == ()
    assert ranking.context() == ""


def test_the_last_record_of_an_id_counts() -> None:
    ranking = read(pipeline(), [record("a", "The rate is one."), record("a", "The rate is two.")])
    check(ranking)
    assert [item.content for item in ranking.results] == ["The rate is two."]
    assert [(note.level, note.code) for note in ranking.notes] == [("repair", "repeated_id")]


CONTENTS = {
    "lone surrogate": ("The rate \ud800 rose", "The rate \ufffd rose"),
    "nul": ("The rate\x00rose", "The rate\x00rose"),
    "rtl": ("שיעור הריבית rate \u202e عربي", None),
    "cjk": ("利率 rate は四パーセント", None),
    "emoji": ("rate 📈 👩‍👩‍👧", None),
    "blank": ("   ", None),
    "control": ("\x1b[31mrate\x1b[0m", None),
}


@pytest.mark.parametrize(("content", "kept"), CONTENTS.values(), ids=CONTENTS)
def test_contents_of_every_kind(content: str, kept: str | None) -> None:
    ranking = read(pipeline(), [record("a", content), record("b")], content if content.strip() else "rate")
    check(ranking)
    found = {item.id: item.content for item in ranking.results}
    assert found["a"] == (content if kept is None else kept)
    json.dumps(ranking.to_dict(), ensure_ascii=False).encode("utf-8")
    ranking.context().encode("utf-8")


def test_lone_surrogates_anywhere_in_a_call_are_replaced() -> None:
    ranking = read(
        pipeline(),
        [record("a", agent_id="x\ud800")],
        "rate \ud83d\ude00 \udfff",
        query_id="q\ud800",
        filters={"agent_id": "x\ud800"},
        observations=["\ud800"],
    )
    assert ranking.to_dict()["query"]["text"] == "rate 😀 \ufffd"
    assert ids(ranking.results) == ["a"]
    assert ("repair", "surrogate_replaced") in [(note.level, note.code) for note in ranking.notes]
    json.dumps(ranking.to_dict(), ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("field", ["access_count", "importance", "authority"])
@pytest.mark.parametrize("value", [-1, -0.5, "many", float("nan"), float("inf"), 1e400, [1, 2]])
def test_numbers_out_of_range_are_noted_and_kept(field: str, value: object) -> None:
    ranking = read(pipeline(), [record("a", **{field: value})])
    check(ranking)
    assert ("repair", "value_unreadable") in [(note.level, note.code) for note in ranking.notes]
    assert field in ranking.results[0].memory.metadata


@pytest.mark.parametrize("query", ["", "   ", "\n\t", None])
def test_an_empty_query_is_refused(query: Any) -> None:
    with pytest.raises(UsageError, match="the query is empty"):
        pipeline()(query, memories=[record("a")])


def test_a_query_of_stop_words_or_signs_only_finds_what_it_can() -> None:
    for query in ("the of and", "?!", "\x00", "😀"):
        check(read(pipeline(), [record("a"), record("b", days=None)], query))


def test_memories_without_an_id_or_content_say_where() -> None:
    with pytest.raises(DataError, match=r"memories\[1\]: .*no id"):
        read(pipeline(), [record("a"), {"content": "x"}])
    with pytest.raises(DataError, match=r"memories\[0\]: .*not an object"):
        read(pipeline(), ["text"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no memories"):
        read(pipeline(), None)


def test_a_memory_of_ten_megabytes() -> None:
    ranking = read(pipeline(), [record("huge", "The rate rose again. " * 500_000), record("b")], max_tokens=100)
    check(ranking)
    assert sum(item.tokens for item in ranking.results) <= 100
    assert "b" in ids(ranking.results)


def test_a_hundred_thousand_memories(tmp_path: Path) -> None:
    memories = [
        {"id": f"m{i}", "content": f"rate note {i % 977} of desk {i % 89}", "created_at": f"2026-0{1 + i % 2}-1{i % 9}"}
        for i in range(100_000)
    ]
    ranking = read(pipeline(prefilter={"top_k": 150}), memories, "rate note 500 desk 11")
    check(ranking)
    assert ranking.meta.total_candidates == 150
    assert ranking.results[0].content.startswith("rate note")


def test_a_store_file_ranks_as_the_same_memories_given(tmp_path: Path) -> None:
    memories = [record(f"m{i}", f"rate {i} fee", days=i, importance=i / 10, desk=i) for i in range(8)]
    file = tmp_path / "memories.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in memories), encoding="utf-8")
    names = ("store_version", "read_id")
    stored = pipeline(store=file)("rate fee", as_of=NOW)
    assert canonical(stored, *names) == canonical(read(pipeline(), memories, "rate fee"), *names)
    # Written out and read again, it ranks the same.
    file.write_text("".join(dump_jsonl(read_memories(file).memories)), encoding="utf-8")
    assert canonical(pipeline(store=file)("rate fee", as_of=NOW), *names) == canonical(stored, *names)


# Identity


def test_a_read_is_named_by_all_that_decides_it() -> None:
    of = pipeline()
    memories = [record("a", importance=0.4), record("b")]

    def name(memories: Sequence[Mapping[str, object]] = memories, **arguments: Any) -> str:
        return read(of, memories, **arguments).meta.read_id

    variants = [
        name(),
        name(query="rates"),
        name(as_of=when(0.5)),
        name(top_k=1),
        name(max_tokens=50),
        name(rank_only=True),
        name(filters={"tags": "x"}),
        name(domain="finance"),
        name(phase="plan"),
        name(observations=["seen"]),
        name(constraints=["seen"]),
        name([record("a", importance=0.5), record("b")]),
        name([record("a", importance=0.4), record("b", days=1.5)]),
        name([record("a", importance=0.4, desk="x"), record("b")]),
    ]
    assert len(set(variants)) == len(variants)
    assert name() == variants[0]
    assert name(memories[::-1]) == variants[0]


def test_the_same_read_gives_the_same_bytes_in_a_new_pipeline() -> None:
    memories = [record(f"m{i}", f"rate {i}", days=i) for i in range(9)]
    assert canonical(read(pipeline(), memories)) == canonical(read(pipeline(), memories))


def test_as_of_takes_any_zone() -> None:
    memories = [record("a")]
    local = AS_OF.astimezone(tz=None)
    texts = [NOW, "2026-03-20T10:00:00+01:00", AS_OF, local, AS_OF.replace(tzinfo=None)]
    assert len({canonical(read(pipeline(), memories, as_of=text)) for text in texts}) == 1
    assert timedelta(0) == AS_OF - local
