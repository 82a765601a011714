"""What pydantic found wrong with a spec, as faults in words and with their places.

What is allowed is read from the JSON Schema of the spec, so that faults and editors say the same.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from memrank.nodes import SHOWN, Fault, Node, Path, Place, member, printable

Schema: TypeAlias = Mapping[str, Any]

MAX_FAULTS = 100
LONGEST_MESSAGE = 400

_SECRET_KEY = re.compile(
    r"(?:.*[_-])?(?:api[_-]?key|secret(?:[_-]?key)?|token|password|passwd|credentials?|private[_-]?key)", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"(?<![A-Za-z0-9])(?:Bearer |sk-|hf_|gh[a-z]_|xox[a-z]-|AKIA|AIza|eyJ)[A-Za-z0-9_.-]{12,}")
_ROOT: Path = ()
_NAME_IT = "a secret stands in the spec; allowed: the name of an environment variable, as api_key_env: NAME"


def validation_faults(
    root: Node, error: ValidationError, schema: Schema, known: frozenset[Path]
) -> tuple[list[Fault], int]:
    """The first faults in the order of the text, one for each place, and how many more there are.

    At and below the paths in `known` nothing is reported: they have their fault already.
    """
    first: dict[Path, _Problem] = {}
    for details in error.errors(include_url=False, include_input=False):
        problem = _problem(root, details)
        if not any(problem.path[:length] in known for length in range(len(problem.path) + 1)):
            first.setdefault(problem.path, problem)  # the branches of a union each report; the schema knows all of them
    parents = {path[:length] for path in first for length in range(len(path))}
    chosen = [item for path, item in first.items() if not _follows(item, path in parents)]
    chosen.sort(key=lambda item: item.place)
    faults = [Fault(place=item.place, path=item.path, what=_what(item, root, schema)) for item in chosen[:MAX_FAULTS]]
    return faults, len(chosen) - len(faults)


def _follows(item: "_Problem", has_faults_below: bool) -> bool:
    """Whether it follows from another: a list counts as too short without its bad items, and as no text with them."""
    if item.kind == "too_short":
        return bool(item.node.value)
    return has_faults_below and item.kind.endswith("_type")


def secret_faults(root: Node, schema: Schema) -> list[Fault]:
    """A fault for each key whose value is a secret by its name, or by its looks; the value is not shown."""
    return [
        Fault(place=place, path=path, what=_NAME_IT)
        for path, place, value in _texts(root, ())
        if _SECRET_KEY.fullmatch(str(path[-1])[:SHOWN])
        and (_SECRET_VALUE.match(value) or not list(_schemas_at(schema, root, path)))
    ]


def _texts(node: Node, path: Path) -> Iterator[tuple[Path, Place, str]]:
    """Every member of a mapping that is text: its path, the place of its key, the text."""
    if isinstance(node.value, tuple):
        for index, item in enumerate(node.value):
            yield from _texts(item, (*path, index))
    elif isinstance(node.value, Mapping):
        for key, item in node.value.items():
            if isinstance(item.value, str) and item.value:
                yield (*path, key), node.keys[key], item.value
            else:
                yield from _texts(item, (*path, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    kind: str
    """pydantic's name for it."""
    place: Place
    path: Path
    node: Node
    message: str


def _problem(root: Node, details: Mapping[str, Any]) -> _Problem:
    """Where it is in the text. pydantic's own path also names the branches of unions, which are no steps there."""
    kind, location = details["type"], details["loc"]
    owner, node, place, path = root, root, root.place, _ROOT
    for index, step in enumerate(location):
        last = index == len(location) - 1
        branch = index > 0 and isinstance(location[index - 1], int) and _kind(node) == step
        below = None if branch else member(node, step)
        if below is not None:
            owner = node
            place = node.keys[step] if last and kind == "extra_forbidden" else below.place
            node, path = below, (*path, step)
        elif last and kind == "missing":
            path = (*path, step)
        elif last and step == "[key]":  # so pydantic names a key that is wrong itself
            place = owner.keys[str(path[-1])]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        path = (*path, "kind")
        node = member(node, "kind") or node
        place = node.place
    message = str(details.get("ctx", {}).get("error", details["msg"]))
    return _Problem(kind=kind, place=place, path=path, node=node, message=message)


def _kind(node: Node) -> object:
    tag = member(node, "kind")
    return tag.value if tag is not None else None


def _what(item: _Problem, root: Node, schema: Schema) -> str:
    if item.kind == "extra_forbidden":
        keys = [key for leaf in _leaves_at(schema, root, item.path[:-1]) for key in leaf.get("properties", ())]
        return f"this key is unknown{_meant(item.path[-1], keys)}; allowed: {', '.join(keys)}"
    values, forms = _allowed(_schemas_at(schema, root, item.path), schema, item.node)
    allowed = " or ".join(filter(None, [", ".join(values), *forms]))
    given = item.node.value
    if item.kind == "value_error" and not (isinstance(given, str) and _SECRET_VALUE.search(given)):
        message = printable(item.message, limit=LONGEST_MESSAGE)
        return message if ";" in message else f"{message}; allowed: {allowed}"
    if item.kind in ("missing", "union_tag_not_found"):
        return f"this key is missing; allowed: {allowed}"
    if item.kind in ("literal_error", "enum", "union_tag_invalid") and isinstance(given, str):
        return f"{_shown(given)} is unknown{_meant(given, values)}; allowed: {allowed}"
    return f"{_wrong(item)}; allowed: {allowed}"


def _wrong(item: _Problem) -> str:
    given = item.node.value
    if item.kind in ("string_too_short", "too_short"):
        return "this is empty"
    if isinstance(given, tuple):
        return f"this is a list of {len(given)}" if item.kind == "too_long" else "this is a list"
    if isinstance(given, Mapping):
        return "this is a mapping"
    if item.kind in ("greater_than", "greater_than_equal"):
        return f"{_shown(given)} is too small"
    if item.kind in ("less_than", "less_than_equal"):
        return f"{_shown(given)} is too large"
    if item.kind == "string_pattern_mismatch":
        return f"{_shown(given)} does not match"
    return f"{_shown(given)} is {_NOUNS.get(type(given), 'no value')}"


_NOUNS: Mapping[type, str] = {str: "text", bool: "a boolean", int: "a whole number", float: "a decimal number"}


def _shown(given: object) -> str:
    if isinstance(given, str):
        return "a text that looks like a secret" if _SECRET_VALUE.search(given) else f'"{printable(given)}"'
    return (
        {None: "null", True: "true", False: "false"}[given] if given is None or isinstance(given, bool) else str(given)
    )


def _meant(word: object, choices: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word)[:SHOWN], choices, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _schemas_at(schema: Schema, root: Node, path: Path) -> list[Schema]:
    """The schemas of the value at a path; none where the schema has no such path."""
    return (
        [below for leaf in _leaves_at(schema, root, path[:-1]) for below in _below(leaf, path[-1])]
        if path
        else [schema]
    )


def _leaves_at(schema: Schema, root: Node, path: Path) -> list[Schema]:
    schemas, node = [schema], root
    for step in path:
        leaves = [leaf for one in schemas for leaf in _leaves(one, schema, node)]
        schemas = [below for leaf in leaves for below in _below(leaf, step)]
        node = member(node, step) or node
    return [leaf for one in schemas for leaf in _leaves(one, schema, node)]


def _leaves(one: Schema, schema: Schema, node: Node) -> list[Schema]:
    """References followed and unions opened; of a union by `kind`, the branch that the node names."""
    if "$ref" in one:
        return _leaves(_referred(one["$ref"], schema), schema, node)
    if "discriminator" in one:
        branches: Mapping[str, str] = one["discriminator"]["mapping"]
        named = [reference for kind, reference in branches.items() if kind == _kind(node)]
        return [_referred(reference, schema) for reference in named or branches.values()]
    if "anyOf" in one:
        return [leaf for branch in one["anyOf"] for leaf in _leaves(branch, schema, node)]
    return [one]


def _referred(reference: str, schema: Schema) -> Schema:
    found: Schema = schema["$defs"][reference.rpartition("/")[2]]
    return found


def _below(leaf: Schema, step: str | int) -> list[Schema]:
    if isinstance(step, int):
        return [leaf["items"]] if "items" in leaf else []
    if step in leaf.get("properties", ()):
        return [leaf["properties"][step]]
    others = leaf.get("additionalProperties")
    return [others] if isinstance(others, Mapping) else []


def _allowed(schemas: Iterable[Schema], schema: Schema, node: Node) -> tuple[list[str], list[str]]:
    """The values that are allowed by name, and the forms that others must have, in words."""
    values: dict[str, None] = {}
    forms: dict[str, None] = {}
    for one in schemas:
        if "discriminator" in one:
            forms[f"a mapping with kind: {', '.join(one['discriminator']['mapping'])}"] = None
            continue
        for leaf in _leaves(one, schema, node):
            named = leaf["enum"] if "enum" in leaf else [leaf["const"]] if "const" in leaf else []
            values.update((str(value), None) for value in named)
            if not named:
                forms[_form(leaf)] = None
    return list(values), list(forms)


def _form(leaf: Schema) -> str:
    kind = leaf.get("type")
    if kind == "string":
        return _text_form(leaf)
    if kind in ("number", "integer"):
        return ("a number" if kind == "number" else "a whole number") + _range(leaf)
    if kind == "array":
        return f"a list of {leaf['minItems']} to {leaf['maxItems']}" if "maxItems" in leaf else "a list"
    if kind == "object":
        keys = ", ".join(leaf.get("properties", ()))
        return f"a mapping with the keys {keys}" if keys else "a mapping"
    return "true or false" if kind == "boolean" else "null"


def _text_form(leaf: Schema) -> str:
    if "examples" in leaf:
        return f"text such as {', '.join(leaf['examples'])}"
    if "pattern" in leaf:
        return f"text that matches {leaf['pattern']}"
    return "text that is not empty" if leaf.get("minLength") else "text"


def _range(leaf: Schema) -> str:
    if "exclusiveMinimum" in leaf:
        return f" above {leaf['exclusiveMinimum']}" + (f", {leaf['maximum']} at the most" if "maximum" in leaf else "")
    return f" from {leaf['minimum']} to {leaf['maximum']}" if "maximum" in leaf else ""
