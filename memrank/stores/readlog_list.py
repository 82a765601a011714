"""The calls that a read log holds, newest first."""

import json
from dataclasses import dataclass

from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_review import TOGETHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One call. What was not recorded is None."""

    read_id: str
    at: float
    """Seconds since 1970."""
    as_of: str
    namespace: str | None
    query: str | None
    judged: int | None
    returned: int | None
    top_score: float | None
    reasons: tuple[str, ...]
    decision: str | None
    """Of the review (see `decided`), where anything of the read is in the queue."""
    latency_ms: float
    cached: bool
    seen: int
    """How often this read was made."""
    failed: bool
    """Whether something failed on its way."""


_SELECT = f"""
SELECT c.read_id, c.at, c.as_of, r.namespace, r.asked, r.judged, r.returned, r.top_score, r.reasons,
       {TOGETHER.format("c.read_id")},
       c.latency_ms, c.cached, r.notes, (SELECT count(*) FROM reads AS o WHERE o.read_id = c.read_id)
FROM reads AS c LEFT JOIN records AS r USING (read_id)
WHERE c.at >= ? AND (NOT ? OR r.reasons <> '[]')
ORDER BY c.at DESC, c.number DESC
"""  # noqa: S608 - texts of ours


def lines(log: ReadLog, *, since: float, text: str | None, needs_review: bool, limit: int | None) -> tuple[Line, ...]:
    """Calls from `since` on (seconds since 1970), newest first, at most `limit`.

    `text`: only those whose query holds it, whatever the case; where queries are not recorded, none.
    """
    found: list[Line] = []
    with log.transaction() as connection:
        for row in connection.execute(_SELECT, (since, needs_review)):
            if limit is not None and len(found) >= limit:
                break
            query = None if row[4] is None else json.loads(row[4])["text"]
            if text is not None and (query is None or text.casefold() not in query.casefold()):
                continue
            notes = json.loads(row[12] or "[]")
            found.append(
                Line(
                    read_id=row[0],
                    at=row[1],
                    as_of=row[2],
                    namespace=row[3],
                    query=query,
                    judged=row[5],
                    returned=row[6],
                    top_score=row[7],
                    reasons=tuple(json.loads(row[8] or "[]")),
                    decision=row[9],
                    latency_ms=row[10],
                    cached=bool(row[11]),
                    seen=row[13],
                    failed=any(note["level"] == "failure" for note in notes),
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Memories of a read that were of use."""

    ids: tuple[str, ...]
    session: str | None
    at: float
    """Seconds since 1970."""


def uses(log: ReadLog, read_id: str) -> tuple[Use, ...]:
    """What was said to be of use of a read, in the order in which it was said."""
    select = "SELECT ids, session, at FROM used WHERE read_id = ? ORDER BY number"
    with log.transaction() as connection:
        rows = connection.execute(select, (read_id,)).fetchall()
    return tuple(Use(ids=tuple(json.loads(ids)), session=session, at=at) for ids, session, at in rows)
