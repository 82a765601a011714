"""A golden set and a spec for it, written out for tests: a question a subject, whose answer names the subject."""

import json
from pathlib import Path

from memrank.evals.evalset import Evalset, load

STAGES = """\
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1}
  - {kind: ranker.v1, relevance_threshold: 0.01}
  - {kind: pruner.v1, drop_threshold: 1.0, decay_threshold: 1.0, keep_last_turns: 0, max_tokens: 1000}
"""
HEAD = "memrank: 1\nname: desk\nindex: {embedder: none}\n"
PARTS = ("choose", "report")
PLACES = ("harbour", "mill", "tower", "garden", "bridge", "market", "school", "museum", "station", "library")
COLOURS = ("red", "blue", "green")


def golden(folder: Path, *, parts: tuple[str, ...] = PARTS, subjects: int = 30) -> Evalset:
    """Three memories a subject of which one answers; `subjects` questions, in turn of each part."""
    folder.mkdir()
    names = [f"{colour} {place}" for colour in COLOURS for place in PLACES][:subjects]
    memories, queries = [], []
    for k, name in enumerate(names):
        day = f"2026-03-{1 + k % 18:02d}T09:00:00Z"
        texts = (f"The keys of the {name} are with Dana.", f"The {name} was painted.", "Nobody was in.")
        memories += [{"id": f"m{k}-{i}", "content": text, "created_at": day} for i, text in enumerate(texts)]
        queries.append(
            {
                "id": f"q{k}",
                "query": f"Who has the keys of the {name}?",
                "query_time": "2026-03-20T09:00:00Z",
                "relevant": [f"m{k}-0"],
                "split_group": name,
                "split": parts[k % len(parts)],
            }
        )
    for file, rows in (("memories.jsonl", memories), ("queries.jsonl", queries)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load(folder)


def desk(folder: Path, more: str = "") -> Path:
    """The spec `desk.yaml`, without a store."""
    path = folder / "desk.yaml"
    path.write_text(f"{HEAD}{STAGES}{more}", encoding="utf-8")
    return path
