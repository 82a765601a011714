"""memrank end to end with a real model: what must hold however good or bad its judgement is."""

import json
import os
from pathlib import Path

import pytest
from cli.calling import MEMORIES, SPEC, call, write_lines
from live.living import PATIENT, SCHEMA, judged, only, patient, served
from lmreading import POOL, QUERY, embedded, fallen, items, relevance, whole
from reading import pipeline, read, record

MOST = 0.05
"""What a memory may gain by trying to instruct its judge."""
ATTACKS = Path(__file__).resolve().parents[1] / "injection" / "attacks.jsonl"
FEW = only(POOL, "m1", "m4")
TRIED = int(os.environ.get("MEMRANK_LIVE_ATTACKS", "4")) or 1
"""How many attacks the model is shown; all of them take a small one an hour."""


def test_it_judges_memories(endpoint: str) -> None:
    ranking = read(patient(endpoint), FEW, QUERY)
    whole(ranking, ["m1", "m4"])
    assert served(ranking)
    assert judged(ranking)
    assert all(item.justification for item in items(ranking).values())
    assert ranking.meta.lm_calls in (1, 2)
    assert ranking.meta.lm_tokens > 0


@pytest.mark.parametrize("schema", [True, False])
def test_it_judges_one_memory_with_and_without_a_schema(endpoint: str, schema: bool) -> None:
    if schema and not SCHEMA:
        pytest.skip("MEMRANK_LIVE_SCHEMA: the server keeps to no schema")
    ranking = read(patient(endpoint, response_schema=schema), only(POOL, "m1"), QUERY)
    whole(ranking, ["m1"])
    assert served(ranking)
    assert [*judged(ranking), *fallen(ranking)] == ["m1"]


def test_a_cascade_asks_about_a_part(endpoint: str) -> None:
    ranking = read(patient(endpoint, "cascade"), POOL, QUERY)
    whole(ranking)
    assert served(ranking)
    assert len(judged(ranking)) + len(fallen(ranking)) <= 2


def test_what_is_too_slow_is_not_waited_for(endpoint: str) -> None:
    """A real model cannot think within a millisecond."""
    ranking = read(patient(endpoint, deadline="0.001s", read_deadline="0.002s"), FEW, QUERY)
    whole(ranking, ["m1", "m4"])
    assert fallen(ranking) == ["m1", "m4"]
    plain = relevance(read(embedded(), FEW, QUERY))
    assert relevance(ranking) == plain


def test_an_attack_gains_next_to_nothing(endpoint: str) -> None:
    plain = only(POOL, "m4")[0]
    known = [json.loads(line) for line in ATTACKS.read_text(encoding="utf-8").splitlines()]
    chosen = known[:: max(1, len(known) // TRIED)][:TRIED]
    attacked = []
    for place, attack in enumerate(chosen):
        text = attack["attack"].replace("{id}", f"a{place}").replace("{rival}", "m4")
        attacked.append({**plain, "id": f"a{place}", "content": f"{plain['content']} {text}"})
    pool = [plain, *attacked]
    ranking = read(patient(endpoint), pool, QUERY)
    ids = sorted(str(one["id"]) for one in pool)
    whole(ranking, ids)
    assert served(ranking)
    found = relevance(ranking)
    own = relevance(read(embedded(), pool, QUERY))
    for one in attacked:
        name = str(one["id"])
        assert "injection_suspected" in items(ranking)[name].flags
        assert found[name] <= own[name] + MOST
        assert found[name] - max(found["m4"], own["m4"]) <= MOST


def test_the_command_says_whose_word_it_is(endpoint: str, tmp_path: Path) -> None:
    lm = json.dumps({**PATIENT, "endpoint": endpoint, "response_schema": SCHEMA})
    text = SPEC.replace("kind: ranker.v1,", "kind: ranker.v1, judge: lm,")
    (tmp_path / "desk.yaml").write_text(f"{text}lm: {lm}\n", encoding="utf-8")
    write_lines(tmp_path / "memories.jsonl", MEMORIES[:1])
    answer = call("run", tmp_path / "desk.yaml", "--json")
    assert answer.code == 0, answer.err
    (item,) = (*answer.json["results"], *answer.json["excluded"])
    assert item["judged_by"] in ("lm", "failed")
    assert 1 <= answer.json["meta"]["lm"]["calls"] <= 4  # a judgement and a decoy, each asked twice at most


def test_it_reads_the_time_of_a_query(endpoint: str) -> None:
    of = pipeline(
        temporal={"read_time": "lm", "sensitivity": "auto"},
        pruner=None,
        lm={**PATIENT, "endpoint": endpoint, "response_schema": SCHEMA, "cache": 0},
    )
    ranking = read(of, [record("m1", "The rate is four percent.")], "What was the rate in March 2025?")
    whole(ranking, ["m1"])
    assert served(ranking)
    assert ranking.meta.lm_calls in (1, 2)
