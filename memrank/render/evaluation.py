"""What a pipeline is worth, for people: its measures with their intervals, its gates, each category, what failed."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memrank.evals.outcome import Failed
from memrank.evals.report import Figure, GateResult, Report
from memrank.render.grid import Column, grid_lines, table_width
from memrank.text.counted import counted
from memrank.text.inert import clip

LABEL = 40
FAILURES = 10
"""Failed reads that are shown."""
MESSAGE = 200
BY_CATEGORY = ("nDCG@10", "R@10", "MRR@10", "current_first", "stale@1", "must_not@10", "empty_ok", "MAE_combined")
"""Columns of the table of categories, as far as they are measured; the first ones on narrow terminals."""
CATEGORY_COLUMN = 14
"""Characters that one of them takes."""

MEANINGS: Mapping[str, str] = {
    "R": "share of what is relevant that is among the first k",
    "recall": "share of what is relevant that is among the first k",
    "P": "share of the first k that is relevant, where at least k memories are",
    "nDCG": "gain by grades, less for each place down, against the best order",
    "MRR": "1 / place of the first relevant one",
    "MAP": "precision at the places of what is relevant, averaged",
    "stale": "an outdated value is among the first k",
    "must_not": "what must not come back is among the first k",
    "current_first": "a current value stands above every outdated one",
    "empty_ok": "nothing is returned where nothing is relevant",
    "coverage": "something is returned where something is relevant",
    "risk": "the first result is not relevant",
    "MAE": "combined score against that given by hand: mean error",
    "MAE_relevance": "relevance against that given by hand: mean error",
    "MAE_freshness": "freshness against that given by hand: mean error",
    "MAE_combined": "score against the one given by hand: mean error",
    "ECE": "relevance said against the share that speaks to the question, by tenths: mean error",
    "Brier": "squared error of the relevance said",
    "sensitivity": "how much age matters was recognised",
    "actions": "actions of the pruner that are right",
    "leaks": "memories of another tenant that were judged, a read",
    "latency_p50": "milliseconds a read, median",
    "latency_p95": "milliseconds a read, 95th percentile",
    "latency_p99": "milliseconds a read, 99th percentile",
    "lm_calls": "calls of a language model, a read",
    "lm_tokens": "tokens of a language model, a read",
    "cost_usd": "US dollars, a read",
    "lm_sent": "memories that a language model was asked about, a read",
    "lm_fallbacks": "of those, without a valid judgement of it in the end, a read",
    "lm_invalid": "answers of it that could not be used, a read",
    "lm_timeouts": "calls of it that ran out of time, a read",
    "position_bias": "place in a prompt against what it said: correlation, 0 is none",
}
"""Metric without its k to what it says, for somebody who meets it for the first time."""
ONLY_IF_ANY = frozenset({"lm_calls", "lm_tokens", "cost_usd"})
"""Left out of the table where nothing was spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    name: str
    figure: Figure


def evaluation_text(report: Report, *, width: int | None, colour: bool, by_category: bool = False) -> str:
    """The report. No line break at the end. `width` is that of the terminal; without one the table has 160 columns."""
    wide = table_width(width)
    blocks = [_heading(report), _measures(report.figures, wide, colour)]
    if by_category and report.by_category:
        blocks.append(categories(report.by_category, wide, colour))
    if report.gates:
        blocks.append([gate_text(gate) for gate in report.gates])
    blocks.append(_failures(report))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _heading(report: Report) -> list[str]:
    part = "all parts" if report.part == "all" else f"part {report.part}"
    return [
        f"{clip(report.spec, LABEL)} on {clip(report.evalset, LABEL)}, {part}",
        f"{counted(report.queries, 'query', 'queries')}: {report.scored} scored, {report.failed} failed, "
        f"{report.unscored} unscored",
        f"95 % intervals: {counted(report.resamples, 'resample')} by {report.unit}, seed {report.seed}",
    ]


def _measures(figures: Mapping[str, Figure], width: int, colour: bool) -> list[str]:
    lines = [
        _Line(name=name, figure=figure)
        for name, figure in figures.items()
        if not (name in ONLY_IF_ANY and figure.value == 0)
    ]
    if not lines:
        return ["nothing could be measured"]
    columns: list[Column[_Line]] = [
        Column(title="measure", cell=lambda line: line.name, justify="left"),
        Column(title="value", cell=lambda line: number(line.name, line.figure.value), style="cyan"),
        Column(title="95 % interval", cell=lambda line: interval(line.name, line.figure)),
        Column(title="n", cell=lambda line: str(line.figure.n), from_width=50),
    ]
    what: Column[_Line] = Column(
        title="says", cell=lambda line: MEANINGS.get(line.name.partition("@")[0], ""), justify="left"
    )
    return grid_lines(columns, what, lines, width=width, colour=colour)


def number(name: str, value: float) -> str:
    """A value of a metric as people read it: latencies to a tenth of a millisecond, others to three places."""
    if math.isnan(value):
        return "-"
    places = 1 if name.startswith("latency_") or name == "lm_tokens" else 3
    return f"{round(value, places) + 0.0:.{places}f}"  # there is no -0.000


def interval(name: str, figure: Figure) -> str:
    """`[0.412, 0.466]`; a dash where it cannot be told."""
    if math.isnan(figure.low):
        return "-"
    return f"[{number(name, figure.low)}, {number(name, figure.high)}]"


def categories(by_category: Mapping[str, Mapping[str, Figure]], width: int, colour: bool) -> list[str]:
    """A line for each category that has figures."""
    measured = [name for name in BY_CATEGORY if any(name in figures for figures in by_category.values())]
    columns: list[Column[str]] = [
        Column(title=name, cell=_cell(by_category, name), from_width=(place + 2) * CATEGORY_COLUMN)
        for place, name in enumerate(measured)
    ]
    columns.append(Column(title="n", cell=lambda one: str(max(f.n for f in by_category[one].values()))))
    label: Column[str] = Column(title="category", cell=lambda one: clip(one, LABEL), justify="left")
    filled = [name for name, figures in by_category.items() if figures]
    return grid_lines(columns, label, filled, width=width, colour=colour)


def _cell(by_category: Mapping[str, Mapping[str, Figure]], measure: str) -> Callable[[str], str]:
    """The value of a measure in a category."""

    def cell(category: str) -> str:
        figure = by_category[category].get(measure)
        return "-" if figure is None else number(measure, figure.value)

    return cell


def gate_text(gate: GateResult) -> str:
    """`gate P@3 >= 0.85: 0.511, failed`."""
    bounds = [f"{sign} {bound:g}" for sign, bound in ((">=", gate.low), ("<=", gate.high)) if bound is not None]
    value = "not measured" if gate.value is None else f"{gate.value:.4g}"
    return f"gate {gate.metric} {' and '.join(bounds)}: {value}, {'passed' if gate.passed else 'FAILED'}"


def _failures(report: Report) -> list[str]:
    failed = [outcome for outcome in report.outcomes if isinstance(outcome, Failed)]
    lines = [
        f"failed: {clip(one.query_id, LABEL)}: {clip(one.message, MESSAGE)} [{one.code}]" for one in failed[:FAILURES]
    ]
    more = len(failed) - len(lines)
    return [*lines, f"and {more} more"] if more > 0 else lines
