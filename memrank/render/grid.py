"""Rows of short texts in aligned columns, without drawn lines; the last column gives way where there is no room."""

from collections.abc import Sequence
from io import StringIO

from memrank.text.inert import clip

PIPED = 160
"""Width of a table that goes to no terminal."""
NARROWEST = 40
LONGEST = 300
"""Characters of a cell that are looked at."""


def grid(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[str] = (),
    width: int | None = None,
    colour: bool = False,
) -> str:
    """The rows under their titles. Columns in `numbers` are justified to the right. No line break at the end.

    Cells are never read as markup, and nothing of them reaches the terminal that could steer it.
    """
    # Imported here: nobody who asks for JSON pays for it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        justify = "right" if title in numbers else "left"
        table.add_column(title, justify=justify, no_wrap=title != titles[-1], overflow="ellipsis")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(clip(cell, LONGEST), no_wrap=True, overflow="ellipsis") for cell in row))
    stream = StringIO()
    console = Console(
        file=stream,
        width=PIPED if width is None else max(width, NARROWEST),
        height=len(rows) + 1,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        force_jupyter=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n"))
