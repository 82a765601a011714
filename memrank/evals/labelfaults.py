"""Labels that cannot be true: ids that nobody can return, labels that exclude each other, answers from the future."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memrank.asking import moment
from memrank.errors import UsageError
from memrank.evals.finding import Finding, fault, remark
from memrank.evals.labels import Labelled
from memrank.slate import ACTIONS
from memrank.types import Memory

TOLERANCE = timedelta(hours=24)
"""A memory recorded at most so long after the time of a query is known to it, as a read has it."""
APART = 0.25
"""A relevant memory scored lower than this, or one without any label scored above 1 less this, is worth a look."""
SHOWN = 5

Known = Mapping[tuple[str | None, str], Memory]


def label_findings(queries: Sequence[Labelled], memories: Known) -> Iterator[Finding]:
    """The findings of every query, in their order."""
    spaces: dict[str, set[str | None]] = {}
    for space, name in memories:
        spaces.setdefault(name, set()).add(space)
    tenants = {space for space, _ in memories}
    for query in queries:
        yield from _asked(query, tenants)
        yield from _unknown(query, asker(query, tenants), spaces)
        yield from _conflicts(query)
        yield from _times(query, asker(query, tenants), memories)
        yield from _scores(query)


def asker(query: Labelled, tenants: set[str | None]) -> str | None:
    """The tenant that a query asks: as named, else the only one."""
    named: str | None = query.asked.get("namespace")
    return next(iter(tenants)) if named is None and len(tenants) == 1 else named


def time_of(query: Labelled) -> datetime | None:
    """What "now" means for a query; None where it does not say. Raises UsageError for what is no time."""
    given = query.asked.get("as_of")
    return None if given is None else moment(given, named="query_time")


def _asked(query: Labelled, tenants: set[str | None]) -> Iterator[Finding]:
    if not (query.asked.get("query") or "").strip():
        yield fault("no_text", query.id, "the query has no text")
    if asker(query, tenants) not in tenants:
        yield fault("unknown_tenant", query.id, "no memory is of the namespace that it asks")
    if query.asked.get("as_of") is None:
        yield remark(
            "no_time", query.id, "without query_time it is asked as of the newest memory, by `memrank run` as of now"
        )


def _unknown(query: Labelled, own: str | None, spaces: Mapping[str, set[str | None]]) -> Iterator[Finding]:
    labels: dict[str, Iterable[str]] = {
        "relevant": set(query.relevant),
        "stale": query.stale,
        "current": query.current - set(query.relevant),
    }
    for name, ids in labels.items():
        yield from _told("unknown_id", query, f"{name}: no such memory", (i for i in ids if i not in spaces))
        foreign = (i for i in ids if i in spaces and own not in spaces[i])
        yield from _told("other_tenant", query, f"{name}: of another namespace than the one that asks", foreign)
    anywhere: dict[str, Iterable[str]] = {
        "must_not": query.must_not,
        "scores": query.scores,
        "expected_actions": query.expected_actions,
    }
    for name, ids in anywhere.items():
        yield from _told("unknown_id", query, f"{name}: no such memory", (i for i in ids if i not in spaces))


def _conflicts(query: Labelled) -> Iterator[Finding]:
    relevant = set(query.relevant)
    yield from _told("label_conflict", query, "relevant and must_not", relevant & query.must_not)
    yield from _told("label_conflict", query, "relevant and stale", relevant & query.stale)
    yield from _told("label_conflict", query, "stale and current", query.stale & query.current)
    yield from _told("label_conflict", query, "current but not relevant", query.current - relevant)
    strange = {action for actions in query.expected_actions.values() for action in actions} - set(ACTIONS)
    if strange:
        yield fault("unknown_action", query.id, f"expected_actions knows {', '.join(ACTIONS)} only")


def _times(query: Labelled, own: str | None, memories: Known) -> Iterator[Finding]:
    try:
        now = time_of(query)
    except UsageError as error:
        yield fault("bad_time", query.id, error.message)
        return
    if now is None:
        return
    answers = [memories[own, i] for i in query.relevant if (own, i) in memories]
    late = (m.id for m in answers if m.created_at is not None and m.created_at.start - TOLERANCE > now)
    yield from _told("not_known_yet", query, "relevant, but recorded after the query", late)
    if not query.asks_previous:
        over = (m.id for m in answers if m.expires_at is not None and m.expires_at.end <= now)
        yield from _told("expired", query, "relevant, but expired by then", over)


def _scores(query: Labelled) -> Iterator[Finding]:
    given = {name: pair.relevance for name, pair in query.scores.items() if pair.relevance is not None}
    low = [i for i, value in given.items() if i in query.relevant and value < APART]
    labelled = {*query.relevant, *query.stale, *query.must_not}
    high = [i for i, value in given.items() if i not in labelled and value > 1 - APART]
    for what, ids in (("relevant, but scored low", low), ("scored high, but not labelled", high)):
        if ids:
            yield remark("score_against_label", query.id, f"{what}: {listed(ids)}")


def _told(code: str, query: Labelled, what: str, ids: Iterable[str]) -> Iterator[Finding]:
    found = sorted(ids)
    if found:
        yield fault(code, query.id, f"{what}: {listed(found)}")


def listed(ids: Sequence[str]) -> str:
    """The first few ids, and how many more there are."""
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(name[:40] for name in ids[:SHOWN]) + more
