"""A small golden set on disk: two tenants, what is outdated, what nobody can answer, what a pruner should do."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from memrank.pipeline import Pipeline
from memrank.registry import build
from memrank.specfile import parse_spec, spec_sha256

SPEC = """\
memrank: 1
name: desk
index: {embedder: none}
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1}
  - {kind: ranker.v1, relevance_threshold: 0.0}
  - {kind: pruner.v1, drop_threshold: 1.0, max_tokens: 1000}
"""
WITHOUT_PRUNER = "".join(f"{line}\n" for line in SPEC.splitlines() if "pruner" not in line)

AT = "2026-03-20T09:00:00Z"

MEMORIES: tuple[dict[str, object], ...] = (
    {"id": "a1", "namespace": "a", "content": "Dana wants appointments early in the morning.",
     "created_at": "2025-11-04T08:30:00Z"},
    {"id": "a2", "namespace": "a", "content": "Dana wants her appointments late in the afternoon.",
     "created_at": "2026-03-11T16:05:00Z"},
    {"id": "a3", "namespace": "a", "content": "The practice closes on Wednesdays.",
     "created_at": "2026-02-01T10:00:00Z"},
    {"id": "b1", "namespace": "b", "content": "The invoice of Dana was paid in March.",
     "created_at": "2026-03-12T10:00:00Z"},
)  # fmt: skip

QUERIES: tuple[dict[str, object], ...] = (
    {"id": "when", "query": "When does Dana want her appointments?", "query_time": AT, "group": "a",
     "relevant": {"a2": 2, "a1": 1}, "category": "stale-twin", "split": "fit", "split_group": "g1",
     "metadata": {"stale": ["a1"], "current": ["a2"], "must_not": ["b1"], "sensitivity": "time-agnostic",
                  "expected_actions": {"a2": "keep_full", "a3": ["summarize", "drop"]},
                  "scores": {"a2": {"relevance": 1.0, "freshness": 1.0, "combined": 1.0}}}},
    {"id": "closed", "query": "On which day is the practice closed?", "query_time": AT, "group": "a",
     "relevant": ["a3"], "category": "lookup", "split": "choose", "split_group": "g2"},
    {"id": "nothing", "query": "What is the capital of Norway?", "query_time": AT, "group": "b",
     "relevant": [], "category": "abstain", "split": "report", "split_group": "g3"},
    {"id": "stranger", "query": "When does Dana want her appointments?", "query_time": AT, "group": "c",
     "relevant": ["a2"], "category": "lookup", "split": "report", "split_group": "g4"},
    {"id": "open", "query": "What was paid?", "query_time": AT, "group": "b", "split": "report"},
)  # fmt: skip
"""`stranger` asks for a tenant that there is not; of `open` nobody said what is relevant."""


def write_set(
    folder: Path,
    queries: Sequence[Mapping[str, object]] = QUERIES,
    memories: Sequence[Mapping[str, object]] = MEMORIES,
) -> Path:
    """The folder, made where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("queries", queries), ("memories", memories)):
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8", newline="")
    return folder


def pipeline_over(folder: Path, text: str = SPEC) -> Pipeline:
    """The pipeline of a spec over the memories of a set."""
    spec = parse_spec(text)
    return build(spec, folder, spec_sha256(spec), store=folder / "memories.jsonl")
