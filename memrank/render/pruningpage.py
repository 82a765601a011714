"""What pruning is worth on golden conversations, as a page: figures, the gate, budgets drawn, what was lost and why."""

from collections.abc import Sequence

from memrank.evals.pruning import SHARES
from memrank.evals.pruningreport import PruningReport, versus
from memrank.evals.report import Figure
from memrank.render.chart import Bar, bars
from memrank.render.markup import Html, figure_text, interval_text
from memrank.render.page import Heading, Section, Tile, details, listing, page, paragraph, summary, table
from memrank.render.pruning import gate_lines, gone_text, heading, meaning

WAYS = {
    "answerable": "pruned",
    "answerable_whole": "pruned, kept whole only",
    "answerable_newest": "keep the newest",
    "answerable_oldest_dropped": "drop the oldest",
}
"""Figure to the name of its bar."""
_FIGURES = (
    Heading("measure"),
    Heading("value", number=True),
    Heading("95 % interval", number=True),
    Heading("n", number=True),
)


def pruning_page(reports: Sequence[PruningReport]) -> str:
    """One page of one or more ways of pruning; each but the first is compared with it."""
    first, *others = reports
    parts: list[Section] = [part for report in reports for part in pruning_sections(report)]
    parts += [_comparison(first, other) for other in others]
    names = ", ".join(report.spec for report in reports)
    return page(f"Pruning {first.evalset}: {names}", parts, lead=heading(first)[0])


def pruning_sections(report: PruningReport) -> list[Section]:
    """The sections of one report: also for a page that shows more than pruning."""
    blocks = [summary(_tiles(report)), listing([*heading(report)[1:], *gate_lines(report)]), *_budgets(report)]
    rows = [[name, *_cells(one), meaning(name)] for name, one in report.figures.items()]
    blocks.append(
        details("All measures", table([*_FIGURES, Heading("says")], rows, caption="Measures with their intervals"))
    )
    if len(report.by_domain) > 1:
        blocks.append(details("By domain", _domains(report)))
    return [
        Section(f"What stays answerable: {report.spec}", blocks),
        Section(f"What was lost: {report.spec}", [_lost(report)]),
    ]


def _tiles(report: PruningReport) -> list[Tile]:
    gate = report.gate
    tiles = [
        Tile(
            "gate", "passed" if gate.passed else "failed", "against the full context", "good" if gate.passed else "bad"
        )
    ]
    shown = ("answerable", "tokens_saved", "premature_drop", "agreement")
    return tiles + [
        Tile(name.replace("_", " "), figure_text(one.value), interval_text(one.low, one.high))
        for name in shown
        if (one := report.figures.get(name)) is not None
    ]


def _budgets(report: PruningReport) -> list[Html]:
    """What stays answerable by each way of pruning: under the limits, and at shares of the tokens."""
    found = []
    for share in ("", *(f"@{share:.0%}" for share in SHARES)):
        drawn = [(label, report.figures.get(f"{name}{share}")) for name, label in WAYS.items()]
        given = [
            Bar(label=label, value=one.value, low=one.low, high=one.high) for label, one in drawn if one is not None
        ]
        if given:
            title = f"Answerable, budget {share[1:]} of the tokens" if share else "Answerable under the limits"
            found.append(bars(given, title=title, x_label="later questions that stay answerable", x_range=(0.0, 1.0)))
    return found


def _cells(one: Figure) -> list[str]:
    return [figure_text(one.value), interval_text(one.low, one.high), str(one.n)]


def _domains(report: PruningReport) -> Html:
    rows = [
        [f"{domain}: {name}", *_cells(figures[name])]
        for domain, figures in report.by_domain.items()
        for name in ("answerable", "tokens_saved", "premature_drop", "rank_correlation", "owed_kept")
        if name in figures
    ]
    return table(_FIGURES, rows, caption="Measures by domain")


def _lost(report: PruningReport) -> Html:
    if not report.lost:
        return paragraph("No later question became unanswerable.")
    columns = [Heading("conversation"), Heading("after"), Heading("question"), Heading("what it lacks")]
    rows = [[one.conversation, one.after, one.question, gone_text(one)] for one in report.lost]
    return table(columns, rows, caption="Later questions that only the full context answers")


def _comparison(first: PruningReport, other: PruningReport) -> Section:
    columns = [
        *_FIGURES,
        Heading("p, corrected", number=True),
        Heading("higher at", number=True),
        Heading("lower at", number=True),
    ]
    rows = [
        [name, *_cells(one.difference), figure_text(one.p), str(one.higher), str(one.lower)]
        for name, one in versus(first, other).items()
    ]
    caption = f"{other.spec} minus {first.spec}, moment by moment"
    return Section(f"{other.spec} against {first.spec}", [table(columns, rows, caption=caption)])
