"""Files and bytes: atomic writing, canonical JSON, SHA-256."""

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from memrank.errors import DataError


def sha256_hex(data: bytes | str) -> str:
    """SHA-256 of bytes, or of text as UTF-8, in lower-case hex. Lone surrogates are hashed, not refused."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()


def canonical_json(value: object) -> str:
    """The one JSON text of a value: keys sorted, no spaces, Unicode as it is.

    Raises ValueError for NaN and infinities, TypeError for what JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_atomic(path: str | os.PathLike[str], data: str | bytes | Iterable[str]) -> None:
    """Write a whole file, or leave what was there untouched: a reader sees the old bytes or the new ones.

    Text is UTF-8, its line ends as given. An iterable of texts is written piece by piece. The mode of an existing
    file is kept; a symbolic link keeps pointing, its target is replaced. Raises DataError if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "no plain file"
        raise DataError(f"{os.fspath(path)}: cannot be written: this is {what}")
    scratch = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        _write_synced(scratch, data)
        with suppress(FileNotFoundError):
            scratch.chmod(stat.S_IMODE(target.stat().st_mode))
        scratch.replace(target)
    except OSError as error:
        hint = None if target.parent.is_dir() else f"create the folder {target.parent} first"
        raise DataError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}", hint=hint) from error
    finally:
        with suppress(OSError):
            scratch.unlink()
    _sync_folder(target.parent)


def write_folder(path: str | os.PathLike[str], files: Mapping[str, str | Iterable[str]]) -> None:
    """Write a whole folder of files, or leave what was there untouched; a folder that is there is replaced.

    All files are written beside it first, then the two change places. Raises DataError if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    mark = secrets.token_hex(8)
    scratch, old = (target.with_name(f".{target.name[:100]}.{mark}.{end}") for end in ("tmp", "old"))
    try:
        scratch.mkdir()
        for name, data in files.items():
            _write_synced(scratch / name, data)
        _sync_folder(scratch)
        if target.exists():
            target.rename(old)
        try:
            scratch.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    except OSError as error:
        hint = None if target.parent.is_dir() else f"create the folder {target.parent} first"
        raise DataError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}", hint=hint) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    _sync_folder(target.parent)


def _write_synced(path: Path, data: str | bytes | Iterable[str]) -> None:
    pieces: Iterable[str | bytes] = [data] if isinstance(data, (str, bytes)) else data
    # Created by os.open, not by tempfile, so that the umask decides who may read it.
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(number, "wb") as stream:
        for piece in pieces:
            stream.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename durable where folders can be synced (not on Windows); the file itself is safe already."""
    if os.name == "nt":
        return
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
