"""From the arguments of a call to a checked query and its limits. The clock is read here, and nowhere else below the
CLI.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memrank.errors import UsageError
from memrank.plain import plain_text
from memrank.slate import Limits
from memrank.tenant import filter_text
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
    """The query, or UsageError: empty or oversized text, an unreadable as_of, filters that are no values.

    Lone surrogates become U+FFFD, everywhere: what is asked is written out again.
    """
    if query is None or (isinstance(query, str) and not query.strip()):
        raise UsageError("the query is empty", hint="say what to look for")
    asked = _text("query", query)
    if len(asked) > MAX_QUERY_CHARS:
        raise UsageError(f"the query has {len(asked):,} characters; at most {MAX_QUERY_CHARS:,} are read")
    return Query(
        text=asked,
        as_of=moment(as_of),
        id=_text("query_id", query_id),
        namespace=None if namespace is None else _text("namespace", namespace),
        filters=_filters({} if filters is None else filters),
        domain=None if domain is None else _text("domain", domain),
        phase=None if phase is None else _text("phase", phase),
        observations=_texts("observations", observations),
        constraints=_texts("constraints", constraints),
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} is a {type(value).__name__}; it must be a text")
    return plain_text(value)


def _texts(name: str, values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)):
        raise UsageError(f"{name} is a {type(values).__name__}; it must be a list of texts")
    return tuple(_text(name, value) for value in values)


def _filters(given: object) -> dict[str, tuple[str, ...]]:
    """Field to the values it may have; numbers and booleans are compared as they are written."""
    if not isinstance(given, Mapping):
        raise UsageError(f"filters is a {type(given).__name__}; it must map a field to its value or values")
    found = {}
    for name, value in given.items():
        values = value if isinstance(value, (list, tuple)) else (value,)
        if not all(isinstance(one, (str, int, float)) for one in values):
            raise UsageError(f"the filter {name!r:.80} is neither a text, a number, true or false, nor a list of these")
        found[_text("a filter", name)] = tuple(plain_text(filter_text(one)) for one in values)
    return found


def limits(*, top_k: int | None = None, max_tokens: int | None = None, rank_only: bool = False) -> Limits:
    """The limits of one read, or UsageError for one below 1."""
    for name, value in (("top_k", top_k), ("max_tokens", max_tokens)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} is {value!r:.40}; it must be a whole number from 1 on")
    return Limits(top_k=top_k, max_tokens=max_tokens, rank_only=rank_only)


def moment(
    given: str | float | datetime | None, *, named: str = "as_of", hint: str = "ISO 8601, such as 2026-03-20T09:00:00Z"
) -> datetime:
    """An instant that a caller gives, such as what "now" means for a read: aware UTC (without a zone: UTC), else the
    clock. Raises UsageError that calls it `named`.
    """
    if given is None:
        return datetime.now(UTC)
    try:
        if isinstance(given, datetime):
            return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
        return parse_as_of(given, what=named)
    except OverflowError:
        raise UsageError(f"{named} lies outside the years 1 to 9999") from None
    except ValueError as fault:
        raise UsageError(f"{fault}", hint=hint) from None
