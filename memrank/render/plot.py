"""Curves and dots in plain characters: no colour, no escape codes, any width from 20 columns on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memrank.render.axis import Axis
from memrank.text.inert import clip

NARROWEST, LOWEST = 20, 3
LARGEST = 1e300
"""Beyond it lies what is not drawn, as NaN and the infinities are not."""
LABEL = 60
GAP = 3

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points (x, y) under one mark: joined in their order by straight lines, or each by itself."""

    label: str
    points: Sequence[Point]
    mark: str
    """One character, one column wide."""
    line: bool = True


@dataclass(frozen=True, slots=True)
class _Cells:
    """An axis on so many cells."""

    axis: Axis
    cells: int

    def cell(self, value: float) -> int:
        return round(self.axis.share(value) * (self.cells - 1))


def plot(
    series: Sequence[Series],
    *,
    width: int = 80,
    height: int = 16,
    x_label: str = "",
    y_label: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> str:
    """The series over two axes, with a legend below; later ones over earlier ones. Empty where nothing can be drawn.

    `height` is that of the drawing, without axis and legend. Axes span what is drawn, or the given (low, high), low
    below high; what lies outside is not drawn. Points that are not finite are left out, and end a line. No line is
    wider than `width`, which is at least 20; labels are made inert and cut. No line break at the end.
    """
    width, height = max(width, NARROWEST), max(height, LOWEST)
    drawn = [point for one in series for point in one.points if _sound(point)]
    if not drawn:
        return ""
    y_axis = _Cells(Axis.over([y for _, y in drawn], y_range), height)
    y_ticks = {height - 1 - y_axis.cell(value): f"{value:.6g}" for value in y_axis.axis.ticks(max(2, height // 3))}
    margin = max(map(len, y_ticks.values()), default=0)
    x_axis = _Cells(Axis.over([x for x, _ in drawn], x_range), width - margin - 2)
    canvas = [[" "] * x_axis.cells for _ in range(height)]
    for one in series:
        for x, y in _cells(one, x_axis, y_axis):
            canvas[height - 1 - y][x] = one.mark
    lines = [_fitted(y_label, width)] if y_label else []
    for row, cells in enumerate(canvas):
        lines.append(f"{y_ticks.get(row, ''):>{margin}} {'┤' if row in y_ticks else '│'}{''.join(cells)}")
    lines += _x_lines(x_axis, margin + 1, x_label)
    lines += _legend(series, width)
    return "\n".join(line.rstrip() for line in lines)


def _sound(point: Point) -> bool:
    return all(abs(value) <= LARGEST for value in point)


def _cells(series: Series, x_axis: _Cells, y_axis: _Cells) -> Iterator[tuple[int, int]]:
    """The cells that a series marks: column from the left, row from below."""
    before: tuple[int, int] | None = None
    for point in series.points:
        if not (_sound(point) and x_axis.axis.holds(point[0]) and y_axis.axis.holds(point[1])):
            before = None
            continue
        here = x_axis.cell(point[0]), y_axis.cell(point[1])
        yield here
        if series.line and before is not None:
            yield from _between(before, here)
        before = here


def _between(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Cells on the straight way between two cells, without a gap."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]))
    for k in range(1, steps):
        yield tuple(round(a + (b - a) * k / steps) for a, b in zip(start, end, strict=True))  # type: ignore[misc]


def _x_lines(axis: _Cells, margin: int, label: str) -> list[str]:
    """The axis with its ticks, their numbers, and the label in the middle below."""
    rule = ["─"] * axis.cells
    numbers = [" "] * axis.cells
    free = 0
    for value in axis.axis.ticks(max(2, axis.cells // 12)):
        cell, text = axis.cell(value), f"{value:.6g}"
        rule[cell] = "┬"
        start = min(max(0, cell - len(text) // 2), axis.cells - len(text))
        if start >= free:  # never where the number is longer than the axis
            numbers[start : start + len(text)] = text
            free = start + len(text) + 1
    below = [_fitted(label, axis.cells)] if label else []
    below = [" " * ((axis.cells - _columns(text)) // 2) + text for text in below]
    return [f"{'':{margin}}└{''.join(rule)}", *(f"{'':{margin + 1}}{text}" for text in ("".join(numbers), *below))]


def _legend(series: Sequence[Series], width: int) -> list[str]:
    lines: list[str] = []
    for one in series:
        entry = _fitted(f"{one.mark} {clip(one.label, LABEL)}", width)
        if lines and _columns(lines[-1]) + GAP + _columns(entry) <= width:
            lines[-1] += " " * GAP + entry
        else:
            lines.append(entry)
    return lines


def _fitted(text: str, width: int) -> str:
    """The text on one line, cut to so many columns."""
    from rich.cells import set_cell_size

    short = clip(text, width)
    return short if _columns(short) <= width else set_cell_size(short, width)


def _columns(text: str) -> int:
    """Columns that a text takes: some characters of Unicode take two."""
    from rich.cells import cell_len

    return cell_len(text)
