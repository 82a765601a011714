"""Parts of an evaluation's page that tell of one report: measures, gates, calibration, scores, worst queries."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from memrank.evals.compare import RANKED_BY
from memrank.evals.labels import Labelled
from memrank.evals.measure import lower_is_better
from memrank.evals.outcome import Failed, Judged, Outcome, Scored, Unscored
from memrank.evals.report import Decile, Figure, Report
from memrank.render.chart import Bin, Curve, Point, histogram, interval, line_plot, reliability
from memrank.render.markup import NONE, Child, Html, figure_text, interval_text, join
from memrank.render.page import (
    Heading,
    Section,
    Tile,
    Tone,
    badge,
    details,
    facts,
    listing,
    paragraph,
    side_by_side,
    subheading,
    summary,
    table,
)
from memrank.text.counted import counted
from memrank.text.inert import clip

FIRST = (
    "P@3",
    "nDCG@10",
    "MRR",
    "current_first",
    "must_not@10",
    "empty_ok",
    "MAE_combined",
    "ECE",
    "leaks",
    "latency_p95",
)
"""Measures that the page opens with, of those that there are."""
BY_CATEGORY = ("nDCG@10", "P@3", "R@10", "MRR", "current_first", "stale@1", "must_not@10", "empty_ok", "MAE_combined")
WORST = 20
"""Queries that are shown as the worst."""
WANTED = 10
"""Relevant memories of such a query that are followed."""
CURVE = 100
"""Points that a curve is drawn of."""
AGES = 10
"""Groups of equal size that ages are put in."""
TEXT, ID = 300, 80
TONES: Mapping[bool | None, Tone] = {True: "good", False: "bad", None: "plain"}
"""Of a gate that holds, one that fails, and none."""


def about(report: Report) -> Html:
    """What was evaluated on what."""
    left = [counted(report.scored, "query", "queries") + " scored"]
    left += [f"{report.failed} failed (each counts as the worst answer)"] if report.failed else []
    left += [f"{report.unscored} without labels"] if report.unscored else []
    pairs = [
        ("evalset", f"{report.evalset}, part {report.part}"),
        ("spec", f"{report.spec} ({report.spec_sha256[:12]})"),
        ("queries", ", ".join(left)),
        ("queries.jsonl", report.queries_sha256[:12]),
        ("store version", report.store_version[:12]),
        ("intervals", f"95 %, {report.resamples} resamples by {report.unit}, seed {report.seed}"),
    ]
    return facts([(name, clip(value, TEXT)) for name, value in pairs])


def tiles(report: Report) -> Html:
    """The numbers to read first: of a gate whether it holds."""
    tones = {gate.metric: gate.passed for gate in report.gates}
    gates = sum(tones.values())
    found = []
    if report.gates:
        good = gates == len(report.gates)
        note = "every gate holds" if good else "a gate fails"
        found.append(Tile("gates", f"{gates} of {len(report.gates)}", note, "good" if good else "bad"))
    for name in FIRST:
        figure = report.figures.get(name)
        if figure is not None:
            found.append(Tile(name, figure_text(figure.value), _note(figure), TONES[tones.get(name)]))
    return summary(found)


def _note(figure: Figure) -> str:
    return f"{interval_text(figure.low, figure.high)}, n {figure.n}"


def measures_section(report: Report) -> Section:
    """Every measure with its interval and how many it is over."""
    rows: list[list[Child]] = [
        [
            name,
            "less" if lower_is_better(name) else "more",
            figure_text(one.value),
            interval_text(one.low, one.high),
            f"{one.n}",
            interval(one.value, one.low, one.high) if _is_share(name) else "",
        ]
        for name, one in report.figures.items()
    ]
    heads = [
        Heading("measure"),
        Heading("better"),
        *(Heading(name, number=True) for name in ("value", "95 % interval", "n")),
        Heading("0 to 1"),
    ]
    blocks = [table(heads, rows, caption="Measures of all queries that they apply to")]
    return Section("Measures", [*blocks, *_gates(report)])


def _is_share(measure: str) -> bool:
    return measure != "leaks" and not measure.startswith(("latency_", "lm_", "cost_"))


def _gates(report: Report) -> list[Html]:
    if not report.gates:
        return []
    rows: list[list[Child]] = [
        [
            gate.metric,
            _bound("at least", gate.low, "at most", gate.high),
            figure_text(gate.value) if gate.value is not None else "nothing measured",
            badge("holds", "good") if gate.passed else badge("fails", "bad"),
        ]
        for gate in report.gates
    ]
    heads = [Heading("measure"), Heading("gate"), Heading("value", number=True), Heading("result")]
    return [subheading("Gates"), table(heads, rows, caption="Gates of the spec")]


def _bound(least: str, low: float | None, most: str, high: float | None) -> str:
    parts = [f"{least} {low:g}"] if low is not None else []
    parts += [f"{most} {high:g}"] if high is not None else []
    return ", ".join(parts)


def calibration(named: Sequence[tuple[str, Report]]) -> Section:
    """Whether the relevance that was judged means what it says."""
    said = {name: bins(report.deciles) for name, report in named}
    blocks = [reliability(said, title="Relevance that was judged, against the labels")]
    curves = [
        Curve(label=name, points=_thinned([(one.coverage, one.risk) for one in report.risk_coverage]), dots=False)
        for name, report in named
        if report.risk_coverage
    ]
    if curves:
        title = "Risk, if only the queries with the highest top scores were answered"
        blocks.append(
            line_plot(
                curves,
                title=title,
                x_label="share of the queries that are answered",
                y_label="first result is not relevant",
                x_range=(0, 1),
                y_range=(0, 1),
            )
        )
    return Section(
        "Calibration",
        [side_by_side(*blocks)],
        "Every memory that was judged counts once for each query. On the dashed line, what was judged .7 relevant is "
        "relevant in 7 of 10 cases.",
    )


def bins(deciles: Sequence[Decile]) -> list[Bin]:
    """Tenths of what was said as points of a reliability diagram."""
    return [Bin(said=one.mean, seen=one.share, n=one.n) for one in deciles if one.n]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """About CURVE of them at the most, the last one among them."""
    step = max(1, len(points) // CURVE)
    return [*points[:-1:step], *points[-1:]]


def distributions(report: Report) -> Section:
    """Scores of what is relevant against those of what is not."""
    judged = _judged(report.outcomes)
    if not judged:
        return Section("Scores", [paragraph("No read succeeded.")])
    relevant = np.concatenate([one.true for one in judged])
    blocks = []
    for title, values in (
        ("Relevance", np.concatenate([one.relevance for one in judged])),
        ("Final score", np.concatenate([one.score for one in judged])),
    ):
        groups = {"relevant": values[relevant], "not relevant": values[~relevant]}
        blocks.append(
            histogram(groups, title=f"{title} of what speaks to the question, and of the rest", x_label=title)
        )
    return Section(
        "Scores", [side_by_side(*blocks)], "The less the two groups overlap, the better a threshold tells them apart."
    )


def decay(report: Report) -> Section:
    """Freshness that the pipeline gave, against how often memories of that age are relevant."""
    intro = (
        "Memories in groups of equal size by their age. Where freshness falls and the share that is relevant does not, "
        "the pipeline forgets too soon. The share is drawn relative to that of the best group: 1 is its highest value."
    )
    judged = _judged(report.outcomes)
    ages = np.concatenate([one.age_days for one in judged]) if judged else np.zeros(0)
    dated = np.isfinite(ages)
    if not dated.any():
        return Section("Decay", [paragraph("No memory that was judged has a date.")])
    freshness = np.concatenate([one.freshness for one in judged])[dated]
    relevant = np.concatenate([one.relevant for one in judged])[dated]
    ages = ages[dated]
    groups = [group for group in np.array_split(np.argsort(ages, kind="stable"), AGES) if len(group)]
    middle = [float(np.median(ages[group])) for group in groups]
    given = [float(freshness[group].mean()) for group in groups]
    shares = [float(relevant[group].mean()) for group in groups]
    best = max(shares) or math.nan
    curves = [
        Curve(label="freshness that was given (mean)", points=list(zip(middle, given, strict=True))),
        Curve(
            label="share that is relevant, relative to the best group",
            points=[(age, share / best) for age, share in zip(middle, shares, strict=True)],
        ),
    ]
    plotted = line_plot(
        curves,
        title="Freshness and relevance by age",
        x_label="age in days (median of the group)",
        y_label="0 to 1",
        y_range=(0, 1),
    )
    rows: list[list[Child]] = [
        [
            f"{figure_text(float(ages[group].min()))} to {figure_text(float(ages[group].max()))}",
            figure_text(mean),
            f"{100 * share:.2f} %",
            f"{len(group)}",
        ]
        for group, mean, share in zip(groups, given, shares, strict=True)
    ]
    heads = [Heading("age in days"), *(Heading(name, number=True) for name in ("mean freshness", "relevant", "n"))]
    return Section("Decay", [plotted, table(heads, rows, caption="Groups by age")], intro)


def _judged(outcomes: Iterable[Outcome]) -> list[Judged]:
    return [outcome.judged for outcome in outcomes if isinstance(outcome, Scored) and outcome.judged.ids]


def categories(report: Report) -> Section | None:
    """The main measures of each category; None where there are no categories."""
    if not report.by_category:
        return None
    shown = [name for name in BY_CATEGORY if any(name in one for one in report.by_category.values())]
    rows: list[list[Child]] = [
        [clip(category, TEXT), *(_cell(figures.get(name)) for name in shown)]
        for category, figures in report.by_category.items()
    ]
    heads = [Heading("category"), *(Heading(name, number=True) for name in shown)]
    intro = "Value (n). Intervals of small categories are wide: they are in the answer of --json."
    return Section("Categories", [table(heads, rows, caption="Measures by category")], intro)


def _cell(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure_text(figure.value)} ({figure.n})"


def worst(report: Report, labels: Mapping[str, Labelled]) -> Section:
    """The queries that were answered worst, with what was wanted and what came instead."""
    ranked = [(_value(outcome), outcome) for outcome in report.outcomes]
    # What failed comes first, then the lowest value; the sort keeps the order of the set among equals.
    bad = sorted((one for one in ranked if one[0] < 1), key=lambda one: (not isinstance(one[1], Failed), one[0]))
    shown = [query_details(outcome, labels.get(outcome.query_id)) for _, outcome in bad[:WORST]]
    more = [paragraph(f"{len(bad) - WORST} more are below 1.")] if len(bad) > WORST else []
    intro = f"By {RANKED_BY[0]}; by {RANKED_BY[1]} where nothing is relevant."
    left = [one for one in report.outcomes if isinstance(one, Unscored)]
    names = [listing([f"{clip(one.query_id, TEXT)}: {clip(one.why, TEXT)}" for one in left])]
    without = [details(f"{counted(len(left), 'query', 'queries')} without labels", *names)] if left else []
    return Section(
        "Worst queries", [*(shown or [paragraph("There are none: every value is 1.")]), *more, *without], intro
    )


def _value(outcome: Outcome) -> float:
    """NaN where no measure tells."""
    if isinstance(outcome, Unscored):
        return math.nan
    return next((outcome.values[name] for name in RANKED_BY if name in outcome.values), math.nan)


def query_details(outcome: Outcome, query: Labelled | None) -> Html:
    """One query, opened on demand: its measures, what was wanted and where it is, the first results and why."""
    value = _value(outcome)
    asked = clip(str(query.asked.get("query", "")), TEXT) if query else ""
    label = join(
        [badge("failed", "bad") if isinstance(outcome, Failed) else figure_text(value), " ", asked or outcome.query_id]
    )
    return details(label, *query_blocks(outcome, query))


def query_blocks(outcome: Outcome, query: Labelled | None) -> list[Html]:
    """What is known of the answer to one query."""
    pairs: list[tuple[str, Child]] = [("query", clip(outcome.query_id, TEXT))]
    if query is not None:
        pairs += [("category", clip(query.category, TEXT))] if query.category else []
        pairs += [("as of", clip(str(query.asked["as_of"]), TEXT))] if query.asked.get("as_of") else []
    if isinstance(outcome, Unscored):
        return [facts(pairs), paragraph(outcome.why)]
    values = [(name, figure_text(value)) for name, value in outcome.values.items()]
    blocks = [facts(pairs), facts(values, small=True)]
    if isinstance(outcome, Failed):
        return [*blocks, paragraph(f"{outcome.code}: {outcome.message}")]
    if query is not None:
        blocks.append(_wanted(outcome.judged, query))
    rows: list[list[Child]] = [
        [clip(name, ID), figure_text(score), _kind(name, query), clip(why, TEXT)] for name, score, why in outcome.top
    ]
    heads = [Heading("id"), Heading("score", number=True), Heading("labelled"), Heading("why")]
    first = table(heads, rows, caption="First results") if rows else paragraph("Nothing was returned.")
    return [*blocks, first]


def _wanted(judged: Judged, query: Labelled) -> Html:
    if not query.relevant:
        return paragraph("Nothing is relevant: the right answer is empty.")
    place = {name: at for at, name in enumerate(judged.ids)}
    names = sorted(query.relevant, key=lambda name: (-query.relevant[name], place.get(name, len(place))))[:WANTED]
    rows: list[list[Child]] = []
    for name in names:
        at = place.get(name)
        rank = "not judged" if at is None else f"{at + 1}" if at < judged.returned else "excluded"
        numbers = (
            [NONE] * 3
            if at is None
            else [figure_text(float(one[at])) for one in (judged.relevance, judged.freshness, judged.score)]
        )
        rows.append([clip(name, ID), f"{query.relevant[name]:g}", rank, *numbers])
    titles = ("grade", "rank", "relevance", "freshness", "score")
    heads = [Heading("id"), *(Heading(title, number=True) for title in titles)]
    return table(heads, rows, caption=f"What is relevant ({len(query.relevant)} in all)")


def _kind(name: str, query: Labelled | None) -> str:
    if query is None:
        return NONE
    kinds = [
        label
        for label, ids in (("relevant", query.relevant), ("outdated", query.stale), ("must not", query.must_not))
        if name in ids
    ]
    return ", ".join(kinds) or NONE
