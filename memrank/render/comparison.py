"""Several pipelines against the first, for people: differences with their intervals, and the queries that lost."""

from collections.abc import Sequence

from memrank.evals.compare import Against, Change, Comparison, Difference
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.markup import figure_text, interval_text, signed
from memrank.text.counted import counted
from memrank.text.inert import clip

NAME = 40
LOST = 10
"""Queries that are named as those that lost the most."""


def comparison_text(comparison: Comparison, *, width: int | None, colour: bool) -> str:
    """A table for each pipeline but the first, and its largest losses. No line break at the end."""
    first, columns = clip(comparison.name, NAME), table_width(width)
    blocks = []
    for other in comparison.others:
        lines = [f"{clip(other.name, NAME)} against {first}", "", *_table(other.differences, columns, colour)]
        blocks.append("\n".join([*lines, "", *_lost(other, columns, colour)]))
    tests = counted(comparison.tests, "test")
    note = f"p: two-sided, {comparison.resamples} resamples by {comparison.first.unit}, corrected for {tests} (Holm)"
    return "\n\n".join([*blocks, note])


def _table(differences: Sequence[Difference], width: int, colour: bool) -> list[str]:
    columns: list[Column[Difference]] = [
        Column(title="measure", cell=lambda one: one.measure, justify="left"),
        Column(title="first", cell=lambda one: figure_text(one.first), from_width=60),
        Column(title="other", cell=lambda one: figure_text(one.other), from_width=60),
        Column(title="difference", cell=lambda one: signed(one.difference), style="cyan"),
        Column(title="95 % interval", cell=lambda one: interval_text(one.low, one.high), from_width=80),
        Column(title="p", cell=lambda one: figure_text(one.corrected), from_width=50),
        Column(title="n", cell=lambda one: f"{one.n}", from_width=70),
        Column(title="won/tied/lost", cell=lambda one: f"{one.wins}/{one.ties}/{one.losses}", from_width=100),
    ]
    verdict: Column[Difference] = Column(title="result", cell=lambda one: one.told, justify="left")
    return grid_lines(columns, verdict, differences, width=width, colour=colour)


def _lost(other: Against, width: int, colour: bool) -> list[str]:
    lost = [change for change in other.changes if change.gain < 0]
    won = sum(change.gain > 0 for change in other.changes)
    head = f"{counted(won, 'query', 'queries')} won, {len(lost)} lost" + (", the largest loss first:" if lost else "")
    if not lost:
        return [head]
    columns: list[Column[Change]] = [
        Column(title="first", cell=lambda one: figure_text(one.first)),
        Column(title="other", cell=lambda one: "failed" if one.failed else figure_text(one.other)),
        Column(title="by", cell=lambda one: one.measure, justify="left", from_width=60),
    ]
    query: Column[Change] = Column(title="query", cell=lambda one: clip(one.query_id, 2 * NAME), justify="left")
    return [head, *grid_lines(columns, query, lost[:LOST], width=width, colour=colour)]
