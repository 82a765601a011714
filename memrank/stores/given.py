"""Memories handed to a call instead of a store."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memrank.errors import DataError
from memrank.fileio import sha256_hex
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.records import read_record
from memrank.stores.base import Snapshot, choose_namespace, visible
from memrank.tenant import Tenant
from memrank.types import Memory, Notes


class Given:
    """Makes a store of the records of one call. What was read of a text is remembered, since candidates come again."""

    def __init__(self, analyzer: Analyzer, *, importance_scale: float = 1.0) -> None:
        self._analyzer = analyzer
        self._scale = importance_scale

    def store(self, records: Sequence[Mapping[str, object]]) -> "GivenStore":
        """A store of these records. Raises DataError, with its place, for one without an id or content."""
        notes = Notes()
        memories: dict[tuple[str | None, str], Memory] = {}
        for position, record in enumerate(records):
            try:
                memory, found = read_record(record, position=position, importance_scale=self._scale)
            except DataError as fault:
                raise DataError(f"memories[{position}]: {fault.message}", hint=fault.hint) from None
            notes.extend(found)
            if memories.pop((memory.namespace, memory.id), None) is not None:
                notes.add("repair", "read", "repeated_id", "an id stands more than once; the last one counts")
            memories[memory.namespace, memory.id] = memory
        return GivenStore(tuple(memories.values()), notes, self._analyzer)


class GivenStore:
    """A store that lives as long as one call."""

    def __init__(self, memories: tuple[Memory, ...], notes: Notes, analyzer: Analyzer) -> None:
        self._memories = memories
        self._notes = notes
        self._analyzer = analyzer

    def store_version(self) -> str:
        """sha256 over the ids and contents."""
        return sha256_hex("\x00".join(f"{m.namespace}\x00{m.id}\x00{m.content}" for m in self._memories))

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        """See `Store`."""
        known = tuple(dict.fromkeys(memory.namespace for memory in self._memories))
        name = choose_namespace(namespace, known)
        own = [memory for memory in self._memories if memory.namespace == name]
        vocabulary = Vocabulary()
        indexed = index(own, self._analyzer, vocabulary, remember=True)
        tenant = Tenant.build(name, indexed, vocabulary, self._analyzer.language)
        mask = visible(tenant, as_of, filters, tolerance)
        return Snapshot(tenant=tenant, visible=mask, version=self.store_version(), notes=self._notes.as_tuple())
