"""Sets of others to evalsets: which format a source has, and the folder that is made of it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memrank.errors import DataError, UsageError
from memrank.evals.check import seal_evalset
from memrank.evals.evalset import MEMORIES, QUERIES
from memrank.evals.labels import read_labels
from memrank.evals.manifest import MANIFEST, README
from memrank.evals.readers.beir import is_beir, read_beir
from memrank.evals.readers.converted import Converted
from memrank.evals.readers.locomo import is_locomo, read_locomo
from memrank.evals.readers.longmemeval import is_longmemeval, read_longmemeval
from memrank.evals.readers.text import document_of
from memrank.evals.readers.trec import is_trec, read_trec
from memrank.fileio import write_folder
from memrank.plain import plain_json
from memrank.queryrows import Row
from memrank.types import Notes

FOLDERS: Mapping[str, Callable[[Path], Converted]] = {"beir": read_beir, "trec": read_trec}
FILES: Mapping[str, Callable[[Path, object, Notes], Converted]] = {
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
}
AUTO = "auto"
FORMATS = (AUTO, *FOLDERS, *FILES)

HINT = (
    "sets are read from a BEIR folder (corpus.jsonl, queries.jsonl, qrels/), a folder with documents, topics and "
    "qrels, locomo10.json, and longmemeval_*.json; --format says which it is"
)


def read_foreign(source: Path, form: str = AUTO) -> Converted:
    """The set of a file or folder in one of FORMATS. Raises DataError, with the place, for what is in none."""
    if not source.exists():
        raise DataError(f"{source}: no such file or folder", hint=HINT)
    if form == AUTO:
        return _checked(_detected(source), source)
    if (form in FOLDERS) != source.is_dir():
        kind = "a folder" if form in FOLDERS else "a file"
        raise DataError(f"{source}: is not {kind}, as sets in the format {form} are", hint=HINT)
    if form in FOLDERS:
        return _checked(FOLDERS[form](source), source)
    notes = Notes()
    return _checked(FILES[form](source, document_of(source, notes), notes), source)


def _detected(source: Path) -> Converted:
    if source.is_dir():
        for known, read in ((is_beir, read_beir), (is_trec, read_trec)):
            if known(source):
                return read(source)
        raise DataError(f"{source}: a folder in no known format", hint=HINT)
    notes = Notes()
    value = document_of(source, notes)
    if is_locomo(value):
        return read_locomo(source, value, notes)
    if is_longmemeval(value):
        return read_longmemeval(source, value, notes)
    raise DataError(f"{source}: in no known format", hint=HINT)


def _checked(found: Converted, source: Path) -> Converted:
    """What was read, once its labels are such as can be read back. Raises DataError."""
    for row in found.queries:
        read_labels(Row(id=row["id"], fields=row, notes=()), f"{source}: {row['id']:.80}")
    return found


def write_evalset(target: Path, found: Converted, *, source: str, force: bool = False) -> None:
    """Write a set as an evalset folder, whole or not at all, and seal it.

    `source` names in its README where it came from. Raises UsageError where something is there already, unless `force`
    replaces an evalset; DataError where that holds other files too, which would be lost, and where nothing can be
    written.
    """
    _guard(target, force)
    files = {
        MEMORIES: _lines(found.memories),
        QUERIES: _lines(found.queries),
        README: _readme(target.resolve().name, found, source),
    }
    write_folder(target, files)
    seal_evalset(target, licence=found.licence)


def _guard(target: Path, force: bool) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir():
        raise DataError(f"{target}: cannot be written: this is no folder")
    there = sorted(path.name for path in target.iterdir())
    if there and not force:
        raise UsageError(f"{target}: there already", hint="another folder, or --force to replace")
    others = [name for name in there if name not in (MEMORIES, QUERIES, README, MANIFEST)]
    if others:
        raise DataError(
            f"{target}: holds {others[0]!r:.80}, which is no part of an imported set", hint="name another folder"
        )


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(plain_json(row)[0], ensure_ascii=False, allow_nan=False) + "\n"


def _readme(name: str, found: Converted, source: str) -> str:
    categories = Counter(row["category"] for row in found.queries if "category" in row)
    empty = sum(not row["relevant"] for row in found.queries)
    tenants = {row["namespace"] for row in found.memories if "namespace" in row}
    counts = [
        f"- `{MEMORIES}`: {len(found.memories)} memories" + (f" of {len(tenants)} namespaces." if tenants else "."),
        f"- `{QUERIES}`: {len(found.queries)} queries, {empty} of them with an empty `relevant` (nothing answers).",
    ]
    if categories:
        listed = ", ".join(f"{kind} {number}" for kind, number in categories.most_common())
        counts.append(f"- Categories: {listed}.")
    if found.notes:
        counts += ["", "What was found on the way:", ""]
        counts += [f"- {note.level}: {note.code}, {note.count} times" for note in found.notes]
    return "\n".join(
        [
            f"# {name}",
            "",
            f"An evalset for memrank, made by `memrank evalset import` of {source} (format {found.form}).",
            f"Licence: {found.licence or 'not stated here; see where the set was published'}.",
            "",
            "## Contents",
            "",
            *counts,
            "",
            "## Labels",
            "",
            *(f"- {line}" for line in found.labels),
            "",
        ]
    )
