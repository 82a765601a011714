"""The lines of a query file as rows, and what of a row a run reads. Everything else in it has no effect."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from memrank.errors import DataError
from memrank.fields import read_namespace
from memrank.plain import decoded, plain_text
from memrank.types import Note, Notes

HINT = "--queries takes a JSON Lines file, or - for stdin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: its id, what it holds, and what had to be repaired."""

    id: str
    fields: dict[str, Any]
    notes: tuple[Note, ...]


def rows(
    stream: IO[bytes],
    name: str,
    skipped: Callable[[Note], None],
    done: Callable[[int], None],
    *,
    hint: str = HINT,
) -> Iterator[Row]:
    """The rows in order, each as soon as its line is there; `done` is told the bytes of a line once it is worked off.

    A line that is no JSON object is left out, and `skipped` is told of it. Raises DataError where there are lines and
    none can be used, or they cannot be read, with `hint`.
    """
    seen: set[str] = set()
    first_fault = ""
    for number, data in enumerate(_lines(stream, name, hint), start=1):
        place = f"{name}:{number}"
        notes = Notes()
        text = decoded(data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data, place, notes)
        if text.strip():
            try:
                fields = _object(text)
            except ValueError as fault:
                first_fault = first_fault or f"{place}: {fault}"
                what = f"{place}: {fault}; the line was left out"
                skipped(Note(level="repair", stage="read", code="bad_query_line", detail=what))
            else:
                identity = _identity(fields, f"line-{number}", place, notes)
                if identity in seen:
                    notes.add("repair", "read", "repeated_query_id", f"{place}: the id {identity[:80]!r} is repeated")
                seen.add(identity)
                yield Row(id=identity, fields=fields, notes=notes.as_tuple())
        done(len(data))
    if first_fault and not seen:
        raise DataError(f"no query can be used; the first fault: {first_fault}", hint=hint)


def question(row: Row) -> dict[str, Any]:
    """What a row asks, as arguments of a pipeline; those it does not give are left out. Raises DataError."""
    fields = row.fields
    text = fields.get("query")
    if text is not None and not isinstance(text, str):
        raise DataError(f"query is not a text but {_kind(text)}")
    asked: dict[str, Any] = {"query": text, "query_id": row.id, "filters": _filters(fields.get("filters"))}
    if fields.get("query_time") is not None:
        asked["as_of"] = fields["query_time"]
    if fields.get("group") is not None:
        asked["namespace"] = _namespace(fields["group"])
    return asked


def _lines(stream: IO[bytes], name: str, hint: str) -> Iterator[bytes]:
    try:
        yield from stream
    except OSError as fault:
        raise DataError(f"{name}: cannot be read: {fault.strerror or fault}", hint=hint) from None


def _object(text: str) -> dict[str, Any]:
    """The JSON object of a line. Raises ValueError with a message that quotes nothing of it."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as fault:
        raise ValueError(f"not valid JSON: {fault.msg} at column {fault.colno}") from None
    except ValueError:
        raise ValueError("not valid JSON: a number has too many digits") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"a line holds one JSON object, not {_kind(value)}")
    return value


def _identity(fields: dict[str, Any], place_name: str, place: str, notes: Notes) -> str:
    given = fields.get("id")
    if isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool)):
        plain = plain_text(str(given))
        if plain != str(given):
            notes.add("repair", "read", "surrogate_replaced", f"{place}: lone surrogates of the id became U+FFFD")
        return plain
    what = "has no id" if given is None else f"has {_kind(given)} for an id"
    notes.add("repair", "read", "no_query_id", f"{place}: the query {what}; it is called {place_name}")
    return place_name


def _namespace(given: object) -> str:
    """A tenant as records name it: a text or a number, or a list of such, joined by `/`."""
    parts = given if isinstance(given, list) and given else [given]
    if not all(_is_plain(part) and not isinstance(part, bool) for part in parts):
        raise DataError(f"group is neither a text nor a list of texts but {_kind(given)}")
    return str(read_namespace(given).value)


def _filters(given: object) -> dict[str, list[Any]]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise DataError(f"filters is not an object but {_kind(given)}", hint='{"memory_type": "note"}')
    found: dict[str, list[Any]] = {}
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        if not all(map(_is_plain, values)):
            raise DataError(f"filters: {name[:80]!r} has neither a value nor a list of values")
        found[name] = values
    return found


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "a text"}
    return names.get(type(value), "a number")
