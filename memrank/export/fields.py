"""The names by which an engine knows the fields of a memory, and the moment that "now" means there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta

from memrank.errors import UsageError

AS_OF = "{{as_of}}"
"""Stands in a query for the moment that "now" means, ISO 8601 in UTC, until the caller puts it there."""
QUERY = "{{query}}"
"""Stands in a query for what is searched for."""

MILLISECOND = timedelta(milliseconds=1)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """Names in the engine; those of memrank unless told otherwise."""

    table: str = "memories"
    id: str = "id"
    content: str = "content"
    effective_at: str = "effective_at"
    """When it counts from: event_date, else created_at, as the spec's `clock` has it."""
    created_at: str = "created_at"
    memory_type: str = "memory_type"
    importance: str = "importance"
    """From 0 to 1."""
    uses: str = "access_count"
    authority: str = "authority"
    relevance: str = "relevance"
    score_at_1: float = field(default=1.0, metadata={"number": True})
    """The score of an engine that stands for relevance 1."""

    def named(self, settings: Sequence[str]) -> "Fields":
        """With other names, each `FIELD=NAME`. Raises UsageError for anything else."""
        known = [one.name for one in fields(self) if not one.metadata]
        found = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals or name not in known or not NAME.fullmatch(value):
                raise UsageError(
                    f"--field {setting[:80]!r} names no field",
                    hint=f"FIELD=NAME with a field of {', '.join(known)}, and a name of letters, digits, _ and dots",
                )
            found[name] = value
        names = replace(self, **found)  # type: ignore[arg-type]  # names of fields that hold texts
        names.refuse_shared()
        return names

    def refuse_shared(self) -> None:
        """Raises UsageError where two fields have one name; but effective_at may be created_at."""
        seen = {self.effective_at.lower(): "effective_at"}
        for one in fields(self):
            if one.metadata or one.name in ("table", "effective_at"):
                continue
            name = getattr(self, one.name).lower()  # SQL tells no case apart
            if name in seen and {one.name, seen[name]} != {"created_at", "effective_at"}:
                raise UsageError(f"--field: {seen[name]} and {one.name} are both {name}", hint="a name for each")
            seen[name] = one.name


def moment_text(as_of: datetime | None) -> str:
    """The moment in ISO 8601, or what stands for it. Raises UsageError for one finer than a millisecond."""
    if as_of is None:
        return AS_OF
    if as_of.microsecond % 1000:
        raise UsageError("as_of is finer than a millisecond, which dates of search engines are not")
    return as_of.isoformat(timespec="milliseconds").replace("+00:00", "Z")
