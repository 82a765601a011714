"""Contradictions for people: a table of pairs, likeliest first, with the two texts beside each other."""

from collections.abc import Sequence

from memrank.contradictions import Contradiction
from memrank.render.grid import Column, grid_lines, table_width
from memrank.text.inert import clip

LABEL = 24
TEXT = 70
WIDE = 40


def contradictions_table(found: Sequence[Contradiction], *, width: int | None, colour: bool) -> str:
    """A row a pair. No line break at the end."""
    columns: list[Column[Contradiction]] = [
        Column(title="probability", cell=lambda one: f"{one.probability:.3f}", style="cyan"),
        Column(title="newer", cell=lambda one: clip(one.newer.id, LABEL), justify="left", widest=LABEL),
        Column(title="older", cell=lambda one: clip(one.older.id, LABEL), justify="left", widest=LABEL),
        Column(
            title="says now",
            cell=lambda one: clip(one.newer.content, TEXT),
            justify="left",
            from_width=100,
            widest=WIDE,
        ),
        Column(
            title="said", cell=lambda one: clip(one.older.content, TEXT), justify="left", from_width=140, widest=WIDE
        ),
    ]
    why: Column[Contradiction] = Column(
        title="evidence", cell=lambda one: clip(one.sentence.partition(": ")[2], 4 * TEXT), justify="left"
    )
    return "\n".join(grid_lines(columns, why, found, width=table_width(width), colour=colour))
