"""`manifest.json`: what a golden set is called, its version, how much is in it, and the SHA-256 of its files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memrank.errors import DataError, UsageError
from memrank.fileio import sha256_hex, write_atomic
from memrank.types import Notes

FORMAT = "memrank.evalset/1"
MANIFEST = "manifest.json"
README = "README.md"
NOT_AS_SEALED = "not_as_sealed"
"""Code of the note about a set that is not as its manifest has it."""
SEAL = "`memrank evalset seal DIR` writes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A sealed golden set."""

    name: str
    version: str
    licence: str | None
    """None where nobody has stated it."""
    counts: Mapping[str, int]
    files: Mapping[str, str]
    """File name to SHA-256: the README, and everything in JSON Lines."""


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None without one. Raises DataError for one that cannot be read."""
    path = folder / MANIFEST
    try:
        body = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not valid JSON", hint=SEAL) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise DataError(f"{path}: not in the format {FORMAT}", hint=SEAL)
    try:
        return _manifest(body)
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{path}: its fields are not those of {FORMAT}", hint=SEAL) from None


def _manifest(body: Mapping[str, Any]) -> Manifest:
    texts = (body["name"], body["version"], *body["files"].values(), *([body["licence"]] if body["licence"] else []))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    return Manifest(
        name=body["name"],
        version=body["version"],
        licence=body["licence"],
        counts=dict(body["counts"]),
        files=dict(body["files"]),
    )


def differences(folder: Path, manifest: Manifest, *, data_only: bool = False) -> list[str]:
    """What is not as it was sealed, a sentence a file, by name; `data_only` leaves out the README.

    Raises DataError for a file that cannot be read.
    """
    there, sealed = _hashes(folder), manifest.files
    told = []
    for name in sorted({*there, *sealed}):
        if name not in there:
            told.append(f"{name} is missing")
        elif name not in sealed:
            told.append(f"{name} is not in the manifest")
        elif there[name] != sealed[name] and not (data_only and name == README):
            told.append(f"{name} is not as it was sealed")
    return told


def tell_changes(folder: Path, notes: Notes) -> None:
    """A note for each file of data that is not as it was sealed. Raises DataError for a manifest that is none."""
    manifest = read_manifest(folder)
    for said in differences(folder, manifest, data_only=True) if manifest else ():
        notes.add("repair", "evalset", NOT_AS_SEALED, f"{folder}: {said}; {SEAL}")


def seal(folder: Path, counts: Mapping[str, int], *, version: str | None, licence: str | None) -> Manifest:
    """Write the manifest of a folder as it is now.

    What is None stays as it was sealed before (a new set is version 1, its licence is not stated). Raises UsageError
    where data have changed since and the version has not: figures name the version that they are of.
    """
    before = read_manifest(folder)
    files = _hashes(folder)
    if before is not None and version in (None, before.version) and _data(before.files) != _data(files):
        raise UsageError(
            f"{folder}: the data are not those of version {before.version[:40]}",
            hint="--version names the new one",
        )
    manifest = Manifest(
        name=folder.resolve().name,
        version=version or (before.version if before else "1"),
        licence=licence or (before.licence if before else None),
        counts=counts,
        files=files,
    )
    body = {
        "format": FORMAT,
        "name": manifest.name,
        "version": manifest.version,
        "licence": manifest.licence,
        "counts": dict(counts),
        "files": files,
    }
    write_atomic(folder / MANIFEST, json.dumps(body, ensure_ascii=False, indent=2) + "\n")
    return manifest


def _data(files: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in files.items() if name != README}


def _hashes(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.name == README or path.suffix == ".jsonl"):
            try:
                found[path.name] = sha256_hex(path.read_bytes())
            except OSError as fault:
                raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None
    return found
