"""A failing model behind the other commands that may ask one: conversations, contradictions, and readings of time."""

import time
from pathlib import Path
from typing import Any

import pytest
from calling import SPEC, Answer, call, write_lines
from faults.lm_server import ACTS, LmServer, SlowHeaders
from faults.lm_server import Answer as Good

FAULTS = ("500", "401", "slow", "drip", "cut", "html", "prose", "truncated", "missing_id", "unknown_id", "deep")
TALK: list[dict[str, Any]] = [
    {"id": "e1", "role": "user", "content": "Please cancel the order 4417 of last week."},
    {"id": "e2", "role": "assistant", "content": "It is cancelled. I'll send the receipt on Friday."},
    {"id": "e3", "role": "user", "content": "Lovely, thanks."},
    {"id": "e4", "role": "assistant", "content": "You're welcome."},
]
FACTS: list[dict[str, Any]] = [
    {"id": "dose-1", "content": "Dana takes 20 mg of lisinopril every day.", "created_at": "2026-01-05"},
    {"id": "dose-2", "content": "Correction: Dana no longer takes 20 mg of lisinopril, it is 40 mg of lisinopril now.",
     "created_at": "2026-02-05"},
]  # fmt: skip


def spec_of(
    folder: Path, server: LmServer, *, temporal: str = "", limits: str = "deadline: 0.4s, read_deadline: 1s"
) -> Path:
    """A spec whose model is behind this server."""
    lm = f"lm: {{model: local/scripted, endpoint: {server.url}, {limits}, retry_wait: 0s}}\n"
    path = folder / "spec.yaml"
    path.write_text(SPEC.replace("kind: temporal.v1", f"kind: temporal.v1{temporal}") + lm)
    return path


def prune(folder: Path, server: LmServer, *extra: object, limits: str = "deadline: 0.4s, read_deadline: 1s") -> Answer:
    file = write_lines(folder / "talk.jsonl", TALK)
    judge = spec_of(folder, server, limits=limits)
    asked = ("--message", "When does the receipt come?", "--judge", judge, "--json")
    return call("conversation", "prune", file, *asked, *extra)


def decided(answer: Answer) -> list[str]:
    """The elements that something was decided about, in order."""
    return [row["element_id"] for row in answer.json["scored_elements"]]


@pytest.mark.parametrize("name", FAULTS)
def test_a_conversation_is_pruned_by_the_careful_policy(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = prune(tmp_path, server)
        assert len(server.calls) <= 2
    assert answer.code == 0, answer.err
    assert decided(answer) == [row["id"] for row in TALK]
    assert "failure" in {note["level"] for note in answer.json["notes"]}
    assert {row["recommended_action"] for row in answer.json["scored_elements"]} == {"retain"}


@pytest.mark.parametrize("name", ["500", "slow", "prose"])
def test_under_strict_a_conversation_is_not_pruned_without_its_model(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = prune(tmp_path, server, "--strict")
    assert (answer.code, answer.out) == (4, "")


def test_a_pruning_waits_800_ms_whatever_the_spec_allows(tmp_path: Path) -> None:
    with LmServer([SlowHeaders()] * 20) as server:
        started = time.monotonic()
        answer = prune(tmp_path, server, limits="deadline: 20s, read_deadline: 30s")
        took = time.monotonic() - started
    assert answer.code == 0
    assert decided(answer) == [row["id"] for row in TALK]
    assert took < 0.8 + 3


def contradictions(folder: Path, server: LmServer, *extra: object) -> Answer:
    file = write_lines(folder / "facts.jsonl", FACTS)
    return call("store", "contradictions", file, "--judge", spec_of(folder, server), "--json", *extra)


@pytest.mark.parametrize("name", FAULTS)
def test_contradictions_are_found_without_the_model(name: str, tmp_path: Path) -> None:
    with LmServer() as server:
        file = write_lines(tmp_path / "facts.jsonl", FACTS)
        plain = call("store", "contradictions", file, "--json").json["contradictions"]
        server.script([ACTS[name]] * 40)
        answer = contradictions(tmp_path, server)
    assert answer.code == 0, answer.err
    assert len(plain) == 1
    if name not in ("missing_id", "unknown_id"):  # a verdict has no ids: these are the model's word
        assert answer.json["contradictions"] == plain
        assert "lm_" in answer.err


@pytest.mark.parametrize("name", ["500", "slow", "prose"])
def test_under_strict_contradictions_need_their_model(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 40) as server:
        answer = contradictions(tmp_path, server, "--strict")
    assert (answer.code, answer.out) == (4, "")


def reads_time(folder: Path, server: LmServer, *extra: object) -> Answer:
    write_lines(folder / "memories.jsonl", FACTS)
    return call("run", spec_of(folder, server, temporal=", read_time: lm"), "--json", *extra)


@pytest.mark.parametrize("name", FAULTS)
def test_rules_read_the_time_where_the_model_does_not(name: str, tmp_path: Path) -> None:
    with LmServer([ACTS[name]] * 20) as server:
        answer = reads_time(tmp_path, server)
        plain = reads_time(tmp_path, server, "--no-lm")
        assert len(server.calls) <= 2
    assert answer.code == 0, answer.err
    if name not in ("missing_id", "unknown_id"):
        assert answer.json["query"]["sensitivity"] == plain.json["query"]["sensitivity"]
        assert any(note["code"].startswith("lm_") for note in answer.json["notes"])
    assert len(answer.json["results"] + answer.json["excluded"]) == len(FACTS)


def test_a_good_reading_of_time_counts(tmp_path: Path) -> None:
    with LmServer() as server:
        answer = reads_time(tmp_path, server, "--strict")
        assert answer.code == 0, answer.err
        assert len(server.calls) == 1
    assert answer.json["query"]["sensitivity"] == "real-time"  # the first word that the scripted model may say


def test_a_good_judge_of_a_conversation_counts(tmp_path: Path) -> None:
    with LmServer(opinion=lambda item, query: 0.0) as server:  # class 1, keep_full
        answer = prune(tmp_path, server, "--strict")
        assert len(server.calls) == 1
        assert "When does the receipt come?" in str(server.calls[0].body)
    assert answer.code == 0, answer.err
    assert answer.err == ""
    assert all("the model says" in row["rationale"] for row in answer.json["scored_elements"])


LEVELS = [("", 0), ("--strict", 4)]


def elsewhere(command: str, folder: Path, judge: Path, *extra: object) -> Answer:
    """One of the two commands that may ask a model, with the judge of this spec."""
    extra = tuple(one for one in extra if one)
    if command == "contradictions":
        file = write_lines(folder / "facts.jsonl", [*FACTS, *OTHERS])
        return call("store", "contradictions", file, "--judge", judge, "--json", *extra)
    file = write_lines(folder / "talk.jsonl", TALK)
    return call("conversation", "prune", file, "--message", "The receipt?", "--judge", judge, "--json", *extra)


OTHERS: list[dict[str, Any]] = [
    {"id": "home-1", "content": "Omar lives in Berlin.", "created_at": "2026-01-05"},
    {"id": "home-2", "content": "Correction: Omar no longer lives in Berlin, he lives in Oslo now.",
     "created_at": "2026-02-05"},
]  # fmt: skip


def data_of(answer: Answer) -> Any:
    """What was found, or decided."""
    return answer.json.get("contradictions") or answer.json["scored_elements"]


@pytest.mark.parametrize("command", ["contradictions", "conversation"])
@pytest.mark.parametrize(("level", "code"), LEVELS)
def test_a_server_that_is_down(command: str, level: str, code: int, tmp_path: Path) -> None:
    with LmServer() as server:
        judge = spec_of(tmp_path, server)
    answer = elsewhere(command, tmp_path, judge, level)  # nobody listens there any more
    assert answer.code == code, answer.err
    assert "Traceback" not in answer.err
    if code:
        assert answer.out == ""
    else:
        assert data_of(answer)
    assert "no connection to the server" in answer.err or "lm_unreachable" in answer.err


@pytest.mark.parametrize("command", ["contradictions", "conversation"])
@pytest.mark.parametrize(("level", "code"), LEVELS)
def test_a_key_that_is_refused_is_named_and_never_shown(
    command: str, level: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-secret-of-mine-1234567890")
    with LmServer([ACTS["401"]] * 9) as server:
        judge = spec_of(
            tmp_path, server, limits="deadline: 0.4s, read_deadline: 1s, concurrency: 1, api_key_env: THE_KEY"
        )
        answer = elsewhere(command, tmp_path, judge, level)
        assert len(server.calls) == 1
        assert all("sk-secret" in str(one.headers.values()) for one in server.calls)
    assert answer.code == code, answer.err
    assert "sk-secret" not in answer.err + answer.out
    assert "lm_refused" in answer.err or "refuses the key" in answer.err
    assert (answer.out == "") == bool(code)


@pytest.mark.parametrize("command", ["contradictions", "conversation"])
@pytest.mark.parametrize(("level", "code"), LEVELS)
def test_a_budget_that_is_spent(command: str, level: str, code: int, tmp_path: Path) -> None:
    limits = {
        "contradictions": "deadline: 0.4s, read_deadline: 1s, max_calls: 1",
        "conversation": "deadline: 0.4s, read_deadline: 1s, max_tokens_per_run: 10",
    }
    with LmServer() as server:
        answer = elsewhere(command, tmp_path, spec_of(tmp_path, server, limits=limits[command]), level)
        assert len(server.calls) == (1 if command == "contradictions" else 0)
    assert answer.code == code, answer.err
    assert "spent" in answer.err or "lm_budget" in answer.err
    assert (answer.out == "") == bool(code)


def test_a_command_that_names_no_model_is_a_mistake(tmp_path: Path) -> None:
    judge = tmp_path / "plain.yaml"
    judge.write_text(SPEC)
    for command in ("contradictions", "conversation"):
        answer = elsewhere(command, tmp_path, judge)
        assert (answer.code, answer.out) == (2, "")
        assert "names no language model" in answer.err


LONG = "We talked for an hour about colours and the logo, without any end, and lunch was good. " * 6


def test_summaries_of_a_model_in_a_conversation(tmp_path: Path) -> None:
    def edit(answer: Any, prompt: Any) -> Any:
        for row in answer.get("decisions", ()):
            row["decay_class"], row["action"] = (3, "summarize") if row["id"] == "e0" else (2, "keep_full")
        return {**answer, "summary": "Talked about colours, without end."} if "summary" in answer else answer

    talk = [{"id": "e0", "role": "user", "content": LONG}, *TALK]
    file = write_lines(tmp_path / "talk.jsonl", talk)
    with LmServer([Good(edit)] * 9) as server:
        judge = spec_of(tmp_path, server)
        asked = ("conversation", "prune", file, "--message", "So?", "--judge", judge, "--json")
        answer = call(*asked, "--summaries", "lm", "--strict")
        plain = call(*asked, "--strict")
    assert answer.code == 0, answer.err
    row, other = answer.json["scored_elements"][0], plain.json["scored_elements"][0]
    assert (row["summary"], row["summary_by"]) == ("Talked about colours, without end.", "lm")
    assert other["summary"] != row["summary"]
    assert "summary_by" not in other
    assert call("conversation", "prune", file, "--message", "So?", "--summaries", "lm").code == 2
