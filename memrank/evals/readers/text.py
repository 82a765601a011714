"""The files of foreign sets as text, lines and JSON values. Every fault names the file and the line."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.plain import decoded, plain_text
from memrank.stores.formats import parse_json, refuse_foreign
from memrank.text.dates import parse_as_of
from memrank.types import Notes

WHAT = "a text file"
_BOM = "\ufeff"


def text_of(path: Path, notes: Notes) -> str:
    """A whole file; bytes that are not UTF-8 become U+FFFD with a note. Raises DataError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a file") from None
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None
    refuse_foreign(path, data[:16], WHAT)
    return decoded(data, str(path), notes).removeprefix(_BOM)


def lines_of(path: Path, notes: Notes) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, each with its place `file:line`. Raises DataError."""
    # Only line feeds end a line: texts may hold other separators that Python counts as line ends.
    for number, line in enumerate(text_of(path, notes).split("\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", line.removesuffix("\r")


def objects_of(path: Path, notes: Notes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON object of each line with its place. Raises DataError for a line that holds none."""
    for where, line in lines_of(path, notes):
        try:
            value = parse_json(line, where, notes)
        except ValueError as fault:
            raise DataError(f"{where}: {fault}", hint="a line holds one JSON object") from None
        yield where, object_at(value, where)


def document_of(path: Path, notes: Notes) -> object:
    """The one JSON value of a file. Raises DataError with the line of what is wrong."""
    text = text_of(path, notes)
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise DataError(f"{path}:{fault.lineno}: not valid JSON: {fault.msg} at column {fault.colno}") from None
    except ValueError:
        raise DataError(f"{path}: not valid JSON: a number has too many digits") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply") from None


# Values, each named by its place: `file:line`, or `file: path within the document`.


def object_at(value: object, where: str) -> dict[str, Any]:
    """Raises DataError for what is no object."""
    if not isinstance(value, dict):
        raise DataError(f"{where}: not a JSON object")
    return value


def list_at(value: object, where: str) -> list[Any]:
    """Raises DataError for what is no list."""
    if not isinstance(value, list):
        raise DataError(f"{where}: not a list")
    return value


def text_at(value: object, where: str) -> str:
    """A text, lone surrogates replaced. Raises DataError for what is none, or empty."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: not a text" if not isinstance(value, str) else f"{where}: empty")
    return plain_text(value)


def name_at(fields: Mapping[str, Any], names: tuple[str, ...], where: str) -> str:
    """An identifier, a text or a whole number, under the first of several names. Raises DataError."""
    given = next((fields[name] for name in names if fields.get(name) is not None), None)
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    if isinstance(given, str) and given:
        return plain_text(given)
    raise DataError(f"{where}: no id", hint=f"a text or a whole number named {' or '.join(names)}")


def time_at(value: object, where: str) -> datetime:
    """A time in UTC; a period means its end. Raises DataError."""
    try:
        return parse_as_of(value, what=where)
    except ValueError as fault:
        raise DataError(str(fault)) from None


def iso(moment: datetime) -> str:
    """The text of a time in UTC, as rows of evalsets have it."""
    return moment.isoformat().replace("+00:00", "Z")


def number_at(value: object, where: str) -> float:
    """A finite number, or a text that writes one. Raises DataError."""
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = float("nan")
        if abs(number) < float("inf"):
            return number
    raise DataError(f"{where}: not a finite number")
