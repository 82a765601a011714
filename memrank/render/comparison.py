"""Several pipelines side by side, for people: every measure of each, and how far it is from the first one."""

import math
from collections.abc import Sequence

from memrank.evals.compare import Against, Change, Comparison, Difference
from memrank.evals.report import Report
from memrank.render.evaluation import categories, gate_text, number
from memrank.render.grid import Column, grid_lines, table_width
from memrank.text.counted import counted
from memrank.text.inert import clip

LABEL = 40
WORST = 10
"""Queries that lost most, for each pipeline."""


def comparison_text(comparison: Comparison, *, width: int | None, colour: bool, by_category: bool = False) -> str:
    """A table for each pipeline against the first one; then its categories. No line break at the end."""
    wide = table_width(width)
    blocks = [_heading(comparison)]
    for other in comparison.others:
        blocks += [
            [f"{clip(other.name, LABEL)} against {clip(comparison.name, LABEL)}"],
            _differences(other.differences, wide, colour),
            _losses(other, wide, colour),
        ]
    for name, report in comparison.named if by_category else ():
        if report.by_category:
            blocks += [[f"{clip(name, LABEL)} by category"], categories(report.by_category, wide, colour)]
    blocks.append([line for name, report in comparison.named for line in _gates(name, report)])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _heading(comparison: Comparison) -> list[str]:
    first = comparison.first
    part = "all parts" if first.part == "all" else f"part {first.part}"
    failed = ", ".join(f"{clip(name, LABEL)} {report.failed}" for name, report in comparison.named)
    return [
        f"{clip(first.evalset, LABEL)}, {part}: {counted(first.queries, 'query', 'queries')}; failed reads: {failed}",
        f"95 % intervals: {counted(comparison.resamples, 'resample')} by {first.unit}, seed {first.seed}; p after "
        f"Holm's correction for {counted(comparison.tests, 'test')}",
    ]


def _differences(differences: Sequence[Difference], width: int, colour: bool) -> list[str]:
    def value(one: Difference, found: float) -> str:
        return number(one.measure, found)

    def signed(one: Difference, found: float) -> str:
        text = number(one.measure, found)
        return text if text.startswith("-") else f"+{text}"

    def interval(one: Difference) -> str:
        return "-" if math.isnan(one.low) else f"[{signed(one, one.low)}, {signed(one, one.high)}]"

    columns: list[Column[Difference]] = [
        Column(title="measure", cell=lambda one: one.measure, justify="left"),
        Column(title="first", cell=lambda one: value(one, one.first), from_width=70),
        Column(title="this", cell=lambda one: value(one, one.other), from_width=70),
        Column(title="difference", cell=lambda one: signed(one, one.difference), style="cyan"),
        Column(title="95 % interval", cell=interval, from_width=50),
        Column(title="p", cell=lambda one: "-" if math.isnan(one.corrected) else f"{one.corrected:.3f}", from_width=60),
        Column(title="won", cell=lambda one: str(one.wins), from_width=90),
        Column(title="tied", cell=lambda one: str(one.ties), from_width=90),
        Column(title="lost", cell=lambda one: str(one.losses), from_width=90),
        Column(title="n", cell=lambda one: str(one.n), from_width=90),
    ]
    verdict: Column[Difference] = Column(
        title="verdict", cell=lambda one: "" if one.verdict == "even" else one.verdict, justify="left"
    )
    return grid_lines(columns, verdict, differences, width=width, colour=colour)


def _losses(other: Against, width: int, colour: bool) -> list[str]:
    lost = [change for change in other.changes if change.gain < 0]
    if not lost:
        return ["no query lost"]
    columns: list[Column[Change]] = [
        Column(title="lost", cell=lambda one: number(one.measure, -one.gain), style="cyan"),
        Column(title="from", cell=lambda one: number(one.measure, one.first), from_width=60),
        Column(title="to", cell=lambda one: "failed" if one.failed else number(one.measure, one.other), from_width=60),
        Column(title="measure", cell=lambda one: one.measure, justify="left", from_width=70),
    ]
    query: Column[Change] = Column(title="query", cell=lambda one: clip(one.query_id, LABEL), justify="left")
    lines = grid_lines(columns, query, lost[:WORST], width=width, colour=colour)
    more = len(lost) - WORST
    return [*lines, f"and {counted(more, 'more query', 'more queries')} that lost"] if more > 0 else lines


def _gates(name: str, report: Report) -> list[str]:
    return [f"{clip(name, LABEL)}: {gate_text(gate)}" for gate in report.gates]
