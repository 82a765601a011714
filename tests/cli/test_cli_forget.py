"""`memrank store forget`: asks, deletes, proves."""

from pathlib import Path

import pytest
from calling import SPEC, call, write_lines

SAID = {"n": "long enough a text", "m": "short"}
TEXT = b"late in the afternoon"


@pytest.fixture
def kept(desk: Path) -> Path:
    """A store beside the spec, and a read of it in a log."""
    source, store = desk.with_name("memories.jsonl"), desk.with_name("memories.db")
    assert call("store", "import", source, "--to", store, "--embedder", "none").code == 0
    text = SPEC.replace("{kind: jsonl.v1, path: memories.jsonl}", "{kind: sqlite.v1, path: memories.db}")
    desk.write_text(f"{text}reads: {{log: log.db}}\n")
    assert call("run", desk).code == 0
    source.unlink()
    return store


def raw(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("*.db*"))


def test_it_is_gone_everywhere_and_a_replay_says_unavailable(kept: Path) -> None:
    log, spec = kept.with_name("log.db"), kept.with_name("desk.yaml")
    assert TEXT in raw(kept.parent)
    answer = call("store", "forget", kept, "m2", "--log", log, "--yes", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["changed"] == {str(kept): 1, str(log): 1}
    assert answer.json["found"] == []
    assert answer.json["bytes_scanned"] > 10_000
    assert TEXT not in raw(kept.parent)
    assert [row["id"] for row in call("store", "export", kept).rows] == ["m1", "m3"]
    (line,) = call("reads", "log", "--log", log, "--json").json
    replayed = call("reads", "replay", line["read_id"], "--spec", spec, "--json")
    assert (replayed.code, replayed.json["reproduced"], replayed.json["unavailable"]) == (1, None, ["m2"])
    assert "unavailable: m2" in call("reads", "replay", line["read_id"], "--spec", spec).out
    what_if = call("reads", "replay", line["read_id"], "--spec", spec, "--set", "temporal.half_life=3d")
    assert (what_if.code, "unavailable" in what_if.err) == (3, True)
    shown = call("reads", "show", line["read_id"], "--log", log, "--json").json
    gone = next(item for item in shown["result"]["results"] if item["id"] == "m2")
    assert gone["unavailable"]
    assert "content" not in gone
    assert gone["score"] > 0
    again = call("store", "forget", kept, "m2", "--log", log, "--yes")
    assert (again.code, "nothing holds a memory 'm2'" in again.err) == (3, True)


def test_people_are_told(kept: Path) -> None:
    answer = call("store", "forget", kept, "m2", "--log", kept.with_name("log.db"), "--yes")
    assert answer.out.splitlines()[0] == f"{kept}: 1 deleted"
    assert answer.out.splitlines()[-1].endswith(": 0 found")


def test_a_log_alone_can_still_hold_it(kept: Path) -> None:
    log = kept.with_name("log.db")
    assert call("store", "forget", kept, "m2", "--yes").code == 0
    assert TEXT in raw(kept.parent)
    assert call("store", "forget", kept, "m2", "--log", log, "--yes").code == 0
    assert TEXT not in raw(kept.parent)


def test_nothing_is_deleted_unasked(kept: Path) -> None:
    answer = call("store", "forget", kept, "m2")
    assert (answer.code, "--yes" in answer.err) == (2, True)
    assert len(call("store", "export", kept).rows) == 3


def test_what_cannot_be_forgotten(kept: Path, tmp_path: Path) -> None:
    unknown = call("store", "forget", kept, "nobody", "--yes")
    assert (unknown.code, "nothing holds" in unknown.err) == (3, True)
    missing = call("store", "forget", tmp_path / "gone.db", "m2", "--yes")
    assert (missing.code, "no such store" in missing.err) == (3, True)
    file = tmp_path / "m.jsonl"
    file.write_text('{"id": "a", "content": "x"}\n')
    never = call("store", "forget", file, "a", "--yes")
    assert (never.code, "never writes" in never.err) == (2, True)
    no_log = call("store", "forget", kept, "m2", "--log", tmp_path / "gone.db", "--yes")
    assert (no_log.code, "no such read log" in no_log.err) == (3, True)
    assert len(call("store", "export", kept).rows) == 3


def test_several_tenants(tmp_path: Path) -> None:
    source, store = tmp_path / "m.jsonl", tmp_path / "m.db"
    write_lines(source, [{"id": "a", "namespace": name, "content": text} for name, text in SAID.items()])
    call("store", "import", source, "--to", store, "--embedder", "none")
    unclear = call("store", "forget", store, "a", "--yes")
    assert (unclear.code, "2 namespaces hold" in unclear.err) == (3, True)
    assert call("store", "forget", store, "a", "--namespace", "n", "--yes").code == 0
    short = call("store", "forget", store, "a", "--namespace", "m", "--yes")
    assert (short.code, short.out.splitlines()[-1]) == (1, "its text is too short to be looked for")
