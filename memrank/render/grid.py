"""Rows in aligned columns without drawn lines, the same on a terminal and in a pipe."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Generic, Literal, TypeVar

PIPED = 160
"""Width of a table that goes to no terminal."""
NARROWEST = 40
NARROWEST_TEXT = 12

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    """`from_width` is the narrowest table that shows it."""

    title: str
    cell: Callable[[Row], str]
    justify: Literal["left", "right"] = "right"
    from_width: int = 0
    style: str = ""
    widest: int | None = None


def table_width(terminal: int | None) -> int:
    """The width of a table on a terminal of so many columns; without one 160, whatever the environment says."""
    return PIPED if terminal is None else max(terminal, NARROWEST)


def grid_lines(
    columns: Sequence[Column[Row]], text: Column[Row], rows: Sequence[Row], *, width: int, colour: bool
) -> list[str]:
    """The head and a line for each row. Narrow tables leave columns out, and then cut `text`, which stands last.

    Cells are never read as markup; whoever makes them makes them inert.
    """
    # Imported here: nobody who asks for JSON pays for it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [*(column for column in columns if column.from_width <= width), text]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in shown:
        table.add_column(
            column.title,
            justify=column.justify,
            style=column.style,
            max_width=column.widest,
            # Only the last column gives way when the table is too wide; its texts are cut, not wrapped.
            no_wrap=column is not text,
            min_width=None if column is not text else NARROWEST_TEXT,
            overflow="ellipsis",
        )
    for row in rows:
        # Text objects, unlike strings, are not searched for markup.
        table.add_row(*(Text(column.cell(row), no_wrap=True, overflow="ellipsis") for column in shown))
    stream = StringIO()
    console = Console(
        file=stream,
        width=width,
        height=len(rows) + 1,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        force_jupyter=False,
    )
    console.print(table)
    return [line.rstrip() for line in stream.getvalue().rstrip("\n").split("\n")]
