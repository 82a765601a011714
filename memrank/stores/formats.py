"""Files to JSON values: JSON Lines, JSON and CSV, told apart by suffix and content, read as leniently as is safe."""

import csv
import io
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from memrank.errors import DataError
from memrank.fields import (
    NAMES,
    READERS,
    number_of,
    read_count,
    read_flag,
    read_names,
    read_share,
    read_tags,
    read_turn,
    read_vector,
)
from memrank.plain import decoded
from memrank.types import Notes

LONGEST_CELL = 64 * 2**20
"""Characters in one cell of a CSV file."""

_SNIFFED = 1 << 16
_BOM = b"\xef\xbb\xbf"
_FOREIGN = {
    b"SQLite format 3\x00": ("an SQLite database", "open it as a store of kind sqlite"),
    b"\x1f\x8b": ("gzip data", "unpack it first"),
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "unpack it, or save it as CSV"),
    b"PAR1": ("a Parquet file", "save it as JSON Lines"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}
MISSING = "check its name; a relative path starts at the current folder"
"""The way out where there is no such file, unless a caller knows better."""
_READABLE = "memories are read from .jsonl, .json, .csv and .tsv files in UTF-8"


class Item(NamedTuple):
    """One value of a file and where it stands, or the fault that stands there instead."""

    where: str
    value: object = None
    fault: str = ""


def iter_items(
    path: Path, consume: Callable[[bytes], object], notes: Notes, *, missing: str = MISSING
) -> Iterator[Item]:
    """The values of a file in order: one a line (JSON Lines), one a row (CSV), or the one document (JSON).

    Every byte is handed to `consume` once; `missing` is the hint where there is no such file. Raises DataError for a
    file that cannot be read or is in no known format.
    """
    try:
        if "\0" in str(path):
            raise FileNotFoundError
        if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISFIFO(mode):
            _refuse(path)
        with io.BufferedReader(io.FileIO(path), _SNIFFED) as stream:
            form = _form(path, stream.peek(_SNIFFED)[:_SNIFFED])
            if form == "jsonl":
                yield from _lines(path, stream, consume, notes)
                return
            data = stream.read()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file", hint=missing) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}", hint=_READABLE) from error
    if form == "json":
        yield from _document(path, data, consume, notes)
    else:
        consume(data)
        yield from _rows(path, decoded(data, str(path), notes), notes)


def _refuse(path: Path) -> NoReturn:
    if not path.is_dir():
        raise DataError(f"{path}: not a regular file", hint=_READABLE)
    inside = path / "memories.jsonl"
    hint = f"did you mean {inside}?" if inside.is_file() else _READABLE
    raise DataError(f"{path}: is a folder, not a file of memories", hint=hint)


def refuse_foreign(path: Path, head: bytes, what: str = "a file of memories") -> None:
    """Raise DataError, with the way out, where the first bytes of a file are those of a format that is no text."""
    for magic, (name, hint) in _FOREIGN.items():
        if head.startswith(magic):
            raise DataError(f"{path}: is {name}, not {what}", hint=hint)


def _form(path: Path, head: bytes) -> str:
    refuse_foreign(path, head)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    text = head.removeprefix(_BOM).lstrip()
    first, newline, _ = text.partition(b"\n")
    first = first.strip()
    if not text or (first.startswith(b"{") and (not newline or _is_object(first))):
        return "jsonl"
    if first.startswith(b"["):
        return "json"
    if suffix in (".jsonl", ".ndjson"):
        # A document spread over lines opens something at the end of its first line; a broken record rarely does.
        return "json" if first.startswith(b"{") and first.endswith((b"{", b"[", b",")) else "jsonl"
    if suffix == ".json" or first.startswith(b"{"):
        return "json"
    raise DataError(f"{path}: in no known format", hint=_READABLE)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


# JSON


class _Json:
    """A JSON parser that allows raw control characters in texts and NaN, and remembers repeated keys."""

    def __init__(self) -> None:
        self._repeated = 0
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, strict=False)

    def parse(self, text: str, where: str, notes: Notes) -> object:
        """The value of a text. Raises ValueError with a message that quotes nothing of it."""
        self._repeated = 0
        try:
            value: object = self._decoder.decode(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno} column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
            raise ValueError(f"not valid JSON: {error.msg} at {place}") from None
        except ValueError:
            raise ValueError("not valid JSON: a number has too many digits") from None
        except RecursionError:
            raise ValueError("nested too deeply") from None
        if self._repeated:
            notes.add("repair", "read", "key_repeated", f"{where}: a key is repeated; the last counts", self._repeated)
        return value

    def _object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        self._repeated += len(pairs) - len(made)
        return made


def parse_json(text: str, where: str, notes: Notes) -> object:
    """The value of a text, read as leniently as the files here. Raises ValueError, which quotes nothing of the text."""
    return _Json().parse(text, where, notes)


def _lines(path: Path, stream: BinaryIO, consume: Callable[[bytes], object], notes: Notes) -> Iterator[Item]:
    parser = _Json()
    for number, raw in enumerate(stream, start=1):
        consume(raw)
        line = (raw.removeprefix(_BOM) if number == 1 else raw).strip()
        if not line:
            continue
        where = f"{path}:{number}"
        try:
            yield Item(where, parser.parse(decoded(line, where, notes), where, notes))
        except ValueError as error:
            yield Item(where, fault=str(error))


def _document(path: Path, data: bytes, consume: Callable[[bytes], object], notes: Notes) -> Iterator[Item]:
    parsing = Notes()
    try:
        value = _Json().parse(decoded(data.removeprefix(_BOM), str(path), parsing), str(path), parsing)
    except ValueError as error:
        first = data.removeprefix(_BOM).lstrip().partition(b"\n")[0]
        if _is_object(first):
            yield from _lines(path, io.BytesIO(data), consume, notes)
            return
        raise DataError(f"{path}: {error}", hint=_READABLE) from None
    consume(data)
    notes.extend(parsing.as_tuple())
    if not isinstance(value, (list, dict)):
        raise DataError(f"{path}: holds neither a list of records nor an object", hint=_READABLE)
    yield Item(str(path), value)


# CSV


def _rows(path: Path, text: str, notes: Notes) -> Iterator[Item]:
    if csv.field_size_limit() < LONGEST_CELL:  # only ever raised, so that threads cannot lower it for one another
        csv.field_size_limit(LONGEST_CELL)
    text = text.removeprefix("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path, text))
    try:
        header = next((row for row in reader if any(row)), [])
        names = [name.strip() or f"column {number}" for number, name in enumerate(header, start=1)]
        if len(set(names)) < len(names):
            notes.add("repair", "read", "key_repeated", f"{path}: a column name is repeated; the last counts")
        for row in reader:
            if any(row):
                where = f"{path}:{reader.line_num}"
                yield Item(where, _record(names, row, where, notes))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not valid CSV: {error}", hint=_READABLE) from None


def _delimiter(path: Path, text: str) -> str:
    head = text[:_SNIFFED].lstrip().partition("\n")[0]
    if path.suffix.lower() == ".tsv":
        return "\t"
    return max(",;\t", key=head.count)


def _record(names: list[str], row: list[str], where: str, notes: Notes) -> dict[str, object]:
    record = {name: _cell(name, cell) for name, cell in zip(names, row, strict=False) if cell}
    if any(row[len(names) :]):
        notes.add("repair", "read", "cells_left_over", f"{where}: more cells than columns; kept as 'extra cells'")
        record["extra cells"] = row[len(names) :]
    return record


def _cell(name: str, cell: str) -> object:
    """The value that a cell writes: numbers, flags, lists and objects where the column holds them, else the text."""
    reader = READERS[NAMES[name][0]] if name in NAMES else None
    if reader in (read_count, read_turn, read_share):
        number = number_of(cell)
        return cell if number is None else number
    if reader is read_flag:
        return {"true": True, "false": False}.get(cell.strip().lower(), cell)
    if reader in (read_tags, read_names) and not cell.lstrip().startswith("["):
        return [part.strip() for part in cell.split(";")] if ";" in cell else cell
    if reader in (read_tags, read_names, read_vector) or name == "metadata":
        try:
            return _Json().parse(cell, "", Notes())
        except ValueError:
            return cell
    return cell
