"""From the arguments of a call to a checked query and its limits. The clock is read here, and nowhere else below the CLI."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memrank.errors import UsageError
from memrank.slate import Limits
from memrank.text.dates import parse_as_of
from memrank.types import Query

MAX_QUERY_CHARS = 100_000


def ask(
    query: str | None,
    *,
    as_of: str | datetime | None = None,
    namespace: str | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    query_id: str = "query",
    domain: str | None = None,
    phase: str | None = None,
    observations: Sequence[str] = (),
    constraints: Sequence[str] = (),
) -> Query:
    """The query, or UsageError: empty or oversized text, an unreadable as_of."""
    if query is None or not query.strip():
        raise UsageError("the query is empty", hint="say what to look for")
    if len(query) > MAX_QUERY_CHARS:
        raise UsageError(f"the query has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are read")
    return Query(
        text=query.encode("utf-8", "replace").decode("utf-8"),
        as_of=moment(as_of),
        id=query_id,
        namespace=namespace,
        filters={name: (given,) if isinstance(given, str) else tuple(given) for name, given in (filters or {}).items()},
        domain=domain,
        phase=phase,
        observations=tuple(observations),
        constraints=tuple(constraints),
    )


def limits(*, top_k: int | None = None, max_tokens: int | None = None, rank_only: bool = False) -> Limits:
    """The limits of one read, or UsageError for one below 1."""
    for name, value in (("top_k", top_k), ("max_tokens", max_tokens)):
        if value is not None and value < 1:
            raise UsageError(f"{name} is {value}; it must be at least 1")
    return Limits(top_k=top_k, max_tokens=max_tokens, rank_only=rank_only)


def moment(as_of: str | datetime | None) -> datetime:
    """What "now" means for a read, aware UTC: as given (without a zone: UTC), else the clock."""
    if as_of is None:
        return datetime.now(UTC)
    if isinstance(as_of, datetime):
        return as_of.replace(tzinfo=UTC) if as_of.tzinfo is None else as_of.astimezone(UTC)
    try:
        return parse_as_of(as_of)
    except ValueError as fault:
        raise UsageError(f"as_of: {fault}", hint="ISO 8601, such as 2026-03-20T09:00:00Z") from None
