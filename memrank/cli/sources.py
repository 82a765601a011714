"""Memories for the commands under `memrank store`: of a store, or of any file that can be read."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from memrank.cli import collector
from memrank.errors import NamespaceError

if TYPE_CHECKING:
    from memrank.types import Memory, Note


def memories_of(path: Path, scale: float) -> tuple[Iterable["Memory"], tuple["Note", ...]]:
    """The memories of a store or of any file that can be read, and what had to be repaired on the way."""
    from memrank.indexing import Analyzer
    from memrank.registry import store_kind
    from memrank.stores.readers import read_memories
    from memrank.stores.sqlite import SqliteStore

    collector.resume()
    if store_kind(path) == "sqlite.v1":
        return SqliteStore(path, Analyzer()).export(), ()
    loaded = read_memories(path, importance_scale=scale)
    return loaded.memories, loaded.notes


def of_namespace(memories: Iterable["Memory"], namespace: str) -> Iterator["Memory"]:
    """Those of one tenant. Raises NamespaceError at the end where there were none."""
    none = True
    for memory in memories:
        if memory.namespace == namespace:
            none = False
            yield memory
    if none:
        raise NamespaceError(f"the store holds no namespace {namespace[:80]!r}", hint="names are matched exactly")


def logs_of(source: str) -> list[str | os.PathLike[str]]:
    """SQLite keeps what was written last beside the store."""
    return [f"{source}-wal", f"{source}-shm"]
