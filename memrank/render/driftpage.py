"""Whether calibration still holds, as a page: the verdict, what it rests on, and each class of question."""

from memrank.evals.drift import Drift, Held, Verdict
from memrank.render.chart import Bar, bars, reliability
from memrank.render.drift import heading, true_share
from memrank.render.evalparts import bins
from memrank.render.markup import Child, Html, figure_text, interval_text
from memrank.render.page import Heading, Section, Tile, Tone, badge, listing, page, paragraph, summary, table

TONES: dict[Verdict, Tone] = {"holds": "good", "broken": "bad", "unknown": "plain"}


def drift_page(found: Drift) -> str:
    """The whole page."""
    parts: list[Html | Section] = [
        summary(_tiles(found)),
        Section("What it rests on", [listing(heading(found))]),
        Section(
            "Reliability",
            [reliability({"logged": bins(found.deciles)}, title="Relevance that was logged, against the reviews")],
            "Every memory that a review has judged counts once. On the dashed line, what was said to be .7 relevant "
            "helped in 7 of 10 cases.",
        ),
        Section("By class", _classes(found), "A class is how much age matters to the question."),
    ]
    return page("Does calibration still hold?", parts, lead="The relevance of logged reads against their reviews.")


def _tiles(found: Drift) -> list[Tile]:
    return [
        Tile("calibration", found.verdict, f"at most {found.max_ece:g} is allowed", TONES[found.verdict]),
        Tile("ECE", figure_text(found.ece.value), interval_text(found.ece.low, found.ece.high)),
        Tile("Brier", figure_text(found.brier.value), interval_text(found.brier.low, found.brier.high)),
        Tile("said", figure_text(found.said), f"true {figure_text(true_share(found))}"),
        Tile("reads", f"{found.reads}", f"{found.sampled} drawn at random, {found.others} judged otherwise left out"),
    ]


def _classes(found: Drift) -> list[Html]:
    if not found.by_class:
        return [paragraph("No read has a label.")]
    rows: list[list[Child]] = [_row(name, held) for name, held in found.by_class.items()]
    numbers = ("said", "true", "ECE", "95 % interval", "p, corrected", "reads", "questions", "judged memories")
    heads = [Heading("class"), Heading("calibration"), *(Heading(name, number=True) for name in numbers)]
    drawn = [
        Bar(label=name, value=held.ece.value, low=held.ece.low, high=held.ece.high)
        for name, held in found.by_class.items()
    ]
    return [
        table(heads, rows, caption="Calibration by class"),
        bars(drawn, title="Calibration error by class", x_label="ECE"),
    ]


def _row(name: str, held: Held) -> list[Child]:
    return [
        name,
        badge(held.verdict, TONES[held.verdict]),
        figure_text(held.said),
        figure_text(true_share(held)),
        figure_text(held.ece.value),
        interval_text(held.ece.low, held.ece.high),
        figure_text(held.p),
        f"{held.reads}",
        f"{held.groups}",
        f"{held.pairs}",
    ]
