"""`memrank evalset`: what it prints, and its exit codes."""

import json
from pathlib import Path

import jsonschema
import pytest
from calling import call
from evals.sets import query, write_rows, write_set
from talking import talk, written

FIGURE = {"type": "object", "required": ["value", "low", "high", "n"]}
SCHEMA = {
    "type": "object",
    "required": ["schema", "passed", "sets"],
    "properties": {
        "schema": {"const": "memrank.evalset-check/1"},
        "sets": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    "folder",
                    "kind",
                    "passed",
                    "version",
                    "licence",
                    "counts",
                    "parts",
                    "rules",
                    "agreement",
                    "findings",
                ],
                "properties": {
                    "folder": {"type": "string"},
                    "kind": {"enum": ["queries", "pairs", "conversations"]},
                    "passed": {"type": "boolean"},
                    "version": {"type": ["string", "null"]},
                    "licence": {"type": ["string", "null"]},
                    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "parts": {"type": "object", "required": ["fit", "choose", "report"]},
                    "rules": {
                        "type": "object",
                        "required": ["bm25", "dense", "newest"],
                        "additionalProperties": {"required": ["right_first", "right", "queries"]},
                    },
                    "agreement": {
                        "oneOf": [
                            {"type": "null"},
                            {
                                "type": "object",
                                "properties": {
                                    "kappa": FIGURE,
                                    "correlation": {"additionalProperties": FIGURE},
                                    "mae": {"additionalProperties": FIGURE},
                                },
                            },
                        ]
                    },
                    "findings": {
                        "type": "array",
                        "items": {
                            "required": ["level", "code", "where", "detail"],
                            "properties": {"level": {"enum": ["fault", "remark"]}},
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    folder = write_set(tmp_path / "good", [query("q1"), query("q2")])
    scores = {name: {"relevance": r, "freshness": 0.5, "combined": r} for name, r in (("new", 1), ("old", 0.5))}
    write_rows(folder / "second.jsonl", [{"id": name, "relevant": ["new"], "scores": scores} for name in ("q1", "q2")])
    return folder


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return write_set(tmp_path / "bad", [query("q1", relevant=["nobody\x1b[31m"], meta={"current": []})])


def test_a_sound_set_is_0_and_says_what_is_in_it(good: Path) -> None:
    answer = call("evalset", "check", good)
    assert (answer.code, answer.err) == (0, "")
    first, *_ = answer.out.split("\n")
    assert first == f"{good}: ok; not sealed; 5 memories of 2 namespaces, 2 queries, 0 scored pairs"
    for shown in ("part", "fit", "plain rule", "bm25", "second annotator", "kappa", "remark", "no_manifest"):
        assert shown in answer.out
    assert "fault " not in answer.out


def test_a_fault_is_1_and_its_text_is_harmless(good: Path, bad: Path) -> None:
    answer = call("evalset", "check", good, bad)
    assert answer.code == 1
    assert f"{bad}: faults" in answer.out
    assert "unknown_id" in answer.out
    assert "\x1b" not in answer.out


def test_json_keeps_to_its_schema(good: Path, bad: Path) -> None:
    answer = call("evalset", "check", good, bad, "--json")
    assert answer.code == 1
    body = answer.json
    jsonschema.validate(body, SCHEMA)
    assert (body["passed"], [one["passed"] for one in body["sets"]]) == (False, [True, False])
    assert body["sets"][0]["agreement"]["kappa"]["value"] == 1.0
    assert body["sets"][0]["agreement"]["correlation"]["freshness"]["value"] is None
    assert body["sets"][1]["agreement"] is None
    assert call("evalset", "check", good, "--json").json["passed"] is True


def test_many_findings_are_cut_in_the_table_only(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", [query(f"q{k}", relevant=["nobody"], meta={"current": []}) for k in range(60)])
    answer = call("evalset", "check", folder)
    assert answer.out.count("unknown_id") == 11
    assert "50 more; --json has all" in answer.out
    found = call("evalset", "check", folder, "--json").json["sets"][0]["findings"]
    assert sum(one["code"] == "unknown_id" for one in found) == 60


def test_no_set_is_3(tmp_path: Path) -> None:
    for arguments in (["check"], ["seal"]):
        answer = call("evalset", *arguments, tmp_path / "none")
        assert (answer.code, answer.out) == (3, "")
        assert "no evalset there" in answer.err
    assert call("evalset", "check").code == 2


def test_sealing(good: Path) -> None:
    answer = call("evalset", "seal", good, "--licence", "MIT")
    assert (answer.code, answer.out) == (0, f"{good}: version 1 sealed, 4 files\n")
    assert "ok; version 1;" in call("evalset", "check", good).out
    write_rows(good / "queries.jsonl", [query("q1"), query("q3")])
    assert call("evalset", "check", good).code == 1
    answer = call("evalset", "seal", good)
    assert (answer.code, answer.out) == (2, "")
    assert "--version names the new one" in answer.err
    answer = call("evalset", "seal", good, "--version", "2", "--json")
    assert answer.code == 0
    assert (answer.json["version"], answer.json["licence"], answer.json["counts"]["queries"]) == ("2", "MIT", 2)
    assert json.loads((good / "manifest.json").read_text())["files"] == answer.json["files"]


def test_sets_of_another_kind(tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    written(folder / "fit.jsonl", [talk(f"t{k}") for k in range(20)])
    sealed = call("evalset", "seal", folder, "--licence", "MIT")
    assert (sealed.code, sealed.out) == (0, f"{folder}: version 1 sealed, 1 file\n")
    answer = call("evalset", "check", folder)
    assert answer.code == 0
    head = f"{folder}: ok; version 1; conversations 20, moments 20, questions 20, fit 20"
    assert answer.out.startswith(f"{head}\n")
    assert "plain rule" not in answer.out
    body = call("evalset", "check", folder, "--json").json["sets"][0]
    assert (body["kind"], body["licence"], body["rules"], body["parts"]) == ("conversations", "MIT", {}, {})
    written(folder / "fit.jsonl", [talk(f"t{k}") for k in range(21)])
    assert call("evalset", "check", folder).code == 1
    told = call("eval", "--conversations", folder, "--resamples", 100)
    assert told.code == 0
    assert "fit.jsonl is not as it was sealed" in told.err


def test_a_version_that_steers_the_terminal_is_shown_harmless(good: Path) -> None:
    sealed = call("evalset", "seal", good, "--version", "\x1b[31m2")
    assert (sealed.code, "\x1b" in sealed.out) == (0, False)
    assert "\x1b" not in call("evalset", "check", good).out


def test_a_query_with_half_a_surrogate_pair_is_checked(good: Path) -> None:
    write_rows(good / "queries.jsonl", [query("q1", query="Where \ud800 is it?")])
    answer = call("evalset", "check", good)
    assert answer.code in (0, 1)
    assert "plain rule" in answer.out
