"""Whether calibration still holds, as text and as JSON."""

import math
from dataclasses import asdict
from typing import Any

from memrank.evals.drift import FEWEST_GROUPS, FEWEST_PAIRS, Drift, Held
from memrank.evals.report import Decile, Figure
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.text.counted import counted, verb

SCHEMA = "memrank.drift/1"


def drift_json(found: Drift) -> dict[str, Any]:
    """One JSON object. What cannot be told (NaN) is null."""
    return {
        "schema": SCHEMA,
        **_held(found),
        "sampled": found.sampled,
        "others": found.others,
        "max_ece": found.max_ece,
        "deciles": [{name: _known(value) for name, value in asdict(decile).items()} for decile in found.deciles],
        "recalibration": None if found.mended is None else found.mended.model_dump(mode="json", exclude_none=True),
        "by_class": {name: _held(held) for name, held in found.by_class.items()},
    }


def _held(held: Held) -> dict[str, Any]:
    return {
        "verdict": held.verdict,
        "reads": held.reads,
        "queries": held.groups,
        "pairs": held.pairs,
        "relevant": held.relevant,
        "said": _known(held.said),
        "ECE": {name: _known(value) for name, value in asdict(held.ece).items()},
        "Brier": {name: _known(value) for name, value in asdict(held.brier).items()},
        "p": _known(held.p),
    }


def drift_text(found: Drift, look: Look) -> str:
    """The verdict with what it rests on, a line for each tenth of relevance that was said, and one for each class."""
    lines = heading(found)
    if not found.pairs:
        return "\n".join(lines)
    columns: list[Column[Decile]] = [
        Column(title="said", cell=lambda one: f"{one.low:.1f} to {one.high:.1f}"),
        Column(title="mean", cell=lambda one: _number(one.mean)),
        Column(title="true", cell=lambda one: _number(one.share)),
    ]
    last: Column[Decile] = Column(title="n", cell=lambda one: str(one.n))
    rows = [one for one in found.deciles if one.n]
    table = grid_lines(columns, last, rows, width=table_width(look.width), colour=look.colour)
    return "\n".join([*lines, "", *table, "", *_classes(found, look)])


def _classes(found: Drift, look: Look) -> list[str]:
    columns: list[Column[tuple[str, Held]]] = [
        Column(title="class", cell=lambda row: row[0], justify="left"),
        Column(title="calibration", cell=lambda row: row[1].verdict, justify="left", style="bold"),
        Column(title="said", cell=lambda row: _number(row[1].said)),
        Column(title="true", cell=lambda row: _number(true_share(row[1]))),
        Column(title="ECE", cell=lambda row: _told(row[1].ece), from_width=60),
        Column(title="p", cell=lambda row: _number(row[1].p), from_width=80),
    ]
    last: Column[tuple[str, Held]] = Column(title="n", cell=lambda row: str(row[1].pairs))
    rows = list(found.by_class.items())
    return grid_lines(columns, last, rows, width=table_width(look.width), colour=look.colour)


def true_share(held: Held) -> float:
    """Share of the judged memories that help; NaN of none."""
    return held.relevant / held.pairs if held.pairs else math.nan


def heading(found: Drift) -> list[str]:
    """The verdict, what it rests on, and what would mend it: a sentence a line."""
    lines = [_verdict(found)]
    memories = counted(found.pairs, "judged memory", "judged memories")
    drawn = f"{found.sampled} of them drawn at random"
    lines.append(f"{memories} of {counted(found.reads, 'read')} with a decision, {drawn}")
    if found.others:
        lines.append(f"{counted(found.others, 'read')} more {verb(found.others, 'was', 'were')} judged otherwise")
    if not found.pairs:
        return lines
    lines += [
        f"said {found.said:.3f} on average, true {true_share(found):.3f}",
        f"ECE {_told(found.ece)}, Brier {_told(found.brier)}, test p {_number(found.p)}",
    ]
    if found.mended is not None and found.mended.slope is not None and found.mended.intercept is not None:
        lines.append(
            f"what was said fits the labels with a slope of {found.mended.slope:.3f} and an intercept of "
            f"{found.mended.intercept:+.3f} of its log odds: `memrank eval SPEC --calibrate` on labels as these"
        )
    return lines


def _verdict(found: Drift) -> str:
    if found.verdict == "unknown":
        needed = f"{FEWEST_PAIRS} judged memories of {FEWEST_GROUPS} different queries"
        return f"calibration: unknown; at least {needed} are needed"
    if found.verdict == "holds":
        return "calibration: holds"
    return f"calibration: broken; the error exceeds {found.max_ece:g} by more than chance"


def _known(value: float) -> float | int | None:
    return None if math.isnan(value) else value


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _told(figure: Figure) -> str:
    if math.isnan(figure.low):
        return _number(figure.value)
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
