"""A spec with settings changed from the command line: `temporal.half_life=3d`, `ranker.weights={relevance: 1}`."""

import json
from collections.abc import Sequence
from typing import Any

from memrank.errors import UsageError
from memrank.fileio import canonical_json
from memrank.nodes import plain
from memrank.slate import Limits
from memrank.spec import Spec
from memrank.specfile import parse_spec
from memrank.yamltext import read_yaml, write_yaml

STAGES = ("prefilter", "temporal", "ranker", "pruner")
_ROOTS = ("temporal", "ranker", "pruner", "review", "high_stakes")
_RECORDED = ("pruner.keep_last_turns",)
"""What decides which memories are judged at all, or kept whatever they score: a record holds the outcome only."""
_HINT = f"PATH=VALUE, where PATH begins with one of {', '.join(_ROOTS)}, such as temporal.half_life=3d"


def spec_of(body: str) -> Spec:
    """The spec of a record, from its JSON. Raises SpecError where this memrank does not take it any more."""
    return parse_spec(write_yaml(json.loads(body)), name="<recorded spec>")


def changed(body: str, settings: Sequence[str]) -> Spec:
    """The spec of a record with settings changed, each `PATH=VALUE` with a value in YAML.

    Raises UsageError for a setting that cannot be understood, or cannot be answered from a record; SpecError for what
    is no spec.
    """
    document: dict[str, Any] = json.loads(body)
    for setting in settings:
        path, equals, text = setting.partition("=")
        names = path.strip().split(".")
        if not equals or not all(names) or names[0] not in (*_ROOTS, "prefilter"):
            raise UsageError(f"--set {setting[:80]!r} is no setting", hint=_HINT)
        if names[0] == "prefilter" or path.strip() in _RECORDED:
            raise UsageError(
                f"--set {path[:80]}: this decides which memories are judged, and a record holds only those that were",
                hint="run the query again under a changed spec",
            )
        _put(_section(document, names, setting), names, _value(text, setting), setting)
    return parse_spec(write_yaml(document), name="<changed spec>")


def freed(limits: Limits, settings: Sequence[str]) -> Limits:
    """The limits of a call without those that a setting stands for: what is set counts before what was asked."""
    paths = {setting.partition("=")[0].strip() for setting in settings}
    return Limits(
        top_k=None if "ranker.top_k" in paths else limits.top_k,
        max_tokens=None if "pruner.max_tokens" in paths else limits.max_tokens,
        rank_only=limits.rank_only,
    )


def differing(then: Spec, now: Spec) -> tuple[str, ...]:
    """Paths of the settings that differ between two specs, in their order."""
    before, after = _flat(then.model_dump(mode="json")), _flat(now.model_dump(mode="json"))
    paths = dict.fromkeys([*before, *after])
    return tuple(path for path in paths if before.get(path) != after.get(path))


def _section(document: dict[str, Any], names: list[str], setting: str) -> dict[str, Any]:
    """Where the first name is looked up: in the stage of that name, which then is dropped from `names`."""
    if names[0] not in STAGES:
        return document
    stage = next((s for s in document["stages"] if s["kind"].startswith(f"{names[0]}.")), None)
    if stage is None or len(names) < 2:
        raise UsageError(f"--set {setting[:80]!r}: the spec has no such setting", hint=_HINT)
    names.pop(0)
    found: dict[str, Any] = stage
    return found


def _put(section: dict[str, Any], names: list[str], value: object, setting: str) -> None:
    for name in names[:-1]:
        section = section.setdefault(name, {})
        if not isinstance(section, dict):
            raise UsageError(f"--set {setting[:80]!r}: {name} holds one value", hint=f"set {name} as a whole")
    section[names[-1]] = value


def _value(text: str, setting: str) -> object:
    document = read_yaml(f"value: {text}\n")
    if document.root is None or document.faults:
        raise UsageError(f"--set {setting[:80]!r}: the value is no YAML", hint=_HINT)
    found = plain(document.root)
    if not isinstance(found, dict) or set(found) != {"value"}:
        raise UsageError(f"--set {setting[:80]!r}: the value is more than one", hint=_HINT)
    return found["value"]


def _flat(value: object, path: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        items = [(f"{path}.{name}" if path else str(name), inner) for name, inner in value.items()]
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        items = [(f"{path}[{i}]", inner) for i, inner in enumerate(value)]
    else:
        return {path: canonical_json(value)}
    return {name: text for inner_path, inner in items for name, text in _flat(inner, inner_path).items()}
