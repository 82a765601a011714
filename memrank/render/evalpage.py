"""The HTML page of an evaluation: of one report, or of several with their differences."""

import math
from collections.abc import Sequence
from dataclasses import replace

from memrank.evals.compare import Against, Change, Comparison, Difference
from memrank.evals.labels import Labelled
from memrank.evals.measure import lower_is_better
from memrank.evals.outcome import Outcome
from memrank.evals.report import Report
from memrank.render import evalparts
from memrank.render.chart import interval
from memrank.render.markup import Child, Html, element, figure_text, interval_text, join, signed
from memrank.render.page import (
    Heading,
    Section,
    Tile,
    Tone,
    badge,
    details,
    page,
    paragraph,
    side_by_side,
    subheading,
    summary,
    table,
)
from memrank.text.counted import counted, distinct
from memrank.text.inert import clip

REGRESSIONS = 20
"""Queries that are shown, of each pipeline, as those that lost the most."""
NAME = 80
TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "even": "plain"}


def report_page(report: Report, queries: Sequence[Labelled] = (), extra: Sequence[Html | Section] = ()) -> str:
    """The page of one report. With its queries, it shows what was asked and what was wanted; `extra` stands last."""
    labels = {query.id: query for query in queries}
    parts = [
        evalparts.about(report),
        evalparts.tiles(report),
        evalparts.measures_section(report),
        evalparts.calibration([(clip(report.spec, NAME), report)]),
        evalparts.distributions(report),
        evalparts.decay(report),
        evalparts.categories(report),
        evalparts.worst(report, labels),
        *extra,
    ]
    title = f"{clip(report.spec, NAME)} on {clip(report.evalset, NAME)}"
    return page(title, [part for part in parts if part is not None], lead="An evaluation by memrank.")


def comparison_page(
    comparison: Comparison, queries: Sequence[Labelled] = (), extra: Sequence[Html | Section] = ()
) -> str:
    """The page of several reports: their measures side by side, differences, lost queries, then each by itself."""
    labels = {query.id: query for query in queries}
    comparison = _shown(comparison)
    named = comparison.named
    parts: list[Html | Section] = [
        _verdicts(comparison),
        _side_by_side(named),
        *(_differences(other, comparison) for other in comparison.others),
        *(_changes(other, comparison, labels) for other in comparison.others),
        evalparts.calibration(named),
        *(_alone(name, report) for name, report in named),
        *extra,
    ]
    title = f"{counted(len(named), 'pipeline')} on {clip(comparison.first.evalset, NAME)}"
    return page(title, parts, lead=f"A comparison by memrank; every difference is against {comparison.name}.")


def _shown(comparison: Comparison) -> Comparison:
    """The comparison with names that fit, still no two the same."""
    first, *names = distinct(clip(name, NAME) for name, _ in comparison.named)
    others = [replace(other, name=name) for other, name in zip(comparison.others, names, strict=True)]
    return replace(comparison, name=first, others=tuple(others))


def _verdicts(comparison: Comparison) -> Html:
    tiles = []
    for other in comparison.others:
        better = sum(one.verdict == "better" for one in other.differences)
        worse = sum(one.verdict == "worse" for one in other.differences)
        tone: Tone = "bad" if worse else "good" if better else "plain"
        note = f"of {counted(len(other.differences), 'measure')}; {_record(other)}"
        tiles.append(Tile(other.name, f"{better} better, {worse} worse", note, tone))
    return summary(tiles)


def _record(other: Against) -> str:
    won = sum(change.gain > 0 for change in other.changes)
    lost = sum(change.gain < 0 for change in other.changes)
    return f"{counted(won, 'query', 'queries')} won, {lost} lost"


def _side_by_side(named: Sequence[tuple[str, Report]]) -> Section:
    measures = list(dict.fromkeys(name for _, report in named for name in report.figures))
    rows: list[list[Child]] = [
        [name, "less" if lower_is_better(name) else "more", *(_figure(report, name) for _, report in named)]
        for name in measures
    ]
    heads = [Heading("measure"), Heading("better"), *(Heading(name, number=True) for name, _ in named)]
    gates = [
        paragraph(f"{name}: {sum(gate.passed for gate in report.gates)} of {len(report.gates)} gates hold.")
        for name, report in named
        if report.gates
    ]
    return Section("Side by side", [table(heads, rows, caption="Value, 95 % interval, n"), *gates])


def _figure(report: Report, name: str) -> str:
    one = report.figures.get(name)
    return "–" if one is None else f"{figure_text(one.value)} ({interval_text(one.low, one.high)}, n {one.n})"


def _differences(other: Against, comparison: Comparison) -> Section:
    titles = ("first", "other", "difference", "95 % interval", "p, corrected", "n", "won", "tied", "lost")
    heads = [Heading("measure"), Heading("result"), *(Heading(title, number=True) for title in titles)]
    tested = [one for one in other.differences if not math.isnan(one.p)]
    ends = [abs(end) for one in tested for end in (one.low, one.difference, one.high)]
    most = max(filter(math.isfinite, ends), default=0) or 1.0
    rows = [_difference(one, most if one in tested else None) for one in other.differences]
    intro = (
        f"{other.name} minus {comparison.name}, on the queries that both have the measure for. "
        f"The p-values are two-sided, from {comparison.resamples} resamples by {comparison.first.unit}, corrected for "
        f"{counted(comparison.tests, 'test')} (Holm). Costs and latencies are not tested."
    )
    caption = f"{other.name}: paired differences"
    heads.append(Heading(f"-{figure_text(most)} to {figure_text(most)}"))
    return Section(f"{other.name}: differences", [table(heads, rows, caption=caption)], intro)


def _difference(one: Difference, most: float | None) -> list[Child]:
    return [
        one.measure,
        badge(one.told, TONES[one.verdict]),
        figure_text(one.first),
        figure_text(one.other),
        signed(one.difference),
        interval_text(one.low, one.high),
        figure_text(one.corrected),
        f"{one.n}",
        f"{one.wins}",
        f"{one.ties}",
        f"{one.losses}",
        "" if most is None else interval(one.difference, one.low, one.high, (-most, most)),
    ]


def _changes(other: Against, comparison: Comparison, labels: dict[str, Labelled]) -> Section:
    before = {outcome.query_id: outcome for outcome in comparison.first.outcomes}
    after = {outcome.query_id: outcome for outcome in other.report.outcomes}
    lost = [change for change in other.changes if change.gain < 0]
    won = [change for change in reversed(other.changes) if change.gain > 0]
    names = comparison.name, other.name
    blocks = [_change(one, names, before[one.query_id], after[one.query_id], labels) for one in lost[:REGRESSIONS]]
    if not lost:
        blocks.append(paragraph("No query lost anything."))
    elif len(lost) > REGRESSIONS:
        blocks.append(paragraph(f"{len(lost) - REGRESSIONS} more lost less."))
    if won:
        gained = [_change(one, names, before[one.query_id], after[one.query_id], labels) for one in won[:REGRESSIONS]]
        blocks.append(details(f"{counted(len(won), 'query', 'queries')} won, the largest gain first", *gained))
    intro = f"By {', else '.join(comparison.ranked_by)}; the largest loss first."
    return Section(f"{other.name}: lost queries", blocks, intro)


def _change(
    change: Change, names: tuple[str, str], before: Outcome, after: Outcome, labels: dict[str, Labelled]
) -> Html:
    query = labels.get(change.query_id)
    asked = clip(str(query.asked.get("query", "")), NAME * 3) if query else ""
    tone: Tone = "good" if change.gain > 0 else "bad"
    label = join(
        [
            badge(f"{figure_text(change.first)} to {figure_text(change.other)}", tone),
            " ",
            badge("failed", "bad") if change.failed else "",
            f" {asked or clip(change.query_id, NAME)}",
        ]
    )
    sides = [
        element("div", subheading(name), *evalparts.query_blocks(outcome, query))
        for name, outcome in zip(names, (before, after), strict=True)
    ]
    return details(label, side_by_side(*sides))


def _alone(name: str, report: Report) -> Section:
    """What only one report tells."""
    parts = [
        evalparts.measures_section(report),
        evalparts.distributions(report),
        evalparts.decay(report),
        evalparts.categories(report),
    ]
    blocks = [
        details(part.heading, *([paragraph(part.intro)] if part.intro else []), *part.blocks)
        for part in parts
        if part is not None
    ]
    return Section(name, [evalparts.about(report), *blocks])
