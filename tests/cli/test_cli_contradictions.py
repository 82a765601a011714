"""`memrank store contradictions`: what is found, what `--apply` links and `--undo` takes back, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from calling import Answer, call, write_lines

from memrank.contradictions import MARK

ROWS: list[dict[str, Any]] = [
    {"id": "dose-1", "content": "Dana takes 20 mg of lisinopril every day.", "created_at": "2026-01-05"},
    {"id": "dose-2", "content": "Correction: Dana no longer takes 20 mg of lisinopril, it is 40 mg of lisinopril now.",
     "created_at": "2026-02-05"},
    {"id": "stated-1", "content": "The office is in Bergen.", "created_at": "2026-01-01", "superseded_by": "stated-2"},
    {"id": "stated-2", "content": "The office is in Oslo.", "created_at": "2026-02-01"},
    {"id": "other", "content": "The invoice of February was paid.", "created_at": "2026-03-01"},
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "memories.jsonl", ROWS)


@pytest.fixture
def store(file: Path) -> Path:
    made = file.with_name("memories.db")
    assert call("store", "import", file, "--to", made).code == 0
    return made


def found(store: Path, *extra: object) -> dict[str, Any]:
    answer = call("store", "contradictions", store, "--json", "--threshold", "0.3", *extra)
    assert answer.code == 0
    return answer.json  # type: ignore[no-any-return]


def exported(store: Path) -> dict[str, Any]:
    return {row["id"]: row for row in call("store", "export", store).rows}


def test_pairs_with_probability_evidence_and_a_sentence(file: Path) -> None:
    body = found(file)
    assert (body["schema"], body["memories"], body["linked"]) == ("memrank.contradictions/1", 5, None)
    pairs = {(row["newer"], row["older"]): row for row in body["contradictions"]}
    assert pairs["stated-2", "stated-1"]["probability"] == 1.0
    assert pairs["stated-2", "stated-1"]["evidence"] == ["stated"]
    judged = pairs["dose-2", "dose-1"]
    assert 0.3 <= judged["probability"] < 1
    assert {"correction", "ended"} <= set(judged["evidence"])
    assert judged["sentence"].startswith("dose-2 (2026-02-05) against dose-1 (2026-01-05): ")
    assert not any("other" in pair for pair in pairs)


def test_a_table_for_people_and_nothing_found(file: Path, tmp_path: Path) -> None:
    answer = call("store", "contradictions", file, "--threshold", "0.3")
    assert answer.code == 0
    assert answer.out.startswith("5 memories, 2 contradictions\n")
    assert "dose-2" in answer.out
    alone = write_lines(tmp_path / "one.jsonl", ROWS[:1])
    assert call("store", "contradictions", alone).out == "1 memory, 0 contradictions\n"
    nothing = tmp_path / "none.jsonl"
    nothing.write_text("")
    assert call("store", "contradictions", nothing).out == "0 memories, 0 contradictions\n"


def test_apply_links_and_undo_restores(store: Path) -> None:
    before = exported(store)
    assert found(store, "--apply")["linked"] == 1
    after = exported(store)
    assert after["dose-1"]["superseded_by"] == "dose-2"
    assert after["dose-1"]["metadata"][MARK]["by"] == "dose-2"
    assert {name: row for name, row in after.items() if name != "dose-1"} == {
        name: row for name, row in before.items() if name != "dose-1"
    }
    assert found(store, "--apply")["linked"] == 0
    linked = {row["older"]: row for row in found(store)["contradictions"]}["dose-1"]
    assert linked["evidence"] == ["linked"]
    assert linked["probability"] < 1
    answer = call("store", "contradictions", store, "--undo", "--json")
    assert json.loads(answer.out)["unlinked"] == 1
    assert exported(store) == before
    assert call("store", "contradictions", store, "--undo").out == f"{store}: 0 links taken back\n"


def test_what_somebody_else_has_linked_since_is_not_undone(store: Path, tmp_path: Path) -> None:
    assert found(store, "--apply")["linked"] == 1
    row = exported(store)["dose-1"]
    changed = write_lines(tmp_path / "changed.jsonl", [{**row, "superseded_by": "other"}])
    assert call("store", "import", changed, "--to", store).code == 0
    assert call("store", "contradictions", store, "--undo").code == 0
    assert exported(store)["dose-1"]["superseded_by"] == "other"


def test_tenants_are_never_compared(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "namespace": "a"}, {**ROWS[1], "namespace": "b"}]
    file = write_lines(tmp_path / "two.jsonl", rows)
    assert found(file)["contradictions"] == []
    assert found(file, "--namespace", "a")["memories"] == 1
    assert call("store", "contradictions", file, "--namespace", "c").code == 3


def refused(answer: Answer, code: int, text: str) -> None:
    assert answer.code == code
    assert text in answer.err
    assert answer.out == ""


def test_what_makes_no_sense_is_refused(file: Path, store: Path, tmp_path: Path) -> None:
    refused(call("store", "contradictions", file, "--apply"), 2, "files are not written")
    refused(call("store", "contradictions", file, "--undo"), 2, "files are not written")
    refused(call("store", "contradictions", store, "--apply", "--undo"), 2, "exclude each other")
    refused(call("store", "contradictions", store, "--threshold", "1.5"), 2, "threshold")
    refused(call("store", "contradictions", tmp_path / "missing.jsonl"), 3, "missing.jsonl")
