"""Restricted YAML: text to nodes that know their place, and plain data to text. The only importer of yaml.

A spec is YAML without tags, anchors, aliases, merge keys, directives and second documents. Plain values are read by
the rules in `_plain_value`, not by YAML 1.1: `yes`, `1:30`, `017`, `1_000` and dates stay text as they are written.
"""

import math
import re
from dataclasses import dataclass

import yaml  # type: ignore[import-untyped]  # the stubs lack what is used here

from memrank.nodes import Fault, Node, Path, Place, Scalar, printable

MAX_DEPTH = 16
MAX_NODES = 20_000
MAX_DIGITS = 18
MAX_NUMBER = 40

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_UNHOLDABLE = re.compile("[\x00\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_OTHERWISE_IN_YAML_1_1 = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_SIMPLE = re.compile(r"[A-Za-z0-9_./@%+ -]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What was read. `broken` are the paths whose value could not be taken, each with its fault in `faults`."""

    root: Node | None
    faults: tuple[Fault, ...]
    broken: frozenset[Path]


def read_yaml(text: str) -> Document:
    """The nodes of a text and every fault of its form. Nothing raises: a syntax fault is the last one reported."""
    bad = _FORBIDDEN.search(text)
    if bad:
        what = f"the character U+{ord(bad[0]):04X} cannot stand here; allowed: printable text, escapes in double quotes"
        return Document(
            root=None, faults=(Fault(place=place_in(text, bad.start()), path=(), what=what),), broken=frozenset()
        )
    reader = _Reader(text)
    root = None
    try:
        root = reader.document()
    except _UnreadableError as stop:
        reader.faults.append(stop.fault)
    return Document(root=root, faults=tuple(reader.faults), broken=frozenset(reader.broken))


def place_in(text: str, index: int) -> Place:
    """Line and column of the character at this index."""
    ends = [found.end() for found in _LINE_END.finditer(text, 0, index)]
    return Place(line=len(ends) + 1, column=index - (ends[-1] if ends else 0) + 1)


_TAG = "tag:yaml.org,2002:"
_NO_ALIAS = "an alias (*name) stands here; allowed: the value itself, written out"


class _UnreadableError(Exception):
    """Nothing after this fault can be read."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.what)
        self.fault = fault


class _Reader:
    """Builds nodes from the events of the YAML parser, and collects faults on the way."""

    def __init__(self, text: str) -> None:
        self.faults: list[Fault] = []
        self.broken: set[Path] = set()
        # The pure Python parser on purpose: libyaml is not on every platform, and differs in what it accepts.
        self._loader = yaml.SafeLoader(text)
        self._path: Path = ()
        self._nodes = 0

    def document(self) -> Node:
        self._next()
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            raise self._stop(Place(), "the spec is empty; allowed: a mapping that starts with `memrank: 1`")
        if isinstance(start, yaml.DocumentStartEvent) and (start.version or start.tags):
            self._fault(_place(start.start_mark), (), "a directive (%YAML, %TAG) stands here; allowed: no directives")
        root = self._node(self._next(), (), 1)
        self._path = ()
        self._next()
        more = self._next()
        if isinstance(more, yaml.DocumentStartEvent):
            raise self._stop(_place(more.start_mark), "a second document starts here; allowed: one document in a spec")
        return root

    def _next(self) -> yaml.Event:
        try:
            event: yaml.Event = self._loader.get_event()
            return event
        except yaml.MarkedYAMLError as error:
            raise self._stop(*_syntax_fault(error)) from error
        except (ValueError, OverflowError) as error:
            place = _place(self._loader.get_mark())
            raise self._stop(
                place, "the number or escape here is too large; allowed: escapes up to \\U0010FFFF"
            ) from error

    def _stop(self, place: Place, what: str) -> _UnreadableError:
        return _UnreadableError(Fault(place=place, path=self._path, what=what))

    def _fault(self, place: Place, path: Path, what: str, *, broken: bool = False) -> None:
        self.faults.append(Fault(place=place, path=path, what=what))
        if broken:
            self.broken.add(path)

    def _node(self, event: yaml.Event, path: Path, depth: int) -> Node:
        place = self._count(event, path)
        if isinstance(event, yaml.AliasEvent):
            self._fault(place, path, _NO_ALIAS, broken=True)
            return Node(place=place, value=None)
        if event.anchor is not None:
            self._fault(place, path, "an anchor (&name) stands here; allowed: values without anchors")
        if event.tag is not None:
            what = f'the tag "{printable(event.tag)}" stands here; allowed: values without tags (no !name)'
            self._fault(place, path, what, broken=True)
        if isinstance(event, yaml.ScalarEvent):
            return Node(place=place, value=self._scalar(event, path))
        if depth > MAX_DEPTH:
            raise self._stop(place, f"the spec is nested too deeply; allowed: {MAX_DEPTH} levels at the most")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(place, path, depth)
        return self._mapping(place, path, depth)

    def _count(self, event: yaml.Event, path: Path) -> Place:
        self._path = path
        self._nodes += 1
        place = _place(event.start_mark)
        if self._nodes > MAX_NODES:
            raise self._stop(place, f"the spec has too many values; allowed: {MAX_NODES} at the most")
        return place

    def _list(self, place: Place, path: Path, depth: int) -> Node:
        items: list[Node] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items)), depth + 1))
        return Node(place=place, value=tuple(items))

    def _mapping(self, place: Place, path: Path, depth: int) -> Node:
        members: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            here = self._count(event, path)
            key = self._key(event, here, path, depth)
            self._path = below = path if key is None else (*path, key)
            value = self._node(self._next(), below, depth + 1)
            if key is not None and key in keys:
                what = f"the key stands twice, in lines {keys[key].line} and {here.line}; allowed: every key once"
                self._fault(here, below, what)
            elif key is not None:
                keys[key] = here
                members[key] = value
            self._path = path
        return Node(place=place, value=members, keys=keys)

    def _key(self, event: yaml.Event, place: Place, path: Path, depth: int) -> str | None:
        """The text of a key; None, with a fault, for what is no key here."""
        if isinstance(event, yaml.AliasEvent):
            self._fault(place, path, _NO_ALIAS)
            return None
        if not isinstance(event, yaml.ScalarEvent):
            self._node(event, path, depth + 1)
            self._fault(place, path, "a list or mapping stands as a key; allowed: text as a key")
            return None
        text: str = event.value
        if event.anchor is not None or event.tag is not None:
            self._fault(place, path, "an anchor or tag stands before a key; allowed: the key alone")
        if event.implicit[0] and text == "<<":
            self._fault(place, path, "a merge key (<<) stands here; allowed: the keys themselves, written out")
            return None
        value = self._scalar(event, (*path, text))
        if not isinstance(value, str) or (event.implicit[0] and text.lower() in _OTHERWISE_IN_YAML_1_1):
            what = (
                f'the key "{printable(text)}" is not text; allowed: text as a key, in quotes where it looks otherwise'
            )
            self._fault(place, (*path, text), what, broken=True)
        return text

    def _scalar(self, event: yaml.ScalarEvent, path: Path) -> Scalar:
        text: str = event.value
        try:
            value = _plain_value(text) if event.implicit[0] else text
        except ValueError as error:
            self._fault(_place(event.start_mark), path, str(error), broken=True)
            return None
        hidden = _UNHOLDABLE.search(text)
        if hidden:
            what = f"an escape stands for U+{ord(hidden[0]):04X}, which no text can hold; allowed: other characters"
            self._fault(_place(event.start_mark), path, what, broken=True)
            return None
        return value


def _place(mark: yaml.Mark) -> Place:
    return Place(line=mark.line + 1, column=mark.column + 1)


def _plain_value(text: str) -> Scalar:
    """What text without quotes means. Raises ValueError, as a fault, for a number that cannot be held exactly."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number; allowed: finite numbers")
    if _INTEGER.fullmatch(text):
        if len(text.lstrip("+-")) > MAX_DIGITS:
            raise ValueError(
                f"the number {printable(text)} is too long; allowed: {MAX_DIGITS} digits, or text in quotes"
            )
        return int(text)
    if not _NUMBER.fullmatch(text):
        return text
    if len(text) > MAX_NUMBER:
        raise ValueError(
            f"the number {printable(text)} is too long; allowed: {MAX_NUMBER} characters, or text in quotes"
        )
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is not a finite number; allowed: up to 1.7e308, or text in quotes")
    return float(text)


_SYNTAX: tuple[tuple[str, str], ...] = (
    ("'\\t'", "a tab stands where YAML takes spaces only; allowed: spaces to indent and to separate"),
    ("could not find expected ':'", "a key without a colon; allowed: `key: value`"),
    (
        "mapping values are not allowed",
        "a colon that starts no value here; allowed: quotes around text that holds `: `",
    ),
    (
        "expected <block end>",
        "this does not fit what stands before it; allowed: one indentation for a level, quotes around a whole value",
    ),
    ("expected alphabetic or numeric", "an anchor or alias without a name; allowed: quotes around text that starts so"),
    ("expected the node content", "a bracket or comma where a value belongs; allowed: `[a, b]` and `{a: 1, b: 2}`"),
    ("expected ',' or", "a comma or the closing bracket is missing; allowed: `[a, b]` and `{a: 1, b: 2}`"),
    ("unexpected end of stream", "a quote is not closed; allowed: text in a pair of quotes"),
    ("unexpected document separator", "a quote is not closed; allowed: text in a pair of quotes"),
    (
        "unknown escape character",
        'an unknown escape after \\; allowed: \\n, \\t, \\", \\\\, \\xNN, \\uNNNN, or single quotes',
    ),
    ("escape sequence of", "an escape with too few digits; allowed: \\xNN, \\uNNNN, \\UNNNNNNNN"),
    (
        "that cannot start any token",
        "a character that cannot start a value; allowed: quotes around text that starts so",
    ),
    ("did not find expected <document start>", "text after the end of the spec; allowed: one document in a spec"),
    ("expected '<document start>'", "text after the end of the spec; allowed: one document in a spec"),
    (
        "not allowed here",
        "an item or key that cannot stand here; allowed: a line of its own, indented like its neighbours",
    ),
)


def _syntax_fault(error: yaml.MarkedYAMLError) -> tuple[Place, str]:
    problem = str(error.problem)
    what = next((what for needle, what in _SYNTAX if needle in problem), None)
    unclosed = what is not None and ("quote is not closed" in what or "without a colon" in what)
    mark = error.context_mark if unclosed and error.context_mark else error.problem_mark
    place = _place(mark) if mark else Place()
    return place, what or f"not YAML: {printable(problem)}; allowed: YAML without tags, anchors and directives"


def write_yaml(data: object) -> str:
    """YAML text of dicts, lists and scalars in their order; innermost collections on one line.

    Text is quoted where `read_yaml` or a reader of YAML 1.1 would take it for something else.
    """
    text: str = yaml.serialize(_yaml_node(data), Dumper=yaml.SafeDumper, allow_unicode=True, width=120)
    return text


def _yaml_node(data: object) -> yaml.Node:
    if isinstance(data, dict):
        pairs = [(_yaml_node(key), _yaml_node(value)) for key, value in data.items()]
        inner = all(isinstance(value, yaml.ScalarNode) for _, value in pairs)
        return yaml.MappingNode(f"{_TAG}map", pairs, flow_style=inner)
    if isinstance(data, list):
        items = [_yaml_node(item) for item in data]
        return yaml.SequenceNode(
            f"{_TAG}seq", items, flow_style=all(isinstance(item, yaml.ScalarNode) for item in items)
        )
    if isinstance(data, str):
        bare = _SIMPLE.fullmatch(data) and not _NUMBER.fullmatch(data) and data.lower() not in _OTHERWISE_IN_YAML_1_1
        return yaml.ScalarNode(f"{_TAG}str", data, style=None if bare else '"')
    if isinstance(data, bool):
        return yaml.ScalarNode(f"{_TAG}bool", "true" if data else "false")
    if isinstance(data, int):
        return yaml.ScalarNode(f"{_TAG}int", str(data))
    if isinstance(data, float):
        number = repr(data)
        # YAML 1.1 takes 1e-07 for text and 1.0e-07 for a number.
        return yaml.ScalarNode(f"{_TAG}float", number if "." in number else number.replace("e", ".0e"))
    return yaml.ScalarNode(f"{_TAG}null", "null")
