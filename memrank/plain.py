"""Makes any value plain JSON without losing what it says: what JSON or UTF-8 cannot hold becomes text."""

import math
from collections.abc import Mapping
from datetime import date

from memrank.fileio import canonical_json
from memrank.types import Notes

DEEPEST = 64
"""Levels of nesting that are kept; what lies deeper is kept as its JSON text."""

_WIDEST_INT = 4096
"""Bits of the longest integer that is kept as a number; Python refuses to write much longer ones in decimal."""


def plain_text(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD; the same object if it has none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def decoded(data: bytes, place: str, notes: Notes) -> str:
    """The text of bytes that should be UTF-8; what is not becomes U+FFFD, with a note that names the place."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        notes.add("repair", "read", "bytes_replaced", f"{place}: bytes that are not UTF-8 became U+FFFD")
        return data.decode("utf-8", "replace")


def plain_json(value: object) -> tuple[object, bool]:
    """A copy of `value` made of dict, list, str, int, finite float, bool and None, and whether anything was altered.

    NaN and infinities become `"NaN"`, `"Infinity"`, `"-Infinity"`; dates ISO 8601; keys text; very long integers
    hexadecimal text; tuples lists. Anything else becomes `str(value)`, or its type name in a cycle.
    """
    plainer = _Plainer()
    return plainer.plain(value, 0), plainer.altered


class _Plainer:
    __slots__ = ("_path", "altered")

    def __init__(self) -> None:
        self.altered = False
        self._path: set[int] = set()

    def plain(self, value: object, depth: int) -> object:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int) and value.bit_length() <= _WIDEST_INT:
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        if isinstance(value, (Mapping, list, tuple)):
            return self._container(value, depth)
        if hasattr(value, "tolist") and depth < DEEPEST:  # numbers and arrays of numeric libraries
            return self.plain(value.tolist(), depth + 1)
        return self._other(value)

    def _text(self, text: str) -> str:
        plain = plain_text(text)
        if plain is not text:
            self.altered = True
        return plain if type(plain) is str else str.__str__(plain)

    def _container(self, value: Mapping[object, object] | list[object] | tuple[object, ...], depth: int) -> object:
        if id(value) in self._path or depth >= DEEPEST:
            return self._other(value)
        self._path.add(id(value))
        try:
            if isinstance(value, Mapping):
                return {self._key(key): self.plain(inner, depth + 1) for key, inner in value.items()}
            return [self.plain(inner, depth + 1) for inner in value]
        finally:
            self._path.discard(id(value))

    def _key(self, key: object) -> str:
        return self._text(key) if isinstance(key, str) else self._other(key)

    def _other(self, value: object) -> str:
        self.altered = True
        if isinstance(value, int):
            return str(value) if value.bit_length() <= _WIDEST_INT else hex(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else constant_text(value)
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, (Mapping, list, tuple)):
            try:
                return plain_text(canonical_json(value))
            except (ValueError, TypeError, RecursionError):
                return f"[{type(value).__name__}]"
        return plain_text(str(value))


def constant_text(value: float) -> str:
    """JSON has no word for these; Python, JavaScript and most others write them so."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
