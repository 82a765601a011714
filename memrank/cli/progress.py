"""A progress bar on stderr. It is there only while somebody watches, and never in the way of the answers."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from memrank.render.terminal import look


@contextmanager
def progress(total: int | None, what: str, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Shows how much of `total` (None: unknown) was worked through; call what it yields with how much more is done."""
    seen = look(sys.stderr, os.environ)
    if hidden or seen.width is None:
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr, force_terminal=True, no_color=not seen.colour, width=seen.width)
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # By default rich would send what is written to stdout to the console of the bar, which is stderr.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def _ignore(done: int) -> None:
    """Nobody watches."""


def size_of(stream: IO[bytes]) -> int | None:
    """Bytes of a file; None for what has no size, as a pipe."""
    try:
        found = os.fstat(stream.fileno())
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
