"""A golden set on disk: `memories.jsonl`, `queries.jsonl`, `README.md`, `manifest.json`."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memrank.errors import DataError
from memrank.evals.labels import Labelled, Split, read_labels
from memrank.evals.manifest import tell_changes
from memrank.fileio import sha256_hex
from memrank.queryrows import rows
from memrank.types import Note, Notes

MEMORIES, QUERIES = "memories.jsonl", "queries.jsonl"
HINT = f"an evalset is a folder with {MEMORIES} and {QUERIES}"
LINES = f"{QUERIES} is JSON Lines: an object with id, query and relevant a line"
SHARES: tuple[tuple[Split, float], ...] = (("fit", 0.5), ("choose", 0.7), ("report", 1.0))
"""Where nobody stated a split: upper ends of the shares, by a hash of the split group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evalset:
    """One golden set, its queries in the order of the file."""

    folder: Path
    name: str
    queries: tuple[Labelled, ...]
    notes: tuple[Note, ...] = field(repr=False)
    queries_sha256: str

    @property
    def memories(self) -> Path:
        """The store of the set."""
        return self.folder / MEMORIES

    def part(self, split: Split) -> tuple[Labelled, ...]:
        """The queries of one part, in their order."""
        return tuple(query for query in self.queries if split_of(query) == split)


def load(folder: Path) -> Evalset:
    """Read a golden set; a note says what of it is not as its manifest has it.

    Raises DataError for a missing or unreadable one, or labels that cannot be read.
    """
    if not folder.is_dir() or not (folder / MEMORIES).is_file() or not (folder / QUERIES).is_file():
        raise DataError(f"{folder}: no evalset there", hint=HINT)
    path = folder / QUERIES
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}", hint=HINT) from None
    notes = Notes()
    queries = tuple(_queries(path, notes))
    tell_changes(folder, notes)
    return Evalset(
        folder=folder,
        name=folder.resolve().name,
        queries=queries,
        notes=notes.as_tuple(),
        queries_sha256=sha256_hex(data),
    )


def _queries(path: Path, notes: Notes) -> Iterator[Labelled]:
    with path.open("rb") as stream:
        for row in rows(stream, str(path), lambda note: notes.extend([note]), lambda _: None, hint=LINES):
            notes.extend(row.notes)
            yield read_labels(row, f"{path}: {row.id[:80]}")


def split_of(query: Labelled) -> Split:
    """The part that a query belongs to: as stated, else by a hash of its group (of its id where it has none)."""
    if query.split is not None:
        return query.split
    share = zlib.crc32((query.split_group or query.id).encode()) / 2**32
    return next(name for name, end in SHARES if share < end)


def groups(queries: Sequence[Labelled]) -> list[str]:
    """What is drawn together, for each query: its split group, else its tenant where there are several, else itself."""
    tenants = {query.asked.get("namespace") for query in queries}
    several = len(tenants) >= FEWEST_GROUPS
    return [
        query.split_group or (f"tenant {query.asked.get('namespace')}" if several else f"query {query.id}")
        for query in queries
    ]


FEWEST_GROUPS = 5
"""With fewer tenants, drawing tenants says nothing about others; queries are drawn instead."""
