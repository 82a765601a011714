"""A compilation as a page: what was found and how, what decided, decay over the data by age, calibration, metrics."""

from memrank.evals.measure import lower_is_better
from memrank.evals.report import Figure
from memrank.render.chart import Bar, Curve, bars, interval, line_plot
from memrank.render.compiling import changed, gain_text, heading, shown, value_text
from memrank.render.evalparts import calibration, decay
from memrank.render.markup import Child, Html, figure_text, interval_text
from memrank.render.page import (
    Heading,
    Section,
    Tile,
    Tone,
    badge,
    facts,
    listing,
    page,
    paragraph,
    subheading,
    summary,
    table,
)
from memrank.text.inert import clip
from memrank.tune.compilation import Candidate, Compiled

NAME = 80
Z = 1.96


def compile_page(found: Compiled) -> str:
    """The whole page."""
    before, after = found.shown
    now = decay(after)
    parts: list[Html | Section] = [
        summary([_answer(found), *(_tile(found, name) for name in shown(found)[:6])]),
        Section("What came of it", [listing(heading(found)), _notes(found)]),
        Section("Measures, before and after", [_measures(found)], f"On the part {before.part}, with 95 % intervals."),
        Section("Parameters", _parameters(found)),
        Section("What was chosen from", [_candidates(found)], "Measured by the whole pipeline, best first."),
        Section("Search", [_history(found)], "The best so far, on the part that was searched on."),
        *([Section("Learning curve", [_learning(found)], LEARNING)] if found.learning else []),
        calibration([("before", before), ("after", after)]),
        Section("Decay, as it is now", [subheading("Before"), *decay(before).blocks, subheading("After"), *now.blocks]),
        Section("Data", [_data(found)]),
    ]
    title = f"Compilation of {clip(found.spec.name, NAME)} on {clip(found.evalset, NAME)}"
    return page(title, parts, lead="Settings searched on one part, chosen on another, reported on a third.")


LEARNING = (
    "Searches on growing shares of the labels, measured on queries that they never saw. Where the curve still rises at "
    "its right end, more labels would bring more."
)


def _answer(found: Compiled) -> Tile:
    tone: Tone = "good" if found.accepted else "plain"
    gain = found.gain or (found.candidates[0].gain if found.candidates else None)
    return Tile(
        "result", "improved" if found.accepted else "no improvement found", gain_text(gain) if gain else "", tone
    )


def _tile(found: Compiled, name: str) -> Tile:
    was, now = (one.figures[name] for one in found.shown)
    tone: Tone = "plain"
    if found.accepted and was.value != now.value:
        tone = "good" if (now.value < was.value) == lower_is_better(name) else "bad"
    note = f"was {figure_text(was.value)}; {interval_text(now.low, now.high)}"
    return Tile(name, figure_text(now.value), note, tone)


def _notes(found: Compiled) -> Html:
    return listing([clip(note, 400) for note in found.notes]) if found.notes else paragraph("There is nothing to note.")


def _measures(found: Compiled) -> Html:
    rows: list[list[Child]] = []
    for name in shown(found):
        was, now = (one.figures[name] for one in found.shown)
        rows.append([name, *_cells(was), *_cells(now), f"{now.n}", interval(now.value, now.low, now.high)])
    names = ("before", "95 % interval", "after", "95 % interval", "n")
    heads = [Heading("measure"), *(Heading(name, number=True) for name in names), Heading("0 to 1")]
    return table(heads, rows, caption="Measures before and after")


def _cells(one: Figure) -> list[Child]:
    return [figure_text(one.value), interval_text(one.low, one.high)]


def _parameters(found: Compiled) -> list[Html]:
    values = changed(found)
    if not values:
        return [paragraph("Every value is as it was.")]
    flat = {one.path: one for one in found.sensitivity}
    rows: list[list[Child]] = []
    for path, (was, now) in values.items():
        one = flat.get(path)
        span = "" if one is None else f"{value_text(path, one.low)} to {value_text(path, one.high)}"
        rows.append([clip(path, NAME), value_text(path, was), value_text(path, now), span])
    heads = [Heading("parameter"), *(Heading(name, number=True) for name in ("before", "after", "as good"))]
    blocks = [table(heads, rows, caption="Values before and after, and the range that is as good within one error")]
    if found.sensitivity:
        given = [
            Bar(
                label=one.path,
                value=one.importance,
                low=one.importance - Z * one.error,
                high=one.importance + Z * one.error,
            )
            for one in found.sensitivity
        ]
        title = "What the objective loses where one value goes back"
        blocks.append(bars(given, title=title, x_label="objective, on what was searched"))
    return blocks


def _candidates(found: Compiled) -> Html:
    named: list[tuple[str, Candidate]] = [("as it was", found.start)]
    named += [(f"found, {at}", one) for at, one in enumerate(found.candidates, start=1)]
    rows: list[list[Child]] = [
        [
            name,
            figure_text(one.objective),
            "" if one.gain is None else gain_text(one.gain),
            badge("kept", "good") if not one.missed else badge("missed", "bad"),
            "; ".join(map(str, one.missed)),
        ]
        for name, one in named
    ]
    heads = [Heading("setting"), Heading("objective", number=True), Heading("gain"), Heading("constraints")]
    return table([*heads, Heading("which")], rows, caption="Settings on queries that they were not found on")


def _history(found: Compiled) -> Html:
    points = [(float(one.evaluations), one.objective) for one in found.found.history]
    title, x_label = "Best objective so far", "settings tried"
    return line_plot([Curve(label="best so far", points=points)], title=title, x_label=x_label, y_label="objective")


def _learning(found: Compiled) -> Html:
    curves = [
        Curve(
            label="on queries that were not seen", points=[(float(one.queries), one.held_out) for one in found.learning]
        ),
        Curve(label="on what was searched", points=[(float(one.queries), one.fitted) for one in found.learning]),
    ]
    title, x_label = "What more labels bring", "queries that were searched on"
    return line_plot(curves, title=title, x_label=x_label, y_label="objective")


def _data(found: Compiled) -> Html:
    parts = found.parts
    return facts(
        [
            ("evalset", clip(found.evalset, NAME)),
            ("parts", f"{parts.how}: {len(parts.fit)} fit, {len(parts.choose)} choose, {len(parts.report)} report"),
            ("queries.jsonl", found.shown[0].queries_sha256[:12]),
            ("objective", clip(str(dict(found.section.weights)), 200)),
            ("seed", f"{found.section.seed}"),
            ("report part read", f"{found.report_reads} times"),
        ]
    )
