"""`jsonl.v1`: memories in a file (JSONL, JSON, CSV or an export of another system), read and never written."""

import stat
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memrank.indexing import Analyzer, Vocabulary, index
from memrank.stores.base import Snapshot, choose_namespace, visible
from memrank.stores.formats import MISSING
from memrank.stores.readers import Loaded, read_memories
from memrank.tenant import Tenant
from memrank.types import Memory


class _Group:
    """The memories of one tenant, indexed when it first asks; whoever asks meanwhile waits, and nobody else."""

    def __init__(self, name: str | None) -> None:
        self.memories: list[Memory] = []
        self._name = name
        self._tenant: Tenant | None = None
        self._lock = threading.Lock()

    def tenant(self, analyzer: Analyzer) -> Tenant:
        """The index of all its memories, which then must stay as they are."""
        with self._lock:
            if self._tenant is None:
                vocabulary = Vocabulary()
                indexed = index(self.memories, analyzer, vocabulary)
                self._tenant = Tenant.build(self._name, indexed, vocabulary, analyzer.language)
            return self._tenant


class FileStore:
    """Reads its file when it is first asked, and again when it has changed. Tenants are indexed when they first ask."""

    def __init__(
        self, path: Path, analyzer: Analyzer, *, importance_scale: float = 1.0, missing: str = MISSING
    ) -> None:
        """`missing`: the hint where there is no such file."""
        self._path = path
        self._analyzer = analyzer
        self._scale = importance_scale
        self._missing = missing
        self._lock = threading.RLock()
        self._stamp: tuple[int, int] | None = None
        self._loaded: Loaded | None = None
        self._groups: dict[str | None, _Group] = {}

    def __deepcopy__(self, memo: object) -> "FileStore":
        return self

    def store_version(self) -> str:
        """sha256 of the file."""
        return self._load().sha256

    def snapshot(
        self, namespace: str | None, as_of: datetime, filters: Mapping[str, Sequence[str]], tolerance: float
    ) -> Snapshot:
        """See `Store`."""
        with self._lock:
            loaded = self._load()
            name = choose_namespace(namespace, tuple(self._groups))
            group = self._groups.get(name) or _Group(name)
        tenant = group.tenant(self._analyzer)
        mask = visible(tenant, as_of, filters, tolerance)
        notes = loaded.file_notes + loaded.tenant_notes.get(name, ())
        return Snapshot(tenant=tenant, visible=mask, version=loaded.sha256, notes=notes)

    def _load(self) -> Loaded:
        with self._lock:
            stamp = self._stat()
            if self._loaded is None or stamp != self._stamp:
                self._loaded = read_memories(self._path, importance_scale=self._scale, missing=self._missing)
                self._stamp = stamp
                self._groups = {}
                for memory in self._loaded.memories:
                    name = memory.namespace
                    self._groups.setdefault(name, _Group(name)).memories.append(memory)
            return self._loaded

    def _stat(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None  # reading it gives the error that names the path
        if not stat.S_ISREG(found.st_mode):
            return 0, 0  # a pipe: its times change by reading it, and it can be read once only
        return found.st_mtime_ns, found.st_size
