"""`memrank run` with a language model that fails: exit codes with and without --strict, and what is said on stderr."""

import json
import signal
import sys
import threading
from pathlib import Path

import pytest
from calling import MEMORIES, SPEC, Answer, call, start, write_lines
from faults.lm_server import ACTS, LmServer, SlowHeaders

FALLS_BACK = ("401", "500", "429_absurd", "slow", "drip", "cut", "reset", "html", "prose", "nan", "missing_id")


def lm_desk(folder: Path, server: LmServer, *more: str) -> Path:
    """The desk of three memories, judged by the model behind this server."""
    lm = ["model: local/scripted", f"endpoint: {server.url}", "deadline: 0.4s", "read_deadline: 1s", "retry_wait: 0s"]
    text = SPEC.replace("kind: ranker.v1,", "kind: ranker.v1, judge: lm,")
    (folder / "desk.yaml").write_text(f"{text}lm: {{{', '.join([*lm, *more])}}}\n")
    write_lines(folder / "memories.jsonl", MEMORIES)
    return folder / "desk.yaml"


def listed(answer: Answer) -> list[str]:
    """The ids of every judged memory."""
    return sorted(item["id"] for item in answer.json["results"] + answer.json["excluded"])


@pytest.mark.parametrize("name", FALLS_BACK)
def test_a_failing_model_never_stops_a_read(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = call("run", lm_desk(tmp_path, server), "--json")
    assert answer.code == 0, answer.err
    assert listed(answer) == ["m1", "m2", "m3"]
    assert "failure" in {note["level"] for note in answer.json["notes"]}
    assert answer.err != ""


@pytest.mark.parametrize("name", FALLS_BACK)
def test_under_strict_it_is_an_error_of_a_model(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = call("run", lm_desk(tmp_path, server), "--json", "--strict")
    assert answer.code == 4, answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err


def test_a_repaired_answer_is_an_error_of_a_model_under_strict(tmp_path: Path) -> None:
    with LmServer([ACTS["percent"]] * 4) as server:
        spec = lm_desk(tmp_path, server)
        assert call("run", spec).code == 0
        assert call("run", spec, "--strict").code == 4


def test_a_good_answer_passes_strict(tmp_path: Path) -> None:
    with LmServer() as server:
        answer = call("run", lm_desk(tmp_path, server), "--json", "--strict")
        assert answer.code == 0, answer.err
        assert len(server.calls) >= 1
    assert answer.json["meta"]["lm"]["calls"] == len(server.calls)


def test_no_lm_calls_nobody_and_ranks_as_without(tmp_path: Path) -> None:
    with LmServer() as server:
        answer = call("run", lm_desk(tmp_path, server), "--json", "--no-lm")
        assert server.connections == 0
    assert answer.code == 0
    (tmp_path / "desk.yaml").write_text(SPEC)
    plain = call("run", tmp_path / "desk.yaml", "--json")
    assert [item["score"] for item in answer.json["results"]] == [item["score"] for item in plain.json["results"]]


def test_many_queries_come_back_in_order_whatever_fails(tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "query": f"When does Dana want appointment {k}?"} for k in range(12)]
    queries = write_lines(tmp_path / "queries.jsonl", rows)
    with LmServer([ACTS[name] for name in ("500", "nan", "reset", "html", "answer", "cut", "prose")]) as server:
        answer = call("run", lm_desk(tmp_path, server), "--queries", queries)
    assert answer.code == 0, answer.err
    assert [row["query_id"] for row in answer.rows] == [row["id"] for row in rows]
    assert all(row["results"] for row in answer.rows)


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts of POSIX")
def test_an_interrupt_ends_a_read_that_waits(tmp_path: Path) -> None:
    with LmServer([SlowHeaders()] * 20) as server:
        spec = lm_desk(tmp_path, server)
        spec.write_text(
            spec.read_text()
            .replace("deadline: 0.4s", "deadline: 20s")
            .replace("read_deadline: 1s", "read_deadline: 25s")
        )
        process = start("run", spec, stdout=-1, stderr=-1)
        waiting = threading.Event()
        while not server.calls and process.poll() is None:
            waiting.wait(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def test_a_key_that_is_not_set_is_said_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with LmServer() as server:
        answer = call("run", lm_desk(tmp_path, server, "api_key_env: NO_SUCH_KEY"), "--json")
        assert server.connections == 0
    assert "NO_SUCH_KEY" in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == "" or json.loads(answer.out)


@pytest.mark.parametrize("name", ["html", "html_as_json", "no_bytes", "json_null"])
def test_a_server_of_another_kind_is_said_to_be_one(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = call("run", lm_desk(tmp_path, server), "--json")
    said = " ".join(answer.err.split())
    assert "the endpoint did not answer as an OpenAI-compatible server" in said
    assert "/v1" in said
    assert "Bad Gateway" not in said
    assert "the server does not take the request" not in said


def test_a_read_of_high_stakes_shows_what_the_model_was_asked(tmp_path: Path) -> None:
    with LmServer() as server:
        desk = lm_desk(tmp_path, server)
        desk.write_text(desk.read_text() + "high_stakes: true\nreads: {log: desk.db}\n")
        answer = call("run", desk, "--json")
    read_id = answer.json["meta"]["read_id"]
    shown = call("reads", "show", read_id, "--log", tmp_path / "desk.db")
    assert "a model was asked: 1 call; --json shows every word" in shown.out
    body = call("reads", "show", read_id, "--log", tmp_path / "desk.db", "--json").json
    (one,) = body["exchanges"]
    assert one["messages"][0]["role"] == "system"
    assert (one["outcome"], one["forgotten"]) == ("answered", False)
    assert body["result"]["results"][0]["justification"] == "the scripted model says so"


def test_an_answer_without_the_model_is_another_read_than_one_with_it(tmp_path: Path) -> None:
    with LmServer([ACTS["500"]] * 2) as server:
        desk = lm_desk(tmp_path, server)
        desk.write_text(desk.read_text() + "high_stakes: true\nreads: {log: desk.db}\n")
        answers = [call("run", desk, "--json").json for _ in range(3)]
    failed, answered, again = (answer["meta"]["read_id"] for answer in answers)
    assert failed != answered == again
    for answer in answers[:2]:
        kept = call("reads", "show", answer["meta"]["read_id"], "--log", tmp_path / "desk.db", "--json").json
        for item, of_log in zip(answer["results"], kept["result"]["results"], strict=True):
            assert (item["id"], item["score"], item["judged_by"]) == (
                of_log["id"],
                of_log["score"],
                of_log["judged_by"],
            )
    log = call("reads", "log", "--log", tmp_path / "desk.db", "--json").json
    assert [line["read_id"] for line in log] == [again, answered, failed]


def test_without_the_model_nobody_is_asked_about_time_or_summaries(tmp_path: Path) -> None:
    with LmServer() as server:
        desk = lm_desk(tmp_path, server)
        text = (
            desk.read_text()
            .replace("judge: lm,", "")
            .replace("kind: temporal.v1", "kind: temporal.v1, sensitivity: recent, judge: lm")
        )
        desk.write_text(text.replace("kind: pruner.v1", "kind: pruner.v1, summaries: lm"))
        answer = call("run", desk, "--json", "--no-lm", "--strict")
        assert server.calls == []
        asked = call("run", desk, "--json", "--no-cache", "--strict")
        assert len(server.calls) >= 1
    assert answer.code == asked.code == 0, answer.err + asked.err
    assert {note["code"] for note in answer.json["notes"]} >= {"no_lm"}
    assert all(item["recency"] == item["scores"]["freshness"] for item in answer.json["results"])
    assert asked.json["meta"]["lm"]["time_sent"] >= 1
