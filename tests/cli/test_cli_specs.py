"""`memrank init`, `check` and `schema`."""

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from calling import SPEC, call

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "pipelines" / "memrank.schema.json"


@pytest.mark.parametrize("name", ["notes", "notes.yaml", "0-a_b", "x" * 64])
def test_a_first_spec_passes_its_check_and_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call("init", name)
    stem = name.removesuffix(".yaml")
    assert (answer.code, answer.err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{stem}.memories.jsonl", f"{stem}.yaml"]
    assert answer.out.endswith(f"memrank run {stem}.yaml\n")
    assert call("check", f"{stem}.yaml").code == 0
    ran = call("run", f"{stem}.yaml", "--json", "--strict")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["results"]


def test_init_writes_into_a_folder_that_is_there(tmp_path: Path) -> None:
    assert call("init", tmp_path / "notes").code == 0
    assert call("run", tmp_path / "notes.yaml").code == 0
    missing = call("init", tmp_path / "no" / "notes")
    assert (missing.code, "no such folder" in missing.err) == (2, True)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "Notes", "a b", "-x", "_x", "ü", "x" * 65, "a.b", "folder/", "x.yml", "a\nb"]
)
def test_init_refuses_names_that_a_spec_cannot_have(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert call("init", "--", name).code == 2
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("there", ["notes.yaml", "notes.memories.jsonl"])
def test_init_replaces_nothing_unless_told_to(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    answer = call("init", tmp_path / "notes")
    assert (answer.code, there in answer.err) == (2, True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(there, "mine")]
    assert call("init", tmp_path / "notes", "--force").code == 0
    assert call("run", tmp_path / "notes.yaml").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_init_where_nothing_may_be_written(open_desk: Path, ordinary_user: None) -> None:
    answer = call("init", open_desk.with_name("notes"))
    assert (answer.code, "Permission denied" in answer.err) == (3, True)


def test_check_reports_every_fault_of_every_file(desk: Path) -> None:
    wrong, missing = desk.with_name("wrong.yaml"), desk.with_name("missing.yaml")
    wrong.write_text(SPEC.replace("memrank: 1", "memrank: 2").replace("temporal.v1", "temporal.v9"))
    answer = call("check", desk, wrong, missing)
    assert answer.code == 2
    assert answer.out == f"{desk}: ok\n"
    assert [line.split(": ")[0] for line in answer.err.splitlines()] == [
        f"{wrong}:1:10",
        f"{wrong}:8:12",
        f"{missing}:1:1",
    ]
    assert call("check", desk).code == 0
    assert call("check").code == 2


def test_check_as_json_lists_faults_by_file(desk: Path) -> None:
    wrong = desk.with_name("wrong.yaml")
    wrong.write_text("memrank: 1\n")
    answer = call("check", wrong, desk, "--json")
    assert (answer.code, answer.err) == (2, "")
    assert list(answer.json) == [str(wrong), str(desk)]
    assert answer.json[str(desk)] == []
    assert all(fault.startswith(f"{wrong}:1:1: ") for fault in answer.json[str(wrong)])
    assert (call("check", desk, "--json").code, call("check", desk, "--json").json) == (0, {str(desk): []})


def test_shipped_specs_are_right_and_run(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = sorted((ROOT / "pipelines").glob("*.yaml"))
    assert len(specs) >= 5
    monkeypatch.chdir(os.path.realpath("/"))
    assert call("check", *specs).code == 0
    for spec in specs:
        assert call("run", spec).code == 0


def test_the_schema_is_the_one_that_the_shipped_specs_name() -> None:
    shown = call("schema")
    assert (shown.code, shown.err) == (0, "")
    how = "run: memrank schema > pipelines/memrank.schema.json"
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == shown.json, how
    for spec in (ROOT / "pipelines").glob("*.yaml"):
        text = spec.read_text(encoding="utf-8")
        assert "$schema=memrank.schema.json" in text.splitlines()[0]
    jsonschema.Draft202012Validator.check_schema(shown.json)
    jsonschema.validate(yaml.safe_load(SPEC.replace(", as_of: 2026-03-20T09:00:00Z", "")), shown.json)
