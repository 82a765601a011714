"""A pruned conversation for people: a table of decisions, and how the worth of its elements went from turn to turn."""

from collections.abc import Mapping, Sequence

from memrank.dialogue.elements import Element
from memrank.dialogue.prune import Decision, Monitors, Pruned
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.plot import Series, plot
from memrank.stores.conversation import MomentRow, Point
from memrank.text.counted import counted
from memrank.text.inert import clip

LABEL, TEXT, WIDE = 20, 90, 44
MARKS = "*+x#o%"
DRAWN = len(MARKS)
"""Elements whose course is drawn: those that changed most."""
HEIGHT = 14

_Row = tuple[Element, Decision]


def pruned_table(pruned: Pruned, *, width: int | None, colour: bool) -> str:
    """A row an element, in order, under the monitors. No line break at the end."""
    columns: list[Column[_Row]] = [
        Column(title="id", cell=lambda row: clip(row[1].id, LABEL), justify="left", widest=LABEL),
        Column(title="kind", cell=lambda row: row[0].kind, justify="left", from_width=90),
        Column(title="decay", cell=lambda row: f"{row[1].decay:.2f}", style="cyan"),
        Column(title="class", cell=lambda row: str(row[1].decay_class), from_width=60),
        Column(title="action", cell=lambda row: row[1].action, justify="left"),
        Column(title="tokens", cell=lambda row: str(row[1].tokens), from_width=70),
        Column(title="why", cell=lambda row: clip(row[1].rationale, TEXT), justify="left", from_width=120, widest=WIDE),
    ]
    text: Column[_Row] = Column(title="text", cell=lambda row: clip(row[0].content, 4 * TEXT), justify="left")
    rows = list(zip(pruned.elements, pruned.decisions, strict=True))
    head = monitors_text(pruned.monitors)
    if not rows:
        return head
    return "\n".join([head, "", *grid_lines(columns, text, rows, width=table_width(width), colour=colour)])


def monitors_text(monitors: Monitors) -> str:
    """The monitors in a line."""
    parts = [
        f"{counted(monitors.tokens_before, 'token')}, {counted(monitors.tokens_after, 'stays', 'stay')}",
        f"kept {monitors.kept:.0%}, summarized {monitors.summarized:.0%}, dropped {monitors.dropped:.0%}",
        f"average decay {monitors.mean_decay:.2f}",
    ]
    if monitors.age_decay_correlation is not None:
        parts.append(f"age and decay correlate by {monitors.age_decay_correlation:.2f}")
    if monitors.topic_shift:
        parts.append("the topic shifts")
    return "; ".join(parts)


def history_table(history: Sequence[MomentRow], *, width: int | None, colour: bool) -> str:
    """A row a pruning. No line break at the end."""

    def share(name: str) -> Column[MomentRow]:
        return Column(title=name, cell=lambda row: f"{float(str(row.monitors.get(name, 0.0))):.0%}")

    columns: list[Column[MomentRow]] = [
        Column(title="pruning", cell=lambda row: str(row.number)),
        Column(title="elements", cell=lambda row: str(row.elements)),
        Column(title="tokens", cell=lambda row: str(row.monitors.get("tokens_before", ""))),
        Column(title="stay", cell=lambda row: str(row.monitors.get("tokens_after", ""))),
        *(share(name) for name in ("kept", "summarized", "dropped")),
        Column(title="decay", cell=lambda row: f"{float(str(row.monitors.get('mean_decay', 0.0))):.2f}", style="cyan"),
    ]
    at: Column[MomentRow] = Column(title="at", cell=lambda row: clip(row.at or "-", LABEL + LABEL), justify="left")
    return "\n".join(grid_lines(columns, at, history, width=table_width(width), colour=colour))


def trajectories_plot(courses: Mapping[str, Sequence[Point]], chosen: Sequence[str], *, width: int | None) -> str:
    """Decay against the number of the pruning: the elements chosen, else those that changed most. Empty without any."""
    moved = {name: points for name, points in courses.items() if len(points) > 1}
    if chosen:
        drawn = [name for name in chosen if name in courses]
    else:

        def range_of(name: str) -> float:
            decays = [point.decay for point in moved[name]]
            return max(decays) - min(decays)

        drawn = sorted(moved, key=lambda name: (-range_of(name), name))[:DRAWN]
    series = [
        Series(label=name, points=[(float(p.moment), p.decay) for p in courses[name]], mark=MARKS[k % DRAWN])
        for k, name in enumerate(drawn)
        if courses[name]
    ]
    if not series:
        return ""
    return plot(
        series,
        width=min(table_width(width), 100),
        height=HEIGHT,
        x_label="pruning",
        y_label="decay",
        y_range=(0.0, 1.0),
    )
