"""The review queue of a read log: what waits for a person, what was decided, and the labels that come of it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memrank.errors import DataError, UsageError
from memrank.fileio import sha256_hex
from memrank.plain import plain_text
from memrank.recorded import first_returned
from memrank.stores.readlog import Kept, ReadLog, unknown_read

Decision = Literal["undecided", "accepted", "rejected", "edited", "not_queued"]

JUDGED_FIRST = 3
"""How many of the first results a person judges: what is accepted labels these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a person says of a read's memories, by their ids."""

    relevant: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that waits for a person, or did."""

    number: int
    read_id: str
    kind: str
    """`triggered` by a rule, `sampled` at random, or a `check` whether an old memory still holds. Under high stakes
    also each memory that was `excluded`, and each `drop` for good: out of date, or a turn that goes.
    """
    subject: str | None
    """Id of the one memory that it is about, where it is not about the read."""
    reasons: tuple[str, ...]
    at: float
    decision: Decision
    decided_at: float | None
    who: str | None
    comment: str | None
    labels: Labels | None


TOGETHER = """(
    SELECT CASE WHEN count(*) = 0 THEN NULL WHEN max(decision = 'undecided') THEN 'undecided'
    WHEN max(decision = 'rejected') THEN 'rejected' WHEN max(decision = 'edited') THEN 'edited' ELSE 'accepted' END
    FROM review AS v WHERE v.read_id = {} AND v.kind <> 'check')"""
"""The one decision about a read, of the read whose id stands in the braces; NULL where nothing of it is queued."""

_FIELDS = "number, read_id, kind, subject, reasons, at, decision, decided_at, who, comment, labels"


def items(log: ReadLog, *, undecided: bool, limit: int | None = None) -> tuple[Item, ...]:
    """The queue, oldest first: what is undecided, or everything."""
    where = "WHERE decision = 'undecided'" if undecided else ""
    with log.transaction() as connection:
        rows = connection.execute(
            f"SELECT {_FIELDS} FROM review {where} ORDER BY number LIMIT ?",  # noqa: S608 - texts of ours
            (-1 if limit is None else limit,),
        ).fetchall()
    return tuple(map(_item, rows))


def find(log: ReadLog, name: str) -> tuple[Item, ...]:
    """The items of a number of the queue, or those of a read (checks aside) by 8 or more characters of its id.

    Raises DataError where there are none.
    """
    name = plain_text(name)
    if name.isdecimal() and len(name) < 8:
        where, value = "number = ?", name
    else:
        where, value = "read_id = ? AND kind <> 'check'", log.find(name)
    with log.transaction() as connection:
        rows = connection.execute(f"SELECT {_FIELDS} FROM review WHERE {where} ORDER BY number", (value,)).fetchall()  # noqa: S608
    if not rows:
        raise DataError(f"nothing of {name[:80]!r} is in the review queue", hint="`memrank reads review list --all`")
    return tuple(map(_item, rows))


def decide(
    log: ReadLog,
    found: Sequence[Item],
    decision: Decision,
    *,
    at: datetime,
    who: str | None,
    comment: str | None,
    labels: Labels | None = None,
) -> None:
    """Write a decision on these items; it replaces an earlier one.

    Raises DataError for labels of memories that the read did not judge.
    """
    for item in found:
        if labels is not None:
            judged = {candidate.id for candidate in log.load(item.read_id).candidates}
            others = sorted({*labels.relevant, *labels.stale, *labels.must_not} - judged)
            if others:
                raise DataError(f"read {item.read_id[:8]} judged no memory {others[0]!r:.80}")
    packed = None if labels is None else json.dumps({name: list(getattr(labels, name)) for name in _LABELS})
    with log.transaction(write=True) as connection:
        for item in found:
            connection.execute(
                "UPDATE review SET decision = ?, decided_at = ?, who = ?, comment = ?, labels = ? WHERE number = ?",
                (
                    decision,
                    at.timestamp(),
                    who and plain_text(who),
                    comment and plain_text(comment),
                    packed,
                    item.number,
                ),
            )


_LABELS = ("relevant", "stale", "must_not")


def decided(log: ReadLog, read_id: str) -> Decision:
    """What was decided about a read and, under high stakes, about all that it left out.

    Undecided while anything of it waits, rejected where any of it was, then edited, else accepted.
    Raises DataError for a read that the log does not hold.
    """
    with log.transaction() as connection:
        if connection.execute("SELECT 1 FROM records WHERE read_id = ?", (read_id,)).fetchone() is None:
            raise unknown_read(read_id)
        (found,) = connection.execute(f"SELECT {TOGETHER.format('?')}", (read_id,)).fetchone()
    state: Decision = found or "not_queued"
    return state


def sample(log: ReadLog, count: int, seed: int, *, at: datetime) -> int:
    """Queue reads drawn at random, the same for the same seed and reads; how many. Those in the queue are not drawn.

    Raises UsageError for a count below 1.
    """
    if count < 1:
        raise UsageError("a sample holds at least one read")
    with log.transaction(write=True) as connection:
        rows = connection.execute(
            "SELECT read_id FROM records WHERE returned > 0 AND read_id NOT IN "
            "(SELECT read_id FROM review WHERE kind <> 'check')"
        ).fetchall()
        drawn = sorted((row[0] for row in rows), key=lambda read_id: sha256_hex(f"{seed} {read_id}"))[:count]
        connection.executemany(
            "INSERT INTO review (identity, read_id, kind, reasons, at) VALUES (?, ?, 'sampled', '[\"sampled\"]', ?)",
            [(f"sample:{read_id}", read_id, at.timestamp()) for read_id in drawn],
        )
    return len(drawn)


def labelled(log: ReadLog) -> Iterator[dict[str, Any] | None]:
    """Rows of a golden set's `queries.jsonl`, one a read with a decision that says something; None for a read whose
    query was not recorded.

    Accepted: the first JUDGED_FIRST results are relevant. Edited: as labelled. Rejected: its labels where it has any.
    A check that was rejected makes its memory stale; a memory that should not have been left out is relevant.
    """
    reads: dict[str, list[Item]] = {}
    for item in items(log, undecided=False):
        if item.decision != "undecided":
            reads.setdefault(item.read_id, []).append(item)
    for read_id, found in reads.items():
        kept = log.load(read_id)
        labels = _merged(kept, found)
        if labels == Labels():
            continue
        if not kept.query_known:
            yield None
            continue
        query = kept.recorded.query
        yield {
            "id": read_id,
            "query": query.text,
            "query_time": query.as_of.isoformat().replace("+00:00", "Z"),
            "group": kept.recorded.namespace,
            "relevant": list(labels.relevant),
            "category": "reviewed",
            "split_group": sha256_hex(query.text.casefold())[:16],
            "metadata": {
                "stale": list(labels.stale),
                "must_not": list(labels.must_not),
                "decisions": [item.decision for item in found],
                "kinds": [item.kind for item in found],
            },
        }


def _merged(kept: Kept, found: Sequence[Item]) -> Labels:
    relevant: dict[str, None] = {}
    stale: dict[str, None] = {}
    must_not: dict[str, None] = {}
    for item in found:
        if item.kind == "check":
            if item.decision == "rejected" and item.subject is not None:
                stale[item.subject] = None
            continue
        if item.kind in ("excluded", "drop") and item.labels is None:
            if item.decision == "rejected" and item.subject is not None:
                relevant[item.subject] = None
            continue
        if item.labels is not None:
            relevant |= dict.fromkeys(item.labels.relevant)
            stale |= dict.fromkeys(item.labels.stale)
            must_not |= dict.fromkeys(item.labels.must_not)
        elif item.decision == "accepted":
            places = first_returned(kept.recorded, [c.id for c in kept.candidates], JUDGED_FIRST)
            relevant |= dict.fromkeys(kept.candidates[k].id for k in places)
    left = tuple(name for name in relevant if name not in stale and name not in must_not)
    return Labels(relevant=left, stale=tuple(stale), must_not=tuple(must_not))


def _item(row: Sequence[Any]) -> Item:
    labels = None if row[10] is None else {name: tuple(values) for name, values in json.loads(row[10]).items()}
    return Item(
        number=row[0],
        read_id=row[1],
        kind=row[2],
        subject=row[3],
        reasons=tuple(json.loads(row[4])),
        at=row[5],
        decision=row[6],
        decided_at=row[7],
        who=row[8],
        comment=row[9],
        labels=None if labels is None else Labels(**labels),
    )
