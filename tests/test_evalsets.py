"""The shipped golden sets are sound: what a label says can be true, and the table about them is right."""

import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memrank.stores.readers import read_memories
from memrank.text.dates import parse_as_of
from memrank.types import Memory, Sensitivity

EVALSETS = Path(__file__).resolve().parents[1] / "evalsets"
FOLDERS = sorted(path.parent for path in EVALSETS.glob("*/queries.jsonl"))
TABLE = ("set", "records", "namespaces", "undated", "queries", "no answer", "asks for the earlier", "split groups")
TOLERANCE = timedelta(hours=24)
FEWEST = 40

Row = dict[str, Any]


class GoldenSet(NamedTuple):
    memories: dict[tuple[str | None, str], Memory]
    queries: list[Row]


def _name(path: Path) -> str:
    return path.name


@pytest.fixture(scope="module", params=FOLDERS, ids=_name)
def golden(request: pytest.FixtureRequest) -> GoldenSet:
    folder: Path = request.param
    return _load(folder)


def _load(folder: Path) -> GoldenSet:
    loaded = read_memories(folder / "memories.jsonl")
    assert {note.level for note in loaded.notes} <= {"info"}, loaded.notes
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return GoldenSet({(m.namespace, m.id): m for m in loaded.memories}, [json.loads(line) for line in lines])


def _labels(query: Row) -> dict[str, list[str]]:
    labels = query["metadata"]
    return {"relevant": query["relevant"], **{name: labels.get(name, []) for name in ("stale", "current", "must_not")}}


def test_the_promised_sets_are_shipped() -> None:
    assert {path.name for path in FOLDERS} >= {"agent-memory", "chat-context", "clinical", "finance", "news"}


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_every_line_is_a_record_of_its_own(folder: Path) -> None:
    """No id is given twice within a namespace, and nothing had to be repaired."""
    rows = [json.loads(line) for line in (folder / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    counts = Counter((row.get("namespace"), row["id"]) for row in rows)
    assert not [key for key, count in counts.items() if count > 1]
    assert len(_load(folder).memories) == len(rows)


def test_there_are_enough_queries(golden: GoldenSet) -> None:
    assert len(golden.queries) >= FEWEST
    assert len({query["id"] for query in golden.queries}) == len(golden.queries)


def test_a_query_says_what_it_must(golden: GoldenSet) -> None:
    for query in golden.queries:
        assert query["query"].strip(), query["id"]
        assert query["split_group"], query["id"]
        assert query["category"], query["id"]
        assert query["metadata"]["sensitivity"] in set(Sensitivity), query["id"]
        assert isinstance(query["metadata"]["asks_previous"], bool), query["id"]
        parse_as_of(query["query_time"])


def test_labels_name_memories(golden: GoldenSet) -> None:
    """`relevant`, `stale` and `current` in the namespace that asks; `must_not` may name another tenant's."""
    everywhere = {identity for _, identity in golden.memories}
    for query in golden.queries:
        labels = _labels(query)
        for name in ("relevant", "stale", "current"):
            unknown = [one for one in labels[name] if (query["group"], one) not in golden.memories]
            assert not unknown, f"{query['id']}: {name} {unknown}"
        assert set(labels["must_not"]) <= everywhere, query["id"]
        assert set(query["metadata"].get("expected_actions", {})) <= everywhere, query["id"]


def test_labels_do_not_contradict_each_other(golden: GoldenSet) -> None:
    for query in golden.queries:
        labels = _labels(query)
        for name, given in labels.items():
            assert len(given) == len(set(given)), f"{query['id']}: {name} repeats an id"
        relevant, stale = set(labels["relevant"]), set(labels["stale"])
        assert not relevant & stale, query["id"]
        assert not relevant & set(labels["must_not"]), query["id"]
        assert set(labels["current"]) <= relevant, query["id"]


def test_what_is_relevant_can_be_seen_then(golden: GoldenSet) -> None:
    """Recorded by the time of the query, with the tolerance of a read; expired only if an earlier value is asked."""
    for query in golden.queries:
        asked = parse_as_of(query["query_time"])
        for identity in query["relevant"]:
            memory = golden.memories[query["group"], identity]
            if memory.created_at is not None:
                assert memory.created_at.start <= asked + TOLERANCE, f"{query['id']}: {identity} is not known yet"
            if memory.expires_at is not None and not query["metadata"]["asks_previous"]:
                assert memory.expires_at.end > asked, f"{query['id']}: {identity} has expired"


def _counts(folder: Path) -> tuple[str, ...]:
    memories, queries = _load(folder)
    return (
        f"[{folder.name}]({folder.name}/README.md)",
        str(len(memories)),
        str(len({namespace for namespace, _ in memories})),
        str(sum(memory.created_at is None and memory.event_date is None for memory in memories.values())),
        str(len(queries)),
        str(sum(not query["relevant"] for query in queries)),
        str(sum(query["metadata"]["asks_previous"] for query in queries)),
        str(len({query["split_group"] for query in queries})),
    )


def test_the_table_counts_what_is_there() -> None:
    text = (EVALSETS / "README.md").read_text(encoding="utf-8")
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", text, re.M)]
    assert rows[0] == TABLE
    assert [row for row in rows if row[0].startswith("[")] == [_counts(folder) for folder in FOLDERS]
