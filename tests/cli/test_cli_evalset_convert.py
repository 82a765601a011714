"""`memrank evalset import` and `export`: exit codes, what is said where, and nothing lost."""

import json
from pathlib import Path

import pytest
from calling import call
from foreign import TREC, beir, locomo, put, put_json


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """An evalset that was imported from a BEIR folder."""
    source = put(tmp_path / "set", beir())
    assert call("evalset", "import", source, "--to", tmp_path / "made", "--quiet").code == 0
    return tmp_path / "made"


def test_counts_go_to_stdout_and_notes_to_stderr(tmp_path: Path) -> None:
    source, target = put(tmp_path / "set", beir()), tmp_path / "made"
    answer = call("evalset", "import", source, "--to", target)
    assert (answer.code, answer.out) == (0, f"{target}: 3 memories, 2 queries, read as beir\n")
    assert "a query has no judgements; it was left out [query_unjudged]" in answer.err
    again = call("evalset", "import", source, "--to", target, "--force", "--json", "--quiet", "--format", "beir")
    assert (again.code, again.err) == (0, "")
    assert again.json == {"format": "beir", "memories": 3, "queries": 2, "notes": 1}


def test_what_is_there_stays_unless_forced(made: Path) -> None:
    before = (made / "queries.jsonl").read_bytes()
    source = put(made.with_name("trec"), TREC)
    answer = call("evalset", "import", source, "--to", made)
    assert (answer.code, answer.out) == (2, "")
    assert "there already" in answer.err
    assert "--force" in answer.err
    assert (made / "queries.jsonl").read_bytes() == before
    assert call("evalset", "import", source, "--to", made, "--force").code == 0


def test_wrong_data_is_3_and_strict_writes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "made"
    answer = call("evalset", "import", tmp_path / "gone", "--to", target)
    assert (answer.code, answer.out) == (3, "")
    assert "no such file or folder" in answer.err
    source = put_json(tmp_path / "locomo10.json", locomo())
    strict = call("evalset", "import", source, "--to", target, "--strict")
    assert (strict.code, strict.out) == (3, "")
    assert "names a turn that is not there" in strict.err
    assert not target.exists()
    assert call("evalset", "import", source, "--to", target, "--format", "csv").code == 2


def test_labels_come_out_as_they_went_in(made: Path) -> None:
    put(made.with_name("set"), {"qrels/test.tsv": "q1\td1\t2\nq2\td2\t1\n"})
    assert call("evalset", "import", made.with_name("set"), "--to", made, "--force", "-q").code == 0
    answer = call("evalset", "export", made)
    assert (answer.code, answer.out, answer.err) == (0, "q1 0 d1 2\nq2 0 d2 1\n", "")
    assert call("evalset", "export", made, "--format", "ranx").json == {"q1": {"d1": 2}, "q2": {"d2": 1}}


def test_a_part_is_exported_alone(made: Path) -> None:
    rows = [json.loads(line) for line in (made / "queries.jsonl").read_text().splitlines()]
    rows = [{**row, "relevant": ["d1"], "split": split} for row, split in zip(rows, ("fit", "report"), strict=True)]
    (made / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("evalset", "export", made, "--part", "report").out == "q2 0 d1 1\n"
    assert call("evalset", "export", made, "--part", "choose").out == ""


def test_export_replaces_no_file_unasked(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "qrels.json"
    out.write_text("mine")
    refused = call("evalset", "export", made, "--format", "ranx", "--to", out)
    assert (refused.code, refused.out, out.read_text()) == (2, "", "mine")
    assert call("evalset", "export", made, "--format", "ranx", "--to", out, "--force").code == 0
    assert json.loads(out.read_text())["q2"] == {"d2": 1}
    own = call("evalset", "export", made, "--format", "ranx", "--to", made / "queries.jsonl", "--force")
    assert own.code == 2
    assert "would replace what is read" in own.err


def test_what_is_refused_is_called_by_its_name(made: Path) -> None:
    answer = call("evalset", "export", made, "--to", "")
    assert (answer.code, answer.out) == (2, "")
    assert "--to names no file" in answer.err


def test_an_id_with_a_blank_and_a_folder_that_is_no_set(made: Path, tmp_path: Path) -> None:
    refused = call("evalset", "export", made, "--to", tmp_path / "qrels.txt")
    assert (refused.code, refused.out) == (3, "")
    assert "'d 3' holds a blank" in refused.err
    assert not (tmp_path / "qrels.txt").exists()
    assert call("evalset", "export", tmp_path / "set").code == 3


def test_an_imported_set_can_be_run(made: Path, desk: Path) -> None:
    answer = call("run", desk, "--store", made / "memories.jsonl", "--queries", made / "queries.jsonl", "--rank-only")
    assert answer.code == 0
    assert [row["query_id"] for row in answer.rows] == ["q1", "q2"]
    assert answer.rows[0]["results"][0]["id"] == "d1"
