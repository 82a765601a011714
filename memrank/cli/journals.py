"""Where evaluations keep what they have done so far, so that one that was stopped can go on."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def journal_folder(environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> Path | None:
    """The user's cache: `XDG_CACHE_HOME` (Windows: `LOCALAPPDATA`), else `.cache` at home. None without any."""
    base = environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME")
    if base:
        return Path(base) / "memrank" / "eval"
    with suppress(RuntimeError):  # a user who has no home
        return Path.home() / ".cache" / "memrank" / "eval"
    return None


def journal_file(folder: Path | None, key: str) -> Path | None:
    """The journal of one evaluation; None where nothing can be kept there. It is for its owner's eyes alone."""
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"{key}.jsonl" if os.access(folder, os.W_OK) else None
