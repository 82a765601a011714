"""A compiled artifact: what was fitted for one spec, as versioned JSON that says what it was fitted on and for.

`memrank.artifact/2` has intervals beside its metrics and a summary of the search; what version 1 holds is read as ever.

State is named, and each state says which fields it has and of what type, with a hash of that: whoever knows other
fields refuses it instead of guessing. Values are numbers and texts; nothing in an artifact is ever run.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memrank.errors import DataError
from memrank.fileio import canonical_json, sha256_hex, write_atomic

SCHEMA, OLDER = "memrank.artifact/2", "memrank.artifact/1"
MAX_BYTES = 16 * 1024 * 1024
"""Size of an artifact at the most."""

Value = str | float | tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Named values."""

    values: Mapping[str, Value]

    @property
    def fields(self) -> dict[str, str]:
        """Name of each field to its type: `text`, `number` or `numbers`."""
        return {name: _type(value) for name, value in sorted(self.values.items())}

    @property
    def fields_sha256(self) -> str:
        """Of the names and types."""
        return fields_sha256(self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A metric; None where version 1 did not say, or where it cannot be told."""

    value: float
    low: float | None = None
    """Of its 95 % interval."""
    high: float | None = None
    n: int | None = None
    """Queries (or pairs) that it is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """What was fitted, what for and on what."""

    name: str
    """Of the spec."""
    spec: str = field(repr=False)
    """The part of the spec that it depends on, as canonical JSON."""
    versions: Mapping[str, str]
    """What else it depends on, such as `model`, the coefficients that judged; and what it was made by."""
    seed: int
    data: Mapping[str, str]
    """What it was fitted on: the evalset, its part, hashes."""
    state: Mapping[str, State]
    metrics: Mapping[str, Mapping[str, Measured]]
    """`before` and `after`, on queries that nothing was fitted on; what could not be told is left out."""
    search: Mapping[str, Value] = field(default_factory=dict)
    """How it was found: a summary of the search, empty where nothing was searched for."""


def fields_sha256(fields: Mapping[str, str]) -> str:
    """The hash by which fields are told apart: of their names and types."""
    return sha256_hex(canonical_json(dict(fields)))


def to_dict(artifact: Artifact) -> dict[str, Any]:
    """The JSON form, `memrank.artifact/2`."""
    return {
        "schema": SCHEMA,
        "name": artifact.name,
        "spec": {"sha256": sha256_hex(artifact.spec), "body": json.loads(artifact.spec)},
        "versions": dict(artifact.versions),
        "seed": artifact.seed,
        "data": dict(artifact.data),
        "state": {
            name: {"fields": state.fields, "fields_sha256": state.fields_sha256, "values": dict(state.values)}
            for name, state in artifact.state.items()
        },
        "metrics": {
            name: {key: asdict(one) for key, one in values.items()} for name, values in artifact.metrics.items()
        },
        "search": dict(artifact.search),
    }


def write(path: str | os.PathLike[str], artifact: Artifact) -> None:
    """Write an artifact, whole or not at all. Raises DataError where it cannot be written.

    The same artifact gives the same bytes: there is no time in it.
    """
    write_atomic(path, json.dumps(to_dict(artifact), ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def read(path: Path) -> Artifact:
    """The artifact of a file. Raises DataError, with what is wrong, for anything else."""
    body = _body(path)
    if body.get("schema") not in (SCHEMA, OLDER):
        raise DataError(f"{path}: its schema is {_shown(body.get('schema'))}, not {SCHEMA} or {OLDER}", hint=HINT)
    spec = _part(path, body, "spec")
    text = canonical_json(_mapping(path, spec.get("body"), "spec.body"))
    if spec.get("sha256") != sha256_hex(text):
        raise DataError(f"{path}: spec.sha256 is not the hash of spec.body: the file was changed by hand", hint=HINT)
    seed, name = body.get("seed"), body.get("name")
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise DataError(f"{path}: seed is {_shown(seed)}, not a whole number", hint=HINT)
    if not isinstance(name, str):
        raise DataError(f"{path}: name is {_shown(name)}, not a text", hint=HINT)
    return Artifact(
        name=name,
        spec=text,
        versions=_texts(path, body, "versions"),
        seed=seed,
        data=_texts(path, body, "data"),
        state={name: _state(path, name, given) for name, given in _part(path, body, "state").items()},
        metrics={name: _metrics(path, name, given) for name, given in _part(path, body, "metrics").items()},
        search={
            key: _value(path, f"search.{key[:80]}", value)
            for key, value in (_part(path, body, "search") if body["schema"] == SCHEMA else {}).items()
        },
    )


HINT = "`memrank compile SPEC` and `memrank eval SPEC --calibrate` write artifacts"


def _body(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            what = "this is no file" if path.exists() else "there is no such file"
            raise DataError(f"{path}: {what}", hint=HINT)
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path}: it is larger than {MAX_BYTES // 1024**2} MiB", hint=HINT)
        found = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_refused)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is no JSON"
        raise DataError(f"{path}: cannot be read: {reason}", hint=HINT) from fault
    return _mapping(path, found, "the file")


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _mapping(path: Path, given: object, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise DataError(f"{path}: {name} is {_shown(given)}, not an object", hint=HINT)
    return given


def _part(path: Path, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _mapping(path, body.get(name), name)


def _texts(path: Path, body: Mapping[str, Any], name: str) -> dict[str, str]:
    found = _part(path, body, name)
    for key, value in found.items():
        if not isinstance(value, str):
            raise DataError(f"{path}: {name}.{key[:80]} is {_shown(value)}, not a text", hint=HINT)
    return found


def _metrics(path: Path, name: str, given: object) -> dict[str, Measured]:
    place = f"metrics.{name[:80]}"
    return {key: _measured(path, f"{place}.{key[:80]}", one) for key, one in _mapping(path, given, place).items()}


def _measured(path: Path, place: str, given: object) -> Measured:
    """Version 1 has bare numbers."""
    if _is_number(given):
        return Measured(value=float(given))  # type: ignore[arg-type]
    if not isinstance(given, dict):
        raise DataError(f"{path}: {place} is {_shown(given)}, not a number", hint=HINT)
    for key in ("value", "low", "high", "n"):
        value = given.get(key)
        if not _is_number(value) and (key == "value" or value is not None):
            raise DataError(f"{path}: {place}.{key} is {_shown(value)}, not a number", hint=HINT)
    low, high, n = (given.get(key) for key in ("low", "high", "n"))
    return Measured(
        value=float(given["value"]),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        n=None if n is None else int(n),
    )


def _state(path: Path, name: str, given: object) -> State:
    place = f"state.{name[:80]}"
    body = _mapping(path, given, place)
    values = _mapping(path, body.get("values"), f"{place}.values")
    state = State(values={key: _value(path, f"{place}.{key[:80]}", value) for key, value in values.items()})
    if body.get("fields") != state.fields:
        raise DataError(f"{path}: the values of {place} are not of the fields that it names", hint=HINT)
    if body.get("fields_sha256") != state.fields_sha256:
        raise DataError(f"{path}: {place}.fields_sha256 is not the hash of its fields", hint=HINT)
    return state


def _value(path: Path, place: str, given: object) -> Value:
    if isinstance(given, str):
        return given
    if _is_number(given):
        return float(given)  # type: ignore[arg-type]
    if isinstance(given, list) and all(map(_is_number, given)):
        return tuple(map(float, given))
    raise DataError(f"{path}: {place} is {_shown(given)}, not a text, a number or a list of numbers", hint=HINT)


def _type(value: Value) -> str:
    if isinstance(value, str):
        return "text"
    return "numbers" if isinstance(value, tuple) else "number"


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer beyond the floats
        return False


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:80]
