"""Values that know their place in a text, and the faults that point there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

SHOWN = 60
"""So many characters of a value that was given are shown in a fault."""

Path: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """Where something stands in the text: line and column, both from 1, columns in characters."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: `what` reads `what is wrong; what is allowed`."""

    place: Place
    path: Path
    what: str

    def line(self, name: str) -> str:
        """`file:line:column: path: what is wrong; what is allowed`."""
        return (
            f"{printable(name, limit=None)}:{self.place.line}:{self.place.column}: {show_path(self.path)}: {self.what}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A value and its place; items and members are nodes again. `keys` holds the places of a mapping's keys."""

    place: Place
    value: "Scalar | tuple[Node, ...] | Mapping[str, Node]"
    keys: Mapping[str, Place] = field(default_factory=dict)


def printable(text: str, *, limit: int | None = SHOWN) -> str:
    """The text on one line: what a terminal cannot show is escaped, and what is over `limit` characters is cut."""
    cut = text if limit is None else text[:limit]
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in cut)
    return safe if len(cut) == len(text) else f"{safe}..."


def show_path(path: Path) -> str:
    """`stages[2].weights.relevance`; keys that are no plain words stand in brackets; the whole file is `spec`."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif _BARE_KEY.fullmatch(step) and len(step) <= SHOWN:
            shown += f".{step}" if shown else step
        else:
            shown += f'["{printable(step)}"]'
    return shown or "spec"


def plain(node: Node) -> object:
    """The node as dicts, lists and scalars."""
    if isinstance(node.value, tuple):
        return [plain(item) for item in node.value]
    if isinstance(node.value, Mapping):
        return {key: plain(item) for key, item in node.value.items()}
    return node.value


def find(root: Node, path: Path) -> Node:
    """The node at a path, or the innermost one on the way to it that exists."""
    node = root
    for step in path:
        below = member(node, step)
        if below is None:
            return node
        node = below
    return node


def member(node: Node, step: str | int) -> Node | None:
    """The item or member of a node, if it has it."""
    if isinstance(node.value, Mapping) and isinstance(step, str):
        return node.value.get(step)
    if isinstance(node.value, tuple) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step]
    return None
