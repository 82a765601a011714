"""`memrank store import` and `export`: nothing is lost, and a store is whole at every moment."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from calling import MEMORIES, Answer, call, start, write_lines

RICH: list[dict[str, Any]] = [
    {
        "id": "r1",
        "content": "Dana's cat is called Mies. 猫\u2028 שלום",
        "created_at": "2026-03",
        "event_date": "2024",
        "importance": 0.25,
        "confidence": 0.5,
        "authority": 0.75,
        "memory_type": "fact",
        "valid_at": "2024-01-01",
        "invalid_at": "2026-02-03T04:05:06Z",
        "access_count": 3,
        "last_accessed_at": "2026-03-19T00:00:00Z",
        "pinned": True,
        "namespace": "u/dana",
        "agent_id": "a",
        "session_id": "s",
        "task_type": "t",
        "tags": ["x", "y"],
        "source_kind": "primary",
        "role": "user",
        "turn": 7,
        "speaker": "Dana",
        "aliases": ["D."],
        "superseded_by": "r2",
        "metadata": {"colour": "red", "deep": {"a": [1, None, 2.5, {"b": ""}]}},
        "unknown_key": {"kept": [True]},
    },
    {"id": "r2", "content": "", "namespace": None, "metadata": {}},
    {"id": "r1", "content": "Another tenant's record.", "namespace": "v", "created_at": "2026-03-01T10:00:00+05:30"},
]


def taken_in(file: Path, store: Path, *extra: object) -> Answer:
    return call("store", "import", file, "--to", store, "--embedder", "none", *extra)


def test_a_round_trip_loses_nothing(tmp_path: Path) -> None:
    source, store, copy = (tmp_path / name for name in ("in.jsonl", "memories.db", "copy.db"))
    write_lines(source, RICH)
    assert taken_in(source, store).code == 0
    direct, kept = call("store", "export", source), call("store", "export", store)
    assert (kept.code, kept.err) == (0, "")
    assert kept.out == direct.out
    first = kept.rows[0]
    assert (first["created_at"], first["event_date"], first["valid_at"]) == ("2026-03", "2024", "2024-01-01")
    for name, value in RICH[0].items():
        if name not in ("metadata", "unknown_key"):
            assert first[name] == value, name
    assert first["metadata"] == {**RICH[0]["metadata"], "unknown_key": {"kept": [True]}}
    # Exported, imported and exported again; and from store to store.
    again = tmp_path / "again.jsonl"
    assert call("store", "export", store, "--out", again).out == ""
    assert again.read_text(encoding="utf-8") == kept.out
    assert taken_in(again, copy).code == 0
    assert call("store", "export", copy).out == kept.out
    assert taken_in(store, tmp_path / "third.db").code == 0
    assert call("store", "export", tmp_path / "third.db").out == kept.out


def test_importing_twice_changes_nothing(desk: Path) -> None:
    store = desk.with_name("memories.db")
    first = taken_in(desk.with_name("memories.jsonl"), store, "--json")
    assert first.json == {"written": 3, "new": 3, "total": 3, "notes": 0}
    before = call("store", "export", store).out
    second = taken_in(desk.with_name("memories.jsonl"), store, "--json")
    assert second.json == {"written": 3, "new": 0, "total": 3, "notes": 0}
    assert call("store", "export", store).out == before


def test_namespace_and_scale_are_for_records_that_state_none(tmp_path: Path) -> None:
    rows = [{"id": "a", "content": "x", "importance": 10}, {"id": "b", "content": "y", "namespace": "own"}]
    source, store = write_lines(tmp_path / "in.jsonl", rows), tmp_path / "memories.db"
    assert taken_in(source, store, "--namespace", "n", "--importance-scale", "1-10").code == 0
    exported = call("store", "export", store).rows
    assert [(row["namespace"], row.get("importance")) for row in exported] == [("n", 1.0), ("own", None)]
    assert [row["id"] for row in call("store", "export", store, "--namespace", "own").rows] == ["b"]
    unknown = call("store", "export", store, "--namespace", "nobody", "--out", tmp_path / "out.jsonl")
    assert (unknown.code, "no namespace 'nobody'" in unknown.err) == (3, True)
    assert not (tmp_path / "out.jsonl").exists()


def test_repairs_are_told_and_strict_refuses_them(desk: Path) -> None:
    source, store = write_lines(desk.with_name("in.jsonl"), [*MEMORIES, "no json"]), desk.with_name("memories.db")
    strict = taken_in(source, store, "--strict")
    assert (strict.code, strict.out) == (3, "")
    assert "in.jsonl:4" in strict.err
    assert not store.exists()
    assert (call("store", "export", source, "--strict").code, call("store", "export", source, "--strict").out) == (
        3,
        "",
    )
    lenient = taken_in(source, store, "--json")
    assert (lenient.json["written"], lenient.json["notes"]) == (3, 1)
    assert "bad_line" in lenient.err
    assert "bad_line" in call("store", "export", source).err
    assert taken_in(source, store, "-q").err == ""
    assert call("store", "export", source, "-q").err == ""


def test_what_cannot_be_imported_leaves_no_store(tmp_path: Path) -> None:
    store = tmp_path / "memories.db"
    for name, data in {
        "gone": None,
        "bad.jsonl": b"no json\n",
        "garbage": bytes(range(256)),
        "zip": b"PK\x03\x04",
    }.items():
        if data is not None:
            (tmp_path / name).write_bytes(data)
        answer = taken_in(tmp_path / name, store)
        assert (answer.code, answer.out) == (3, "")
        assert name in answer.err
    assert not store.exists()


def test_what_is_no_store_stays_as_it_is(desk: Path) -> None:
    source = desk.with_name("memories.jsonl")
    for target in (desk, desk.parent, desk.parent / "no" / "memories.db"):
        assert taken_in(source, target).code == 3
    same = taken_in(source, source)
    assert (same.code, "into itself" in same.err) == (2, True)
    assert [json.loads(line) for line in source.read_text().splitlines()] == list(MEMORIES)
    assert not (desk.parent / "no").exists()


def test_export_never_replaces_the_store(desk: Path) -> None:
    store = desk.with_name("memories.db")
    taken_in(desk.with_name("memories.jsonl"), store)
    before = store.read_bytes()
    answer = call("store", "export", store, "--out", store)
    assert (answer.code, "would replace" in answer.err) == (2, True)
    assert store.read_bytes() == before
    assert call("store", "export", desk.with_name("gone.db")).code == 3


def test_a_store_of_another_analyzer_says_so(desk: Path) -> None:
    store = desk.with_name("memories.db")
    taken_in(desk.with_name("memories.jsonl"), store)
    other = call("run", desk, "--store", store, "--queries", "-", stdin=b'{"id": "q", "query": "x"}\n')
    assert other.code == 0
    desk.write_text(desk.read_text().replace("embedder: none", "embedder: none, language: none"))
    for extra in ([], ["--queries", "-"]):
        answer = call("run", desk, "--store", store, *extra, stdin=b'{"id": "q", "query": "x"}\n')
        assert (answer.code, answer.out) == (3, "")
        assert "indexed as" in answer.err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_import_that_is_stopped_leaves_the_old_store(number: signal.Signals, desk: Path) -> None:
    store = desk.with_name("memories.db")
    taken_in(desk.with_name("memories.jsonl"), store)
    before = call("store", "export", store).out
    rows = [{"id": f"n{n}", "content": f"Number {n} " + "of many words about it " * 20} for n in range(30_000)]
    many = write_lines(desk.with_name("many.jsonl"), rows)
    log = Path(f"{store}-wal")
    log.unlink(missing_ok=True)
    arguments = ("store", "import", many, "--to", store, "--embedder", "none")
    process = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (log.exists() and log.stat().st_size) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (-9 if number == signal.SIGKILL else 130, b"")
    assert err == (b"" if number == signal.SIGKILL else b"interrupted\n")
    assert call("store", "export", store).out == before
