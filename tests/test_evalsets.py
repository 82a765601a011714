"""The shipped golden sets are sound: what a label says can be true, and the table about them is right."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memrank.evals.check import check
from memrank.evals.checked import Checked
from memrank.evals.evalset import load
from memrank.evals.rules import rankings, right_first
from memrank.stores.readers import read_memories
from memrank.text.dates import parse_as_of
from memrank.types import Memory, Sensitivity

EVALSETS = Path(__file__).resolve().parents[1] / "evalsets"
FOLDERS = sorted(path.parent for path in EVALSETS.glob("*/queries.jsonl"))
TABLE = (
    *("set", "records", "namespaces", "undated", "queries", "everyday", "no answer", "three or more"),
    *("asks for the earlier", "split groups", "scored pairs", "labelled twice"),
)
FEWEST = {"finance": 200}
"""Queries of a set; FEWEST_ELSEWHERE of one that is not named."""
FEWEST_ELSEWHERE = 150
FEWEST_PAIRS = 100
FEWEST_EVERYDAY = {"fit": 80, "choose": 30, "report": 45}
"""Queries of daily use in each part; the others are hard on purpose."""
TWICE = 0.1
SOLVED = {False: 0.5, True: 0.85}
"""Share of right first results that no plain rule may reach: on the hard queries, on the everyday ones."""

Row = dict[str, Any]


class GoldenSet(NamedTuple):
    memories: dict[tuple[str | None, str], Memory]
    queries: list[Row]


def _name(path: Path) -> str:
    return path.name


def _everyday(category: str | None) -> bool:
    return (category or "").startswith("everyday")


@pytest.fixture(scope="module", params=FOLDERS, ids=_name)
def golden(request: pytest.FixtureRequest) -> GoldenSet:
    folder: Path = request.param
    return _load(folder)


@pytest.fixture(scope="module", params=FOLDERS, ids=_name)
def checked(request: pytest.FixtureRequest) -> Checked:
    return check(request.param)


def _load(folder: Path) -> GoldenSet:
    loaded = read_memories(folder / "memories.jsonl")
    assert {note.level for note in loaded.notes} <= {"info"}, loaded.notes
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return GoldenSet({(m.namespace, m.id): m for m in loaded.memories}, [json.loads(line) for line in lines])


def test_the_promised_sets_are_shipped() -> None:
    assert {path.name for path in FOLDERS} >= {"agent-memory", "chat-context", "clinical", "finance", "news"}


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_every_line_is_a_record_of_its_own(folder: Path) -> None:
    """No id is given twice within a namespace, and nothing had to be repaired."""
    rows = [json.loads(line) for line in (folder / "memories.jsonl").read_text(encoding="utf-8").splitlines()]
    counts = Counter((row.get("namespace"), row["id"]) for row in rows)
    assert not [key for key, count in counts.items() if count > 1]
    assert len(_load(folder).memories) == len(rows)


def test_names_of_queries_are_their_own(golden: GoldenSet) -> None:
    assert len({query["id"] for query in golden.queries}) == len(golden.queries)


def test_a_query_says_what_it_must(golden: GoldenSet) -> None:
    for query in golden.queries:
        assert query["query"].strip(), query["id"]
        assert query["split_group"], query["id"]
        assert query["category"], query["id"]
        assert query["metadata"]["sensitivity"] in set(Sensitivity), query["id"]
        assert isinstance(query["metadata"]["asks_previous"], bool), query["id"]
        parse_as_of(query["query_time"])


def test_nothing_is_wrong_with_it(checked: Checked) -> None:
    """Labels, leaks, plain rules, manifest: `memrank evalset check` finds no fault, and nothing but known remarks."""
    assert [finding for finding in checked.findings if finding.level == "fault"] == []
    assert {finding.code for finding in checked.findings} <= {"query_in_memory"}


@pytest.mark.parametrize("folder", FOLDERS, ids=_name)
def test_no_plain_rule_comes_near_to_solving_a_kind_of_its_queries(folder: Path) -> None:
    evalset = load(folder)
    ranked = rankings(evalset)
    assert set(ranked) == {"bm25", "dense", "newest"}
    for everyday, most in SOLVED.items():
        places = [k for k, query in enumerate(evalset.queries) if _everyday(query.category) is everyday]
        queries = [evalset.queries[k] for k in places]
        for found in ranked.values():
            right, asked = right_first(queries, [found[k] for k in places])
            assert right < most * asked


def test_daily_use_is_asked_about_in_every_part(golden: GoldenSet) -> None:
    counts = Counter(query["split"] for query in golden.queries if _everyday(query["category"]))
    assert all(counts[part] >= fewest for part, fewest in FEWEST_EVERYDAY.items()), counts


def test_groups_are_hard_or_everyday(golden: GoldenSet) -> None:
    kinds: dict[str, set[bool]] = {}
    for query in golden.queries:
        kinds.setdefault(query["split_group"], set()).add(_everyday(query["category"]))
    assert [group for group, found in kinds.items() if len(found) > 1] == []


def test_it_has_parts_scores_and_second_labels(checked: Checked) -> None:
    counts = checked.counts
    assert counts["queries"] >= FEWEST.get(checked.folder.name, FEWEST_ELSEWHERE)
    assert counts["scored_pairs"] >= FEWEST_PAIRS
    assert counts["labelled_twice"] >= TWICE * counts["queries"]
    for part in checked.parts.values():
        assert part.no_answer
        assert part.three_or_more
        assert part.outdated
        assert part.scored_pairs >= 50


def test_two_annotators_agree(checked: Checked) -> None:
    agreed = checked.agreement
    assert agreed is not None
    assert agreed.kappa.low > 0.8
    assert agreed.correlation["combined"].mean > 0.9


def test_it_is_sealed_with_its_licence(checked: Checked) -> None:
    assert checked.manifest is not None
    assert checked.manifest.licence == "MIT"
    assert checked.manifest.counts == checked.counts


def test_answers_stand_on_one_side_of_the_split(golden: GoldenSet) -> None:
    sides: dict[tuple[str, str], set[str]] = {}
    for query in golden.queries:
        for identity in query["relevant"]:
            sides.setdefault((query["group"], identity), set()).add(query["split"])
    assert [key for key, found in sides.items() if len(found) > 1] == []


def test_lists_of_ids_repeat_none(golden: GoldenSet) -> None:
    for query in golden.queries:
        for given in (
            query["relevant"],
            *(query["metadata"].get(name, []) for name in ("stale", "current", "must_not")),
        ):
            assert len(given) == len(set(given)), query["id"]


def test_grades_are_one_or_two(golden: GoldenSet) -> None:
    for query in golden.queries:
        if isinstance(query["relevant"], dict):
            assert set(query["relevant"].values()) <= {1, 2}, query["id"]


def _counts(folder: Path) -> tuple[str, ...]:
    memories, queries = _load(folder)
    return (
        f"[{folder.name}]({folder.name}/README.md)",
        str(len(memories)),
        str(len({namespace for namespace, _ in memories})),
        str(sum(memory.created_at is None and memory.event_date is None for memory in memories.values())),
        str(len(queries)),
        str(sum(_everyday(query["category"]) for query in queries)),
        str(sum(not query["relevant"] for query in queries)),
        str(sum(len(query["relevant"]) > 2 for query in queries)),
        str(sum(query["metadata"]["asks_previous"] for query in queries)),
        str(len({query["split_group"] for query in queries})),
        str(sum(len(query["metadata"].get("scores", {})) for query in queries)),
        str(len((folder / "second.jsonl").read_text(encoding="utf-8").splitlines())),
    )


def test_the_table_counts_what_is_there() -> None:
    text = (EVALSETS / "README.md").read_text(encoding="utf-8")
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", text, re.M)]
    assert rows[0] == TABLE
    assert [row for row in rows if row[0].startswith("[")] == [_counts(folder) for folder in FOLDERS]
