"""Phrasings of what turns do, in evalsets/conversations/phrases.jsonl: how many are recognised, rightly or wrongly."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from speaking import Record, assistant, elements, user

from memrank.dialogue.judge import judge
from memrank.indexing import Analyzer
from memrank.text.corrections import corrects
from memrank.text.smalltalk import smalltalk

PHRASES = Path(__file__).resolve().parents[2] / "evalsets" / "conversations" / "phrases.jsonl"
OWED = ("commitment", "open_question", "pending_action")
OPENING = user("The painter came at noon.")

FLOORS = {
    "held_out": {
        "commitment": (0.9, 0.9),
        "pending": (0.8, 0.9),
        "question": (0.9, 0.9),
        "correction": (0.9, 0.9),
        "smalltalk": (0.9, 0.9),
        "shift": (0.9, 0.85),
    },
    "unseen": {
        "commitment": (0.75, 0.75),
        "pending": (0.8, 0.55),
        "question": (0.9, 0.5),
        "correction": (0.8, 0.5),
        "smalltalk": (0.9, 0.7),
        "shift": (0.9, 0.75),
    },
}
"""Precision and recall at least."""


@cache
def analyzer() -> Analyzer:
    return Analyzer()


@cache
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PHRASES.read_text(encoding="utf-8").splitlines()]


def named(place: int, *records: Record) -> bool:
    """Whether the element at a place counts as owed, though it is not one of the last turns."""
    found = judge(elements(*records), "What colours are there?", analyzer(), keep_last_turns=0)
    return found.protection[place] in OWED


def recognised(kind: str, said: list[str]) -> bool:
    if kind == "commitment":
        since = [user("I see."), assistant("The garden is green."), user("Nice weather.")]
        return named(2, OPENING, user("Hello."), assistant(said[0]), *since)
    if kind == "pending":
        return named(2, OPENING, assistant("Hello."), user(said[0]), assistant("Hello."), user("It is raining."))
    if kind == "question":
        return named(2, OPENING, assistant("Good."), user(said[0]), assistant(said[1]), user("I see."))
    if kind == "shift":
        before = elements(user(said[0]), assistant(said[1]))
        return judge(before, said[2], analyzer(), keep_last_turns=0).topic_shift
    return corrects(said[0]) if kind == "correction" else smalltalk(said[0])


def test_every_phrase_stands_once_and_each_kind_is_half_and_half() -> None:
    assert len({(row["kind"], *row["said"]) for row in rows()}) == len(rows())
    for kind in FLOORS["held_out"]:
        labels = [row["label"] for row in rows() if row["kind"] == kind]
        assert len(labels) >= 120
        assert 2 * sum(labels) == len(labels)


@pytest.mark.parametrize("half", FLOORS)
@pytest.mark.parametrize("kind", FLOORS["held_out"])
def test_precision_and_recall(half: str, kind: str) -> None:
    of_kind = [row for row in rows() if row["kind"] == kind and row["half"] == half]
    found = [recognised(kind, row["said"]) for row in of_kind]
    right = sum(hit and row["label"] for hit, row in zip(found, of_kind, strict=True))
    precision, recall = FLOORS[half][kind]
    assert right >= precision * sum(found)
    assert right >= recall * sum(row["label"] for row in of_kind)
