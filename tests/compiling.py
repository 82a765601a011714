"""A golden set that a spec can be compiled on, written out for tests: what is fresh by a short half-life is right."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
SPEC = """\
memrank: 1
name: known
index: {embedder: none}
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1, sensitivity: recent, half_life: 3650d}
  - {kind: ranker.v1, weights: {relevance: 0.6, freshness: 0.4}, supersession: {infer: false}}
"""
POOL = 6


def learnable(
    folder: Path, *, queries: int = 60, shuffled: int | None = None, leak: str = "m", **fields: object
) -> Path:
    """Six memories a tenant, which speak to its question alike: the newest one is relevant, or a random one by the seed
    `shuffled`. `leak` begins the id of what is relevant. `fields` are of every query.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng, labels = random.Random(7), random.Random(shuffled)
    memories, asked = [], []
    for q in range(queries):
        ages = [2.0 ** rng.uniform(-4, 6) for _ in range(POOL)]
        right = ages.index(min(ages)) if shuffled is None else labels.randrange(POOL)
        noise = [" ".join(f"w{rng.randrange(40)}" for _ in range(rng.randrange(1, 9))) for _ in range(POOL)]
        names = [f"{leak if k == right else 'm'}-{rng.randrange(10**9)}" for k in range(POOL)]
        for k, age in enumerate(ages):
            text = f"The rate of case {q} was set: {noise[k]}."
            at = (NOW - timedelta(days=age)).isoformat()
            memories.append({"id": names[k], "group": f"g{q}", "content": text, "created_at": at})
        row = {"id": f"q{q}", "group": f"g{q}", "query": f"What is the rate of case {q}?"}
        asked.append({**row, "query_time": NOW.isoformat(), "relevant": [names[right]], **fields})
    for name, rows in (("memories.jsonl", memories), ("queries.jsonl", asked)):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return folder


def known(folder: Path, more: str = "") -> Path:
    """The spec `known.yaml`, whose half-life is far too long."""
    path = folder / "known.yaml"
    path.write_text(f"{SPEC}{more}", encoding="utf-8")
    return path
