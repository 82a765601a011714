"""What a check finds: each fault is planted in a set that has none."""

from pathlib import Path
from typing import Any

import pytest
from evals.sets import MEMORIES, Row, query, write_rows, write_set
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.check import check, seal_evalset
from memrank.evals.checked import RuleShare
from memrank.evals.evalset import load
from memrank.evals.finding import Finding
from memrank.evals.leaks import words_of
from memrank.evals.rules import KEPT, rankings, right_first

PARTS = ("fit", "choose", "report")


def sound() -> list[Row]:
    """Three queries in three parts about three answers."""
    answers = ("new", "tea", "old")
    return [
        query(f"q{k}", relevant=[name], split=part, meta={"stale": [], "current": []})
        for k, (name, part) in enumerate(zip(answers, PARTS, strict=True))
    ]


def found(folder: Path, rows: list[Row], memories: Any = MEMORIES) -> dict[str, list[Finding]]:
    """The findings by code."""
    out: dict[str, list[Finding]] = {}
    for finding in check(write_set(folder, rows, memories)).findings:
        out.setdefault(finding.code, []).append(finding)
    return out


def faults(folder: Path, rows: list[Row], memories: Any = MEMORIES) -> list[tuple[str, str, str]]:
    return [
        (f.code, f.where, f.detail) for fs in found(folder, rows, memories).values() for f in fs if f.level == "fault"
    ]


def test_a_sound_set_has_no_fault(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", sound())
    seal_evalset(folder)
    checked = check(folder)
    assert checked.passed
    assert {f.code for f in checked.findings} == {"small_part"}
    assert {name: part.queries for name, part in checked.parts.items()} == dict.fromkeys(PARTS, 1)
    assert checked.agreement is None


@pytest.mark.parametrize(
    ("change", "code", "detail"),
    [
        ({"relevant": ["nobody"]}, "unknown_id", "relevant: no such memory: nobody"),
        ({"relevant": {"twin": 2}}, "other_tenant", "relevant: of another namespace than the one that asks: twin"),
        ({"meta": {"stale": ["twin"]}}, "other_tenant", "stale: of another namespace than the one that asks: twin"),
        ({"meta": {"must_not": ["x", "y"]}}, "unknown_id", "must_not: no such memory: x, y"),
        ({"meta": {"scores": {"x": {}}}}, "unknown_id", "scores: no such memory: x"),
        ({"meta": {"expected_actions": {"x": "drop"}}}, "unknown_id", "expected_actions: no such memory: x"),
        ({"meta": {"must_not": ["new"]}}, "label_conflict", "relevant and must_not: new"),
        ({"meta": {"stale": ["new"]}}, "label_conflict", "relevant and stale: new"),
        ({"meta": {"stale": ["old"], "current": ["old"]}}, "label_conflict", "stale and current: old"),
        ({"meta": {"current": ["tea"]}}, "label_conflict", "current but not relevant: tea"),
        ({"relevant": ["late"]}, "not_known_yet", "relevant, but recorded after the query: late"),
        ({"query_time": "soon"}, "bad_time", None),
        ({"query": " "}, "no_text", "the query has no text"),
        ({"group": "elsewhere"}, "unknown_tenant", "no memory is of the namespace that it asks"),
        ({"group": None}, "unknown_tenant", "no memory is of the namespace that it asks"),
        (
            {"meta": {"expected_actions": {"new": "burn"}}},
            "unknown_action",
            "expected_actions knows keep_full, summarize, drop, overwrite only",
        ),
    ],
)
def test_a_label_that_cannot_be_true_is_a_fault(
    tmp_path: Path, change: dict[str, Any], code: str, detail: str | None
) -> None:
    rows = [query("bad", **{"relevant": ["new"], "meta": {"stale": [], "current": []}} | change), *sound()[1:]]
    told = [one for one in faults(tmp_path / "s", rows) if one[0] == code]
    assert told
    assert {where for _, where, _ in told} == {"bad"}
    assert detail is None or detail in {said for *_, said in told}


def test_what_expires_is_relevant_only_to_who_asks_for_the_earlier(tmp_path: Path) -> None:
    memories = [*MEMORIES, {"id": "code", "namespace": "desk", "content": "Code 1", "expires_at": "2026-03-01"}]
    asked = {"relevant": ["code"], "meta": {"stale": [], "current": [], "asks_previous": False}}
    assert ("expired", "bad", "relevant, but expired by then: code") in faults(
        tmp_path / "s", [query("bad", **asked)], memories
    )
    earlier = {**asked, "meta": {"stale": [], "current": [], "asks_previous": True}}
    assert "expired" not in found(tmp_path / "s", [query("good", **earlier)], memories)


def test_a_day_late_is_not_late(tmp_path: Path) -> None:
    rows = [query("q", relevant=["late"], query_time="2026-04-30T00:00:00Z", meta={"stale": [], "current": []})]
    assert "not_known_yet" not in found(tmp_path / "s", rows)


def test_the_only_tenant_needs_no_name(tmp_path: Path) -> None:
    memories = [{"id": "a", "content": "One."}]
    row = {"id": "q", "query": "What?", "query_time": "2026-04-01T00:00:00Z", "relevant": ["a"]}
    told = found(tmp_path / "s", [row], memories)
    assert not {"unknown_tenant", "unknown_id", "other_tenant"} & set(told)


def test_without_a_time_there_is_a_remark(tmp_path: Path) -> None:
    (told,) = found(tmp_path / "s", [query("q", query_time=None)])["no_time"]
    assert told.level == "remark"


def test_scores_against_labels_are_remarked(tmp_path: Path) -> None:
    rows = [query("low", meta={"scores": {"new": {"relevance": 0.2}, "old": {"relevance": 1}}})]
    rows += [query("high", meta={"scores": {"new": {"relevance": 1}, "tea": {"relevance": 0.8}}})]
    told = found(tmp_path / "s", rows)["score_against_label"]
    assert [(one.where, one.detail, one.level) for one in told] == [
        ("low", "relevant, but scored low: new", "remark"),
        ("high", "scored high, but not labelled: tea", "remark"),
    ]


def test_leaks_between_parts(tmp_path: Path) -> None:
    group = [query("q1", split_group="g"), query("q2", split_group="g", split="report", relevant=["tea"])]
    assert ("group_across_parts", "g", "its queries stand in fit and report") in faults(tmp_path / "a", group)
    same = [query("q1", query="Where now?"), query("q2", query="where, NOW", split="choose", relevant=["tea"])]
    said = "the same question stands in choose and fit"
    assert ("question_across_parts", "q1, q2", said) in faults(tmp_path / "b", same)
    answers = [query("q1"), query("q2", split="report")]
    said = "it is relevant to queries of fit and report"
    assert ("memory_across_parts", "new", said) in faults(tmp_path / "c", answers)


def test_the_same_question_of_two_tenants_is_two_questions(tmp_path: Path) -> None:
    nothing = {"stale": [], "current": [], "must_not": []}
    rows = [query("q1", query="Where?")]
    rows += [query("q2", query="Where?", group="shop", relevant=["twin"], split="report", meta=nothing)]
    assert not {"question_across_parts", "memory_across_parts"} & set(found(tmp_path / "s", rows))


def test_a_little_shared_background_is_a_remark(tmp_path: Path) -> None:
    memories = [{"id": f"m{k}", "namespace": "desk", "content": f"Thing {k}."} for k in range(40)]
    nothing = {"stale": [], "current": [], "must_not": []}
    rows = [query(f"q{k}", relevant=[f"m{k}"], meta=nothing) for k in range(40)]
    rows.append(query("again", relevant=["m0", "m1"], split="report", meta=nothing))
    assert [one.level for one in found(tmp_path / "a", rows, memories)["memory_across_parts"]] == ["remark"] * 2
    rows.append(query("more", relevant=["m2"], split="report", meta=nothing))
    assert [one.level for one in found(tmp_path / "b", rows, memories)["memory_across_parts"]] == ["fault"] * 3


def test_a_query_that_stands_in_a_memory(tmp_path: Path) -> None:
    asked = "please tell me where the office is"
    memories = [*MEMORIES, {"id": "turn", "namespace": "desk", "content": "So: Please tell me, where the Office is?"}]
    rows = [query("q", query=asked)]
    assert [one.level for one in found(tmp_path / "a", rows, memories)["query_in_memory"]] == ["remark"]
    rows = [query("q", query=asked, relevant=["new", "turn"])]
    assert ("query_in_answer", "q", "its text stands in what answers it: turn") in faults(
        tmp_path / "b", rows, memories
    )
    rows = [query("q", query="tell me where the office is", relevant=["new", "turn"])]
    assert "query_in_answer" in found(tmp_path / "c", rows, memories)
    for chance in ("where the office is", "ell me where the office is"):
        rows = [query("q", query=chance, relevant=["new", "turn"])]
        assert "query_in_answer" not in found(tmp_path / "d", rows, memories), chance


def test_parts_that_lack_a_kind_are_remarked(tmp_path: Path) -> None:
    rows = [query("q1"), query("q2", relevant=[], split="report", meta={"stale": [], "current": []})]
    told = found(tmp_path / "s", rows)
    where = {(one.where, one.detail.split(",")[0]) for one in told["unbalanced"]}
    assert ("fit", "it has no queries without an answer") in where
    assert ("choose", "it has no queries with outdated values") in where
    assert not {place for place, _ in where} - set(PARTS)


def test_a_rule_that_solves_the_set_is_a_fault(tmp_path: Path) -> None:
    rows = [query(f"q{k}", query="Bergen office", relevant=["old"], meta={"stale": []}) for k in range(3)]
    told = [one for one in faults(tmp_path / "s", rows) if one[0] == "trivial_rule"]
    assert ("trivial_rule", "bm25", "its first result is relevant for 100% of the queries: it solves the set") in told
    assert "newest" not in {where for _, where, _ in told}
    assert RuleShare(right=0, queries=0).share == 0


def test_records_and_lines_that_had_to_be_repaired_are_faults(tmp_path: Path) -> None:
    told = faults(tmp_path / "a", [query("q1"), query("q1")])
    assert "evalset" in {where for _, where, _ in told} or "read" in {where for _, where, _ in told}
    told = faults(tmp_path / "b", sound(), [*MEMORIES, MEMORIES[0]])
    assert "repeated_id" in {code for code, *_ in told}


def test_a_set_that_is_not_as_sealed_fails_once(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", sound())
    seal_evalset(folder)
    write_rows(folder / "queries.jsonl", sound()[:2])
    told = [f for f in check(folder).findings if f.code == "not_as_sealed"]
    assert [(f.level, f.detail) for f in told] == [("fault", "queries.jsonl is not as it was sealed")]


def test_what_is_missing_beside_the_data_is_remarked(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", sound())
    (folder / "README.md").unlink()
    checked = check(folder)
    assert checked.passed
    assert {"no_readme", "no_manifest"} <= {f.code for f in checked.findings}


@pytest.mark.parametrize("name", ["memories.jsonl", "queries.jsonl"])
def test_no_set_is_an_error(tmp_path: Path, name: str) -> None:
    (write_set(tmp_path / "s", sound()) / name).unlink()
    with pytest.raises(DataError, match="no evalset there"):
        check(tmp_path / "s")


def test_second_labels_of_nobody_are_faults(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", sound())
    scores = {"ghost": {"relevance": 1, "freshness": 1, "combined": 1}}
    write_rows(folder / "second.jsonl", [{"id": "who", "relevant": [], "scores": scores}])
    told = {(f.code, f.where, f.detail) for f in check(folder).findings if f.level == "fault"}
    assert told == {
        ("unknown_query", "second.jsonl", "no such query: who"),
        ("unknown_id", "second.jsonl: who", "no such memory: ghost"),
    }


def test_rules_rank_what_was_known_by_one_signal(tmp_path: Path) -> None:
    rows = [query("q1", query="office Bergen"), query("q2", group="shop", relevant=[], meta={})]
    rows.append(query("q3", group="nowhere"))
    rows.append(query("q4", query_time=None))
    evalset = load(write_set(tmp_path / "s", rows))
    ranked = rankings(evalset)
    assert list(ranked) == ["bm25", "dense", "newest"]
    assert ranked["newest"][0] == ["tea", "new", "old"]
    assert ranked["bm25"][0][0] == "old"
    assert [ids[1] for ids in ranked.values()] == [["twin"]] * 3
    assert [ids[2] for ids in ranked.values()] == [[]] * 3
    assert ranked["newest"][3] == ["late", "tea", "new", "old"]
    # Of q1, q3 and q4 (q2 has no answer).
    assert right_first(evalset.queries, ranked["newest"]) == (0, 3)
    assert right_first(evalset.queries, [["new"], ["twin"], [], ["old", "new"]]) == (1, 3)


def test_what_lies_ahead_counts_as_now_and_undated_comes_last(tmp_path: Path) -> None:
    memories = [
        {"id": "none", "content": "x"},
        {"id": "today", "content": "x", "created_at": "2026-04-01T09:00:00Z"},
        {"id": "plan", "content": "x", "created_at": "2026-01-01", "event_date": "2027-01-01"},
        *({"id": f"m{k:02}", "content": "x", "created_at": "2026-01-01"} for k in range(60)),
    ]
    row = query("q", relevant=["plan"], meta={"stale": [], "current": [], "must_not": []}, group=None)
    ids = rankings(load(write_set(tmp_path / "s", [row], memories)))["newest"][0]
    assert ids[:2] == ["today", "plan"]
    assert len(ids) == KEPT


@given(st.text(max_size=30))
def test_the_wording_is_what_remains_of_a_text(text: str) -> None:
    once = words_of(text)
    assert words_of(once) == once
    assert words_of(f"  {text}!\n") == once
    assert "\n" not in once
