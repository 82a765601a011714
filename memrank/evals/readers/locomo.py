"""LoCoMo as it was published (`locomo10.json`): long conversations of two people, and questions about them."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.evals.readers.converted import Converted, Pool
from memrank.evals.readers.text import iso, list_at, object_at, text_at, time_at
from memrank.types import Notes

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

_SESSION = re.compile(r"session_([0-9]{1,6})")
_TURN = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})")
"""Names of turns; some of those published are `D30:05` or `D:11:26`, and some stand two in one text."""


def is_locomo(value: object) -> bool:
    """Whether the JSON value of a file is laid out as LoCoMo is."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "conversation" in first and "qa" in first


def read_locomo(path: Path, value: object, notes: Notes) -> Converted:
    """The set of a LoCoMo file, given its JSON value. Raises DataError with the place in it."""
    pool = Pool(notes)
    queries: list[dict[str, Any]] = []
    for at, sample in enumerate(value if isinstance(value, list) else [value]):
        where = f"{path}: [{at}]"
        fields = object_at(sample, where)
        name = text_at(fields.get("sample_id"), f"{where}.sample_id")
        turns, last = _conversation(name, fields.get("conversation"), pool, f"{where}.conversation")
        queries += _questions(name, fields.get("qa"), turns, last, f"{where}.qa", notes)
    if not queries:
        raise DataError(f"{path}: no question has a turn as its evidence", hint="is this locomo10.json?")
    return Converted(
        form="locomo",
        memories=pool.rows(),
        queries=queries,
        notes=notes.as_tuple(),
        labels=(
            "A memory is one turn of a conversation, of which each is a namespace; the caption of a picture that was "
            "shared follows its text.",
            "`relevant`: the turns that a question names as its evidence. Questions without one were left out.",
            "`query_time`: a day after the last session. It is made up, for LoCoMo states none.",
            "The questions of category `adversarial` cannot be answered as they are asked; their evidence is the turn "
            "that the trap is built on, and is `relevant` here as it is upstream.",
            "`split_group` is the conversation; no split is stated.",
        ),
        licence="CC BY-NC 4.0 as published by snap-research/locomo: not for commercial use",
    )


def _conversation(name: str, given: object, pool: Pool, where: str) -> tuple[dict[str, str], datetime | None]:
    """Puts the turns into the pool. Their names to ids of memories, and when the last session was."""
    fields = object_at(given, where)
    sessions = sorted((int(found[1]), key) for key in fields if (found := _SESSION.fullmatch(key)))
    turns: dict[str, str] = {}
    last: datetime | None = None
    for number, key in sessions:
        stated = fields.get(f"{key}_date_time")
        if stated is not None:
            moment = time_at(stated, f"{where}.{key}_date_time")
            last = moment if last is None else max(last, moment)
        for at, turn in enumerate(list_at(fields[key], f"{where}.{key}")):
            place = f"{where}.{key}[{at}]"
            said = object_at(turn, place)
            label = _turn_name(text_at(said.get("dia_id"), f"{place}.dia_id"), f"{place}.dia_id")
            turns[label] = f"{name}/{label}"
            record = {"namespace": name, "session_id": f"session_{number}", "turn": at, "created_at": stated}
            record |= {"id": turns[label], "content": _content(said, place), "memory_type": "turn"}
            pool.add({**record, "speaker": text_at(said.get("speaker"), f"{place}.speaker")}, place)
    return turns, last


def _turn_name(text: str, where: str) -> str:
    found = _TURN.fullmatch(text.strip())
    if found is None:
        raise DataError(f"{where}: not the name of a turn", hint="D1:3 is the third turn of the first session")
    return f"D{int(found[1])}:{int(found[2])}"


def _content(turn: Mapping[str, Any], where: str) -> str:
    text, caption = turn.get("text") or "", turn.get("blip_caption") or ""
    if not isinstance(text, str) or not isinstance(caption, str):
        raise DataError(f"{where}: text or blip_caption is not a text")
    return f"{text} [shared image: {caption}]".strip() if caption else text


def _questions(
    name: str, given: object, turns: Mapping[str, str], last: datetime | None, where: str, notes: Notes
) -> Iterator[dict[str, Any]]:
    for at, question in enumerate(list_at(given, where)):
        place = f"{where}[{at}]"
        fields = object_at(question, place)
        evidence = _evidence(fields.get("evidence"), f"{place}.evidence")
        relevant = [turns[label] for label in evidence if label in turns]
        if len(relevant) < len(evidence):
            what = f"{place}.evidence names a turn that is not there; it was left out"
            notes.add("repair", "read", "unknown_turn", what, len(evidence) - len(relevant))
        text = text_at(fields.get("question"), f"{place}.question")
        number = fields.get("category")
        if type(number) is not int or number not in CATEGORIES:
            raise DataError(f"{place}.category: not one of 1 to 5")
        if not relevant:
            notes.add("info", "read", "no_evidence", f"{place}: a question without evidence; it was left out")
            continue
        row: dict[str, Any] = {"id": f"{name}/q{at}", "query": text, "group": name, "relevant": relevant}
        if last is not None:
            row["query_time"] = iso(last + timedelta(days=1))
        answer = fields.get("answer", fields.get("adversarial_answer"))
        yield {
            **row,
            "category": CATEGORIES[number],
            "split_group": name,
            "metadata": {} if answer is None else {"answer": answer},
        }


def _evidence(given: object, where: str) -> list[str]:
    """The names of turns in a list of texts, each once; what names none is not counted."""
    if given is None:
        return []
    texts = list_at([given] if isinstance(given, str) else given, where)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where}: not a list of texts")
    found = (match for text in texts for match in _TURN.finditer(text))
    return list(dict.fromkeys(f"D{int(match[1])}:{int(match[2])}" for match in found))
