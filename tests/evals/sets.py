"""Small golden sets for tests, sound unless a test spoils them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

MEMORIES: tuple[Row, ...] = (
    {"id": "old", "namespace": "desk", "content": "The office is in Bergen.", "created_at": "2026-01-01"},
    {"id": "new", "namespace": "desk", "content": "We moved to Oslo last week.", "created_at": "2026-03-01"},
    {"id": "tea", "namespace": "desk", "content": "Dana drinks green tea.", "created_at": "2026-03-15"},
    {"id": "late", "namespace": "desk", "content": "The kitchen is painted blue.", "created_at": "2026-05-01"},
    {"id": "twin", "namespace": "shop", "content": "The office is in Narvik.", "created_at": "2026-02-01"},
)


def query(name: str, **fields: Any) -> Row:
    """A query about the office, asked in April 2026; `meta` is added to its metadata."""
    labels = {"stale": ["old"], "current": ["new"], "must_not": ["twin"], "sensitivity": "recent"}
    row: Row = {
        "id": name,
        "query": f"Where is the office, asks {name}?",
        "query_time": "2026-04-01T09:00:00Z",
        "group": "desk",
        "relevant": ["new"],
        "split_group": f"group {name}",
        "split": "fit",
        "metadata": {**labels, **fields.pop("meta", {})},
    }
    return row | fields


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """JSON Lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8", newline="")


def write_set(folder: Path, queries: Sequence[Row], memories: Sequence[Row] = MEMORIES) -> Path:
    """A golden set with a README."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "memories.jsonl", memories)
    write_rows(folder / "queries.jsonl", queries)
    (folder / "README.md").write_text("Made for a test.\n", encoding="utf-8")
    return folder
