"""The golden pairs and conversations are sound, and what their READMEs count is right."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memrank.dialogue.elements import KINDS, read_elements
from memrank.records import read_record

EVALSETS = Path(__file__).resolve().parents[1] / "evalsets"
PAIRS, TALKS = EVALSETS / "contradictions", EVALSETS / "conversations"
TRUE = {"value", "numeric", "negation", "correction", "implicit", "status", "undated"}
FALSE = {
    "paraphrase",
    "elaboration",
    "different_entity",
    "different_period",
    "different_attribute",
    "disjoint_validity",
}
FALSE |= {"confirmation", "history", "similar_event", "undated", "unrelated_near"}
OWED = {"commitment", "open_question", "pending_action"}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counted(readme: Path) -> dict[str, list[int]]:
    """File to the numbers of its line in the table."""
    text = readme.read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+\.jsonl)` \|((?: [\d,]+ \|)+)", text, re.MULTILINE)
    return {name: [int(cell.replace(",", "")) for cell in cells.split("|") if cell.strip()] for name, cells in found}


@pytest.mark.parametrize("name", ["fit.jsonl", "choose.jsonl", "report.jsonl", "plain.jsonl"])
def test_golden_pairs(name: str) -> None:
    pairs = rows(PAIRS / name)
    assert counted(PAIRS / "README.md")[name] == [len(pairs), sum(pair["label"] for pair in pairs)]
    assert len({pair["id"] for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair["kind"] in (TRUE if pair["label"] else FALSE), pair["id"]
        older, newer = (read_record(pair[side], position=0) for side in ("older", "newer"))
        assert not older[1] + newer[1], pair["id"]
        dates = older[0].created_at, newer[0].created_at
        assert bool(dates[0]) == bool(dates[1]), pair["id"]
        assert not dates[0] or pair["kind"] != "undated", pair["id"]
        if dates[0] and dates[1]:
            assert dates[0].start < dates[1].start, pair["id"]


def test_golden_pairs_of_every_domain_are_balanced_and_never_split() -> None:
    parts = {path.name: rows(path) for path in PAIRS.glob("*.jsonl")}
    everything = [pair for part in parts.values() for pair in part]
    for domain, count in Counter(pair["domain"] for pair in everything).items():
        true = sum(pair["label"] for pair in everything if pair["domain"] == domain)
        assert 0.4 < true / count < 0.6, domain
    groups = {name: {pair["split_group"] for pair in part} for name, part in parts.items()}
    assert groups["choose.jsonl"].isdisjoint(groups["report.jsonl"])
    assert groups["fit.jsonl"].isdisjoint(groups["report.jsonl"] | groups["choose.jsonl"])


@pytest.mark.parametrize("name", ["fit.jsonl", "report.jsonl"])
def test_golden_conversations(name: str) -> None:
    talks = rows(TALKS / name)
    moments = [moment for talk in talks for moment in talk["moments"]]
    numbers = [len(talks), sum(len(talk["elements"]) for talk in talks), len(moments)]
    assert counted(TALKS / "README.md")[name] == [*numbers, sum(len(moment["later"]) for moment in moments)]
    for talk in talks:
        elements, notes = read_elements(talk["elements"])
        assert not notes, talk["id"]
        assert 15 <= len(elements) <= 60
        assert {element.kind for element in elements} <= set(KINDS)
        calls = Counter(element.call_id for element in elements if element.call_id)
        assert set(calls.values()) <= {2}, talk["id"]
        ids = [element.id for element in elements]
        for moment in talk["moments"]:
            check_moment(talk["id"], ids, moment)
            following = elements[ids.index(moment["after"]) + 1]
            assert following.kind == "user"
            assert following.content == moment["message"]


def check_moment(name: str, ids: list[str], moment: dict[str, Any]) -> None:
    seen = ids[: ids.index(moment["after"]) + 1]
    classes = moment["classes"]
    assert sorted(classes) == sorted(seen), name
    assert set(classes.values()) <= {1, 2, 3, 4, 5}
    for identity, kind in moment["protected"].items():
        assert kind in OWED
        assert classes[identity] == 1 or identity in moment["corrected"], (name, identity)
    assert {i for i, kind in classes.items() if kind == 5} == set(moment["corrected"]), name
    for old, new in moment["corrected"].items():
        assert seen.index(old) < seen.index(new), (name, old)
    for question in moment["later"]:
        assert question["evidence"], name
        assert all(classes[identity] != 5 for identity in question["evidence"]), (name, question)


def test_no_conversation_stands_in_two_parts() -> None:
    parts = [{talk["split_group"] for talk in rows(TALKS / name)} for name in ("fit.jsonl", "report.jsonl")]
    assert parts[0].isdisjoint(parts[1])
