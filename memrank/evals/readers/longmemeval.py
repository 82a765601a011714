"""LongMemEval as it was published (`longmemeval_s.json`, `_m`, `_oracle`): a haystack of sessions for each question."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.evals.readers.converted import Converted, Pool
from memrank.evals.readers.text import iso, list_at, name_at, object_at, text_at, time_at
from memrank.types import Notes

UNANSWERABLE = "_abs"
"""How the id of a question ends that nothing in its haystack answers."""
UPDATE = "knowledge-update"

_EARLIER = re.compile(r"\b(previous(ly)?|initial(ly)?|original(ly)?|before|at first|in the first)\b", re.IGNORECASE)
"""What asks for the value before an update. Of 32 such questions that were labelled by hand, and on which these words
were chosen, it finds 9 of the 10 that do, and no other."""

_Turns = list[tuple[datetime, str]]
"""When, and the id of the memory."""


def is_longmemeval(value: object) -> bool:
    """Whether the JSON value of a file is laid out as LongMemEval is."""
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and "haystack_sessions" in first and "question" in first


def read_longmemeval(path: Path, value: object, notes: Notes) -> Converted:
    """The set of a LongMemEval file, given its JSON value. Raises DataError with the place in it."""
    pool = Pool(notes)
    queries: dict[str, dict[str, Any]] = {}
    for at, instance in enumerate(value if isinstance(value, list) else [value]):
        where = f"{path}: [{at}]"
        fields = object_at(instance, where)
        name = name_at(fields, ("question_id",), where)
        if name in queries:
            raise DataError(f"{where}: the question {name!r:.80} is repeated")
        if not _has_evidence(fields, name):
            what = f"{where}: no turn is marked as evidence; the question and its sessions were left out"
            notes.add("info", "read", "no_evidence", what)
            continue
        evidence = _haystack(name, fields, pool, where)
        queries[name] = _question(name, fields, evidence, where)
    if not queries:
        raise DataError(f"{path}: no question has evidence", hint="turns of evidence hold `has_answer: true`")
    return Converted(
        form="longmemeval",
        memories=pool.rows(),
        queries=list(queries.values()),
        notes=notes.as_tuple(),
        labels=(
            "A memory is one turn of a session; the haystack of each question is a namespace.",
            "`relevant`: the turns marked `has_answer`. Questions without one were left out, but for those that cannot "
            "be answered (their ids end in `_abs`): their `relevant` is empty, and their turns are `metadata.related`.",
            "Of `knowledge-update` questions the evidence of the newest session is `current` and that of earlier ones "
            "`stale`. This was derived from the dates; upstream does not say it. Where the words of a question ask for "
            "the earlier value, neither is stated and `asks_previous` is true; a few such questions are not noticed.",
            "Sessions of the day of a question may lie some hours after it, as they do upstream.",
            "No split is stated; a question and its unanswerable twin share a `split_group`.",
        ),
        licence="MIT as published by xiaowu0162/LongMemEval",
    )


def _has_evidence(fields: Mapping[str, Any], name: str) -> bool:
    sessions = fields.get("haystack_sessions")
    turns = (
        (turn for session in sessions if isinstance(session, list) for turn in session)
        if isinstance(sessions, list)
        else ()
    )
    return name.endswith(UNANSWERABLE) or any(
        isinstance(turn, dict) and turn.get("has_answer") is True for turn in turns
    )


def _haystack(name: str, fields: Mapping[str, Any], pool: Pool, where: str) -> _Turns:
    """Puts the turns of a question into the pool, and gives those that are evidence."""
    sessions, ids, dates = (
        list_at(fields.get(key), f"{where}.{key}")
        for key in ("haystack_sessions", "haystack_session_ids", "haystack_dates")
    )
    if not len(sessions) == len(ids) == len(dates):
        what = f"{len(sessions)} sessions, {len(ids)} ids and {len(dates)} dates"
        raise DataError(f"{where}: the haystack has {what}", hint="each session has one id and one date")
    evidence: _Turns = []
    seen: Counter[str] = Counter()
    for at, session in enumerate(sessions):
        session_id = name_at({"id": ids[at]}, ("id",), f"{where}.haystack_session_ids[{at}]")
        seen[session_id] += 1
        label = session_id if seen[session_id] == 1 else f"{session_id}#{seen[session_id]}"
        moment = time_at(dates[at], f"{where}.haystack_dates[{at}]")
        for turn, message in enumerate(list_at(session, f"{where}.haystack_sessions[{at}]")):
            place = f"{where}.haystack_sessions[{at}][{turn}]"
            said = object_at(message, place)
            record = {"id": f"{name}/{label}/{turn}", "namespace": name, "session_id": label, "turn": turn}
            record |= {"content": said.get("content"), "role": said.get("role"), "created_at": iso(moment)}
            pool.add({**record, "memory_type": "turn"}, place)
            if said.get("has_answer") is True:
                evidence.append((moment, str(record["id"])))
    return evidence


def _question(name: str, fields: Mapping[str, Any], evidence: _Turns, where: str) -> dict[str, Any]:
    text = text_at(fields.get("question"), f"{where}.question")
    kind = text_at(fields.get("question_type"), f"{where}.question_type")
    ids = [identity for _, identity in evidence]
    answerable = not name.endswith(UNANSWERABLE)
    details: dict[str, Any] = {"answer": fields.get("answer")}
    if not answerable:
        details |= {"question_type": kind, "related": ids}
    elif kind == UPDATE:
        details |= _update(text, evidence)
    return {
        "id": name,
        "query": text,
        "query_time": iso(time_at(fields.get("question_date"), f"{where}.question_date")),
        "group": name,
        "relevant": ids if answerable else [],
        "category": kind if answerable else "abstention",
        "split_group": name.removesuffix(UNANSWERABLE),
        "metadata": details,
    }


def _update(question: str, evidence: Sequence[tuple[datetime, str]]) -> dict[str, Any]:
    """Which of the evidence is outdated: that of all sessions but the newest, unless the earlier value is asked for."""
    if _EARLIER.search(question):
        return {"asks_previous": True}
    newest = max(moment for moment, _ in evidence)
    stale = [identity for moment, identity in evidence if moment < newest]
    if not stale:
        return {}
    return {"stale": stale, "current": [identity for moment, identity in evidence if moment == newest]}
