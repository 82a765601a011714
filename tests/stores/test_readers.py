"""Reading files of memories: formats, faults of real files, and the way back."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.stores.readers import Loaded, dump_jsonl, read_memories
from memrank.types import Memory

Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file: bytes as they are, text as UTF-8, a list under a .jsonl name as lines, other values as JSON."""

    def put(name: str, content: Any) -> Path:
        path = tmp_path / name
        if isinstance(content, list) and name.endswith("jsonl"):
            content = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in content)
        elif not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def codes(loaded: Loaded) -> dict[str, int]:
    return {note.code: note.count for note in loaded.notes}


def ids(loaded: Loaded) -> list[str]:
    return [memory.id for memory in loaded.memories]


A: dict[str, Any] = {"id": "a", "content": "one"}
B: dict[str, Any] = {"id": "b", "content": "two"}


def test_json_lines_are_read_in_order_with_their_positions(write: Write) -> None:
    path = write("m.jsonl", b'\xef\xbb\xbf{"id":"a","content":"one"}\r\n\r\n  \n{"id":"b","content":"two"}')
    loaded = read_memories(path)
    assert loaded.memories == (Memory(**A), Memory(**B, position=1))
    assert loaded.notes == ()
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_bad_line_is_left_out_with_its_number_and_without_its_text(write: Write) -> None:
    lines = [
        A,
        '{"id": "secret\n',
        B,
        "secret\n",
        [1],
        {"id": "c"},
        '{"id": "d", "content": "x", "n": 1' + "0" * 5000 + "}\n",
    ]
    path = write("m.jsonl", lines)
    loaded = read_memories(str(path))
    assert ids(loaded) == ["a", "b"]
    assert codes(loaded) == {"bad_line": 3, "bad_record": 2}
    assert {note.level for note in loaded.notes} == {"repair"}
    assert f"{path}:2: not valid JSON" in loaded.notes[0].detail
    assert not any("secret" in note.detail for note in loaded.notes)


@pytest.mark.parametrize("lines", [["nonsense\n", '{"id"\n'], [{"content": "x"}, {"text": "y"}], ["1\n", "2\n"]])
def test_a_file_of_bad_lines_only_is_an_error_that_names_the_first(write: Write, lines: list[object]) -> None:
    with pytest.raises(DataError, match=r"no record can be used; the first fault: .*m\.jsonl"):
        read_memories(write("m.jsonl", lines))


def test_constants_repeated_keys_and_control_characters_are_read(write: Write) -> None:
    text = '{"id":"a","content":"x\ty\\u0000","content":"one\ttwo\\u0000","importance":NaN,"x":-Infinity,"y":1e999}'
    loaded = read_memories(write("m.jsonl", text))
    (memory,) = loaded.memories
    assert memory.content == "one\ttwo\0"
    assert memory.importance is None
    assert memory.metadata == {"importance": "NaN", "x": "-Infinity", "y": "Infinity"}
    assert codes(loaded) == {"key_repeated": 1, "value_unreadable": 1, "metadata_altered": 1}


def test_of_a_repeated_id_the_last_record_counts(write: Write) -> None:
    loaded = read_memories(write("m.jsonl", [A, B, {"id": "a", "content": "three"}]))
    assert [(memory.id, memory.content, memory.position) for memory in loaded.memories] == [
        ("b", "two", 1),
        ("a", "three", 2),
    ]
    assert codes(loaded) == {"repeated_id": 1}
    assert "three" not in loaded.notes[0].detail


def test_bytes_that_are_not_utf8_are_replaced_with_a_note(write: Write) -> None:
    for name in ("m.jsonl", "m.json", "m.csv"):
        text = b"id,content\na,caf\xe9\n" if name == "m.csv" else b'{"id":"a","content":"caf\xe9"}'
        loaded = read_memories(write(name, text))
        assert loaded.memories[0].content == "caf\ufffd"
        assert codes(loaded) == {"bytes_replaced": 1}


def test_nested_too_deeply_is_a_bad_line(write: Write) -> None:
    deep = '{"id":"d","content":"x","y":' + "[" * 200_000 + "]" * 200_000 + "}\n"
    assert codes(read_memories(write("m.jsonl", [A, deep]))) == {"bad_line": 1}
    with pytest.raises(DataError, match="nested too deeply"):
        read_memories(write("m.json", "[" * 200_000))


@pytest.mark.parametrize("name", ["m.jsonl", "m.json", "m.csv", "m.ndjson", "m"])
@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_has_no_memories(write: Write, name: str, content: bytes) -> None:
    loaded = read_memories(write(name, content))
    assert loaded == Loaded(memories=(), notes=(), sha256=hashlib.sha256(content).hexdigest())


def test_a_path_that_is_no_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        read_memories(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no such file"):
        read_memories("a\0b")
    with pytest.raises(DataError, match="is a folder"):
        read_memories(tmp_path)
    (tmp_path / "memories.jsonl").touch()
    with pytest.raises(DataError, match=r"did you mean .*memories\.jsonl"):
        read_memories(tmp_path)
    if Path("/dev/zero").exists():
        with pytest.raises(DataError, match="not a regular file"):
            read_memories("/dev/zero")


def test_a_file_that_may_not_be_read_says_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("m.jsonl", [A])

    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(DataError, match=r"m\.jsonl: cannot be read: Permission denied"):
        read_memories(path)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("m.jsonl", b"\x00\xff\x13garbage\x00", "not valid JSON"),
        ("m.json", b"\x00\xff\x13garbage\x00", "not valid JSON"),
        ("m.bin", b"\x00\xff\x13garbage\x00", "no known format"),
        ("m.csv", b"\x00\xff\x13garbage\x00\nx\n", "no record can be used"),
        ("m.jsonl", b"SQLite format 3\x00xxxx", "SQLite"),
        ("m.jsonl", b"\x1f\x8b\x08\x00", "gzip"),
        ("m.csv", b"PK\x03\x04", "spreadsheet"),
        ("m.jsonl", "{}".encode("utf-16"), "UTF-16"),
        ("m.json", b'{"id": "a",\n "content": "x"', "not valid JSON: .* at line 2 column"),
        ("m.json", b"3", "neither a list of records nor an object"),
        ("m.json", b'[{"id": "a"}]', "no content"),
        ("m.txt", b"hello", "no known format"),
    ],
)
def test_what_is_no_file_of_memories_is_refused(write: Write, name: str, content: bytes, match: str) -> None:
    with pytest.raises(DataError, match=match) as caught:
        read_memories(write(name, content))
    assert caught.value.hint


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "m.txt"])
@pytest.mark.parametrize("envelope", [None, "results", "memories", "data", "items"])
def test_json_documents_and_envelopes_are_read(
    write: Write, name: str, envelope: str | None, indent: int | None
) -> None:
    value: object = [A, B] if envelope is None else {envelope: [A, B]}
    loaded = read_memories(write(name, json.dumps(value, indent=indent)))
    assert loaded.memories == (Memory(**A), Memory(**B, position=1))
    assert loaded.notes == ()


def test_a_single_object_and_lines_under_a_json_name_are_read(write: Write) -> None:
    assert ids(read_memories(write("m.json", json.dumps(A, indent=2)))) == ["a"]
    assert ids(read_memories(write("m.json", json.dumps(A) + "\n" + json.dumps(B)))) == ["a", "b"]
    broken = read_memories(write("m.json", json.dumps(A, indent=None) + "\nbroken\n"))
    assert (ids(broken), codes(broken)) == (["a"], {"bad_line": 1})


def test_an_envelope_declares_its_importance_scale(write: Write) -> None:
    records = [{**A, "importance": 7}, {**B, "importance": 0.5, "importance_scale": "0-1"}]
    loaded = read_memories(write("m.json", {"importance_scale": "1-10", "memories": records, "next": "page 2"}))
    assert [memory.importance for memory in loaded.memories] == [0.7, 0.5]
    assert codes(loaded) == {"envelope_opened": 1}
    assert read_memories(write("m.json", [{**A, "importance": 7}]), importance_scale=10).memories[0].importance == 0.7


def test_an_envelope_declares_the_scope_of_its_records(write: Write) -> None:
    """A tenant that stands beside the list must not be lost: its memories would belong to nobody."""
    records = [A, {**B, "group": "own"}, {"id": "c", "content": "x", "metadata": {"user_id": "deep"}}, {**A, "id": "d"}]
    records[3]["user_id"] = None
    loaded = read_memories(write("m.json", {"user_id": "u", "thread_id": "t", "memories": records}))
    assert [memory.namespace for memory in loaded.memories] == ["u", "own", "deep", "u"]
    assert {memory.session_id for memory in loaded.memories} == {"t"}
    assert loaded.notes == ()


def test_a_mem0_export(write: Write) -> None:
    record = {
        "id": "m1",
        "memory": "Likes tea",
        "hash": "h",
        "user_id": "alex",
        "agent_id": None,
        "run_id": "r1",
        "categories": ["food"],
        "metadata": {"source": "chat", "importance": 0.75},
        "created_at": "2026-03-20T09:00:00-07:00",
        "updated_at": None,
    }
    loaded = read_memories(write("m.json", {"results": [record]}))
    (memory,) = loaded.memories
    assert (memory.content, memory.namespace, memory.session_id, memory.tags) == ("Likes tea", "alex", "r1", ("food",))
    assert (memory.importance, memory.metadata) == (0.75, {"source": "chat", "hash": "h"})
    assert memory.created_at is not None
    assert memory.created_at.text == "2026-03-20T16:00:00Z"
    assert loaded.notes == ()


def test_langgraph_store_items(write: Write) -> None:
    def item(namespace: list[str], key: str, value: object) -> dict[str, object]:
        return {"namespace": namespace, "key": key, "value": value, "created_at": "2026-01-01T00:00:00Z", "score": None}

    items = [
        item(["users", "1"], "k", {"text": "Likes tea", "type": "preference", "x": 1}),
        item(["users", "2"], "k", {"kind": "Memory", "content": {"content": "Likes coffee"}}),
        item(["users", "2"], "profile", {"name": "Bo", "age": 3}),
    ]
    loaded = read_memories(write("m.jsonl", items))
    first, second, third = loaded.memories
    assert (first.id, first.namespace, first.content) == ("k", "users/1", "Likes tea")
    assert (first.memory_type, first.metadata) == ("preference", {"x": 1, "score": None})
    assert (second.id, second.namespace, second.content) == ("users/2/k", "users/2", "Likes coffee")
    assert third.content == '{"age":3,"name":"Bo"}'
    assert all(memory.created_at is not None for memory in loaded.memories)
    assert codes(loaded) == {"id_qualified": 1}
    assert read_memories(write("m.json", {"items": items})).memories == loaded.memories


def test_an_mcp_memory_graph(write: Write) -> None:
    entity = {"type": "entity", "name": "Bo", "entityType": "person", "observations": ["Speaks Danish", "Likes tea"]}
    relation = {"type": "relation", "from": "Bo", "to": "Acme", "relationType": "works_at"}
    bare = {"type": "entity", "name": "Acme", "entityType": "company", "observations": []}
    loaded = read_memories(write("memory.jsonl", [entity, relation, bare]))
    assert [memory.content for memory in loaded.memories] == [
        "Speaks Danish",
        "Likes tea",
        "Bo works at Acme",
        "Acme (company)",
    ]
    assert loaded.memories[0].aliases == ("Bo",)
    assert loaded.memories[0].metadata == {"subject": "Bo", "entityType": "person"}
    assert loaded.memories[2].metadata == {"from": "Bo", "to": "Acme", "relationType": "works_at"}
    assert {memory.created_at for memory in loaded.memories} == {None}
    assert loaded.notes == ()
    shorter = read_memories(write("memory.jsonl", [{**entity, "observations": ["Likes tea"]}]))
    assert ids(shorter) == ids(loaded)[1:2]
    graph = {"entities": [entity, bare], "relations": [relation]}
    assert set(ids(read_memories(write("graph.json", graph)))) == set(ids(loaded))


def test_longmemeval_haystacks_never_mix_questions(write: Write) -> None:
    def question(name: str) -> dict[str, object]:
        return {
            "question_id": name,
            "question": "What tea?",
            "answer": "Green",
            "haystack_session_ids": ["s1", "s2"],
            "haystack_dates": ["2023/04/10 (Mon) 17:50"],
            "haystack_sessions": [
                [{"role": "user", "content": "Hi", "has_answer": True}, {"role": "assistant", "content": "Hello"}],
                [{"role": "user", "content": "Bye"}],
            ],
        }

    loaded = read_memories(write("lme.json", [question("q1"), question("q2")]))
    assert ids(loaded) == ["s1/0", "s1/1", "s2/0", "q2/s1/0", "q2/s1/1", "q2/s2/0"]
    assert [memory.namespace for memory in loaded.memories] == ["q1"] * 3 + ["q2"] * 3
    second = loaded.memories[1]
    assert (second.session_id, second.turn, second.role, second.content) == ("s1", 1, "assistant", "Hello")
    assert second.created_at is not None
    assert second.created_at.text == "2023-04-10T17:50:00Z"
    assert loaded.memories[0].metadata == {"has_answer": True}
    assert loaded.memories[2].created_at is None
    assert codes(loaded) == {"questions_left_out": 2, "id_qualified": 3, "date_without_zone": 4}
    assert {note.level for note in loaded.notes} == {"info"}


def test_a_chat_log_without_ids(write: Write) -> None:
    messages = [
        {"role": "user", "content": "Hi", "timestamp": 1_716_200_000, "id": None, "turn": None},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]},
        {"role": "user", "content": [{"type": "text", "text": "Bye"}], "thread_id": "t"},
    ]
    for name, content in (("c.json", messages), ("c.jsonl", messages), ("c.json", {"messages": messages})):
        loaded = read_memories(write(name, content))
        assert [(m.id, m.turn, m.role, m.content) for m in loaded.memories] == [
            ("turn-0", 0, "user", "Hi"),
            ("turn-1", 1, "assistant", ""),
            ("turn-2", 0, "user", "Bye"),
        ]
        assert loaded.memories[1].metadata == {"tool_calls": [{"name": "f"}]}
        assert {note.level for note in loaded.notes} == {"info"}


def test_csv_with_lists_objects_and_quotes(write: Write) -> None:
    text = (
        "\ufeffid,content,tags,metadata,access_count,importance,pinned,created_at,embedding,aliases,extra\r\n"
        '1,"two\nlines, ""quoted""",a; b,"{""k"": [1]}",3,0.5,TRUE,2026-03,"[0.5, 1]",Bo;Bob,x\r\n'
        '\r\n2,plain,"[""c"", ""d""]",,,,false,,,,\r\n3,commas,"e, f",not json,many,,,,,,\r\n'
    )
    loaded = read_memories(write("m.csv", text))
    first, second, third = loaded.memories
    assert (first.id, first.content, first.tags, first.access_count) == ("1", 'two\nlines, "quoted"', ("a", "b"), 3)
    assert (first.importance, first.pinned, first.embedding, first.aliases) == (0.5, True, (0.5, 1.0), ("Bo", "Bob"))
    assert first.created_at is not None
    assert first.metadata == {"k": [1], "extra": "x"}
    assert (second.tags, second.created_at, second.metadata) == (("c", "d"), None, {})
    assert (third.tags, third.metadata) == (("e", "f"), {"metadata": "not json", "access_count": "many"})
    assert codes(loaded) == {"metadata_not_object": 1, "value_unreadable": 1}


def test_other_delimiters_ragged_rows_and_repeated_columns(write: Write) -> None:
    assert ids(read_memories(write("m.csv", "id;content\na;one, two\n"))) == ["a"]
    assert ids(read_memories(write("m.tsv", "id\tcontent\na\tone, two\n"))) == ["a"]
    loaded = read_memories(write("m.csv", "id,x,content,x\na,1,one,2,3\nb,1,two\n"))
    assert [memory.metadata for memory in loaded.memories] == [{"x": "2", "extra cells": ["3"]}, {"x": "1"}]
    assert codes(loaded) == {"key_repeated": 1, "cells_left_over": 1}
    assert ids(read_memories(write("m.csv", "id,content\n"))) == []


def test_a_record_of_ten_megabytes_is_read(write: Write) -> None:
    big = "word " * 2_000_000
    for name, content in (("m.jsonl", [{"id": "a", "content": big}]), ("m.csv", f"id,content\na,{big}\n")):
        assert read_memories(write(name, content)).memories[0].content == big


def test_a_named_pipe_is_read(write: Write) -> None:
    path = write("m.jsonl", b"")
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    path.unlink()
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(json.dumps(A) + "\n" + json.dumps(B) + "\n",))
    writer.start()
    assert ids(read_memories(path)) == ["a", "b"]
    writer.join()


def test_ten_thousand_records_take_a_fraction_of_a_minute(write: Write) -> None:
    record = {
        "content": "Likes tea",
        "timestamp": "2026-03-20T09:00:00Z",
        "group": "u",
        "metadata": {"role": "user", "x": 1},
    }
    path = write("m.jsonl", [{"id": f"m{at}", **record} for at in range(10_000)])
    started = time.perf_counter()
    assert len(read_memories(path).memories) == 10_000
    assert time.perf_counter() - started < 5


def test_what_is_written_is_read_as_it_was(write: Write) -> None:
    records = [
        {**A, "timestamp": "2026-03", "tags": ["x"], "metadata": {"session": 1, "source": "\u2028é"}},
        {**B, "ts": 1_716_200_000.5, "importance": 0.5, "embedding": [0.5], "note": None},
    ]
    loaded = read_memories(write("m.json", records))
    lines = list(dump_jsonl(loaded.memories))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)
    again = read_memories(write("again.jsonl", "".join(lines)))
    assert (again.memories, again.notes) == (loaded.memories, ())


_text = st.text(max_size=20)
_record = st.dictionaries(
    st.sampled_from(["id", "content", "role", "namespace", "key", "value", "type", "name", "observations", "results"])
    | st.sampled_from(
        ["haystack_sessions", "haystack_dates", "relationType", "entities", "relations", "metadata", "tags"]
    ),
    st.recursive(
        st.none() | st.integers() | _text,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=2),
        max_leaves=5,
    ),
    max_size=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ""]),
    st.binary(max_size=60)
    | st.lists(_record, max_size=4).map(lambda rows: json.dumps(rows).encode())
    | st.lists(_record, max_size=4).map(lambda rows: "\n".join(map(json.dumps, rows)).encode()),
)
@example(".jsonl", b'{"id":"a","content":"\\ud800"}')
@example(".csv", b'"')
def test_any_bytes_are_memories_or_a_data_error(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(data)
    try:
        loaded = read_memories(path)
    except DataError as error:
        fault = str(error)
        assert str(path) in fault
        return
    assert loaded.sha256 == hashlib.sha256(data).hexdigest()
    assert len(set(ids(loaded))) == len(loaded.memories)
    again = tmp_path / "again.jsonl"
    again.write_text("".join(dump_jsonl(loaded.memories)), encoding="utf-8", newline="")
    expected = [replace(memory, position=at) for at, memory in enumerate(loaded.memories)]
    assert list(read_memories(again).memories) == expected
