"""One table of figures as aligned text and as Markdown."""

import math
from collections.abc import Sequence

from memrank.score.intervals import Estimate

SHOWN = ("nDCG@10", "R@10", "current_first", "stale@1", "must_not@10", "empty_ok")

Cells = list[list[str]]


def figure(estimate: Estimate | None, *, signed: bool = False, name: str = "") -> str:
    """`.745 [.71, .78]`, or nothing where a measure does not apply."""
    if estimate is None or math.isnan(estimate.mean):
        return ""
    low, high = estimate.low, estimate.high
    tail = f" {name}" if name else ""
    if math.isnan(low):
        return _number(estimate.mean, signed, 3) + tail
    return f"{_number(estimate.mean, signed, 3)} [{_number(low, signed, 2)}, {_number(high, signed, 2)}]{tail}"


def _number(value: float, signed: bool, digits: int) -> str:
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and not text.startswith("1") else text


def aligned(head: Sequence[str], rows: Cells) -> str:
    """Columns of even width; a blank line wherever the first column is filled."""
    table = [list(head), *rows]
    widths = [max(len(row[place]) for row in table) for place in range(len(head))]
    lines = []
    for row in table:
        if row[0] and lines:
            lines.append("")
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return "\n".join(lines)


def markdown(head: Sequence[str], rows: Cells) -> str:
    """A Markdown table; the first column is repeated on every line."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    first = ""
    for row in rows:
        first = row[0] or first
        lines.append(f"| {' | '.join([first, *row[1:]])} |")
    return "\n".join(lines)
