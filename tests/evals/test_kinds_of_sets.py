"""Golden sets of every kind are told apart, checked and sealed."""

from pathlib import Path
from typing import Any

import pytest
from evals.sets import query, write_set
from talking import talk, written

from memrank.errors import DataError, UsageError
from memrank.evals.conversations import load_conversations
from memrank.evals.goldenpairs import read_pairs
from memrank.evals.kinds import check, kind_of, seal_set
from memrank.evals.manifest import read_manifest
from memrank.types import Notes

SHIPPED = Path(__file__).resolve().parents[2] / "evalsets"
Row = dict[str, Any]


def pair(name: str, *, label: bool = True, **fields: Any) -> Row:
    older = {"id": f"{name}-a", "content": f"The office of {name} is in Bergen.", "created_at": "2026-01-01"}
    newer = {"id": f"{name}-b", "content": f"The office of {name} moved to Oslo.", "created_at": "2026-02-01"}
    return {"id": name, "domain": "home", "label": label, "kind": "value", "older": older, "newer": newer} | fields


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for part, first in (("fit", 0), ("report", 30), ("plain", 60)):
        written(folder / f"{part}.jsonl", [pair(f"p{k}", label=k % 2 == 0) for k in range(first, first + 24)])
    (folder / "README.md").write_text("Pairs for a test.\n", encoding="utf-8")
    return folder


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    folder = tmp_path / "talks"
    folder.mkdir()
    written(folder / "fit.jsonl", [talk(f"f{k}") for k in range(20)])
    written(folder / "report.jsonl", [talk(f"r{k}") for k in range(21)])
    written(folder / "phrases.jsonl", [{"said": ["Hello."]}])
    (folder / "README.md").write_text("Conversations for a test.\n", encoding="utf-8")
    return folder


def codes(folder: Path) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in check(folder).findings]


def test_kinds_are_told_by_their_files(pairs: Path, talks: Path, tmp_path: Path) -> None:
    assert [kind_of(pairs), kind_of(talks)] == ["pairs", "conversations"]
    assert kind_of(write_set(tmp_path / "set", [query("q1")])) == "queries"
    written(pairs / "fit.jsonl", ["{broken", pair("p1")])  # what is broken is told when it is read
    assert kind_of(pairs) == "pairs"
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(DataError, match="no evalset there"):
            kind_of(folder)
    written(tmp_path / "fit.jsonl", [{"neither": 1}, [], 3])
    with pytest.raises(DataError, match="no evalset there"):
        check(tmp_path)


def test_sound_pairs(pairs: Path) -> None:
    found = check(pairs)
    assert (found.kind, found.passed, found.manifest) == ("pairs", True, None)
    assert found.counts == {"pairs": 72, "true": 36, "groups": 72, "fit": 24, "report": 24, "plain": 24}
    assert codes(pairs) == [("remark", "no_manifest")]


def test_sound_conversations(talks: Path) -> None:
    found = check(talks)
    assert (found.kind, found.passed) == ("conversations", True)
    assert found.counts == {"conversations": 41, "moments": 41, "questions": 41, "fit": 20, "report": 21, "phrases": 1}
    assert codes(talks) == [("remark", "no_manifest")]


@pytest.mark.parametrize(
    ("part", "rows", "expected"),
    [
        ("report", [pair("p0")], ("fault", "id_across_parts")),
        ("report", [pair("x", split_group="p0")], ("fault", "group_across_parts")),
        ("report", [pair("p0", id="x")], ("fault", "pair_across_parts")),
        ("fit", [pair("p0"), pair("p0", id="x", label=False)], ("fault", "label_conflict")),
        ("report", [pair("x"), pair("y")], ("remark", "unbalanced")),
        ("report", [pair("x")], ("remark", "small_part")),
    ],
)
def test_what_is_wrong_with_pairs(part: str, rows: list[Row], expected: tuple[str, str], pairs: Path) -> None:
    written(pairs / f"{part}.jsonl", rows)
    assert expected in codes(pairs)


def test_one_pair_is_counted_as_one(pairs: Path) -> None:
    written(pairs / "report.jsonl", [pair("x")])
    said = {one.code: one.detail for one in check(pairs).findings if one.where == "report"}
    assert said["small_part"].startswith("it has 1 pair;")
    assert said["unbalanced"] in ("1 pair, all of them true", "1 pair, all of them false")


def test_a_conversation_on_two_sides_and_one_without_questions(talks: Path) -> None:
    written(talks / "report.jsonl", [talk("other", split_group="f0", question=False)])
    assert ("fault", "group_across_parts") in codes(talks)
    written(talks / "fit.jsonl", [talk("a", question=False)])
    assert ("remark", "no_questions") in codes(talks)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{broken", "not valid JSON"),
        ([1], "not a JSON object"),
        (pair("x", id=""), "id is not a text"),
        (pair("x", id=7), "id is not a text"),
        (pair("x", label="true"), "label is not true or false"),
        (pair("x", label=None), "label is not true or false"),
        (pair("x", older="text"), "older is not a memory"),
        (pair("x", newer={"id": "n"}), "newer: "),
        (pair("x", domain=3), "domain is not a text"),
        (pair("p0"), "stands at"),
    ],
)
def test_no_pair_is_left_out(row: object, said: str, pairs: Path) -> None:
    written(pairs / "fit.jsonl", [pair("p0"), row])
    with pytest.raises(DataError, match=rf"fit\.jsonl:2: .*{said}"):
        check(pairs)
    with pytest.raises(DataError, match=said):
        seal_set(pairs)
    assert not (pairs / "manifest.json").exists()


def test_an_empty_file_of_pairs_and_repairs(pairs: Path) -> None:
    written(pairs / "plain.jsonl", [])
    assert check(pairs).counts["plain"] == 0
    row = pair("x", older={"id": "a", "content": "It rains.", "created_at": "someday"})
    notes = Notes()
    (found,) = read_pairs(written(pairs / "plain.jsonl", [row]), notes)
    assert (found.id, found.group, found.older.created_at) == ("x", "x", None)
    assert [note.level for note in notes.as_tuple()] == ["repair"]
    assert not check(pairs).passed


@pytest.mark.parametrize("name", ["pairs", "talks"])
def test_a_changed_file_is_reported(name: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(name)
    sealed = seal_set(folder, version="3", licence="MIT")
    assert read_manifest(folder) == sealed
    assert (sealed.version, sealed.licence, sealed.counts) == ("3", "MIT", check(folder).counts)
    assert codes(folder) == []
    with (folder / "report.jsonl").open("a", encoding="utf-8") as stream:
        stream.write("\n")
    found = check(folder)
    assert [(one.code, one.detail) for one in found.findings] == [
        ("not_as_sealed", "report.jsonl is not as it was sealed")
    ]
    assert not found.passed
    with pytest.raises(UsageError, match="not those of version 3"):
        seal_set(folder)
    assert seal_set(folder, version="4").version == "4"
    assert check(folder).passed


def test_whoever_reads_conversations_is_told(talks: Path) -> None:
    seal_set(talks)
    assert load_conversations(talks).notes == ()
    (talks / "phrases.jsonl").unlink()
    (note,) = load_conversations(talks, "fit").notes
    assert (note.level, note.code) == ("repair", "not_as_sealed")
    assert "phrases.jsonl is missing" in note.detail
    assert load_conversations(talks / "fit.jsonl").notes == ()


def test_what_belongs_to_a_set_is_json(talks: Path) -> None:
    written(talks / "phrases.jsonl", ["{broken"])
    with pytest.raises(DataError, match=r"phrases\.jsonl:1"):
        check(talks)


@pytest.mark.parametrize("name", ["contradictions", "conversations"])
def test_what_is_shipped_is_sealed_and_sound(name: str) -> None:
    found = check(SHIPPED / name)
    assert found.findings == []
    assert found.manifest is not None
    assert found.manifest.counts == found.counts
    assert found.manifest.licence == "MIT"
