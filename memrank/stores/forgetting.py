"""A memory deleted for privacy: removed wherever it is kept, and proof that nothing of its text is left in the bytes.

Each kind of file that keeps text of memories is a `Place`. The proof reads the files as they lie on the disk, SQLite's
own logs beside them included, and looks for pieces of the text. A piece that something else still says (another memory
with the same words) is no trace of what was forgotten.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memrank.errors import StoreError
from memrank.records import write_record
from memrank.types import Memory

PIECE = 24
"""Characters of a piece that is looked for."""
MOST = 200
"""Pieces that are looked for; of a longer text they are spread evenly."""
SHORTEST = 8
"""Characters of a text that can be looked for: shorter ones are found by chance."""

REPLACED = "[forgotten]"
"""Stands where a forgotten text was quoted."""

_NAMES = frozenset({"id", "namespace", "superseded_by", "memory_type", "session_id", "agent_id", "task_type", "role"})
"""Fields that name things and say nothing."""
_DATES = frozenset(
    {"created_at", "event_date", "updated_at", "last_accessed_at", "valid_at", "invalid_at", "expires_at"}
)
_KEPT = _NAMES | _DATES | {"speaker", "call_id", "tool_call_id"}
"""Fields of other records that stay as they are, whatever they hold: they say what a record is, and quote nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A memory that is to be forgotten."""

    namespace: str | None
    id: str
    texts: tuple[str, ...]
    """Everything that it says, longest first: these are removed where others quote them."""


class Place(Protocol):
    """A file that keeps text of memories."""

    @property
    def path(self) -> Path:
        """The file."""

    def held(self, namespace: str | None, identity: str) -> list[Memory]:
        """What it says of the memory, in every version that it keeps."""

    def forget(self, gone: Gone) -> int:
        """Remove the memory, and its texts where they are quoted; in how many places."""

    def living(self) -> Iterator[str]:
        """Every text that it still keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a search of the bytes found."""

    files: tuple[str, ...]
    bytes_scanned: int
    pieces: int
    """Pieces of the text that were looked for, in each form in which it could be written."""
    shared: int
    """Pieces that something else still says."""
    found: tuple[str, ...]
    """Files that hold a piece that nothing else says: something is left."""


def texts_of(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Everything that these memories say, as texts long enough to be looked for, longest first."""
    found: dict[str, None] = {}
    for memory in memories:
        for name, value in write_record(memory).items():
            if name not in _NAMES and name not in _DATES:
                # A short value beside the content ("Bloomberg") says nothing of this memory alone.
                least = SHORTEST if name == "content" else PIECE
                found |= dict.fromkeys(text for text in strings(value) if len(text) >= least)
    return tuple(sorted(found, key=len, reverse=True))


def prove(places: Sequence[Place], texts: Sequence[str]) -> Proof:
    """Look for the texts in the bytes of every place. Raises StoreError for a file that cannot be read."""
    every = list(dict.fromkeys(piece for text in texts for piece in _pieces(text)))
    pieces = every[:: -(-len(every) // MOST)] if every else []
    wanted = {form: piece for piece in pieces for form in _forms(piece)}
    met: dict[str, set[str]] = {}
    files = [path for place in places for path in _files(place.path)]
    scanned = sum(_scan(path, wanted, met) for path in files)
    shared = {piece for place in places for text in place.living() for piece in met if piece in text}
    left = {file for piece, there in met.items() if piece not in shared for file in there}
    return Proof(
        files=tuple(map(str, files)),
        bytes_scanned=scanned,
        pieces=len(wanted),
        shared=len(shared),
        found=tuple(sorted(left)),
    )


def strings(value: object) -> Iterator[str]:
    """Every text in a JSON value; keys are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


def without(value: object, texts: Sequence[str]) -> object:
    """A JSON value with every text that is quoted in it replaced; keys stay."""
    if isinstance(value, str):
        for quoted in texts:
            value = value.replace(quoted, REPLACED)
        return value
    if isinstance(value, dict):
        return {name: without(inner, texts) for name, inner in value.items()}
    return [without(inner, texts) for inner in value] if isinstance(value, list) else value


def unquoted(record: object, texts: Sequence[str]) -> object:
    """A record with every text that it quotes replaced, except in the fields that name things: it stays what it was."""
    if not isinstance(record, dict):
        return record
    return {
        name: unquoted(value, texts) if name == "metadata" else value if name in _KEPT else without(value, texts)
        for name, value in record.items()
    }


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces one after the other: a database may write it in several parts, and cuts few of them."""
    if len(text) < PIECE + SHORTEST:
        yield text
        return
    for start in range(0, len(text) - PIECE + 1, PIECE):
        yield text[start : start + PIECE]


def _forms(piece: str) -> set[bytes]:
    """A text as UTF-8, and as JSON writes it with and without characters beyond ASCII."""
    return {
        piece.encode("utf-8", "surrogatepass"),
        json.dumps(piece, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
        json.dumps(piece)[1:-1].encode(),
    }


def _files(path: Path) -> list[Path]:
    """The file and what SQLite keeps beside it."""
    beside = [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]
    return [path, *(other for other in beside if other.exists())]


def _scan(path: Path, wanted: Mapping[bytes, str], met: dict[str, set[str]]) -> int:
    """Notes which pieces the file holds; how many bytes were looked at."""
    try:
        size = path.stat().st_size
        if size == 0:
            return 0
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for form, piece in wanted.items():
                if data.find(form) >= 0:
                    met.setdefault(piece, set()).add(str(path))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    return size
