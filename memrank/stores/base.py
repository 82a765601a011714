"""What every store offers: what one tenant knew at one moment, and a version. Isolation is decided here, once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

import numpy as np

from memrank.errors import NamespaceError, UsageError
from memrank.tenant import FILTERS, Tenant
from memrank.types import Bools, Memory, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The memories of one tenant, and which of them a read may see."""

    tenant: Tenant
    visible: Bools
    """(n,) over `tenant.memories`: known at as_of and matching every filter."""
    version: str
    """Opaque; changes when anything in the store changes."""
    notes: tuple[Note, ...] = ()
    """What had to be repaired when the memories were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """What became of the uses that were recorded: ids as they were given, each once, in that order."""

    counted: tuple[str, ...]
    limited: tuple[str, ...]
    """Of these a use in the same session on the same UTC day was counted before; nothing was changed."""
    unknown: tuple[str, ...]
    """The store holds no memory with such an id in this namespace."""


@runtime_checkable
class Store(Protocol):
    """Reads. A snapshot never changes, whatever is written after it was taken."""

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        """What `namespace` knew at `as_of` (plus `tolerance` seconds), under the filters.

        Raises NamespaceError without a namespace on a store that has several, and for one that it does not know.
        """

    def store_version(self) -> str:
        """Opaque; equal versions hold equal memories."""


@runtime_checkable
class WritableStore(Store, Protocol):
    """Keeps what it is given: every write is one transaction, and survives a kill once it has returned."""

    def append(self, memories: Sequence[Memory]) -> int:
        """Add memories, or replace those with the same namespace and id; how many were written."""

    def record_use(
        self, namespace: str | None, ids: Sequence[str], at: datetime, *, session: str | None = None
    ) -> Uses:
        """Count one use of each memory at that time, at most one a memory, session and UTC day."""


def choose_namespace(asked: str | None, known: Sequence[str | None]) -> str | None:
    """The tenant of a read. Fails closed: never a merge, never a guess among several."""
    if asked is None:
        if len(known) > 1:
            raise NamespaceError(
                f"the store holds {len(known)} namespaces and the read names none",
                hint="name the one that asks: --namespace NAME, `namespace:` of the example, or `group` in a query row",
            )
        return known[0] if known else None
    if known and asked not in known:
        raise NamespaceError(f"the store holds no namespace {asked[:80]!r}", hint="names are matched exactly")
    return asked


def check_filters(names: Iterable[str]) -> None:
    """Raises UsageError for the name of a filter that there is not."""
    for name in names:
        if name not in FILTERS and not name.startswith("metadata."):
            allowed = ", ".join(sorted(FILTERS))
            raise UsageError(f"unknown filter {name[:80]!r}", hint=f"filters: {allowed}, or metadata.KEY")


def visible(tenant: Tenant, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float) -> Bools:
    """Which memories were recorded by as_of + tolerance (undated ones always are) and match every filter."""
    known = ~(tenant.times.created_start > as_of.timestamp() + tolerance)
    check_filters(filters)
    for name, values in filters.items():
        known &= tenant.matching(name, values)
    return np.asarray(known, dtype=np.bool_)
