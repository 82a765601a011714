"""The comparison of judges, with a scripted model whose word is known."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import goldens
import judges
import numpy as np
import pytest
from faults.lm_server import Answer, LmServer, Status
from faults.scripted_model import Item

from memrank.score.intervals import Bootstrap

NOW = "2026-03-20T09:00:00Z"
WHEN = "2026-03-01T00:00:00Z"
ANSWERS = {"q1": "oslo", "q2": "tea", "q3": "blue", "q4": "cat"}
MEMORIES = [
    {"id": "oslo", "group": "a", "timestamp": WHEN, "content": "The billing service runs in Oslo."},
    {"id": "bill", "group": "a", "timestamp": WHEN, "content": "Billing is what the billing service does."},
    {"id": "tea", "group": "a", "timestamp": WHEN, "content": "Ana drinks green tea in the morning."},
    {"id": "blue", "group": "a", "timestamp": WHEN, "content": "Invoices are printed on blue paper."},
    {"id": "cat", "group": "a", "timestamp": WHEN, "content": "The cat sleeps on the keyboard."},
]
QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "query": "Where does the billing service run?", "relevant": ["oslo"]},
    {"id": "q2", "query": "What does Ana drink?", "relevant": ["tea"], "split": "report"},
    {"id": "q3", "query": "On which paper are invoices printed?", "relevant": ["blue"], "split": "report"},
    {"id": "q4", "query": "Who sleeps on the keyboard?", "relevant": ["cat"], "split": "fit"},
    {"id": "q5", "query": "Who feeds the fish?", "relevant": [], "split": "report"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "tiny"
    there.mkdir()
    rows = [{**row, "query_time": NOW, "group": "a"} for row in QUERIES]
    for name, listed in (("memories", MEMORIES), ("queries", rows)):
        (there / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
    return there


def knowing(item: Item, query: str) -> float:
    """A model that knows every answer, and finds each memory a little different; nothing answers a decoy."""
    answer = next((ANSWERS[row["id"]] for row in QUERIES if row["query"] == query), None)
    if answer is None:
        return 0.0
    return 0.9 if item["id"] == answer else len(str(item["id"])) / 100


def contrary(item: Item, query: str) -> float:
    """A model that has it the wrong way round."""
    known = knowing(item, query)
    return 0.99 - known if known else 0.0


def run(folder: Path, server: LmServer, *more: str) -> tuple[dict[str, Any], str]:
    """The comparison over the tiny set."""
    given = [str(folder), "--model", "local/scripted", "--endpoint", server.url, "--schema", "--candidates", "5"]
    return judges.measured(*judges.parsed([*given, "--batch-candidates", "5", "--sizes", "1,2,5", *more]))


def test_the_sample_has_an_answer_and_was_never_fitted_on(folder: Path) -> None:
    sets = [goldens.GoldenSet(folder)]
    drawn = [one.row["id"] for one in judges.sample(sets, 10, "1")]
    assert sorted(drawn) == ["q1", "q2", "q3"]
    assert [one.row["id"] for one in judges.sample(sets, 2, "1")] == drawn[:2]


def test_every_set_has_its_turn(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    drawn = judges.sample([goldens.GoldenSet(folder), goldens.GoldenSet(other)], 4, "1")
    assert [one.golden.name for one in drawn] == ["tiny", "other", "tiny", "other"]


def test_a_model_that_knows_is_better_and_its_cost_is_told(folder: Path) -> None:
    with LmServer(opinion=knowing) as server:
        body, text = run(folder, server, "--batch-queries", "0")
        calls = len(server.calls)
    lm, embedded, cascade = (body["judges"][name] for name in ("lm", "embedded", "cascade"))
    assert lm["nDCG@10"]["mean"] == lm["R@1"]["mean"] == lm["pairs"]["mean"] == 1.0
    assert lm["share_sent"]["mean"] == 1.0
    assert embedded["calls"]["mean"] == embedded["tokens"]["mean"] == 0
    assert lm["nDCG@10"]["queries"] == 3
    assert calls == pytest.approx(3 * (lm["calls"]["mean"] + cascade["calls"]["mean"]), abs=1e-3)
    assert cascade["sent"]["mean"] <= 1
    assert "3 queries, 5 candidates each" in text
    assert "lm - embedded" in text
    assert "of the model's gain" in text or "gains nothing" in text


def test_a_model_that_is_worse_is_called_worse(folder: Path) -> None:
    with LmServer(opinion=contrary) as server:
        body, text = run(folder, server, "--batch-queries", "0")
    assert body["judges"]["lm"]["pairs"]["mean"] == 0.0
    assert body["share_of_gain"] is None
    assert "gains nothing" in text


def test_what_the_model_did_not_judge_is_counted(folder: Path) -> None:
    with LmServer([Status(400)] * 6, opinion=knowing) as server:
        body, _ = run(folder, server, "--batch-queries", "0")
    assert body["judges"]["lm"]["failed"]["mean"] > 0


def test_batches_of_a_steady_model_agree(folder: Path) -> None:
    with LmServer(opinion=knowing) as server:
        body, _ = run(folder, server, "--queries", "0", "--batch-queries", "2")
        assert len(server.calls) == 2 * (5 + 3 + 1)
    assert [(row["size"], row["calls"], row["judged"]) for row in body["batches"]] == [
        (1, 10, 10),
        (2, 6, 10),
        (5, 2, 10),
    ]
    for row in body["agreement"]:
        assert row["rank_correlation"] == pytest.approx(1.0)
        assert row["mae"] == pytest.approx(0.0)
        assert (row["queries"], row["memories"]) == (2, 10)


def test_a_size_that_changes_the_model_s_mind_shows(folder: Path) -> None:
    contradicting = [Answer(opinion=contrary)] * 5
    with LmServer(contradicting, opinion=knowing) as server:
        body, _ = run(folder, server, "--queries", "0", "--batch-queries", "1")
    by_sizes = {tuple(row["sizes"]): row for row in body["agreement"]}
    assert by_sizes[1, 5]["rank_correlation"] < -0.9
    assert by_sizes[1, 5]["mae"] > 0.5
    assert by_sizes[2, 5]["mae"] == pytest.approx(0.0)


def test_no_query_starts_when_the_time_is_up(folder: Path) -> None:
    with LmServer(opinion=knowing) as server:
        body, text = run(folder, server, "--seconds", "0")
        assert server.calls == []
    assert "judges" not in body
    assert "the time was up" in text


def test_pairs_are_shares_of_pairs() -> None:
    said = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}
    assert judges.pairs(said, {"a"}) == 1.0
    assert judges.pairs(said, {"b"}) == pytest.approx((0 + 0.5 + 1) / 3)
    assert judges.pairs(said, {"d"}) == 0.0
    assert math.isnan(judges.pairs(said, set()))
    assert math.isnan(judges.pairs(said, set(said)))


def test_the_script_writes_what_it_shows(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"
    with LmServer(opinion=knowing) as server:
        given = ["judges.py", str(folder), "--model", "local/x", "--endpoint", server.url, "--json", str(out)]
        monkeypatch.setattr(sys, "argv", [*given, "--sizes", "1,5", "--batch-candidates", "5"])
        judges.main()
    assert json.loads(out.read_text())["agreement"][0]["sizes"] == [1, 5]
    assert "rank_correlation" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--candidates", "0"], ["--sizes", "0,5"], ["--queries", "-1"], ["--sizes", "x"]])
def test_what_cannot_be_measured_is_refused(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        judges.parsed(["folder", "--model", "local/x", *wrong])
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spread", "says_nothing"),
    [([0.3, 0.4, 0.35, 0.3, 0.4], False), ([0.9, -0.7, 0.8, -0.6, 0.1], True)],
)
def test_a_gain_that_chance_explains_has_no_share(spread: list[float], says_nothing: bool) -> None:
    bootstrap = Bootstrap([str(place) for place in range(5)], seed=1, resamples=500)
    of = {
        "embedded": {"nDCG@10": bootstrap.estimate(np.zeros(5)), "sent": bootstrap.estimate(np.zeros(5))},
        "lm": {"nDCG@10": bootstrap.estimate(np.array(spread)), "sent": bootstrap.estimate(np.full(5, 10.0))},
        "cascade": {"nDCG@10": bootstrap.estimate(np.array(spread) / 2), "sent": bootstrap.estimate(np.full(5, 2.0))},
    }
    said = judges.gained(of)
    assert "brings 50% of the model's gain (aim 95%) for 20% of its candidates" in said
    assert ("says nothing" in said) is says_nothing
