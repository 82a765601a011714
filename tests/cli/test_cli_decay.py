"""`memrank store decay`: what is shown, what is kept, and that nothing else of a store changes."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from calling import Answer, call, read_terminal, start, write_lines

import memrank
from memrank.indexing import Analyzer
from memrank.stores.sqlite import SqliteStore

NOW = "2026-03-20T09:00:00Z"
LATER = "2026-09-16T09:00:00Z"

ROWS: list[dict[str, Any]] = [
    {"id": "old", "content": "x", "created_at": "2025-09-21T09:00:00Z", "importance": 0.9, "memory_type": "fact"},
    {"id": "used", "content": "x", "created_at": NOW, "importance": 0.5, "access_count": 3, "memory_type": "fact"},
    {"id": "gone", "content": "x", "created_at": NOW, "importance": 1.0, "access_count": 9, "superseded_by": "old"},
    {"id": "undated", "content": "x", "importance": 0.2, "metadata": {"colour": "red"}},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "memories.jsonl", ROWS)


@pytest.fixture
def store(file: Path) -> Path:
    made = file.with_name("memories.db")
    assert call("store", "import", file, "--to", made, "--embedder", "none").code == 0
    return made


def decay(store: Path, *extra: object) -> Answer:
    return call("store", "decay", store, "--as-of", NOW, *extra)


def exported(store: Path) -> dict[str, Any]:
    return {row["id"]: row for row in call("store", "export", store).rows}


def ids(answer: Answer) -> list[str]:
    return [row["id"] for row in answer.json["memories"]]


def test_a_table_that_says_why_a_plot_and_what_was_done(store: Path) -> None:
    answer = decay(store)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.split("\n")
    assert lines[0] == "as of 2026-03-20T09:00:00Z"
    assert [line.split()[0] for line in lines[4:8]] == ["gone", "undated", "used", "old"]
    assert lines[4].endswith("superseded by old: floor 1")
    assert lines[7].endswith("7.97  0.797  9 of 10 x 0.98^6.0 months")
    assert "age in months" in answer.out
    assert lines[-2:] == ["4 memories; 4 values were written", ""]
    assert "age in months" not in decay(store, "--no-plot").out


def test_the_values_are_kept_and_nothing_else_changes(store: Path) -> None:
    before = exported(store)
    decay(store)
    after = exported(store)
    found = {}
    for name, row in after.items():
        found[name] = row["metadata"].pop("current_importance")
        assert row["metadata"].pop("current_importance_as_of") == NOW
        if not row["metadata"]:
            del row["metadata"]
    assert after == before
    assert found == {"gone": 0.1, "undated": 0.2, "used": 0.65, "old": pytest.approx(0.9 * 0.98**6)}


def test_keeping_the_values_is_no_change_of_the_store(store: Path, desk: Path) -> None:
    """Caches go on, and a replay finds every memory as it was: nothing that anybody said has changed."""
    desk.write_text(f"{desk.read_text()}reads: {{log: log.db, cache: {{size: 9}}}}\n")
    pipeline = memrank.load(desk, store=store)
    asked = {"query": "appointments", "as_of": NOW}
    first = pipeline(**asked)
    assert decay(store, "--json").json["written"] == 4
    again = pipeline(**asked)
    assert again.meta.cached
    assert again.meta.store_version == memrank.load(desk, store=store)(**asked).meta.store_version
    pipeline.close()
    arguments = ("reads", "replay", first.meta.read_id, "--log", desk.with_name("log.db"), "--store", store)
    replayed = call(*arguments, "--json").json
    assert (replayed["reproduced"], replayed["store"]["changed"], replayed["store"]["rerun"]) == (True, [], True)
    # A change of what is stated is one, whatever is kept beside it.
    text = write_lines(store.with_name("new.jsonl"), [{"id": "old", "content": "Another text.", "importance": 0.9}])
    assert call("store", "import", text, "--to", store, "--embedder", "none").code == 0
    assert call(*arguments, "--json").json["store"]["changed"] == ["old"]
    assert not pipeline(**asked).meta.cached
    pipeline.close()


def test_the_file_imported_again_keeps_the_values_and_the_version(store: Path, file: Path) -> None:
    decay(store)
    before = call("store", "export", store).out
    with SqliteStore(store, Analyzer(embedder="none")) as kept:
        version = kept.store_version()
        assert call("store", "import", file, "--to", store, "--embedder", "none").code == 0
        assert kept.store_version() == version
    assert call("store", "export", store).out == before


def test_run_again_it_writes_nothing_and_later_only_what_has_changed(store: Path) -> None:
    decay(store)
    before = call("store", "export", store).out
    assert decay(store, "--json").json["written"] == 0
    assert call("store", "export", store).out == before
    later = call("store", "decay", store, "--as-of", LATER, "--json")
    assert later.json["written"] == 2
    after = exported(store)
    # From what was stated, not from the value that was kept.
    assert after["old"]["metadata"]["current_importance"] == pytest.approx(0.9 * 0.98**12)
    assert after["old"]["metadata"]["current_importance_as_of"] == LATER
    assert after["gone"]["metadata"]["current_importance_as_of"] == NOW
    assert decay(store, "--json").json["written"] == 2
    assert call("store", "export", store).out == before


def test_dry_run_writes_nothing(store: Path) -> None:
    before = call("store", "export", store).out
    answer = decay(store, "--dry-run")
    assert answer.out.endswith("4 memories; nothing was written\n")
    assert answer.err == ""
    assert decay(store, "--dry-run", "--json").json["written"] is None
    assert call("store", "export", store).out == before


def test_a_file_is_never_written_and_says_so(file: Path, store: Path) -> None:
    before = file.read_bytes()
    answer = decay(file, "--json")
    assert (answer.code, answer.json["written"]) == (0, None)
    assert "files are not written" in answer.err
    assert file.read_bytes() == before
    assert answer.json["memories"] == decay(store, "--json").json["memories"]
    assert decay(file, "--quiet").err == decay(file, "--dry-run").err == ""


def test_json_is_whole(store: Path) -> None:
    found = decay(store, "--json").json
    assert {name: found[name] for name in ("schema", "store", "as_of", "total", "not_known_yet", "written")} == {
        "schema": "memrank.decay/1",
        "store": str(store),
        "as_of": NOW,
        "total": 4,
        "not_known_yet": 0,
        "written": 4,
    }
    assert found["importance"]["rate_per_month"] == 0.02
    assert found["memories"][3]["worth"] == pytest.approx(9 * 0.98**6, rel=1e-12)


def test_the_same_as_in_a_read(store: Path, desk: Path) -> None:
    said = {row["id"]: row["current_importance"] for row in decay(store, "--json", "--spec", desk).json["memories"]}
    read = call("run", desk, "--store", store, "--query", "x", "--as-of", NOW, "--rank-only", "--json").json
    assert {item["id"]: item["scores"]["importance"] for item in read["results"]} == said


def test_the_rules_are_those_of_the_spec(file: Path, desk: Path) -> None:
    rates = "{default: 0.1, fact: 0}"
    spec = desk.read_text().replace(
        "{kind: ranker.v1,", f"{{kind: ranker.v1, importance: {{floor: 3, rate_per_month: {rates}}},"
    )
    spec = spec.replace("path: memories.jsonl", "path: memories.jsonl, importance_scale: 1-10")
    desk.write_text(spec.replace("prefilter.hybrid.v1", "prefilter.hybrid.v1, future_tolerance: 30d"))
    write_lines(
        file,
        [{**row, "importance": 10 * row["importance"]} for row in ROWS]
        + [{"id": "soon", "content": "x", "created_at": "2026-04-01"}],
    )
    found = {row["id"]: row["worth"] for row in decay(file, "--json", "--spec", desk).json["memories"]}
    assert found == {"gone": 3.0, "undated": 3.0, "used": 6.5, "old": 9.0, "soon": 5.0}
    assert "10 % a month (fact 0 %)" in decay(file, "--spec", desk).out


def test_one_of_each_is_said_as_one(tmp_path: Path) -> None:
    rows = [{"id": "a", "content": "x", "created_at": "2026-01-01"}, {"id": "b", "content": "x", "created_at": "2028"}]
    store = tmp_path / "one.db"
    imported = call(
        "store", "import", write_lines(tmp_path / "in.jsonl", rows[:1]), "--to", store, "--embedder", "none"
    )
    assert imported.out == f"{store}: 1 memory written, 1 of them new, 1 in all\n"
    assert call("store", "decay", store, "--as-of", NOW).out.endswith("1 memory; 1 value was written\n")
    file = write_lines(tmp_path / "in.jsonl", rows)
    said = call("store", "decay", file, "--as-of", NOW, "--top", 1).out
    assert said.endswith("1 memory; 1 recorded after as_of is left out; nothing was written\n")
    late = call("store", "decay", file, "--as-of", "2029-01-01", "--top", 1).out
    assert late.endswith("1 of 2 memories is shown (--top); nothing was written\n")


def test_what_was_recorded_later_is_left_out_and_said(file: Path, store: Path) -> None:
    early = call("store", "decay", store, "--as-of", "2026-01-01", "--json").json
    assert (early["total"], early["not_known_yet"], early["written"]) == (2, 2, 2)
    assert (
        "2 memories; 2 recorded after as_of are left out" in call("store", "decay", file, "--as-of", "2026-01-01").out
    )
    assert "metadata" not in exported(store)["gone"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("worth", ["gone", "undated", "used", "old"]),
        ("stated", ["gone", "old", "used", "undated"]),
        ("age", ["old", "gone", "undated", "used"]),
        ("uses", ["gone", "used", "old", "undated"]),
        ("id", ["gone", "old", "undated", "used"]),
    ],
)
def test_orders(store: Path, order: str, expected: list[str]) -> None:
    assert ids(decay(store, "--json", "--sort", order)) == expected


def test_top_limits_what_is_shown_and_not_what_is_kept(tmp_path: Path) -> None:
    rows = [{"id": f"m{k:03}", "content": "x", "importance": k / 100} for k in range(60)]
    store = tmp_path / "memories.db"
    call("store", "import", write_lines(tmp_path / "in.jsonl", rows), "--to", store, "--embedder", "none")
    answer = decay(store, "--no-plot")
    assert len([line for line in answer.out.split("\n") if line.startswith("m0")]) == 50
    assert answer.out.endswith("50 of 60 memories are shown (--top); 60 values were written\n")
    assert len(ids(decay(store, "--json"))) == 60
    assert ids(decay(store, "--json", "--top", 2)) == ["m000", "m001"]
    assert len([line for line in decay(store, "--top", 60).out.split("\n") if line.startswith("m0")]) == 60


def test_a_tenant_and_a_type(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "content": "x", "namespace": "ana", "memory_type": "fact", "superseded_by": "b"},
        {"id": "b", "content": "x", "namespace": "ana", "memory_type": "note"},
        {"id": "a", "content": "x", "namespace": "bo"},
    ]
    store = tmp_path / "memories.db"
    call("store", "import", write_lines(tmp_path / "in.jsonl", rows), "--to", store, "--embedder", "none")
    only = decay(store, "--json", "--namespace", "ana", "--type", "fact").json
    assert [(row["id"], row["namespace"], row["superseded_by"]) for row in only["memories"]] == [("a", "ana", "b")]
    assert only["written"] == 1
    whole = decay(store, "--json").json
    assert (whole["total"], whole["written"]) == (3, 2)
    assert "namespace" in decay(store).out
    none = decay(store, "--type", "no such type")
    assert (none.code, none.out.endswith("\n\n0 memories; 0 values were written\n")) == (0, True)
    unknown = decay(store, "--namespace", "nobody")
    assert (unknown.code, unknown.out) == (3, "")


def test_mistakes(store: Path, file: Path, desk: Path) -> None:
    assert decay(store, "--json", "--plot").code == 2
    assert call("store", "decay", store, "--as-of", "soon").code == 2
    assert decay(store, "--sort", "colour").code == 2
    assert decay(store, "--spec", file.with_name("none.yaml")).code == 2
    desk.write_text(desk.read_text().replace("relevance_threshold: 0.0", "importance: {floor: 11}"))
    wrong = decay(store, "--spec", desk)
    assert (wrong.code, "floor: 11 is too large" in wrong.err) == (2, True)
    for name in ("gone.db", "gone.jsonl"):
        missing = decay(file.with_name(name))
        assert (missing.code, missing.out) == (3, "")
    file.write_bytes(b"no json\n")
    assert decay(file).code == 3
    damaged = store.with_name("damaged.db")
    damaged.write_bytes(store.read_bytes()[:8192])
    assert decay(damaged).code == 3
    assert "metadata" not in exported(store)["old"]


def test_an_empty_store(tmp_path: Path) -> None:
    empty, store = tmp_path / "empty.jsonl", tmp_path / "memories.db"
    empty.write_text("")
    call("store", "import", empty, "--to", store, "--embedder", "none")
    assert decay(store).out.endswith("0 memories; 0 values were written\n")
    assert decay(empty, "--json").json["memories"] == []


def test_repairs_are_told(file: Path) -> None:
    file.write_text(file.read_text() + "no json\n")
    assert "bad_line" in decay(file).err
    assert decay(file, "-q").err == ""


def test_without_as_of_now_is_the_clock(store: Path) -> None:
    answer = call("store", "decay", store, "--json", "--dry-run")
    assert answer.json["as_of"] > NOW
    assert answer.json["as_of"].endswith("Z")


def test_a_store_that_is_held_by_another(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memrank.stores.sqlite_door.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = decay(store)
        assert (held.code, held.out, "another process" in held.err) == (3, "", True)
        assert decay(store, "--dry-run").code == 0
        other.execute("ROLLBACK")
    assert "metadata" not in exported(store)["old"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("count", "extra", "bar"), [(1200, (), True), (1200, ("-q",), False), (4, (), False)])
def test_of_a_large_store_a_terminal_is_shown_how_far_it_is(
    count: int, extra: tuple[str, ...], bar: bool, tmp_path: Path
) -> None:
    store = tmp_path / "memories.db"
    rows = [{"id": f"m{k}", "content": "x"} for k in range(count)]
    call("store", "import", write_lines(tmp_path / "in.jsonl", rows), "--to", store, "--embedder", "none")
    near, far = os.openpty()
    arguments = ("store", "decay", store, "--as-of", NOW, "--json", *extra)
    process = start(*arguments, stdout=subprocess.PIPE, stderr=far, env={**os.environ, "TERM": "xterm"})
    os.close(far)
    out, _ = process.communicate(timeout=60)
    shown = read_terminal(near)
    assert json.loads(out)["written"] == count
    assert (b"reading" in shown, b"writing" in shown) == (bar, bar)
    assert b"current_importance" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_keeps_all_values_or_none(number: signal.Signals, tmp_path: Path) -> None:
    rows = [{"id": f"n{n}", "content": f"Number {n} of many", "importance": 0.5} for n in range(20_000)]
    store = tmp_path / "memories.db"
    call("store", "import", write_lines(tmp_path / "in.jsonl", rows), "--to", store, "--embedder", "none")
    before = call("store", "export", store).out
    log = Path(f"{store}-wal")
    process = start("store", "decay", store, "--as-of", NOW, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(number)
    process.communicate(timeout=60)
    kept = [row.get("metadata", {}).get("current_importance") for row in call("store", "export", store).rows]
    assert set(kept) in ({None}, {0.5})
    assert process.returncode != 0 or set(kept) == {0.5}
    if set(kept) == {None}:
        assert call("store", "export", store).out == before
    assert decay(store, "--json", "--top", 1).code == 0
