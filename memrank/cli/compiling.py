"""What a compilation is doing, live on stderr while somebody watches; never in the way of the answers."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memrank.render.terminal import look

if TYPE_CHECKING:
    from rich.table import Table

    from memrank.tune.compilation import Progress


@contextmanager
def watching(*, hidden: bool) -> Iterator["Callable[[Progress], None] | None"]:
    """Yields what to tell of progress; None where nobody watches."""
    seen = look(sys.stderr, os.environ)
    if hidden or seen.width is None:
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stderr, force_terminal=True, no_color=not seen.colour, width=seen.width)
    clock = Clock(time.monotonic)
    with Live(
        console=console, transient=True, redirect_stdout=False, redirect_stderr=False, refresh_per_second=4
    ) as live:
        yield lambda progress: live.update(_table(progress, clock.left(progress)))


class Clock:
    """How long a phase will take yet, by how long it took so far."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._phase, self._began = "", now()

    def left(self, progress: "Progress") -> float | None:
        """Seconds; None where nothing is done yet."""
        if progress.phase != self._phase:
            self._phase, self._began = progress.phase, self._now()
        if not progress.done or progress.done > progress.total:
            return None
        return (self._now() - self._began) * (progress.total - progress.done) / progress.done


def constraint_state(progress: "Progress") -> str:
    """Whether the best so far keeps the constraints."""
    if progress.best is None:
        return "-"
    return "kept" if progress.violation <= 0 else f"missed by {progress.violation:.4g}"


def _table(progress: "Progress", left: float | None) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("doing", "trial", "best", "constraints", "left at most"):
        table.add_column(title, justify="left" if title == "doing" else "right", no_wrap=True)
    cells = (
        progress.phase,
        f"{progress.done} of {progress.total}",
        "-" if progress.best is None else f"{progress.best:.4f}",
        constraint_state(progress),
        "-" if left is None else f"{int(left // 60)}:{int(left % 60):02d}",
    )
    table.add_row(*map(Text, cells))
    return table
