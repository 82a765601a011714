"""Calibrations as text and as JSON: what was fitted, and what became of the held-out part."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memrank.artifact import to_dict
from memrank.evals.calibrate import FITTED_ON, HELD_OUT, TOP, Calibrated
from memrank.evals.report import Figure
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.text.counted import counted, verb

SCHEMA = "memrank.calibration/1"
SHOWN = (
    *("ECE", f"ECE@{TOP}", "Brier", "MAE_relevance", "MAE", "P@3", "nDCG@10", "R@10", "current_first", "empty_ok"),
    *("precision", "above_threshold", "review_rate"),
)
"""Rows of the table, in their order; JSON holds all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    before: Figure
    after: Figure


def calibration_json(found: Calibrated, path: str) -> dict[str, Any]:
    """One JSON object; `path` is where the artifact was written. What cannot be told (NaN) is null."""
    return {
        "schema": SCHEMA,
        "evalset": found.evalset,
        "judge": found.judge,
        "method": found.section.method,
        "chosen": found.chosen,
        "fitted": {
            "part": FITTED_ON,
            "queries": found.fitted_queries,
            "pairs": found.fitted_pairs,
            "relevant": found.fitted_relevant,
        },
        "held_out": {"part": HELD_OUT, "queries": found.held_out_queries},
        "failed": found.failed,
        "thresholds": {name: {"before": then, "after": now} for name, (then, now) in found.thresholds.items()},
        "before": _figures(found.before),
        "after": _figures(found.after),
        "out": path,
        "artifact": to_dict(found.artifact),
    }


def calibration_text(found: Calibrated, look: Look) -> str:
    """What was fitted and on how much, then a line a metric: before and after with 95 % intervals."""
    columns: list[Column[_Row]] = [
        Column(title="metric", cell=lambda row: row.name, justify="left"),
        Column(title="before", cell=lambda row: _told(row.before)),
        Column(title="after", cell=lambda row: _told(row.after), style="bold"),
        Column(title="n", cell=lambda row: str(row.after.n), from_width=80),
    ]
    rows = [_Row(name=name, before=found.before[name], after=found.after[name]) for name in shown(found)]
    text: Column[_Row] = Column(title="", cell=lambda row: MEANING.get(row.name, ""), justify="left")
    table = grid_lines(columns, text, rows, width=table_width(look.width), colour=look.colour)
    moved = [f"{name}: {then:.4g} becomes {now:.4g}" for name, (then, now) in found.thresholds.items() if then != now]
    return "\n".join([*heading(found), "", *table, *([""] if moved else []), *moved])


def shown(found: Calibrated) -> list[str]:
    """The metrics that people are shown, of those that there are."""
    return [name for name in SHOWN if name in found.before and name in found.after]


def heading(found: Calibrated) -> list[str]:
    """What was fitted on what, and what was held out: a sentence a line."""
    why = " (by the number of pairs)" if found.chosen else ""
    pairs = counted(found.fitted_pairs, "judged memory", "judged memories")
    head = [
        f"{found.evalset}: relevance of the {found.judge} judge calibrated by {found.section.method}{why}",
        f"fitted on the part {FITTED_ON}: {counted(found.fitted_queries, 'query', 'queries')}, {pairs}, "
        f"{found.fitted_relevant} of them relevant",
        f"figures of the part {HELD_OUT}, on which nothing was fitted: "
        f"{counted(found.held_out_queries, 'query', 'queries')}",
    ]
    if found.failed:
        head.append(f"{counted(found.failed, 'read')} failed and {verb(found.failed)} in no calibration")
    return head


MEANING = {
    "ECE": "of all that was judged",
    f"ECE@{TOP}": f"of the {TOP} most relevant of each read",
    "precision": "of what is at or above relevance_threshold",
    "above_threshold": "memories a read at or above relevance_threshold",
    "review_rate": "share of the reads that ask for a person",
}


def _told(figure: Figure) -> str:
    if math.isnan(figure.value):
        return "-"
    if math.isnan(figure.low):
        return f"{figure.value:.4f}"
    return f"{figure.value:.4f} [{figure.low:.4f}, {figure.high:.4f}]"


def _figures(figures: Mapping[str, Figure]) -> dict[str, dict[str, float | int | None]]:
    return {
        name: {key: None if math.isnan(value) else value for key, value in asdict(figure).items()}
        for name, figure in figures.items()
    }
