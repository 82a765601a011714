"""What a stream can show: how wide it is, and whether it takes colour."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

FALLBACK = 80
_WINDOWS_WITH_COLOUR = ("WT_SESSION", "ANSICON", "TERM")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """`width` in columns, None where the stream is no terminal."""

    width: int | None
    colour: bool


def look(stream: TextIO, environ: Mapping[str, str], *, windows: bool = os.name == "nt") -> Look:
    """Colour on terminals only, and never where NO_COLOR is set (https://no-color.org) or TERM is dumb.

    Older Windows consoles show colour codes as they are; only those that say that they know them get any.
    """
    if not stream.isatty():
        return Look(width=None, colour=False)
    colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    if windows:
        colour = colour and any(environ.get(name) for name in _WINDOWS_WITH_COLOUR)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except OSError:  # a terminal that does not tell its size; io.UnsupportedOperation is one, too
        width = 0
    return Look(width=width or FALLBACK, colour=colour)
