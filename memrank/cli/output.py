"""Where things go: answers to stdout or, whole or not at all, to a file; notes and faults to stderr; values to JSON."""

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.errors import DataError, ServiceError, UsageError

if TYPE_CHECKING:  # it brings numpy, which help and checks do without
    from memrank.result import Meta
    from memrank.types import Note

FILE = click.Path(readable=False)
"""A file on the command line: shells complete its name, and whoever opens it says what is wrong with it."""


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON of a value, Unicode as it is; lone surrogates, which UTF-8 cannot hold, are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, allow_nan=False)
    return text


def tell(line: str) -> None:
    """A line on stderr. Nobody listening there does not stop the work."""
    with suppress(BrokenPipeError):
        click.echo(line, err=True)


def deliver(
    pieces: Iterable[str],
    out: str | None,
    *,
    sources: Iterable[str | os.PathLike[str]] = (),
    option: str = "--out",
) -> None:
    """Write pieces of text to stdout as they come, or to the file `out`, whole or not at all.

    What is no file but a device or a pipe is written as it is. Raises UsageError where `out` is one of the `sources`
    that the text is made from, by the name of its `option`, DataError where it cannot be written.
    """
    if out is None:
        for piece in pieces:
            _say(piece)
        return
    refuse_source(option, out, sources)
    if _is_special(out):
        with open(out, "w", encoding="utf-8", newline="") as stream:  # noqa: PTH123 - may be a number under /dev/fd
            for piece in pieces:
                stream.write(piece)
        return
    from memrank.fileio import write_atomic

    write_atomic(out, pieces)


def _say(piece: str) -> None:
    try:
        sys.stdout.write(piece)
        sys.stdout.flush()
    except OSError as fault:
        if os.name == "nt" and fault.errno == errno.EINVAL:  # how Windows says that the reader has gone
            raise BrokenPipeError from fault
        raise


def refuse_source(option: str, out: str, sources: Iterable[str | os.PathLike[str]]) -> None:
    """Raises UsageError where the file `out` of an option has no name, or is one of the `sources` that are read."""
    if not out:
        raise UsageError(f"{option} names no file", hint="leave it out, or name one")
    for source in sources:
        with suppress(OSError):
            if Path(out).samefile(source):
                raise UsageError(f"{option} {out} would replace what is read", hint="name another file")


def _is_special(path: str) -> bool:
    """Whether there is something that is neither a file nor a folder: a rename would put a file in its place."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """What is said on stderr about the notes of a run, and what --strict makes of them."""

    strict: bool
    quiet: bool = False
    verbose: bool = False

    def show(self, notes: Iterable["Note"]) -> None:
        """A line for each note that is to be seen: repairs and failures, and under --verbose all."""
        if self.quiet:
            return
        from memrank.render.lines import notes_lines

        for line in notes_lines(note for note in notes if self.verbose or note.level != "info"):
            tell(line)

    def review(self, meta: "Meta") -> None:
        """A line where a person should look at the answer before anybody acts on it."""
        if meta.needs_review and not self.quiet:
            tell(f"read {meta.read_id[:8]} needs review: {', '.join(meta.review_reasons)}")

    def refuse(self, notes: Iterable["Note"]) -> None:
        """Under --strict, raise for the first repair or failure: ServiceError for one of a model, else DataError."""
        grave = next((note for note in notes if note.level != "info"), None)
        if self.strict and grave is not None and grave.code.startswith("lm_"):
            raise ServiceError(f"--strict: {grave.detail}", hint="see to the model, or leave out --strict")
        if self.strict and grave is not None:
            raise DataError(f"--strict: {grave.detail}", hint="correct the data, or leave out --strict")
