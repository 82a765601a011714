"""`memrank eval` where a model judges: what it was asked, what that took, and what came of it, each counted apart."""

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from calling import call
from faults.lm_server import ACTS, LmServer
from golden import MEMORIES, QUERIES, WITHOUT_PRUNER, write_set

SCHEMA = json.loads(files("memrank.data").joinpath("eval.schema.json").read_text(encoding="utf-8"))
FIGURES = ("lm_sent", "lm_fallbacks", "lm_invalid", "lm_timeouts", "position_bias")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals go to a folder of the test's."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))


def spec(folder: Path, server: LmServer, *more: str) -> Path:
    """The golden set of five queries, three of which can be scored, judged by the model behind this server."""
    write_set(folder / "set")
    lm = ["model: local/scripted", f"endpoint: {server.url}", "cache: 0", "retry_wait: 0s", *more]
    price = "price: {input: 1000, output: 1000}"
    text = WITHOUT_PRUNER.replace("kind: ranker.v1", "kind: ranker.v1, judge: lm")
    assert text != WITHOUT_PRUNER
    path = folder / "desk.yaml"
    path.write_text(f"{text}evaluate: {{evalset: set}}\nlm: {{{', '.join([*lm, price])}}}\n")
    return path


def test_calls_tokens_cost_and_position_bias_are_reported(tmp_path: Path) -> None:
    with LmServer() as server:
        answer = call("eval", spec(tmp_path, server), "--json", "--part", "all")
        calls = len(server.calls)
        table = call("eval", tmp_path / "desk.yaml").out
    assert answer.code == 0, answer.err
    jsonschema.Draft202012Validator(SCHEMA).validate(answer.json)
    figures, scored = answer.json["figures"], answer.json["scored"]
    assert scored == 3
    assert figures["lm_calls"]["value"] * scored == pytest.approx(calls)
    assert figures["lm_tokens"]["value"] > 0
    assert figures["cost_usd"]["value"] == pytest.approx(figures["lm_tokens"]["value"] / 1000)
    assert figures["lm_sent"]["value"] > 2
    assert [figures[name]["value"] for name in FIGURES[1:4]] == [0, 0, 0]
    assert -1 <= figures["position_bias"]["value"] <= 1
    assert figures["position_bias"]["n"] == 2
    for name in ("lm_calls", "lm_tokens", "cost_usd", *FIGURES):
        assert any(line.startswith(f"{name} ") for line in table.splitlines()), name


def test_a_model_that_favours_the_first_is_seen_to(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()

    def falling(item: object, query: str) -> float:
        seen[query] += 1
        return 1 - 0.1 * seen[query]

    with LmServer(opinion=falling) as server:
        path = spec(tmp_path, server, "concurrency: 1", "decoys: 0")
        alike = [{**MEMORIES[0], "id": f"a{place}", "content": f"Dana wants room {place}."} for place in range(1, 9)]
        write_set(tmp_path / "set", QUERIES[:1], alike)
        body = call("eval", path, "--json").json
    assert body["figures"]["position_bias"]["value"] < -0.5


def test_what_fails_is_counted_apart(tmp_path: Path) -> None:
    script = [ACTS["nan"], ACTS["nan"], ACTS["500"], ACTS["500"], ACTS["answer"]]
    with LmServer(script) as server:
        body = call("eval", spec(tmp_path, server, "concurrency: 1", "decoys: 0"), "--json").json
    reads = [one["lm"] for one in body["outcomes"] if one["status"] == "scored"]
    assert [(one["invalid"] > 0, one["fallbacks"] > 0) for one in reads] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert [one["calls"] for one in reads] == [2, 2, 1]
    assert body["figures"]["lm_fallbacks"]["value"] == pytest.approx(sum(one["fallbacks"] for one in reads) / 3)
    assert not any("position_bias" in one for one in reads)


def test_time_outs_are_no_invalid_answers(tmp_path: Path) -> None:
    with LmServer([ACTS["slow"]] * 9) as server:
        path = spec(tmp_path, server, "deadline: 0.2s", "read_deadline: 0.3s", "retries: 0")
        body = call("eval", path, "--json").json
    assert body["figures"]["lm_timeouts"]["value"] >= 1
    assert body["figures"]["lm_invalid"]["value"] == 0
    assert body["figures"]["lm_fallbacks"]["value"] == body["figures"]["lm_sent"]["value"]
    assert "position_bias" not in body["figures"]


def test_without_a_model_nothing_of_it_is_said(tmp_path: Path) -> None:
    write_set(tmp_path / "set")
    path = tmp_path / "desk.yaml"
    path.write_text(f"{WITHOUT_PRUNER}evaluate: {{evalset: set}}\n")
    body = call("eval", path, "--json").json
    assert not set(FIGURES) & set(body["figures"])
    assert [one["lm"] for one in body["outcomes"] if one["status"] == "scored"] == [
        {"calls": 0, "tokens": 0, "cost_usd": 0.0}
    ] * 3
