"""The scripted model: it reads the prompt that arrives on the wire and fills whatever schema the prompt asks for.

It knows no signature of memrank's: output fields and their types are taken from `response_format`, else from the system
message, and the items to judge are the lists of objects with an id that stand in the last message with any. What it
says of an item is an `Opinion`; the default is honest and dull (words shared with the query), so that a test can tell
a model's answer from an embedded one.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Any]
Opinion = Callable[[Item, str], float]
"""Relevance in [0, 1] of an item for the text of a query."""

_SECTION = re.compile(r"^\[\[ ## (\w+) ## \]\]$", re.MULTILINE)
_OUTPUT = re.compile(r"^(\d+)\. `(\w+)` \((.*?)\)", re.MULTILINE)
_SCHEMA = re.compile(r"must adhere to the JSON schema: ")
_WORD = re.compile(r"\w{3,}")
ID_KEYS = ("id", "memory_id", "element_id", "context_id", "passage_id")


@dataclass(frozen=True)
class Prompt:
    """What one request asks: its messages and the JSON schema of its answer, if it sent one."""

    messages: tuple[tuple[str, str], ...]
    schema: Mapping[str, Any] | None = field(repr=False, default=None)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Prompt":
        """From the body of a chat completion request."""
        messages = tuple((one["role"], _text(one.get("content"))) for one in body.get("messages", ()))
        wanted = (body.get("response_format") or {}).get("json_schema") or {}
        return cls(messages, wanted.get("schema"))

    @property
    def system(self) -> str:
        """The system message."""
        return "\n".join(text for role, text in self.messages if role in ("system", "developer"))

    @property
    def user(self) -> str:
        """The last message with items to judge, else the last one."""
        asked = [text for role, text in self.messages if role == "user"]
        return next((text for text in reversed(asked) if any(_lists(text))), asked[-1] if asked else "")

    @property
    def items(self) -> list[dict[str, Any]]:
        """What is to be judged, in the order shown."""
        return [item for listed in _lists(self.user) for item in listed]

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return [item_id(item) for item in self.items]

    @property
    def query(self) -> str:
        """The text of the query, or all that is no item."""
        for value in _sections(self.user).values():
            if isinstance(value, dict) and isinstance(value.get("text"), str):
                return str(value["text"])
        return " ".join(value for value in _sections(self.user).values() if isinstance(value, str))

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """The schema of each output field."""
        if self.schema is not None:
            return {name: _resolved(part, self.schema) for name, part in self.schema["properties"].items()}
        return dict(_prompted(self.system))


def item_id(item: Item) -> str:
    """The id under whatever name it has."""
    return str(next(item[key] for key in ID_KEYS if key in item))


def shares_words(item: Item, query: str) -> float:
    """The share of the query's words that the item has."""
    asked = {word.lower() for word in _WORD.findall(query)}
    text = " ".join(str(value) for value in item.values() if isinstance(value, str)).lower()
    return round(sum(word in text for word in asked) / len(asked), 3) if asked else 0.5


def fill(prompt: Prompt, opinion: Opinion = shares_words) -> dict[str, Any]:
    """A valid answer to the prompt."""
    return {name: _value(name, part, prompt, opinion, None) for name, part in prompt.outputs.items()}


def rows(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The list of an answer that holds one row an item; empty where it holds none. Changing it changes the answer."""
    for value in answer.values():
        if isinstance(value, list) and all(isinstance(row, dict) and id_key(row) for row in value):
            return value
    return []


def id_key(row: Item) -> str | None:
    """The key of a row's id."""
    return next((key for key in ID_KEYS if key in row), None)


def score_key(row: Item) -> str | None:
    """The key of a row's first number."""
    numbers = (key for key, value in row.items() if isinstance(value, int | float) and not isinstance(value, bool))
    return next(numbers, None)


def _value(name: str, part: Mapping[str, Any], prompt: Prompt, opinion: Opinion, item: Item | None) -> Any:
    """A value for one field of a schema; `item` is the item that it tells of."""
    if "anyOf" in part:
        options = [option for option in part["anyOf"] if option.get("type") != "null"]
        return _value(name, options[0], prompt, opinion, item) if item is not None else None
    if "enum" in part or "const" in part:
        return part["const"] if "const" in part else part["enum"][0]
    kind = part.get("type")
    if kind == "object":
        return {key: _value(key, one, prompt, opinion, item) for key, one in part.get("properties", {}).items()}
    if kind == "array":
        inner = part.get("items", {})
        if not any(key in inner.get("properties", {}) for key in ID_KEYS):
            return []
        return [_value(name, inner, prompt, opinion, one) for one in prompt.items]
    if kind == "string":
        return item_id(item) if item is not None and name in ID_KEYS else "the scripted model says so"
    score = opinion(item, prompt.query) if item is not None else 0.5
    if kind == "integer":
        low, high = part.get("minimum", 1), part.get("maximum", 5)
        return round(low + (high - low) * score)
    return False if kind == "boolean" else score


def _text(content: object) -> str:
    """The text of a message, given as such or in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _sections(text: str) -> dict[str, Any]:
    """The fields of a message, read as JSON where they are."""
    parts = _SECTION.split(text)
    return {name: _read(value) for name, value in zip(parts[1::2], parts[2::2], strict=True)}


def _read(value: str) -> Any:
    """The first JSON list or object of a field, wherever a fence puts it; else its text."""
    for place in (match.start() for match in re.finditer(r"(?m)^\s*(?=[\[{])", value)):
        try:
            return json.JSONDecoder().raw_decode(value[place:].lstrip())[0]
        except ValueError:
            continue
    return value.strip()


def _lists(text: str) -> Iterator[list[dict[str, Any]]]:
    for value in _sections(text).values():
        if isinstance(value, list) and value and all(isinstance(one, dict) and id_key(one) for one in value):
            yield value


def _prompted(system: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Output fields and their schemas as DSPy's adapters write them out."""
    stated = system.partition("Your output fields are:")[2].partition("All interactions")[0]
    structure = system.partition("All interactions")[2]
    for _, name, kind in _OUTPUT.findall(stated):
        place = re.search(rf"\{{{name}\}}(\s*# note: the value you produce [^\n]*)?", structure)
        note = place.group(1) if place and place.group(1) else ""
        schema = _SCHEMA.search(note)
        yield name, _decoded(note[schema.end() :]) if schema else _plain(kind, note)


def _decoded(text: str) -> dict[str, Any]:
    """The schema that a note begins with; the JSON adapter writes it escaped, inside a string."""
    try:
        whole = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        whole = json.JSONDecoder().raw_decode(json.JSONDecoder().raw_decode('"' + text)[0])[0]
    return _resolved(whole, whole)


def _plain(kind: str, note: str) -> dict[str, Any]:
    if "must exactly match" in note:
        return {"enum": [option.strip() for option in note.partition("one of:")[2].strip(' ",').split(";")]}
    kinds = {"float": "number", "int": "integer", "bool": "boolean"}
    return {"type": kinds.get(kind, "string")}


def _resolved(part: Any, whole: Mapping[str, Any]) -> Any:
    """A schema with its references put in their places."""
    if isinstance(part, list):
        return [_resolved(one, whole) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _resolved(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    return {key: _resolved(value, whole) for key, value in part.items() if key != "$defs"}
