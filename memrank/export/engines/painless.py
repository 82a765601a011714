"""Painless, as far as exports write it: one expression of numbers, `Math`, `params`, `doc` and a choice by `? :`."""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|'([^']*)'|(==|[-+*/().,?:\[\]]))")


def evaluate(source: str, score: float, params: Mapping[str, Any], doc: Mapping[str, Any]) -> float:
    """The value of a script. `doc` has a field to its value, a time in epoch milliseconds; ValueError for no script."""
    reader = _Reader(source, {"_score": score, "params": params, "doc": _Doc(doc)})
    found = reader.choice()
    reader.end()
    return float(found)


class _Doc:
    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> "_Values":
        found = self._fields.get(name)
        return _Values([] if found is None else [found])


class _Values:
    """Of one field of a document. As in Elasticsearch, the value of what is missing is an error."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def size(self) -> int:
        return len(self.values)

    @property
    def value(self) -> Any:
        if not self.values:
            raise ValueError("a document has no value for a field")
        return self.values[0]


class _Instant:
    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds


def _java_pow(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


_FUNCTIONS: dict[tuple[str, str], Any] = {
    ("Math", "max"): max,
    ("Math", "min"): min,
    ("Math", "pow"): _java_pow,
    ("Math", "exp"): math.exp,
    ("ZonedDateTime", "parse"): lambda text: round(datetime.fromisoformat(text).timestamp() * 1000),
}


class _Reader:
    """Reads and computes at once; the side of a choice that is not taken is read and its errors are dropped."""

    def __init__(self, source: str, names: Mapping[str, Any]) -> None:
        self._tokens, place, end = [], 0, len(source.rstrip())
        while place < end:
            match = _TOKEN.match(source, place)
            if match is None:
                raise ValueError(f"no Painless at {place}: {source[place : place + 20]!r}")
            number, name, text, sign = match.groups()
            kind = "number" if number else "name" if name else "sign" if sign else "text"
            self._tokens.append((kind, number or name or sign or text or ""))
            place = match.end()
        self._at, self._names, self._idle = 0, names, 0

    def choice(self) -> Any:
        condition = self._equality()
        if not self._taken("?"):
            return condition
        first = self._side(bool(condition))
        self._wanted(":")
        second = self._side(not condition)
        return first if condition else second

    def end(self) -> None:
        if self._at != len(self._tokens):
            raise ValueError(f"Painless goes on with {self._tokens[self._at][1]!r}")

    def _side(self, needed: bool) -> Any:
        self._idle += not needed
        found = self.choice()
        self._idle -= not needed
        return found

    def _equality(self) -> Any:
        left = self._sum()
        return left == self._sum() if self._taken("==") else left

    def _sum(self) -> Any:
        left = self._product()
        while sign := self._taken("+", "-"):
            right = self._product()
            left = left + right if sign == "+" else left - right
        return left

    def _product(self) -> Any:
        left = self._signed()
        while sign := self._taken("*", "/"):
            right = self._signed()
            left = left * right if sign == "*" else left / float(right)
        return left

    def _signed(self) -> Any:
        return -self._signed() if self._taken("-") else self._member(self._atom())

    def _atom(self) -> Any:
        kind, text = self._next()
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind == "text":
            return text
        if text == "(":
            found = self.choice()
            self._wanted(")")
            return found
        if kind == "name" and text in self._names:
            return self._names[text]
        self._wanted(".")
        function = _FUNCTIONS.get((text, self._next()[1]))
        if function is None:
            raise ValueError(f"Painless: {text} is not among what exports use")
        given = self._arguments()
        return 1.0 if self._idle else function(*given)

    def _member(self, of: Any) -> Any:
        while sign := self._taken(".", "["):
            if sign == "[":
                of = of[self.choice()]
                self._wanted("]")
                continue
            name = self._next()[1]
            if name == "value" and self._idle:
                of = 1.0
            elif isinstance(of, _Values):
                of = of.value if name == "value" else self._call(of.size)
            elif name == "toInstant":
                of = self._call(lambda at=of: _Instant(at))
            elif name == "toEpochMilli":
                of = self._call(lambda at=of: at.milliseconds)
            elif name == "getOrDefault":
                of = of.get(*self._arguments())
            else:
                of = of[name]
        return of

    def _call(self, function: Any) -> Any:
        return function(*self._arguments())

    def _arguments(self) -> list[Any]:
        self._wanted("(")
        found: list[Any] = []
        while not self._taken(")"):
            found.append(self.choice())
            self._taken(",")
        return found

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise ValueError("Painless ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _taken(self, *signs: str) -> str:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "sign" and text in signs:
                self._at += 1
                return text
        return ""

    def _wanted(self, sign: str) -> None:
        if not self._taken(sign):
            raise ValueError(f"Painless wants {sign!r}")
