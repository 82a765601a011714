"""Golden conversations are read whole, or refused with the place of what is wrong."""

from pathlib import Path
from typing import Any

import pytest
from talking import talk, written

from memrank.errors import DataError
from memrank.evals.conversations import load_conversations

SHIPPED = Path(__file__).resolve().parents[2] / "evalsets" / "conversations"


def test_a_file(tmp_path: Path) -> None:
    found = load_conversations(written(tmp_path / "mine.jsonl", [talk("a", split_group="g"), "", talk("b")]))
    assert (found.name, found.part, found.count) == ("mine", "all", 2)
    first, second = found.moments
    assert (first.group, second.group) == ("g", "b")
    assert [element.id for element in first.elements] == [f"e{k}" for k in range(1, 8)]
    assert first.needed == {"e2"}
    assert (first.domain, first.phase) == ("home", None)
    assert not found.notes


def test_the_parts_of_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "fit.jsonl", [talk("a")])
    written(tmp_path / "report.jsonl", [talk("b"), talk("c")])
    written(tmp_path / "phrases.jsonl", [{"text": "not a conversation"}])
    whole, report = load_conversations(tmp_path), load_conversations(tmp_path, "report")
    assert [moment.conversation for moment in whole.moments] == ["a", "b", "c"]
    assert [moment.conversation for moment in report.moments] == ["b", "c"]
    assert report.part == "report"
    assert whole.sha256 != report.sha256
    with pytest.raises(DataError, match=r"no choose\.jsonl there, but fit\.jsonl, report\.jsonl"):
        load_conversations(tmp_path, "choose")


def test_labels_may_be_left_out(tmp_path: Path) -> None:
    row = talk()
    row["moments"] = [{"after": "e4", "message": "And now?"}]
    (moment,) = load_conversations(written(tmp_path / "x.jsonl", [row])).moments
    assert (moment.classes, moment.protected, moment.corrected, moment.later) == ({}, {}, {}, ())


def test_evidence_that_comes_later_is_not_needed_of_what_was_said(tmp_path: Path) -> None:
    row = talk()
    row["moments"][0]["later"][0]["evidence"] = ["e2", "e8"]
    (moment,) = load_conversations(written(tmp_path / "x.jsonl", [row])).moments
    assert moment.needed == {"e2"}


def test_what_is_shipped() -> None:
    found = load_conversations(SHIPPED)
    assert found.count == 44
    assert not found.notes


def test_repairs_are_noted(tmp_path: Path) -> None:
    row = talk()
    row["elements"].append(row["elements"][-1])
    found = load_conversations(written(tmp_path / "x.jsonl", [row]))
    assert [note.code for note in found.notes] == ["repeated_id"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("after", "e99", r"moments\[0\]: after is not the id of an element"),
        ("after", 3, r"moments\[0\]: after is not a text"),
        ("message", None, r"message is not a text"),
        ("phase", 1, r"phase is not a text"),
        ("classes", {"e1": 6}, "class from 1 to 5"),
        ("classes", {"e1": True}, "class from 1 to 5"),
        ("classes", {"e8": 1}, "of elements so far"),
        ("classes", [1], "an object of id to class"),
        ("protected", {"e1": "a whim"}, "commitment, open_question, pending_action"),
        ("protected", {"e8": "commitment"}, "ids of elements so far"),
        ("corrected", {"e1": "e8"}, "the id that corrects it"),
        ("corrected", {"e1": ["e2"]}, "the id that corrects it"),
        ("later", {"question": "?"}, r"later is not a list of objects"),
        ("later", [{"question": "?", "evidence": []}], r"later\[0\]: evidence is not a list of ids, one at least"),
        ("later", [{"question": "?", "evidence": ["e99"]}], "a list of ids of elements"),
        ("later", [{"question": "?", "evidence": [["e1"]]}], "a list of ids, one at least"),
        ("later", [{"evidence": ["e1"]}], r"later\[0\]: question is not a text"),
    ],
)
def test_a_wrong_moment(tmp_path: Path, name: str, value: Any, said: str) -> None:
    row = talk()
    row["moments"][0][name] = value
    path = written(tmp_path / "x.jsonl", [talk("before"), row])
    with pytest.raises(DataError, match=rf"x\.jsonl:2: .*{said}"):
        load_conversations(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "a", ', r"x\.jsonl:2: not valid JSON"),
        ("[1]", r"x\.jsonl:2: not a JSON object"),
        (talk("before"), r"x\.jsonl:2: the conversation 'before' stands at .*x\.jsonl:1 already"),
        ({**talk(), "id": None}, r"x\.jsonl:2: id is not a text"),
        ({**talk(), "elements": None}, r"x\.jsonl:2: elements is not a list of objects"),
        ({**talk(), "elements": [{"id": "e1", "role": "user"}]}, r"x\.jsonl:2: elements\[0\]"),
        ({**talk(), "moments": ["now"]}, r"x\.jsonl:2: moments is not a list of objects"),
        ({**talk(), "split_group": 4}, r"x\.jsonl:2: split_group is not a text"),
    ],
)
def test_a_wrong_line(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path / "x.jsonl", [talk("before"), line])
    with pytest.raises(DataError, match=said):
        load_conversations(path)


@pytest.mark.parametrize("rows", [[], [{**talk(), "moments": []}]])
def test_nothing_to_prune(tmp_path: Path, rows: list[object]) -> None:
    with pytest.raises(DataError, match="no conversation with a moment"):
        load_conversations(written(tmp_path / "x.jsonl", rows))


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no golden conversations there") as fault:
        load_conversations(tmp_path / "nowhere")
    assert fault.value.hint
