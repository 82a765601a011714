"""A sealed set says when it is no longer what it was."""

import json
from pathlib import Path

import pytest
from evals.sets import query, write_rows, write_set

from memrank.errors import DataError, UsageError
from memrank.evals.check import seal_evalset
from memrank.evals.evalset import load
from memrank.evals.manifest import differences, read_manifest
from memrank.fileio import sha256_hex

GOOD = {"format": "memrank.evalset/1", "name": "x", "version": "1", "licence": None, "counts": {}, "files": {}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "office", [query("q1", meta={"scores": {"new": {"relevance": 1}}}), query("q2")])


def test_it_holds_counts_and_hashes(folder: Path) -> None:
    seal_evalset(folder, licence="MIT")
    body = json.loads((folder / "manifest.json").read_text())
    assert (body["format"], body["name"], body["version"], body["licence"]) == (
        *("memrank.evalset/1", "office"),
        *("1", "MIT"),
    )
    assert body["counts"] == {
        "memories": 5,
        "namespaces": 2,
        "queries": 2,
        "fit": 2,
        "choose": 0,
        "report": 0,
        "scored_pairs": 1,
        "labelled_twice": 0,
    }
    assert set(body["files"]) == {"README.md", "memories.jsonl", "queries.jsonl"}
    for name, digest in body["files"].items():
        assert digest == sha256_hex((folder / name).read_bytes())


def test_what_is_as_sealed_is_read_without_a_word(folder: Path) -> None:
    assert load(folder).notes == ()
    sealed = seal_evalset(folder)
    assert load(folder).notes == ()
    assert read_manifest(folder) == sealed
    assert differences(folder, sealed) == []


def test_what_has_changed_is_named_when_it_is_read(folder: Path) -> None:
    sealed = seal_evalset(folder)
    write_rows(folder / "queries.jsonl", [query("q1")])
    write_rows(folder / "second.jsonl", [])
    (folder / "README.md").unlink()
    assert differences(folder, sealed) == [
        "README.md is missing",
        "queries.jsonl is not as it was sealed",
        "second.jsonl is not in the manifest",
    ]
    (note,) = load(folder).notes
    assert (note.level, note.code, note.count) == ("repair", "not_as_sealed", 3)


def test_a_manifest_is_read_as_it_stands(folder: Path) -> None:
    (folder / "manifest.json").write_text(json.dumps(GOOD))
    found = read_manifest(folder)
    assert found is not None
    assert (found.name, found.version, found.licence, found.counts, found.files) == ("x", "1", None, {}, {})


def test_another_readme_is_no_other_data(folder: Path) -> None:
    sealed = seal_evalset(folder)
    (folder / "README.md").write_text("More about it.\n")
    assert load(folder).notes == ()
    assert differences(folder, sealed) == ["README.md is not as it was sealed"]
    assert seal_evalset(folder).version == "1"
    assert differences(folder, seal_evalset(folder)) == []


def test_other_data_need_another_version(folder: Path) -> None:
    seal_evalset(folder, version="1", licence="MIT")
    before = (folder / "manifest.json").read_bytes()
    write_rows(folder / "queries.jsonl", [query("q1")])
    for version in (None, "1"):
        with pytest.raises(UsageError, match="not those of version 1"):
            seal_evalset(folder, version=version)
    assert (folder / "manifest.json").read_bytes() == before
    again = seal_evalset(folder, version="2")
    assert (again.version, again.licence, again.counts["queries"]) == ("2", "MIT", 1)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format": "memrank.evalset/2"}',
        '{"format": "memrank.evalset/1"}',
        *(json.dumps(GOOD | change) for change in ({"version": 1}, {"files": []}, {"files": {"a": 1}}, {"counts": 3})),
        "[" * 100_000,
    ],
)
def test_a_manifest_that_is_none_is_an_error(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json"):
        load(folder)
    with pytest.raises(DataError, match=r"manifest\.json"):
        read_manifest(folder)
