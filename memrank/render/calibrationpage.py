"""What calibrating was worth, as a page: before and after on held-out queries, and the thresholds that were chosen."""

from memrank.evals.calibrate import FITTED_ON, HELD_OUT, TOP, Calibrated
from memrank.render.calibration import MEANING, heading, shown
from memrank.render.chart import reliability
from memrank.render.evalparts import bins
from memrank.render.markup import Child, Html, figure_text, interval_text
from memrank.render.page import Heading, Section, Tile, Tone, facts, listing, page, summary, table
from memrank.text.counted import counted
from memrank.text.inert import clip

FIRST = ("ECE", f"ECE@{TOP}", "Brier", "P@3", "precision", "review_rate")
"""Measures that the page opens with, of those that there are."""
LESS = frozenset(("ECE", f"ECE@{TOP}", "Brier"))
"""Of these less is better: calibration is there to lower them."""
NAME = 80


def calibration_page(found: Calibrated) -> str:
    """The whole page."""
    said = {"before": bins(found.said_before), "after": bins(found.said_after)}
    parts: list[Html | Section] = [
        summary([_tile(found, name) for name in FIRST if name in shown(found)]),
        Section("What was fitted, and what was held out", [listing(heading(found)), _data(found)]),
        Section(
            "Reliability, before and after",
            [reliability(said, title=f"Relevance said on the part {HELD_OUT}, against the labels")],
            "Every held-out memory that was judged counts once for each query. On the dashed line, what was judged .7 "
            "relevant is relevant in 7 of 10 cases.",
        ),
        Section("Thresholds", [_thresholds(found)], "What the artifact says in the place of the spec."),
        Section("Measures, before and after", [_measures(found)], f"On the part {HELD_OUT}, with 95 % intervals."),
    ]
    title = f"Calibration of the {clip(found.judge, NAME)} judge on {clip(found.evalset, NAME)}"
    return page(
        title, parts, lead=f"Relevance mapped by {found.section.method}; shown on queries it was not fitted on."
    )


def _tile(found: Calibrated, name: str) -> Tile:
    then, now = found.before[name], found.after[name]
    tone: Tone = "plain"
    if name in LESS and then.value != now.value:
        tone = "good" if now.value < then.value else "bad"
    note = f"was {figure_text(then.value)}; {interval_text(now.low, now.high)}"
    return Tile(name, figure_text(now.value), note, tone)


def _data(found: Calibrated) -> Html:
    pairs = counted(found.fitted_pairs, "judged memory", "judged memories")
    return facts(
        [
            ("evalset", clip(found.evalset, NAME)),
            (f"fitted on {FITTED_ON}", f"{counted(found.fitted_queries, 'query', 'queries')}, {pairs}"),
            (f"held out {HELD_OUT}", counted(found.held_out_queries, "query", "queries")),
            ("queries.jsonl", found.artifact.data["queries_sha256"][:12]),
            ("store version", found.artifact.data["store_version"][:12]),
        ]
    )


def _thresholds(found: Calibrated) -> Html:
    rows: list[list[Child]] = [
        [name, f"{then:.4g}", f"{now:.4g}", "as it was" if then == now else "changed"]
        for name, (then, now) in found.thresholds.items()
    ]
    heads = [Heading("threshold"), Heading("before", number=True), Heading("after", number=True), Heading("result")]
    return table(heads, rows, caption="Thresholds, of what is said and of what is calibrated")


def _measures(found: Calibrated) -> Html:
    rows: list[list[Child]] = []
    for name in shown(found):
        then, now = found.before[name], found.after[name]
        cells = [cell for one in (then, now) for cell in (figure_text(one.value), interval_text(one.low, one.high))]
        rows.append([name, *cells, f"{now.n}", MEANING.get(name, "")])
    names = ("before", "95 % interval", "after", "95 % interval", "n")
    heads = [Heading("measure"), *(Heading(name, number=True) for name in names), Heading("says")]
    return table(heads, rows, caption="Measures of held-out queries")
