"""`memrank reads`: what each command prints and how it ends."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from calling import SPEC, Answer, call, spawn, write_lines

QUERY = "When does Dana want her appointments?"


@pytest.fixture
def logged(desk: Path) -> Path:
    """The spec with a read log beside it."""
    desk.write_text(f"{SPEC}reads: {{log: log.db}}\n")
    return desk


def reads(*arguments: object, spec: Path) -> Answer:
    return call("reads", *arguments, "--spec", spec)


def run(spec: Path, *arguments: object) -> str:
    """The id of a read."""
    answer = call("run", spec, "--json", *arguments)
    assert (answer.code, answer.err) == (0, "")
    return str(answer.json["meta"]["read_id"])


def test_a_run_is_recorded_and_shown(logged: Path) -> None:
    read_id = run(logged)
    (line,) = reads("log", "--json", spec=logged).json
    assert (line["read_id"], line["query"], line["judged"], line["cached"]) == (read_id, QUERY, 3, False)
    table = reads("log", spec=logged)
    assert (table.code, table.err) == (0, "")
    assert table.out.splitlines()[0].split() == ["read", "at", "returned", "judged", "top", "ms", "review", "query"]
    assert read_id[:8] in table.out
    shown = reads("show", read_id[:8], spec=logged)
    assert shown.out.startswith(f"read {read_id}, 1 call,")
    assert QUERY in shown.out
    whole = reads("show", read_id, "--json", spec=logged).json
    answer = call("run", logged, "--json").json
    del answer["meta"]["latency_ms"]
    assert whole["result"] == answer
    assert set(whole["columns"]) >= {"bm25", "freshness", "relevance", "raw_score", "score"}
    assert [len(values) for values in whole["columns"].values()] == [3] * len(whole["columns"])


def test_a_process_of_its_own_writes_before_it_ends(logged: Path) -> None:
    done = spawn("run", logged, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    read_id = json.loads(done.stdout)["meta"]["read_id"]
    assert [line["read_id"] for line in reads("log", "--json", spec=logged).json] == [read_id]


def test_batches_are_recorded(logged: Path) -> None:
    rows = [{"id": f"q{k}", "query": f"appointments {k % 3}", "query_time": "2026-03-20"} for k in range(5)]
    queries = write_lines(logged.with_name("q.jsonl"), rows)
    assert call("run", logged, "--queries", queries).code == 0
    found = reads("log", "--json", "--limit", 3, spec=logged).json
    assert [(line["query"], line["cached"]) for line in found] == [
        ("appointments 1", True),
        ("appointments 0", True),
        ("appointments 2", False),
    ]
    assert len(reads("log", "--json", "--query", "APPOINTMENTS 1", spec=logged).json) == 2
    assert reads("log", "--json", "--since", "2999-01-01", spec=logged).json == []
    assert len(reads("log", "--json", "--since", "1d", spec=logged).json) == 5


def test_replay(logged: Path) -> None:
    read_id = run(logged)
    same = reads("replay", read_id, spec=logged)
    assert (same.code, same.out.splitlines()[1]) == (0, "reproduced from the record, bit for bit")
    assert "the same" in same.out
    told = call("reads", "replay", read_id[:10], "--log", logged.with_name("log.db"), "--json").json
    assert (told["reproduced"], told["store"], told["differences"]) == (True, None, [])
    what_if = reads("replay", read_id, "--set", "ranker.weights={freshness: 1.0}", spec=logged)
    assert what_if.code == 0
    assert "->" in what_if.out
    write_lines(logged.with_name("memories.jsonl"), [{"id": "m1", "content": "Dana wants nothing."}])
    moved = reads("replay", read_id, spec=logged)
    assert (moved.code, "1 changed (m1) and 2 gone (m2, m3)" in moved.out) == (0, True)


def test_a_record_that_does_not_give_the_same_exits_1(logged: Path) -> None:
    read_id = run(logged)
    with closing(sqlite3.connect(logged.with_name("log.db"))) as connection, connection:
        old = '%"content":"Dana wants her%'
        update = "UPDATE texts SET record = replace(record, 'afternoon', 'evening') WHERE record LIKE ?"
        assert connection.execute(update, (old,)).rowcount == 1
        connection.execute("UPDATE records SET pool_notes = '[]', notes = ?", (json.dumps([NOTE]),))
    answer = reads("replay", read_id, spec=logged)
    assert (answer.code, "NOT reproduced" in answer.out) == (1, True)


NOTE = {"level": "info", "stage": "x", "code": "y", "detail": "z", "count": 1}


def test_used(logged: Path) -> None:
    read_id = run(logged)
    store = logged.with_name("s.db")
    assert call("store", "import", logged.with_name("memories.jsonl"), "--to", store, "--embedder", "none").code == 0
    said = reads("used", read_id, "m2", "m2", "--session", "s", spec=logged)
    assert (said.code, said.out) == (0, "1 use recorded; no store that can be written is named\n")
    counted = reads("used", read_id, "m2", "m1", "--store", store, "--json", spec=logged)
    assert counted.json == {"recorded": 2, "counted": 2, "limited": 0, "unknown": []}
    exported = {row["id"]: row.get("access_count", 0) for row in call("store", "export", store).rows}
    assert exported == {"m1": 1, "m2": 1, "m3": 0}
    assert reads("used", read_id, "nobody", spec=logged).code == 3
    told = reads("show", read_id, "--json", spec=logged).json["used"]
    assert [(use["ids"], use["session"]) for use in told] == [(["m2"], "s"), (["m2", "m1"], None)]
    assert "of use: m2, m1" in reads("show", read_id, spec=logged).out


def test_review(logged: Path) -> None:
    logged.write_text(f"{SPEC}reads: {{log: log.db}}\nhigh_stakes: true\n")
    read_id = run(logged)
    assert (reads("review", "decided", read_id, spec=logged).code) == 1
    (item,) = reads("review", "list", "--json", spec=logged).json
    assert (item["number"], item["decision"], item["kind"]) == (1, "undecided", "triggered")
    assert "high_stakes" in reads("review", "list", spec=logged).out
    shown = reads("review", "show", 1, spec=logged)
    assert "raw_score" in shown.out
    assert QUERY in shown.out
    assert reads("review", "show", read_id, "--json", spec=logged).json["read"]["result"]["results"]
    edited = reads("review", "edit", 1, "--relevant", "m2", "--stale", "m1", "--who", "Ann", "--json", spec=logged)
    assert edited.json[0]["labels"] == {"relevant": ["m2"], "stale": ["m1"], "must_not": []}
    assert reads("review", "decided", read_id, spec=logged).out == "edited\n"
    (row,) = reads("review", "export", spec=logged).rows
    assert (row["query"], row["relevant"], row["metadata"]["stale"]) == (QUERY, ["m2"], ["m1"])
    # A row of the export is a row of --queries.
    file = write_lines(logged.with_name("labels.jsonl"), [row])
    assert call("run", logged, "--queries", file).rows[0]["results"]
    rejected = reads("review", "reject", read_id[:8], "--comment", "no", spec=logged)
    assert (rejected.code, rejected.out) == (0, "1: rejected\n")
    assert reads("review", "decided", read_id, spec=logged).code == 1
    assert reads("review", "accept", 1, spec=logged).out == "1: accepted\n"
    assert reads("review", "decided", read_id, spec=logged).code == 0
    assert reads("review", "list", "--json", spec=logged).json == []
    assert len(reads("review", "list", "--all", "--json", spec=logged).json) == 1
    other = reads("review", "edit", 1, "--relevant", "zz", spec=logged)
    assert (other.code, "judged no memory" in other.err) == (3, True)


def test_a_sample_of_reads_that_asked_for_nobody(logged: Path) -> None:
    rules = "{top_score_below: 0.0, ambiguity_margin: 0.0}"
    logged.write_text(f"{SPEC}reads: {{log: log.db}}\nreview: {rules}\n")
    for k in range(5):
        run(logged, "--query", f"appointments {k}", "--as-of", "2026-03-20")
    drawn = reads("review", "list", "--sample", 2, "--seed", 7, "--json", spec=logged)
    assert (len(drawn.json), drawn.err) == (2, "2 reads drawn into the queue\n")


def test_stats(logged: Path) -> None:
    run(logged)
    found = reads("stats", "--json", spec=logged)
    assert (found.code, found.err) == (0, "")
    assert (found.json["reads"], found.json["cache_hits"], len(found.json["bins"])) == (1, 0, 10)
    text = reads("stats", spec=logged).out
    assert text.startswith("reads            1, 1 different")
    assert "returned scores by tenths" in text


@pytest.mark.parametrize("command", [["log"], ["stats"], ["review", "list"], ["review", "export"], ["show", "0" * 8]])
def test_a_log_must_be_named(command: list[str], desk: Path) -> None:
    nowhere = call("reads", *command)
    assert (nowhere.code, "no read log is named" in nowhere.err) == (2, True)
    without = reads(*command, spec=desk)
    assert (without.code, "the spec has no read log" in without.err) == (2, True)
    gone = call("reads", *command, "--log", desk.with_name("gone.db"))
    assert (gone.code, "there is no such read log" in gone.err) == (3, True)
    assert not desk.with_name("gone.db").exists()
    other = call("reads", *command, "--log", desk)
    assert (other.code, other.out) == (3, "")


@pytest.mark.parametrize(
    ("name", "code", "says"), [("abc", 2, "too short"), ("0" * 8, 3, "holds no read"), ("f" * 32, 3, "holds no read")]
)
@pytest.mark.parametrize("command", ["show", "replay"])
def test_ids_that_lead_nowhere(command: str, name: str, code: int, says: str, logged: Path) -> None:
    run(logged)
    answer = reads(command, name, spec=logged)
    assert (answer.code, answer.out, says in answer.err) == (code, "", True)


def test_an_ambiguous_id(logged: Path) -> None:
    run(logged)
    run(logged, "--query", "appointments", "--as-of", "2026-03-20")
    with closing(sqlite3.connect(logged.with_name("log.db"))) as connection, connection:
        connection.execute("UPDATE records SET read_id = '01234567' || rowid")
    answer = reads("show", "01234567", spec=logged)
    assert (answer.code, "several reads begin with" in answer.err) == (3, True)


@pytest.mark.parametrize("column", ["numbers", "holding", "time", "notes", "candidates"])
def test_a_damaged_record(column: str, logged: Path) -> None:
    read_id = run(logged)
    with closing(sqlite3.connect(logged.with_name("log.db"))) as connection, connection:
        connection.execute(f"UPDATE records SET {column} = ?", (b"\x03nothing",))
    for command in ("show", "replay"):
        answer = reads(command, read_id, spec=logged)
        assert (answer.code, answer.out, "is damaged" in answer.err) == (3, "", True)


def test_a_log_that_cannot_be_written_stops_no_run(logged: Path) -> None:
    logged.with_name("log.db").mkdir()
    answer = call("run", logged, "--json")
    assert answer.code == 0
    assert answer.json["results"]
    assert "log_unwritten" in answer.err
    many = call("run", logged, "--queries", "-", stdin=b'{"id": "q", "query": "x", "query_time": "2026"}\n')
    assert (many.code, "log_unwritten" in many.err) == (0, True)
    assert call("run", logged, "--strict").code == 3


def test_out_never_replaces_the_log(logged: Path) -> None:
    run(logged)
    answer = call("run", logged, "--out", logged.with_name("log.db"))
    assert (answer.code, "would replace" in answer.err) == (2, True)


FORMS: list[tuple[str, Any]] = [
    ("{log: log.db, text: full, keep: 30d, durable: true, cache: null, redact: ['[0-9]{9}']}", None),
    ("{log: log.db, text: off}", None),
    ("{cache: {size: 5, lifetime: 1h, granularity: 0s}}", None),
    ("{log: log.db, redact: ['(']}", "no regular expression"),
    ("{log: ''}", "log"),
    ("{text: some}", "text"),
    ("{cache: {size: 0}}", "size"),
]


@pytest.mark.parametrize(("section", "fault"), FORMS)
def test_the_section_of_the_spec(section: str, fault: str | None, desk: Path) -> None:
    desk.write_text(f"{SPEC}reads: {section}\n")
    answer = call("check", desk)
    assert answer.code == (0 if fault is None else 2)
    assert fault is None or fault in answer.err


def test_high_stakes_are_logged_in_full(desk: Path) -> None:
    desk.write_text(f"{SPEC}high_stakes: true\nreads: {{log: log.db, text: hashed}}\n")
    answer = call("check", desk)
    assert (answer.code, "high_stakes does not go with" in answer.err) == (2, True)


def test_terminals_are_not_steered(logged: Path) -> None:
    run(logged, "--query", "a\x1b[31mred [bold]b[/bold]", "--as-of", "2026-03-20")
    for answer in (reads("log", spec=logged), reads("review", "list", spec=logged)):
        assert "\x1b" not in answer.out
    assert "[bold]b[/bold]" in reads("log", spec=logged).out


def test_arguments_that_are_no_unicode(logged: Path) -> None:
    run(logged)
    read_id = reads("log", "--json", spec=logged).json[0]["read_id"]
    odd = "\udcff" * 9
    assert reads("show", odd, spec=logged).code == 3
    assert reads("used", read_id, odd, "--session", odd, spec=logged).code == 3
    assert reads("used", read_id, "m1", "--session", odd, spec=logged).code == 0
    assert reads("log", "--query", odd, "--json", spec=logged).json == []
    assert reads("review", "list", "--sample", 1, spec=logged).code == 0
    accepted = reads("review", "accept", 1, "--who", odd, "--comment", odd, "--json", spec=logged)
    assert accepted.json[0]["who"] == "\ufffd" * 9
    assert reads("review", "show", odd, spec=logged).code == 3
    assert reads("replay", read_id, "--set", f"ranker.{odd}=1", spec=logged).code == 2
    assert call("store", "forget", logged, odd, "--yes").code == 2


@pytest.mark.parametrize(
    ("command", "name"),
    [(["log", "--since"], "--since"), (["stats", "--since"], "--since"), (["used", "READ", "m1", "--at"], "--at")],
)
@pytest.mark.parametrize("value", ["soonish", "2026-02-30", ""])
def test_a_bad_date_names_its_option(command: list[str], name: str, value: str, logged: Path) -> None:
    read_id = run(logged)
    answer = reads(*(read_id if word == "READ" else word for word in command), value, spec=logged)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {name} {value!r} cannot be read")
    assert ("7d" in answer.err.partition("hint:")[2]) == (name == "--since")


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "-0.1", "1e999", "x"])
def test_thresholds_are_finite_numbers(value: str, logged: Path) -> None:
    run(logged)
    for answer in (
        reads("stats", f"--drift-threshold={value}", spec=logged),
        call("store", "contradictions", logged.with_name("memories.jsonl"), f"--threshold={value}"),
    ):
        assert (answer.code, answer.out) == (2, "")
        assert "Traceback" not in answer.err
    assert reads("stats", "--drift-threshold", "0", spec=logged).code == 0


def test_a_replay_does_not_pass_over_another_query(logged: Path) -> None:
    read_id = run(logged)
    other = reads("replay", read_id, "--query", "another", spec=logged)
    assert (other.code, other.out) == (2, "")
    assert "not the one that was asked" in other.err
    assert "leave it out" in other.err
    assert reads("replay", read_id, "--query", QUERY, spec=logged).code == 0


def test_one_of_each_is_said_as_one(logged: Path) -> None:
    rows = [{"id": f"q{k}", "query": "appointments", "query_time": "2026-03-20"} for k in range(2)]
    assert call("run", logged, "--queries", write_lines(logged.with_name("q.jsonl"), rows)).code == 0
    text = reads("stats", spec=logged).out
    assert "cache            1 hit, rate 50.0 %\n" in text
    assert "0 timeouts, 0 invalid answers" in text
    drawn = reads("review", "list", "--all", "--sample", 1, spec=logged)
    assert drawn.err in ("1 read drawn into the queue\n", "0 reads drawn into the queue\n")
    read_id = reads("log", "--json", "--limit", 1, spec=logged).json[0]["read_id"]
    assert reads("show", read_id, spec=logged).out.startswith(f"read {read_id}, 2 calls,")


def test_high_stakes_without_a_log_say_so_and_strict_refuses(desk: Path) -> None:
    desk.write_text(f"{SPEC}high_stakes: true\n")
    answer = call("run", desk, "--format", "context")
    assert answer.code == 0
    assert "failure: reads: high_stakes: nothing can wait for review" in answer.err
    assert answer.err.splitlines()[-1].endswith("needs review: ambiguous_top, high_stakes")
    assert "review" not in answer.out
    notes = call("run", desk, "--json").json["notes"]
    assert [note["code"] for note in notes] == ["no_review_queue"]
    refused = call("run", desk, "--strict")
    assert (refused.code, refused.out, "nothing can wait" in refused.err) == (3, "", True)
    desk.write_text(f"{SPEC}high_stakes: true\nreads: {{log: log.db}}\n")
    assert call("run", desk, "--strict").err == ""


def test_what_is_left_out_under_high_stakes_is_in_the_queue(logged: Path) -> None:
    logged.write_text(
        f"{SPEC.replace('relevance_threshold: 0.0', 'top_k: 1')}reads: {{log: log.db}}\nhigh_stakes: true\n"
    )
    read_id = run(logged)
    found = reads("review", "list", "--json", spec=logged).json
    excluded = call("run", logged, "--json").json["excluded"]
    assert len(excluded) == 2
    said = {(item["kind"], item["subject"], *item["reasons"]) for item in found[1:]}
    assert said == {("excluded", item["id"], item["reason"]) for item in excluded}
    assert reads("review", "accept", 1, spec=logged).out == "1: accepted\n"
    assert reads("review", "decided", read_id, spec=logged).out == "undecided\n"
    shown = reads("review", "show", 2, spec=logged)
    assert found[1]["subject"] in shown.out
    assert reads("review", "accept", read_id[:8], spec=logged).out == "1, 2, 3: accepted\n"
    assert reads("review", "decided", read_id, spec=logged).out == "accepted\n"


@pytest.mark.parametrize(
    "command",
    [["run", "SPEC", "--store", "no.jsonl"], ["store", "export", "no.jsonl"], ["store", "decay", "no.jsonl"],
     ["store", "contradictions", "no.jsonl"], ["conversation", "prune", "no.jsonl", "--message", "x"]],
)  # fmt: skip
def test_the_hint_for_a_missing_file_fits_where_it_was_named(command: list[str], desk: Path) -> None:
    answer = call(*(desk if word == "SPEC" else word for word in command))
    assert (answer.code, answer.out) == (3, "")
    assert "a relative path starts at the current folder" in answer.err
    assert "spec" not in answer.err
    desk.with_name("memories.jsonl").unlink()
    of_spec = call("run", desk)
    assert (of_spec.code, "paths in a spec are relative to the spec" in of_spec.err) == (3, True)
