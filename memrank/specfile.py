"""Spec files: text to a checked spec with every fault at its place, and back; the JSON Schema for editors."""

import copy
import functools
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memrank.errors import SpecError
from memrank.fileio import canonical_json, sha256_hex
from memrank.nodes import Fault, Node, Place, find, plain
from memrank.spec import Spec
from memrank.specdocs import descriptions
from memrank.specfaults import MAX_FAULTS, secret_faults, validation_faults
from memrank.specvalues import format_grace
from memrank.text.counted import counted, verb
from memrank.yamltext import place_in, read_yaml, write_yaml

MAX_BYTES = 262_144
"""Size of a spec file at the most."""

_HINT = "`memrank init NAME` writes a first spec, `memrank schema` says what a spec may hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFile:
    """A checked spec and the file it came from."""

    spec: Spec
    path: Path
    """As it was given."""
    folder: Path
    """Absolute; what paths in the spec are relative to. Of a symbolic link, the folder of the link."""
    sha256: str
    """Of the spec's meaning: see `spec_sha256`."""
    root: Node = field(repr=False, compare=False)
    """The text as it stands, for faults that are found later."""

    def fault(self, path: tuple[str | int, ...], what: str) -> str:
        """A fault at a path of the spec, such as `("stages", 2)`, or at the nearest place above that is written out."""
        return Fault(place=find(self.root, path).place, path=path, what=what).line(str(self.path))


def load_spec(path: str | os.PathLike[str]) -> SpecFile:
    """The checked spec of a file. Raises SpecError with every fault found, and for a file that cannot be read."""
    given = Path(path)
    spec, root = _check(_read(given), str(given))
    return SpecFile(spec=spec, path=given, folder=given.absolute().parent, sha256=spec_sha256(spec), root=root)


def parse_spec(text: str, *, name: str = "<spec>") -> Spec:
    """The checked spec of a text. Raises SpecError with every fault found; `name` stands for the file."""
    if len(text) > MAX_BYTES:
        raise _error(name, [_too_large()])
    return _check(text.removeprefix("\ufeff"), name)[0]


def dump_spec(spec: Spec) -> str:
    """YAML that loads to an equal spec and holds what was set, not the defaults."""
    return write_yaml(spec.model_dump(mode="json", exclude_unset=True))


def spec_sha256(spec: Spec) -> str:
    """SHA-256 of the spec's canonical JSON with all defaults: comments, layout and the order of keys do not count."""
    return sha256_hex(canonical_json(spec.model_dump(mode="json")))


def spec_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the spec. What it cannot say, as weights that sum to 1, loading checks."""
    return copy.deepcopy(_schema())


@functools.cache
def _schema() -> dict[str, Any]:
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Spec.model_json_schema()}
    texts = descriptions()
    for name, model in (("Spec", found), *found["$defs"].items()):
        model.pop("title", None)
        for key, entry in model.get("properties", {}).items():
            if (name, key) in texts:
                entry["description"] = texts[name, key]
            entry.pop("title", None)
            if entry.get("type") == "string" and isinstance(entry.get("default"), float):
                entry["default"] = format_grace(entry["default"])  # pydantic shows the seconds
    return {**found, "title": "memrank spec"}


def _read(path: Path) -> str:
    """The text of a spec file. What is no plain file is never opened: reading it could wait for ever."""
    name = str(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no plain file"
            raise _error(name, [_whole(f"this is {kind}; allowed: a YAML file")])
        if status.st_size > MAX_BYTES:
            raise _error(name, [_too_large()])
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise _error(name, [_whole("there is no such file; allowed: the path of a YAML file")]) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(name, [_whole(f"cannot be read ({reason}); allowed: a YAML file")]) from error
    if len(data) > MAX_BYTES:
        raise _error(name, [_too_large()])
    return _decode(data, name)


def _decode(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _error(name, [_whole("the text is UTF-16 or UTF-32; allowed: UTF-8")])
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        what = f"the byte 0x{data[error.start]:02X} is not UTF-8; allowed: UTF-8"
        raise _error(name, [Fault(place=place_in(before, len(before)), path=(), what=what)]) from error


def _whole(what: str) -> Fault:
    return Fault(place=Place(), path=(), what=what)


def _too_large() -> Fault:
    return _whole(f"the spec is too large; allowed: {MAX_BYTES // 1024} KiB at the most")


def _check(text: str, name: str) -> tuple[Spec, Node]:
    document = read_yaml(text)
    root = document.root
    if root is None:
        raise _error(name, document.faults)
    secrets = secret_faults(root, _schema())
    faults = [*document.faults, *secrets]
    known = document.broken | {fault.path for fault in secrets}
    try:
        # As JSON, because there strict means: no text for a number, but lists for tuples and text for names.
        spec = Spec.model_validate_json(json.dumps(plain(root)), strict=True)
    except ValidationError as error:
        found, more = validation_faults(root, error, _schema(), known)
        raise _error(name, [*faults, *found], more=more) from error
    if faults:
        raise _error(name, faults)
    return spec, root


def _error(name: str, faults: Sequence[Fault], *, more: int = 0) -> SpecError:
    ordered = sorted(faults, key=lambda fault: fault.place)
    lines = [fault.line(name) for fault in ordered[:MAX_FAULTS]]
    left_out = len(ordered) - len(lines) + more
    if left_out:
        what = f"{counted(left_out, 'more fault')} {verb(left_out)} not listed; allowed: none"
        lines.append(Fault(place=ordered[len(lines) - 1].place, path=(), what=what).line(name))
    return SpecError(lines, hint=_HINT)
