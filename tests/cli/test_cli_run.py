"""`memrank run` for one query: what it answers, where that goes, and what it refuses."""

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from calling import MEMORIES, SPEC, call, spawn, write_lines

from memrank.cli.run import FORMATS

posix = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and modes of POSIX")


def ids(*arguments: object) -> list[str]:
    answer = call("run", *arguments, "--json")
    assert answer.code == 0, answer.err
    return [item["id"] for item in answer.json["results"]]


def test_without_more_the_example_is_ranked_as_of_its_time(desk: Path) -> None:
    answer = call("run", desk)
    assert (answer.code, answer.err) == (0, "")
    assert "When does Dana want her appointments?" in answer.out
    assert "as of 2026-03-20T09:00:00Z" in answer.out
    assert ids(desk)[0] == "m2"


def test_as_of_is_given_or_the_examples_or_the_clocks(desk: Path) -> None:
    def time(*arguments: object) -> str:
        return str(call("run", desk, "--json", *arguments).json["query"]["as_of"])

    assert time() == "2026-03-20T09:00:00Z"
    assert time("--as-of", "2026-01-01T00:00:00+01:00") == "2025-12-31T23:00:00Z"
    assert time("--query", "x", "--as-of", "2026-01-01T00:00:00Z") == "2026-01-01T00:00:00Z"
    # The example's time belongs to its query; this clock stands later than the newest memory.
    assert time("--query", "x") > "2026-03-20T09:00:00Z"


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_answers_on_stdout_alone(form: str, desk: Path) -> None:
    answer = call("run", desk, "--format", form)
    assert answer.code == 0
    # That a person should look is part of the answer, or else is said beside it.
    said = "" if form in ("table", "json") else "read [0-9a-f]{8} needs review: ambiguous_top\n"
    assert re.fullmatch(said, answer.err)
    assert call("run", desk, "--format", form, "--quiet").err == ""
    assert answer.out.endswith("\n")
    assert not answer.out.endswith("\n\n")
    if form not in ("table", "context"):
        assert isinstance(answer.json, (dict, list))
    assert "m2" in answer.out


def test_explain_shows_the_sum(desk: Path) -> None:
    answer = call("run", desk, "--explain")
    assert answer.code == 0
    assert "raw_score" in answer.out


def test_excluded_entries_are_shown_where_they_are_wanted(desk: Path) -> None:
    few = call("run", desk, "--format", "memory-read", "--top-k", 1).json["ranked_results"]
    all_of_them = call("run", desk, "--format", "memory-read", "--top-k", 1, "--include-excluded").json[
        "ranked_results"
    ]
    assert [entry["excluded"] for entry in few] == [False]
    assert [entry["excluded"] for entry in all_of_them] == [False, True, True]


def test_nothing_found_is_an_answer(desk: Path) -> None:
    empty = desk.with_name("empty.jsonl")
    empty.write_text("")
    assert call("run", desk, "--store", empty, "--format", "memory-read").json["ranked_results"] == []
    context = call("run", desk, "--store", empty, "--format", "context")
    assert (context.code, context.out) == (0, "")


def test_the_budget_reaches_the_ranking_the_table_and_the_context(desk: Path) -> None:
    needed = sum(-(-len(str(memory["content"])) // 4) for memory in MEMORIES)
    assert "tokens " in call("run", desk).out
    assert "of 1000" in call("run", desk).out
    small = call("run", desk, "--max-tokens", needed - 1).out
    assert f"of {needed - 1}" in small
    assert "over_budget" in small
    whole = call("run", desk, "--format", "context").out
    for tokens in (20, 45, 70):
        block = call("run", desk, "--format", "context", "--max-tokens", tokens)
        assert block.code == 0
        assert len(block.out.rstrip("\n").encode()) <= 4 * tokens
        assert len(block.out) < len(whole)


def test_rank_only_leaves_the_pruner_out(desk: Path) -> None:
    found = call("run", desk, "--rank-only", "--top-k", 2, "--json").json["results"]
    assert [item["action"] for item in found] == [None, None]


def test_filters_are_repeatable_and_replace_those_of_the_example(desk: Path) -> None:
    rows = [{**memory, "tags": [str(memory["id"])], "memory_type": "note"} for memory in MEMORIES]
    store = write_lines(desk.with_name("tagged.jsonl"), rows)
    desk.write_text(SPEC.replace("09:00:00Z}", "09:00:00Z, filters: {tags: m1}}"))
    assert ids(desk, "--store", store) == ["m1"]
    assert sorted(ids(desk, "--store", store, "--filter", "tags=m2", "--filter", "tags=m3")) == ["m2", "m3"]
    assert ids(desk, "--store", store, "--filter", "tags=m2", "--filter", "memory_type=fact") == []


# Notes


def test_notes_go_to_stderr_whatever_the_form(desk: Path) -> None:
    with desk.with_name("memories.jsonl").open("a") as stream:
        stream.write("no json\n")
    for form in ([], ["--explain"], ["--format", "context"], ["--json"], ["--out", desk.with_name("table.txt")]):
        answer = call("run", desk, *form)
        assert answer.err.count("bad_line") == 1
        assert answer.out.count("bad_line") == (form == ["--json"])
        assert call("run", desk, *form, "-q").err == ""


def test_verbose_shows_information_too(desk: Path) -> None:
    with desk.with_name("memories.jsonl").open("a") as stream:
        stream.write('{"id": "m4", "content": "Dana called.", "created_at": "2026-03-01T10:00:00"}\n')
    for form in ([], ["--json"]):
        assert call("run", desk, *form).err == ""
        assert "info: " in call("run", desk, *form, "-v").err
    assert call("run", desk, "-q", "-v").code == 2


def test_strict_turns_a_repair_into_an_error_and_answers_nothing(desk: Path) -> None:
    assert call("run", desk, "--strict").code == 0
    with desk.with_name("memories.jsonl").open("a") as stream:
        stream.write("no json\n")
    target = desk.with_name("answer")
    for extra in ([], ["--json"], ["--out", target]):
        answer = call("run", desk, "--strict", *extra)
        assert (answer.code, answer.out) == (3, "")
        assert "memories.jsonl:4" in answer.err
    assert not target.exists()


# What is refused


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--store", "nope.jsonl"], 3, "no such file"),
        (["--store", "."], 3, "is a folder"),
        (["--store", ""], 3, "is a folder"),
        (["--query", ""], 2, "the query is empty"),
        (["--query", " \t"], 2, "the query is empty"),
        (["--query", "x" * 100_001], 2, "characters"),
        (["--as-of", "soon"], 2, "error: --as-of 'soon' cannot be read"),
        (["--as-of", ""], 2, "error: --as-of '' cannot be read"),
        (["--namespace", "nobody"], 3, "no namespace 'nobody'"),
        (["--filter", "tags"], 2, "K=V"),
        (["--filter", "=x"], 2, "K=V"),
        (["--filter", "colour=red"], 2, "unknown filter 'colour'"),
        (["--top-k", "0"], 2, "--top-k"),
        (["--max-tokens", "many"], 2, "--max-tokens"),
        (["--format", "xml"], 2, "--format"),
        (["--colour"], 2, "--colour"),
        (["second.yaml"], 2, "second.yaml"),
        (["--json", "--format", "table"], 2, "--json"),
        (["--explain", "--json"], 2, "--explain"),
        (["--explain", "--queries", "-"], 2, "--explain"),
        (["--queries", "-", "--format", "table"], 2, "one line a query"),
        (["--queries", "-", "--query", "x"], 2, "exclude each other"),
        (["--include-excluded"], 2, "memory-read"),
        (["--out", ""], 2, "--out"),
    ],
)  # fmt: skip
def test_a_wrong_call_or_wrong_data_says_what_is_wrong(
    arguments: list[str], code: int, says: str, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.parent)
    answer = call("run", "desk.yaml", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err


def test_a_spec_that_is_missing_or_wrong_is_2(desk: Path) -> None:
    assert call("run", desk.with_name("nope.yaml")).code == 2
    assert call("run").code == 2
    desk.write_text(SPEC.replace("ranker.v1", "ranker.v9").replace("memrank: 1", "memrank: 7"))
    answer = call("run", desk)
    assert answer.code == 2
    assert f"{desk}:1:" in answer.err
    assert "ranker.v9" in answer.err


def test_without_a_store_or_an_example_it_says_what_to_give(desk: Path) -> None:
    lines = SPEC.splitlines(keepends=True)
    desk.write_text("".join(line for line in lines if not line.startswith("store")))
    answer = call("run", desk)
    assert (answer.code, "no memories" in answer.err) == (2, True)
    assert call("run", desk, "--queries", "-", stdin=b'{"id": "q", "query": "x"}\n').code == 2
    desk.write_text("".join(line for line in lines if not line.startswith("example")))
    answer = call("run", desk)
    assert (answer.code, "--query" in answer.err) == (2, True)


def test_tenants_are_never_merged(desk: Path) -> None:
    rows = [{**memory, "namespace": name, "id": f"{name}-{memory['id']}"} for name in "ab" for memory in MEMORIES]
    store = write_lines(desk.with_name("two.jsonl"), rows)
    answer = call("run", desk, "--store", store)
    assert (answer.code, answer.out) == (3, "")
    assert "--namespace" in answer.err
    assert call("run", desk, "--store", store, "--namespace", "c").code == 3
    assert {name[0] for name in ids(desk, "--store", store, "--namespace", "a")} == {"a"}


# Stores of every format

CONTENTS = sorted(str(memory["content"]) for memory in MEMORIES)
FORMATS_OF_STORES: dict[str, Any] = {
    "store.json": list(MEMORIES),
    "mem0.json": {
        "results": [{"id": m["id"], "memory": m["content"], "created_at": m["created_at"]} for m in MEMORIES]
    },
    "langgraph.json": [
        {
            "namespace": ["users", "dana"],
            "key": m["id"],
            "value": {"content": m["content"]},
            "created_at": m["created_at"],
        }
        for m in MEMORIES
    ],
    "chat.json": [{"role": "user", "content": m["content"], "timestamp": m["created_at"]} for m in MEMORIES],
    "longmemeval.json": [
        {
            "question_id": "lme1",
            "question": "When?",
            "haystack_session_ids": ["s1"],
            "haystack_dates": ["2023/04/10 (Mon) 17:50"],
            "haystack_sessions": [[{"role": "user", "content": m["content"]} for m in MEMORIES]],
        }
    ],
    "mcp.jsonl": [{"type": "entity", "name": "Dana", "entityType": "person", "observations": CONTENTS}],
}


@pytest.mark.parametrize("name", [*FORMATS_OF_STORES, "store.csv", "store.jsonl", "memories.db"])
def test_the_store_is_swapped_for_a_file_of_any_format(name: str, desk: Path) -> None:
    store = desk.with_name(name)
    if name == "memories.db":
        imported = call("store", "import", desk.with_name("memories.jsonl"), "--to", store, "--embedder", "none")
        assert imported.code == 0, imported.err
    elif name == "store.csv":
        rows = [f'{m["id"]},"{m["content"]}",{m["created_at"]}\n' for m in MEMORIES]
        store.write_text("id,content,created_at\n" + "".join(rows))
    elif name.endswith("jsonl"):
        write_lines(store, FORMATS_OF_STORES.get(name, MEMORIES))
    else:
        store.write_text(json.dumps(FORMATS_OF_STORES[name]))
    desk.with_name("memories.jsonl").unlink(missing_ok=True)
    answer = call(
        "run", desk, "--store", store, "--json", "--query", "Dana practice appointments", "--as-of", "2026-03-20"
    )
    assert answer.code == 0, answer.err
    judged = answer.json["results"] + answer.json["excluded"]
    assert len(judged) == len(CONTENTS)
    assert {item["content"] for item in answer.json["results"]} <= set(CONTENTS)
    assert answer.json["results"]


@posix
def test_the_store_may_come_through_a_pipe(desk: Path) -> None:
    pipe = desk.with_name("pipe")
    os.mkfifo(pipe)
    data = desk.with_name("memories.jsonl").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    queries = b'{"id": "q1", "query": "Dana"}\n{"id": "q2", "query": "Dana appointments"}\n'
    answer = call("run", desk, "--store", pipe, "--queries", "-", stdin=queries)
    writer.join(10)
    assert [len(row["results"]) for row in answer.rows] == [3, 3]


# --out


def test_out_is_written_whole_and_stdout_stays_empty(desk: Path) -> None:
    target = desk.with_name("answer.json")
    target.write_text("old")
    answer = call("run", desk, "--json", "--out", target)
    assert (answer.code, answer.out) == (0, "")
    shown = call("run", desk, "--json").json
    written = json.loads(target.read_text(encoding="utf-8"))
    assert [item["score"] for item in written["results"]] == [item["score"] for item in shown["results"]]


def test_a_table_in_a_file_has_no_colours_and_the_same_width_everywhere(desk: Path) -> None:
    target = desk.with_name("table.txt")
    assert call("run", desk, "--out", target).code == 0
    assert target.read_text(encoding="utf-8") == call("run", desk).out


def test_out_into_no_folder_or_over_a_folder_is_refused(desk: Path) -> None:
    missing = call("run", desk, "--out", desk.parent / "no" / "answer")
    assert (missing.code, "create the folder" in missing.err) == (3, True)
    folder = call("run", desk, "--out", desk.parent)
    assert (folder.code, "folder" in folder.err) == (3, True)
    assert sorted(path.name for path in desk.parent.iterdir()) == ["desk.yaml", "memories.jsonl"]


@posix
def test_out_into_a_folder_without_the_right_to_write_is_refused(open_desk: Path, ordinary_user: None) -> None:
    answer = call("run", open_desk, "--out", open_desk.with_name("answer"))
    assert (answer.code, answer.out) == (3, "")
    assert "Permission denied" in answer.err


@pytest.mark.parametrize("name", ["desk.yaml", "memories.jsonl", "queries.jsonl"])
def test_out_never_replaces_what_is_read(name: str, desk: Path) -> None:
    queries = write_lines(desk.with_name("queries.jsonl"), [{"id": "q", "query": "Dana"}])
    target = desk.with_name(name)
    before = target.read_bytes()
    answer = call("run", desk, "--queries", queries, "--out", target)
    assert (answer.code, "would replace" in answer.err) == (2, True)
    assert target.read_bytes() == before


@posix
def test_out_to_a_device_or_a_pipe_writes_to_it(desk: Path) -> None:
    pipe = desk.with_name("pipe")
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    assert call("run", desk, "--out", pipe).code == 0
    reader.join(10)
    assert found == [call("run", desk).out]
    assert pipe.is_fifo()
    assert call("run", desk, "--out", os.devnull).code == 0
    assert not Path(os.devnull).is_file()


# Bytes


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "cp1252:strict"}]
)
def test_output_is_utf_8_whatever_the_locale(environment: dict[str, str], desk: Path) -> None:
    text = "Dana 价格 שלום é 🚲"
    store = write_lines(
        desk.with_name("memories.jsonl"), [{"id": "ü", "content": text, "created_at": "2026-03-01T10:00:00Z"}]
    )
    for form in ("table", "json"):
        answer = spawn("run", desk, "--store", store, "--format", form, env=environment)
        assert answer.returncode == 0, answer.stderr
        assert text in answer.stdout.decode("utf-8")


def test_what_utf_8_cannot_hold_is_escaped_or_replaced(desk: Path) -> None:
    row = '{"id": "m\\ud800", "content": "Dana \\udfff\\u0000", "created_at": "2026-03-01T10:00:00Z"}'
    write_lines(desk.with_name("memories.jsonl"), [row])
    target = desk.with_name("answer")
    for form in FORMATS:
        assert call("run", desk, "--format", form, "--out", target, "--query", "Dana \ud800").code == 0
        assert target.read_bytes().decode("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are no text")
def test_a_file_whose_name_is_no_text_can_be_read_and_named(desk: Path) -> None:
    store = write_lines(desk.with_name(os.fsdecode(b"m\xff.jsonl")), [*MEMORIES, "no json"])
    target = desk.with_name("answer")
    for form in FORMATS:
        answer = call("run", desk, "--store", store, "--format", form, "--out", target)
        assert answer.code == 0
        assert "bad_line" in answer.err
        target.read_text(encoding="utf-8")
    call("run", desk, "--store", store, "--json", "--out", target)
    assert str(store) in json.loads(target.read_text(encoding="utf-8"))["notes"][0]["detail"]
