"""`memrank compile` on a set whose half-life is known, on shuffled labels, and on what cannot be compiled."""

import json
import random
from pathlib import Path

import pytest
from calling import call

AS_OF = "2026-03-20T09:00:00Z"
SPEC = """\
memrank: 1
name: desk
index: {embedder: none}
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1, sensitivity: recent, half_life: 3650d}
  - {kind: ranker.v1, weights: {relevance: 0.7, freshness: 0.3}, supersession: {infer: false}}
"""
FREE = ("--free", "half_life", "--free", "composite", "--evaluations", "400")


def written(folder: Path, *, shuffled: bool = False, queries: int = 90) -> Path:
    """A set in which the newest of eight memories is right, whatever its words; with `shuffled`, any of them."""
    rng = random.Random(5)
    golden = folder / "set"
    golden.mkdir()
    memories, asked = [], []
    for q in range(queries):
        name = f"{rng.choice('bcdfghklmnprst')}{rng.choice('aeiou')}{q:03d}ton"
        days = rng.sample(range(1, 28), 8)
        ids = [f"m{q}-{k}" for k in rng.sample(range(100, 999), 8)]
        for name_of, day in zip(ids, days, strict=True):
            text = f"{'What is the rate? ' * rng.randint(0, 2)}The rate of {name} is {rng.randint(10, 99)}."
            memories.append({"id": name_of, "content": text, "created_at": f"2026-02-{day:02d}T09:00:00Z"})
        right = rng.choice(ids) if shuffled else ids[days.index(max(days))]
        asked.append(
            {
                "id": f"q{q}",
                "query": f"What is the rate of {name}?",
                "query_time": AS_OF,
                "relevant": [right],
                "split_group": name,
                "split": ("fit", "choose", "report")[q % 3],
            }
        )
    for file, rows in (("memories.jsonl", memories), ("queries.jsonl", asked)):
        (golden / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / "desk.yaml"
    path.write_text(f"{SPEC}evaluate: {{evalset: set}}\n", encoding="utf-8")
    return path


def test_what_is_there_is_found_proved_on_held_out_queries_and_used(tmp_path: Path) -> None:
    spec = written(tmp_path)
    done = call("compile", spec, *FREE, "--json")
    assert done.code == 0, done.err
    body = done.json
    assert body["accepted"]
    assert body["report"]["gain"]["low"] > 0
    assert body["changes"]["temporal.half_life.default"]["after"] < 3650 * 86400
    artifact = tmp_path / "desk.compiled.json"
    kept = json.loads(artifact.read_text())["metrics"]["after"]
    assert kept["nDCG@10"] == body["report"]["after"]["nDCG@10"]["value"]
    before = call("eval", spec, "--part", "report", "--json").json["figures"]["nDCG@10"]["value"]
    spec.write_text(f"{spec.read_text()}compiled: desk.compiled.json\n")
    after = call("eval", spec, "--part", "report", "--json").json["figures"]["nDCG@10"]["value"]
    assert before == body["report"]["before"]["nDCG@10"]["value"]
    assert after == body["report"]["after"]["nDCG@10"]["value"] > before


def test_the_same_seed_writes_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    spec = written(tmp_path)
    files = []
    for jobs in ("1", "4"):
        out = tmp_path / f"{jobs}.json"
        assert call("compile", spec, *FREE, "--jobs", jobs, "--out", out, "-q").code == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]


def test_on_shuffled_labels_nothing_is_found_and_nothing_is_written(tmp_path: Path) -> None:
    spec = written(tmp_path, shuffled=True)
    done = call("compile", spec, *FREE)
    assert done.code == 0, done.err
    assert "no improvement found" in done.out
    assert not (tmp_path / "desk.compiled.json").exists()


def test_a_set_that_is_too_small_is_refused_with_the_size_that_is_needed(tmp_path: Path) -> None:
    done = call("compile", written(tmp_path, queries=30), *FREE)
    assert done.code == 3
    assert "the part fit has 10 queries with an answer" in done.err
    assert "at least 20" in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--objective", "beauty"), "objective"),
        (("--free", "beauty"), "beauty"),
        (("--free", "pruner"), "pruner"),
        (("--out", "set/queries.jsonl"), "no artifact"),
    ],
)
def test_what_cannot_be_compiled_is_a_wrong_call(given: tuple[str, ...], said: str, tmp_path: Path) -> None:
    spec = written(tmp_path)
    if given[0] == "--out":
        given = ("--out", str(tmp_path / given[1]))
    done = call("compile", spec, "--evaluations", "200", *given)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_artifacts_are_shown_and_compared(tmp_path: Path) -> None:
    spec = written(tmp_path)
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    assert call("compile", spec, *FREE, "--out", one, "-q").code == 0
    assert call("compile", spec, *FREE, "--seed", "7", "--out", other, "-q").code == 0
    shown = call("artifact", "show", one)
    assert shown.code == 0
    assert "temporal.half_life.default" in shown.out
    assert call("artifact", "diff", one, one).out.strip() == "the same"
    different = call("artifact", "diff", one, other, "--json")
    assert different.code == 1
    assert different.json["differences"]["seed"] == {"a": "0", "b": "7"}
