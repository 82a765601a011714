"""What pruning is worth on golden conversations, for people: figures, the gate, what was lost and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memrank.evals.keeping import Lost
from memrank.evals.pruningreport import Mend, PruningReport, Versus
from memrank.evals.report import Figure
from memrank.render.grid import Column, grid_lines, table_width
from memrank.text.counted import counted, verb
from memrank.text.inert import clip

LABEL, QUESTION, WHY = 24, 60, 400
SHOWN = 10
"""Lost questions of a table; JSON has all."""
BY_DOMAIN = ("answerable", "tokens_saved", "premature_drop", "rank_correlation", "owed_kept")
MEANINGS: Mapping[str, str] = {
    "answerable": "later questions whose evidence is all in the context, whole or summarized",
    "answerable_full": "the same, with the full context",
    "answerable_whole": "the same under pruning, evidence that stays whole only",
    "answerable_newest": "the same, keeping the newest, in as many tokens",
    "answerable_oldest_dropped": "the same, dropping the oldest, in as many tokens",
    "tokens_saved": "share of the tokens that pruning saves",
    "tokens_used": "share of the tokens that stays, what is protected included",
    "agreement": "kappa (quadratic weights) of annotated class and ours, over elements",
    "rank_correlation": "of annotated class and decay",
    "owed_kept": "promises, open questions, pending actions that stay",
    "owed_named": "of them, those that are named as such",
    "named_owed": "of what is named as such, what really is",
    "premature_drop": "of what a later question needs, what did not stay",
    "premature_drop_owed": "the same, of what is owed",
    "premature_drop_other": "the same, of all else",
}
"""Figure without its share to what it says."""
CAUSES: Mapping[str, str] = {
    "threshold": "decay reached drop_threshold",
    "budget": "no room in max_tokens",
    "replaced": "taken for corrected or replaced",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    name: str
    figure: Figure
    what: str


def pruning_text(report: PruningReport, *, width: int | None, colour: bool) -> str:
    """One report. No line break at the end. `width` is that of the terminal; without one the table has 160 columns."""
    wide = table_width(width)
    order = [*(name for name in MEANINGS if name in report.figures), *(n for n in report.figures if n not in MEANINGS)]
    lines = [_Line(name=name, figure=report.figures[name], what=meaning(name)) for name in order]
    blocks = [
        heading(report),
        _grid("measure", lines, wide, colour),
        _domains(report.by_domain, wide, colour),
        gate_lines(report),
        _lost(report.lost, wide, colour),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def heading(report: PruningReport) -> list[str]:
    """What was measured, and how."""
    limits = report.limits
    part = "all parts" if report.part == "all" else f"part {report.part}"
    return [
        f"{clip(report.spec, LABEL)} on {clip(report.evalset, LABEL)}, {part}: "
        f"{counted(report.conversations, 'conversation')}, {counted(report.moments, 'moment')}, "
        f"{counted(report.questions, 'later question')}",
        f"max_tokens {limits.max_tokens} ({report.tokens}), keep_last_turns {limits.keep_last_turns}, "
        f"decay_threshold {limits.decay_threshold:g}, drop_threshold {limits.drop_threshold:g}",
        f"95 % intervals: {counted(report.resamples, 'resample')} of {counted(report.units, 'group')}, "
        f"seed {report.seed}",
    ]


def meaning(name: str) -> str:
    """What a figure says, in a line."""
    plain, _, share = name.partition("@")
    return f"{MEANINGS.get(plain, '')}{f'; budget {share} of the tokens' if share else ''}"


def number(value: float) -> str:
    """Three decimals; a dash for NaN."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def interval(figure: Figure) -> str:
    """`[0.412, 0.466]`; a dash where it cannot be told."""
    return "-" if math.isnan(figure.low) else f"[{figure.low:.3f}, {figure.high:.3f}]"


def gate_lines(report: PruningReport) -> list[str]:
    """The gate; where it does not hold, what the lost evidence went for and what would mend it."""
    gate = report.gate
    if gate.difference is None:
        return ["gate: FAILED, no moment has a later question"]
    allowed = f", {gate.margin:g} allowed" if gate.margin else ""
    found = f"{number(gate.difference.value)} {interval(gate.difference)} against the full context{allowed}"
    lines = [f"gate: {'passed' if gate.passed else 'FAILED'}, answerable {found}"]
    if gate.passed:
        return lines
    went = [f"{CAUSES[cause]} ({count})" for cause, count in gate.causes.items() if count]
    lines.append(f"lost evidence, by why it went: {', '.join(went)}")
    lines += [f"on these conversations it would hold with {mend_text(mend)}" for mend in gate.mends]
    if not gate.mends:
        lines.append("no threshold and no budget was found that mends it")
    return lines


def mend_text(mend: Mend) -> str:
    """`drop_threshold 0.92: answerable 0.982, tokens saved 0.288`."""
    changed = " and ".join(f"{name} {value:g}" for name, value in mend.changes.items())
    return f"{changed}: answerable {number(mend.answerable.value)}, tokens saved {number(mend.tokens_saved.value)}"


def versus_text(
    first: PruningReport, other: PruningReport, found: Mapping[str, Versus], *, width: int | None, colour: bool
) -> str:
    """A way of pruning against the first one. No line break at the end."""
    lines = [
        _Line(
            name=name,
            figure=one.difference,
            what=f"p {number(one.p)}; higher at {counted(one.higher, 'moment')}, lower at {one.lower}; {meaning(name)}",
        )
        for name, one in found.items()
    ]
    title = f"{clip(other.spec, LABEL)} minus {clip(first.spec, LABEL)}, paired; p corrected for {len(lines)} measures"
    return "\n".join([title, *_grid("difference", lines, table_width(width), colour)])


def _grid(title: str, lines: Sequence[_Line], width: int, colour: bool) -> list[str]:
    columns: list[Column[_Line]] = [
        Column(title=title, cell=lambda line: line.name, justify="left"),
        Column(title="value", cell=lambda line: number(line.figure.value), style="cyan"),
        Column(title="95 % interval", cell=lambda line: interval(line.figure), from_width=60),
        Column(title="n", cell=lambda line: str(line.figure.n), from_width=70),
    ]
    what: Column[_Line] = Column(title="says", cell=lambda line: line.what, justify="left")
    return grid_lines(columns, what, lines, width=width, colour=colour)


def _domains(by_domain: Mapping[str, Mapping[str, Figure]], width: int, colour: bool) -> list[str]:
    if len(by_domain) < 2:
        return []

    def column(name: str) -> Column[str]:
        def cell(domain: str) -> str:
            figure = by_domain[domain].get(name)
            return "-" if figure is None else number(figure.value)

        return Column(title=name, cell=cell)

    label: Column[str] = Column(title="domain", cell=lambda one: clip(one, LABEL), justify="left")
    return grid_lines([column(name) for name in BY_DOMAIN], label, list(by_domain), width=width, colour=colour)


def _lost(lost: Sequence[Lost], width: int, colour: bool) -> list[str]:
    if not lost:
        return []
    columns: list[Column[Lost]] = [
        Column(title="conversation", cell=lambda one: clip(one.conversation, LABEL), justify="left", widest=LABEL),
        Column(title="after", cell=lambda one: clip(one.after, LABEL), justify="left", from_width=70, widest=LABEL),
        Column(title="lost question", cell=lambda one: clip(one.question, QUESTION), justify="left", widest=QUESTION),
    ]
    why: Column[Lost] = Column(title="what it lacks", cell=gone_text, justify="left")
    lines = grid_lines(columns, why, lost[:SHOWN], width=width, colour=colour)
    more = len(lost) - SHOWN
    return [*lines, f"and {more} more, which {verb(more)} in --json"] if more > 0 else lines


def gone_text(one: Lost) -> str:
    """What a question lacks and why: `e22 (decay reached drop_threshold, 0.91: tool_output of 10 turns ago)`."""
    parts = [f"{gone.id} ({CAUSES[gone.cause]}, {gone.decay:.2f}: {gone.rationale})" for gone in one.gone]
    return clip("; ".join(parts), WHY)
