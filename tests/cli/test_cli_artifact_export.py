"""`memrank artifact export`: the query is all that stands on stdout; exit codes."""

import json
import sqlite3
from pathlib import Path

import pytest
from calling import call

TO = ("elasticsearch", "qdrant", "sql")


@pytest.mark.parametrize("to", TO)
def test_the_query_goes_to_stdout_and_what_it_leaves_out_to_stderr(to: str, desk: Path) -> None:
    found = call("artifact", "export", desk, "--format", to)
    assert found.code == 0
    assert "supersession" in found.err
    assert "formula_of" not in found.err
    if to == "sql":
        with sqlite3.connect(":memory:") as connection:
            connection.execute("CREATE TABLE memories (id, relevance, effective_at)")
            connection.execute("INSERT INTO memories VALUES ('m1', 0.5, 0), ('m2', 0.5, 1209600)")
            rows = connection.execute(found.out, {"as_of": 1209600}).fetchall()
        assert [row[0] for row in rows] == ["m2", "m1"]
        assert [row[1] for row in rows] == pytest.approx([0.6 * 0.5 + 0.4, 0.6 * 0.5 + 0.4 * 0.5])
    else:
        assert "query" in json.loads(found.out)


@pytest.mark.parametrize("to", TO)
def test_a_check_tells_how_far_apart_they_are(to: str, desk: Path) -> None:
    found = call("artifact", "export", desk, "--format", to, "--check", "--json")
    assert found.code == 0
    assert found.json["agreed"] is True
    assert found.json["disagreed"] == 0
    assert found.json["largest_difference"] < 1e-9
    assert (found.json["single_precision"] is None) == (to == "sql")
    told = call("artifact", "export", desk, "--format", to, "--check")
    assert "largest difference of scores" in told.out


def test_a_check_that_finds_a_difference_exits_with_one(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memrank.export.sql._composite", lambda formula: "relevance")
    found = call("artifact", "export", desk, "--format", "sql", "--check")
    assert found.code == 1
    assert "largest difference" in found.out


def test_it_is_written_to_a_file_but_never_over_its_source(desk: Path, tmp_path: Path) -> None:
    out = tmp_path / "query.sql"
    assert call("artifact", "export", desk, "--format", "sql", "--out", out, "-q").err == ""
    assert out.read_text().startswith("-- desk: ")
    refused = call("artifact", "export", desk, "--format", "sql", "--out", desk)
    assert refused.code == 2
    assert "would replace" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "--format"),
        (("--format", "sql", "--json"), 2, "--json goes with --check"),
        (("--format", "sql", "--as-of", "2026-01-01"), 2, ":as_of"),
        (("--format", "sql", "--score-at-1", "2"), 2, "--score-at-1"),
        (("--format", "qdrant", "--score-at-1", "0"), 2, "--score-at-1"),
        (("--format", "qdrant", "--as-of", "soon"), 2, "--as-of"),
        (("--format", "qdrant", "--sensitivity", "historical"), 2, "period"),
        (("--format", "qdrant", "--field", "colour=x"), 2, "colour"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], code: int, said: str, desk: Path) -> None:
    found = call("artifact", "export", desk, *arguments)
    assert (found.code, found.out) == (code, "")
    assert said in found.err


def test_files_that_are_none(desk: Path, tmp_path: Path) -> None:
    assert call("artifact", "export", tmp_path / "no.yaml", "--format", "sql").code == 2
    (tmp_path / "broken.json").write_text("{")
    found = call("artifact", "export", tmp_path / "broken.json", "--format", "sql")
    assert (found.code, found.out) == (3, "")
    assert "it is no JSON" in found.err
