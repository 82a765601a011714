"""Which memories of a read were of use: kept with the read, and counted where the store can be written."""

from collections.abc import Sequence
from datetime import datetime

from memrank.errors import NamespaceError
from memrank.stores.base import Store, Uses, WritableStore
from memrank.stores.readlog import ReadLog


def record_used(
    log: ReadLog, store: Store | None, read_id: str, ids: Sequence[str], *, session: str | None, at: datetime
) -> Uses | None:
    """Record the uses; what the store counted, None where it cannot be written.

    Raises DataError for an unknown read and for memories that it did not judge.
    """
    namespace = log.record_used(log.find(read_id), ids, session=session, at=at)
    return count_uses(store, namespace, ids, session=session, at=at)


def count_uses(
    store: Store | None, namespace: str | None, ids: Sequence[str], *, session: str | None, at: datetime
) -> Uses | None:
    """Count a use of each memory in the store; None where it cannot be written."""
    if not isinstance(store, WritableStore):
        return None
    try:
        return store.record_use(namespace, ids, at, session=session)
    except NamespaceError:  # the read was over memories that were given, or that have gone since
        return Uses(counted=(), limited=(), unknown=tuple(dict.fromkeys(ids)))
