"""The reference tables of README.md: the record, the spec, the command line and the errors, read from the code."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from memrank.cli.main import memrank as commands
from memrank.errors import MemrankError
from memrank.fields import ALIASES, READERS
from memrank.specfile import spec_schema
from memrank.tenant import FILTERS

MEANINGS = {
    "id": "stable identity; required",
    "content": "the text; required",
    "created_at": "when it was recorded",
    "event_date": "when what it tells happened or was published",
    "updated_at": "when the record was last changed",
    "last_accessed_at": "when it was last used",
    "access_count": "how often it was used",
    "importance": "how much it matters; a store may count from 1 to 10 (`importance_scale`)",
    "confidence": "of the statement",
    "authority": "of the source",
    "memory_type": "a free label: fact, preference, episode, turn, tool_output, ...",
    "valid_at": "true from then on",
    "invalid_at": "no longer true from then on",
    "expires_at": "not to be used from then on",
    "superseded_by": "id of the newer memory that replaces it",
    "pinned": "never dropped",
    "namespace": "the tenant; never seen from another one",
    "agent_id": "who recorded it",
    "session_id": "the conversation or run it belongs to",
    "task_type": "the kind of task it belongs to",
    "tags": "labels",
    "source_kind": "`primary`, `secondary`, ...",
    "role": "of a turn: user, assistant, system, tool",
    "turn": "its place in the conversation",
    "speaker": "who said it; scored text",
    "aliases": "other names of its subject; scored text",
    "embedding": "a vector of yours; kept and exported, not used for ranking",
}

READ_AS = {
    "read_text": "text",
    "read_content": "text",
    "read_namespace": "text",
    "read_date": "date",
    "read_count": "whole number from 0",
    "read_turn": "whole number",
    "read_share": "number from 0 to 1",
    "read_flag": "true or false",
    "read_tags": "list of texts",
    "read_names": "list of texts",
    "read_vector": "list of numbers",
}


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    cells = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)


def record() -> str:
    """Fields of a memory with their aliases."""
    if set(MEANINGS) != set(ALIASES):
        raise SystemExit(f"MEANINGS and the fields differ: {sorted(set(MEANINGS) ^ set(ALIASES))}")
    rows = [
        (f"`{name}`", READ_AS[READERS[name].__name__], MEANINGS[name], ", ".join(f"`{alias}`" for alias in aliases))
        for name, aliases in ALIASES.items()
    ]
    return table(("field", "read as", "meaning", "other names that are read"), rows)


def filters() -> str:
    """What a read may be filtered by."""
    return f"Filters: {', '.join(f'`{name}`' for name in sorted(FILTERS))}, and `metadata.KEY` for any other key."


def errors() -> str:
    """The error tree."""
    rows = [
        (f"`{error.__name__}`", f"`{error.code}`", str(error.exit_status), (error.__doc__ or "").split("\n")[0])
        for error in _tree(MemrankError)
    ]
    return table(("error", "code", "exit", "raised when"), rows)


def cli() -> str:
    """Every command with its options."""
    return "\n\n".join(_commands(commands, "memrank", click.Context(commands)))


def spec() -> str:
    """Every field of the spec, one table a section."""
    schema = spec_schema()
    return "\n\n".join(_sections(schema, schema, ""))


def _tree(root: type[MemrankError]) -> list[type[MemrankError]]:
    below = [error for child in root.__subclasses__() for error in _tree(child)]
    return [root, *(error for error in below if error.__module__ == root.__module__)]


def _commands(command: click.Command, path: str, ctx: click.Context) -> Iterator[str]:
    """A heading, the help text and a table of options for each command that can be run."""
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if below is not None and not below.hidden:
                yield from _commands(below, f"{path} {name}", click.Context(below, parent=ctx))
        return
    arguments = [_argument(param) for param in command.params if isinstance(param, click.Argument)]
    options = [_option(param) for param in command.params if isinstance(param, click.Option) and not param.hidden]
    help_text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(command.help or ""))
    parts = [f"#### `{' '.join([path, *arguments])}`", help_text]
    yield "\n\n".join([*parts, table(("option", "meaning"), options)] if options else parts)


def _argument(param: click.Argument) -> str:
    name = param.metavar or f"{(param.name or '').upper()}{'...' if param.nargs == -1 else ''}"
    return name if param.required else f"[{name}]"


def _option(param: click.Option) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    kind = param.type
    if isinstance(kind, click.Choice) and not param.metavar:
        few = len(kind.choices) <= FEW
        names += " " + (" | ".join(f"`{choice}`" for choice in kind.choices) if few else (param.name or "").upper())
    elif not param.is_flag:
        names += f" {param.metavar or ('N' if isinstance(kind, click.types.IntParamType) else kind.name.upper())}"
    told = [param.help or "", "Required." if param.required else ""]
    if param.show_default and param.default is not None:
        told.append(f"Default: `{param.default}`.")
    return names, " ".join(filter(None, told))


FEW = 4
"""So many choices of an option are listed beside its name; more are in its help text."""

BY_TYPE = {"PerType": "{default: 14d, TYPE: 1d}", "ShareOfType": "{default: 0.02, TYPE: 0.005}"}
"""Values that may differ by memory type, as they are written."""

Schema = Mapping[str, Any]


def _sections(model: Schema, schema: Schema, path: str) -> Iterator[str]:
    """A table for this section of the spec, then one for each section below it."""
    rows, below = [], []
    for name, entry in model["properties"].items():
        default = _default(entry["default"], name) if "default" in entry else _without(name, model)
        rows.append((f"`{name}`", _form(entry, schema), default, entry.get("description", "")))
        inner = f"{path}.{name}" if path else name
        below += [(reference, inner) for reference in _references(entry) if _is_section(reference)]
        for one in entry.get("items", {}).get("oneOf", ()):
            below.append((one["$ref"], _named(one["$ref"], schema)["properties"]["kind"]["const"]))
    title = f"#### `{path}`" if path else "#### Top level"
    yield f"{title}\n\n" + table(("name", "type", "default", "meaning"), rows)
    for reference, inner in below:
        yield from _sections(_named(reference, schema), schema, inner)


def _is_section(reference: str) -> bool:
    return reference.rpartition("/")[2] not in (*BY_TYPE, "Sensitivity")


def _references(entry: Schema) -> list[str]:
    """The sections that a value may be: direct, as one of several, as an entry, or as the value of any key."""
    others = [entry.get("additionalProperties"), entry.get("items")]
    inner = [*entry.get("anyOf", ()), *(one for one in others if isinstance(one, dict))]
    return [one["$ref"] for one in (entry, *inner) if "$ref" in one]


def _named(reference: str, schema: Schema) -> Schema:
    found: Schema = schema["$defs"][reference.rpartition("/")[2]]
    return found


def _without(name: str, model: Schema) -> str:
    return "required" if name in model.get("required", ()) else "none"


def _default(value: object, name: str) -> str:
    if value is None or value in ("", {}):
        return "none"
    if isinstance(value, dict) and set(value) == {"default"}:
        value = value["default"]  # one duration for every type
    if isinstance(value, dict):
        shown = {key: inner for key, inner in value.items() if inner not in (0.0, None, "")}
        return "see below" if name not in ("weights", "alphas") else f"`{json.dumps(shown)}`".replace('"', "")
    return f"`{json.dumps(value) if not isinstance(value, str) else value}`"


def _form(entry: Schema, schema: Schema) -> str:
    """The type of a value in words."""
    if "$ref" in entry:
        named = entry["$ref"].rpartition("/")[2]
        if named in BY_TYPE:
            return f"one per memory type: `{BY_TYPE[named]}`"
        target = _named(entry["$ref"], schema)
        return _form(target, schema) if "enum" in target else "section"
    if "anyOf" in entry:
        return " or ".join(dict.fromkeys(_form(one, schema) for one in entry["anyOf"] if one.get("type") != "null"))
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{value}`" for value in entry["enum"])
    match entry.get("type"):
        case "string" if "90s" in entry.get("examples", ()):
            return "duration"
        case "string":
            return "time" if entry.get("examples") == ["2026-03-20T09:00:00Z"] else "text"
        case "integer" | "number" as kind:
            return ("whole number" if kind == "integer" else "number") + _range(entry)
        case "boolean":
            return "`true`, `false`"
        case "array":
            several = "list of stages" if "oneOf" in entry["items"] else "list of sections"
            lists = {"string": "list of texts", "number": "list of numbers"}
            return lists.get(str(entry["items"].get("type")), several)
        case "null":
            return "`null`"
        case _:
            return "mapping"


def _range(entry: Schema) -> str:
    low, high = entry.get("minimum"), entry.get("maximum")
    if "exclusiveMinimum" in entry:
        return f" above {entry['exclusiveMinimum']}" + (f", at most {high:,}" if high is not None else "")
    return f" {low} to {high:,}" if low is not None and high is not None else ""
