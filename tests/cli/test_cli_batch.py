"""`memrank run --queries`: a line a query, in order, whatever single rows hold and whatever happens to the process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from calling import MEMORIES, call, read_terminal, spawn, start, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

ASKED = {"id": "q1", "query": "When does Dana want her appointments?", "query_time": "2026-03-20T09:00:00Z"}
ROOT = Path(__file__).resolve().parents[2]


def batch(desk: Path, rows: list[Any], *extra: object) -> Any:
    return call("run", desk, "--queries", write_lines(desk.with_name("queries.jsonl"), rows), *extra)


def codes(row: dict[str, Any]) -> list[str]:
    return [note["code"] for note in row["notes"]]


def failure(row: dict[str, Any]) -> str:
    """The detail of the failure note of a row that has no results."""
    assert row["results"] == []
    found = [note for note in row["notes"] if note["level"] == "failure"]
    assert len(found) == 1
    assert set(found[0]) == {"level", "stage", "code", "detail", "count"}
    return str(found[0]["detail"])


def test_a_line_a_query_in_input_order(desk: Path) -> None:
    rows = [{**ASKED, "id": name} for name in ("z", "a", "ü", "9")]
    answer = batch(desk, rows)
    assert (answer.code, answer.err) == (0, "")
    assert [row["query_id"] for row in answer.rows] == ["z", "a", "ü", "9"]
    for row in answer.rows:
        assert set(row) == {"query_id", "results", "notes"}
        assert row["results"][0]["id"] == "m2"
        assert all(set(item) == {"id", "score"} for item in row["results"])
        scores = [item["score"] for item in row["results"]]
        assert scores == sorted(scores, reverse=True)


def test_a_row_ranks_as_the_same_query_does_alone(desk: Path) -> None:
    alone = call("run", desk, "--json").json
    assert batch(desk, [ASKED]).rows[0]["results"] == [{"id": i["id"], "score": i["score"]} for i in alone["results"]]
    whole = batch(desk, [ASKED], "--json").rows[0]
    for answer in (alone, whole):
        answer["query"].pop("id")
        answer["meta"].pop("latency_ms")
    assert whole == alone


def test_limits_of_the_command_line_hold_for_every_row(desk: Path) -> None:
    assert [len(row["results"]) for row in batch(desk, [ASKED, ASKED], "--top-k", 1).rows] == [1, 1]
    assert len(batch(desk, [ASKED], "--max-tokens", 14).rows[0]["results"]) == 1
    assert len(batch(desk, [ASKED], "--rank-only", "--top-k", 2).rows[0]["results"]) == 2


def test_the_time_is_that_of_the_command_line_then_of_the_row_then_of_the_clock(desk: Path) -> None:
    rows = [ASKED, {**ASKED, "id": "q2", "query_time": None}, {**ASKED, "id": "q3", "query_time": 1772000000}]
    given = [row["query"]["as_of"] for row in batch(desk, rows, "--as-of", "2026-02-02", "--json").rows]
    assert len(set(given)) == 1
    first, second, third = batch(desk, rows, "--json").rows
    assert first["query"]["as_of"] == "2026-03-20T09:00:00Z"
    assert third["query"]["as_of"].startswith("2026-02-25")
    assert second["query"]["as_of"] > "2026-03-20"
    assert (codes(first).count("as_of_clock"), codes(second).count("as_of_clock")) == (0, 1)
    assert second["query"]["as_of"] in str(second["notes"])


BAD_ROWS = [
    ({"query": ""}, "the query is empty"),
    ({"query": "  "}, "the query is empty"),
    ({"query": None}, "the query is empty"),
    ({"query": 5}, "query is not a text but a number"),
    ({"query": ["x"]}, "query is not a text but a list"),
    ({"query": "x" * 1_000_000}, "1,000,000 characters"),
    ({"query_time": "soon"}, "as_of"),
    ({"query_time": ""}, "as_of"),
    ({"query_time": {}}, "as_of"),
    ({"query_time": True}, "as_of"),
    ({"query_time": 10**400}, "as_of"),
    ({"group": "nobody"}, "no namespace 'nobody'"),
    ({"group": {}}, "group is neither"),
    ({"group": []}, "group is neither"),
    ({"group": True}, "group is neither"),
    ({"filters": "tags"}, "filters is not an object but a text"),
    ({"filters": 0}, "filters is not an object but a number"),
    ({"filters": {"tags": None}}, "filters: 'tags'"),
    ({"filters": {"tags": [{}]}}, "filters: 'tags'"),
    ({"filters": {"colour": "red"}}, "unknown filter 'colour'"),
]


@pytest.mark.parametrize(("fields", "says"), BAD_ROWS)
def test_a_query_that_fails_says_so_and_the_rest_goes_on(fields: dict[str, Any], says: str, desk: Path) -> None:
    rows = [{**ASKED, "id": "before"}, {**ASKED, "id": "bad", **fields}, {**ASKED, "id": "after"}]
    answer = batch(desk, rows)
    assert answer.code == 0
    assert [row["query_id"] for row in answer.rows] == ["before", "bad", "after"]
    assert says in failure(answer.rows[1])
    assert answer.rows[0]["results"] == answer.rows[2]["results"] != []
    assert "1 of 3 queries failed" in answer.err
    assert batch(desk, rows, "-q").err == ""


@pytest.mark.parametrize(("fields", "says"), BAD_ROWS)
def test_strict_ends_at_the_first_failure(fields: dict[str, Any], says: str, desk: Path) -> None:
    target = desk.with_name("run.jsonl")
    target.write_text("old")
    rows = [{**ASKED, "id": "before"}, {**ASKED, "id": "bad", **fields}]
    answer = batch(desk, rows, "--strict", "--out", target)
    assert (answer.code, answer.out) == (3, "")
    assert "'bad'" in answer.err
    assert says in answer.err
    assert target.read_text() == "old"
    assert batch(desk, rows[:1], "--strict").code == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no json", "not valid JSON"),
        ('{"id": "x", "query": ', "not valid JSON"),
        ("[1, 2]", "not a list"),
        ('"text"', "not a text"),
        ("null", "not null"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": ' + "9" * 5000 + "}", "too many digits"),
    ],
)
def test_a_line_that_is_no_object_is_left_out_with_its_number(line: str, says: str, desk: Path) -> None:
    answer = batch(desk, [ASKED, line, {**ASKED, "id": "q3"}])
    assert answer.code == 0
    assert [row["query_id"] for row in answer.rows] == ["q1", "q3"]
    assert "queries.jsonl:2" in answer.err
    assert says in answer.err
    assert batch(desk, [ASKED, line], "-q").err == ""
    assert batch(desk, [ASKED, line], "--strict").code == 3
    alone = batch(desk, [line, line], "--out", desk.with_name("run.jsonl"))
    assert (alone.code, "no query can be used" in alone.err) == (3, True)
    assert not desk.with_name("run.jsonl").exists()


def test_no_lines_are_no_queries(desk: Path) -> None:
    for text in ("", "\n \n\r\n"):
        desk.with_name("queries.jsonl").write_text(text)
        answer = call("run", desk, "--queries", desk.with_name("queries.jsonl"))
        assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_ids_are_texts_numbers_or_made_and_told_when_repeated(desk: Path) -> None:
    rows = [{**ASKED, "id": value} for value in ("a", 7, None, "a", ["x"], True, "\ud800")]
    answer = batch(desk, [json.dumps(row) for row in rows])
    assert [row["query_id"] for row in answer.rows] == ["a", "7", "line-3", "a", "line-5", "line-6", "\ufffd"]
    assert all(row["results"] for row in answer.rows)
    repaired = [code for row in answer.rows for code in codes(row) if code.endswith(("_id", "_replaced"))]
    assert repaired == ["no_query_id", "repeated_query_id", "no_query_id", "no_query_id", "surrogate_replaced"]
    assert "(3 times) [no_query_id]" in answer.err
    assert batch(desk, [ASKED, ASKED], "--strict").code == 3


def test_groups_and_filters_of_a_row(desk: Path) -> None:
    memories = [
        {**m, "id": f"{name}/{m['id']}", "namespace": ["u", name], "tags": [str(m["id"])], "done": True}
        for name in "ab"
        for m in MEMORIES
    ]
    write_lines(desk.with_name("memories.jsonl"), memories)
    rows: list[dict[str, Any]] = [
        {**ASKED, "id": "0", "group": "u/a"},
        {**ASKED, "id": "1", "group": ["u", "b"]},
        {**ASKED, "id": "2", "group": "u/a", "filters": {"tags": ["m1", "m3"]}},
        {**ASKED, "id": "3", "group": "u/a", "filters": {"tags": "m2", "metadata.done": True}},
        {**ASKED, "id": "4", "group": "u/a", "filters": {"tags": []}},
        {**ASKED, "id": "5"},
    ]
    answer = batch(desk, rows)
    found = [sorted(item["id"] for item in row["results"]) for row in answer.rows]
    assert found == [["a/m1", "a/m2", "a/m3"], ["b/m1", "b/m2", "b/m3"], ["a/m1", "a/m3"], ["a/m2"], [], []]
    assert "2 namespaces" in failure(answer.rows[5])
    theirs = batch(desk, rows, "--namespace", "u/b", "--filter", "tags=m3")
    assert {item["id"] for row in theirs.rows for item in row["results"]} == {"b/m3"}


def test_a_numeric_group_names_the_tenant_that_records_name_so(desk: Path) -> None:
    write_lines(desk.with_name("memories.jsonl"), [{**MEMORIES[0], "namespace": 7.0}, {**MEMORIES[1], "namespace": 8}])
    answer = batch(desk, [{**ASKED, "group": 7.0}, {**ASKED, "id": "2", "group": 7}])
    first, second = ([item["id"] for item in row["results"]] for row in answer.rows)
    assert first == second == [MEMORIES[0]["id"]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--store", "nope.jsonl"], 3),
        (["--store", "."], 3),
        (["--namespace", "nobody"], 3),
        (["--filter", "colour=red"], 2),
        (["--as-of", "soon"], 2),
    ],
)
def test_what_no_row_could_do_without_fails_the_run(
    arguments: list[str], code: int, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.parent)
    answer = batch(desk, [ASKED], *arguments, "--out", "run.jsonl")
    assert (answer.code, answer.out) == (code, "")
    assert not Path("run.jsonl").exists()


@pytest.mark.parametrize("queries", ["nope.jsonl", ".", "memories.jsonl/x"])
def test_queries_that_cannot_be_read_are_3(queries: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.parent)
    answer = call("run", desk, "--queries", queries)
    assert (answer.code, answer.out) == (3, "")
    assert queries in answer.err


def test_bytes_that_are_no_text(desk: Path) -> None:
    queries = desk.with_name("queries.jsonl")
    line = json.dumps(ASKED).encode()
    queries.write_bytes(
        b"\xef\xbb\xbf" + line + b"\r\n" + line.replace(b'"q1"', b'"q\xff"') + b"\n" + bytes(range(128, 256))
    )
    answer = call("run", desk, "--queries", queries)
    assert [row["query_id"] for row in answer.rows] == ["q1", "q\ufffd"]
    assert "bytes_replaced" in codes(answer.rows[1])
    assert answer.rows[0]["results"] == answer.rows[1]["results"]


UNREAD = st.text(max_size=12).filter(lambda name: name not in {"id", "query", "query_time", "group", "filters"})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["relevant", "labels", "metadata", "category", "as_of", "namespace", "top_k", "answer", "domain"]
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(unread=st.dictionaries(NAMES | UNREAD, JSON, max_size=6))
def test_labels_and_metadata_are_never_read(unread: dict[str, Any], desk: Path) -> None:
    plain = batch(desk, [ASKED]).out
    assert batch(desk, [json.dumps({**unread, **ASKED})]).out == plain
    assert batch(desk, [json.dumps({**ASKED, **unread})]).out == plain


def test_ten_thousand_rows(desk: Path) -> None:
    write_lines(desk.with_name("memories.jsonl"), MEMORIES[:1])
    rows = [{**ASKED, "id": number} if number % 5 == 0 else {"id": number, "query": ""} for number in range(10_000)]
    answer = batch(desk, rows)
    assert [row["query_id"] for row in answer.rows] == [str(number) for number in range(10_000)]
    assert "8000 of 10000 queries failed" in answer.err
    assert "(8000 times)" in answer.err
    assert len(answer.err.splitlines()) < 5


def test_the_same_input_gives_the_same_bytes_on_any_number_of_threads(desk: Path) -> None:
    found = []
    for threads in (1, 2):
        environment = {
            "OPENBLAS_NUM_THREADS": str(threads),
            "RAYON_NUM_THREADS": str(threads),
            "PYTHONHASHSEED": str(threads),
        }
        queries = ROOT / "evalsets" / "finance" / "queries.jsonl"
        answer = spawn("run", ROOT / "pipelines" / "finance.yaml", "--queries", queries, env=environment)
        assert answer.returncode == 0, answer.stderr
        found.append(answer.stdout)
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == len(queries.read_text(encoding="utf-8").splitlines())


# The process


def line(identity: str) -> bytes:
    return json.dumps({**ASKED, "id": identity}).encode() + b"\n"


def test_answers_to_stdin_come_line_by_line(desk: Path) -> None:
    process = start(
        "run", desk, "--queries", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for identity in ("a", "b"):
        process.stdin.write(line(identity))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["query_id"] == identity
    rest, err = process.communicate(timeout=30)
    assert (process.returncode, rest, err) == (0, b"", b"")


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_leaves_the_old_file(number: signal.Signals, desk: Path) -> None:
    target = desk.with_name("run.jsonl")
    target.write_text("old")
    process = start("run", desk, "--queries", "-", "--out", target, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(line("a"))
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not list(desk.parent.glob(".run.jsonl.*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert target.read_text() == "old"
    if number == signal.SIGINT:
        assert (process.returncode, err) == (130, b"interrupted\n")
        assert list(desk.parent.glob(".run.jsonl.*")) == []


@posix
def test_a_reader_that_has_enough_ends_the_run_quietly(desk: Path) -> None:
    queries = write_lines(desk.with_name("queries.jsonl"), [{**ASKED, "id": str(n)} for n in range(500)])
    process = start("run", desk, "--queries", queries, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"{")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0
    process.stderr.close()


@posix
@pytest.mark.parametrize(("extra", "bar"), [([], True), (["-q"], False)])
def test_a_progress_bar_shows_on_a_terminal_and_never_among_the_answers(
    extra: list[str], bar: bool, desk: Path
) -> None:
    import pty

    queries = write_lines(desk.with_name("queries.jsonl"), [{**ASKED, "id": str(n)} for n in range(20)])
    near, far = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    process = start("run", desk, "--queries", queries, *extra, stdout=subprocess.PIPE, stderr=far, env=environment)
    os.close(far)
    out, _ = process.communicate(timeout=30)
    shown = read_terminal(near)
    assert process.returncode == 0
    assert [json.loads(text)["query_id"] for text in out.splitlines()] == [str(n) for n in range(20)]
    assert (b"ranking" in shown) == bar
    assert b"query_id" not in shown
    assert b"\x1b[3" not in shown
