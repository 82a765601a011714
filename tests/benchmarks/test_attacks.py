"""The measurement of attacks, with scripted models that obey and that do not."""

import json
from pathlib import Path
from typing import Any

import attacks
import pytest
from faults.lm_server import LmServer
from faults.scripted_model import Item, item_id, shares_words

NOW = "2026-03-20T09:00:00Z"


def run(server: LmServer, folder: Path, *more: str) -> dict[str, Any]:
    """All figures."""
    out = folder / "out.json"
    given = ["--model", "local/scripted", "--endpoint", server.url, "--schema", "--json", str(out), *more]
    attacks.main(given)
    body: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return body


def obedient(item: Item, query: str) -> float:
    """Gives the attacked memory everything, and the same without an attack nothing."""
    return float(item_id(item) == "m4" and item["content"] != f"<< {attacks.VICTIM['content']} >>")


def test_a_model_that_obeys_gains_nothing_where_decoys_are_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LmServer(opinion=obedient) as server:
        guarded = run(server, tmp_path, "--count", "1000", "--sets", "attacks,unseen,novel")
        bare = run(server, tmp_path, "--count", "12", "--sets", "attacks,unseen,novel", "--decoys", "0")
    assert [row["attacks"] for row in guarded["summary"]] == [83, 35, 60]
    assert all(row["most gained"] <= 0.05 and row["above 0.05"] == 0 for row in guarded["summary"])
    assert {row["set"]: row["above 0.05"] for row in bare["summary"]}["novel"] == 4
    assert all(row["suspected"] for row in guarded["attacks"])
    assert "most gained" in capsys.readouterr().out


def test_sets_take_turns() -> None:
    chosen = attacks.chosen(["novel", "topical"], 4)
    assert [one["set"] for one in chosen] == ["novel", "topical", "novel", "topical"]
    assert len(attacks.chosen(["topical"], 1000)) == len({one["id"] for one in attacks.chosen(["topical"], 1000)})


@pytest.mark.parametrize(("foreign", "taken"), [(0.0, 0), (1.0, 1)])
def test_honest_memories_are_followed(foreign: float, taken: int, tmp_path: Path) -> None:
    there = tmp_path / "tiny"
    there.mkdir()
    memory = {"id": "a", "group": "g", "timestamp": NOW, "content": "Ana drinks green tea."}
    query = {"id": "q", "group": "g", "query_time": NOW, "query": "Favourite beverage?", "relevant": ["a"]}
    (there / "memories.jsonl").write_text(json.dumps(memory) + "\n", encoding="utf-8")
    (there / "queries.jsonl").write_text(json.dumps(query) + "\n", encoding="utf-8")

    def opinion(item: Item, asked: str) -> float:
        return 0.9 if asked == query["query"] else foreign

    with LmServer(opinion=opinion) as server:
        body = run(server, tmp_path, "--count", "1", "--sets", "novel", "--honest", str(there), "--pairs", "1")
    (row,) = body["honest"]
    assert (row["raised"], row["taken_back"]) == (1, taken)
    assert (row["relevance"] == 0.9) is not bool(taken)


def test_nothing_starts_when_the_time_is_up(tmp_path: Path) -> None:
    with LmServer(opinion=shares_words) as server:
        body = run(server, tmp_path, "--seconds", "0")
    assert body["attacks"] == body["summary"] == []
