"""Drawings of a page as inline SVG, each with its numbers as a table below it.

Colours follow the page; dashes, shapes and fillings tell the same as colours do. Values that are not finite are left
out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memrank.render.axis import Axis
from memrank.render.markup import Attribute, Child, Html, element, figure_text, interval_text
from memrank.render.page import Heading, details, paragraph, table
from memrank.text.inert import clip

WIDTH, HEIGHT = 640.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 16.0, 12.0, 44.0
ROW = 22.0
"""Height of a bar with the space around it, and of a line of a legend."""
LABEL = 48
CHARACTER = 6.6
"""About what a character of a label takes."""
STYLES = 6
DOT = 3.5
TOWER, CUT = 2.0, 4
"""A bin is cut where it is more than twice as high as the fifth highest."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Points (x, y) joined in their order, or dots only."""

    label: str
    points: Sequence[Point]
    line: bool = True
    dots: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A value, with its interval where it has one."""

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """What was said with about the same probability: its mean, what share of it was so, and how many they are."""

    said: float
    seen: float
    n: int


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values stand on the drawing."""

    x: Axis
    y: Axis
    left: float = LEFT
    height: float = HEIGHT

    def across(self, value: float) -> float:
        return self.left + self.x.share(value) * (WIDTH - RIGHT - self.left)

    def up(self, value: float) -> float:
        return TOP + (1 - self.y.share(value)) * (self.height - TOP - BOTTOM)


def line_plot(
    curves: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> Html:
    """Curves over two axes that span what is drawn, or the given (low, high); what lies outside is left out."""
    kept = [(one, [point for point in one.points if all(map(math.isfinite, point))]) for one in curves]
    points = [point for _, found in kept for point in found]
    if not points:
        return _nothing(title)
    frame = _Frame(Axis.over([x for x, _ in points], x_range), Axis.over([y for _, y in points], y_range))
    inside = [(one, [p for p in found if frame.x.holds(p[0]) and frame.y.holds(p[1])]) for one, found in kept]
    marks = [mark for at, (one, found) in enumerate(inside) for mark in _curve(frame, one, found, at)]
    swatch = [(one.label, "line" if one.line else "dot") for one in curves]
    rows = [[one.label, figure_text(x), figure_text(y)] for one, found in inside for x, y in found]
    heads = [Heading("series"), Heading(x_label, number=True), Heading(y_label, number=True)]
    return _figure([*_axes(frame, x_label, y_label), *marks], swatch, title, heads, rows)


def _curve(frame: _Frame, curve: Curve, points: Sequence[Point], at: int) -> list[Html]:
    style, placed = f"s{at % STYLES}", [(frame.across(x), frame.up(y)) for x, y in points]
    marks = []
    if curve.line and len(placed) > 1:
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        marks.append(element("polyline", points=way, class_=f"{style} curve"))
    if curve.dots or len(placed) == 1:
        marks += [_dot(x, y, at) for x, y in placed]
    return marks


def _dot(x: float, y: float, at: int, size: float = DOT) -> Html:
    """Round for every second series, square for the others."""
    if at % 2 == 0:
        return element("circle", cx=x, cy=y, r=size, class_=f"s{at % STYLES} dot")
    side = 2 * size - 1
    return element("rect", x=x - side / 2, y=y - side / 2, width=side, height=side, class_=f"s{at % STYLES} dot")


def reliability(groups: Mapping[str, Sequence[Bin]], *, title: str) -> Html:
    """What was said against what was so; on the dashed line both are equal. Larger dots stand for more."""
    kept = {name: [one for one in bins if one.n and _sound(one.said, one.seen)] for name, bins in groups.items()}
    most = max((one.n for bins in kept.values() for one in bins), default=0)
    if not most:
        return _nothing(title)
    frame = _Frame(Axis(low=0, high=1), Axis(low=0, high=1))
    marks = [element("line", x1=frame.across(0), y1=frame.up(0), x2=frame.across(1), y2=frame.up(1), class_="even")]
    for at, bins in enumerate(kept.values()):
        way = Curve(label="", points=[(one.said, one.seen) for one in bins], dots=False)
        marks += _curve(frame, way, way.points, at) if len(bins) > 1 else []
        marks += [_dot(frame.across(b.said), frame.up(b.seen), at, 3 + 5 * math.sqrt(b.n / most)) for b in bins]
    rows = [
        [name, figure_text(one.said), figure_text(one.seen), f"{one.n}"] for name, bins in kept.items() for one in bins
    ]
    heads = [Heading("series"), *(Heading(name, number=True) for name in ("said", "was so", "n"))]
    axes = _axes(frame, "probability that was said", "share that was relevant")
    return _figure([*axes, *marks], [(name, "line") for name in kept], title, heads, rows)


def histogram(
    groups: Mapping[str, ArrayLike],
    *,
    title: str,
    x_label: str,
    bins: int = 20,
    x_range: tuple[float, float] = (0.0, 1.0),
) -> Html:
    """What share of each group lies in each of `bins` equal parts of the range; at its ends also what lies beyond."""
    axis = Axis(low=x_range[0], high=x_range[1])
    shares = {name: found for name, values in groups.items() if (found := _shares(values, axis, bins))}
    if not shares:
        return _nothing(title)
    edges = [axis.low + (axis.high - axis.low) * k / bins for k in range(bins + 1)]
    frame = _Frame(axis, Axis(low=0, high=_highest([share for found in shares.values() for share in found])))
    marks = [
        _column(frame, (edges[k], edges[k + 1]), share, at)
        for at, found in enumerate(shares.values())
        for k, share in enumerate(found)
        if share > 0
    ]
    counts = {name: len(_finite(groups[name])) for name in shares}
    heads = [Heading(x_label), *(Heading(f"{name} (n {counts[name]})", number=True) for name in shares)]
    rows = [
        [interval_text(edges[k], edges[k + 1]), *(f"{100 * found[k]:.1f} %" for found in shares.values())]
        for k in range(bins)
    ]
    top = frame.y.high
    swatch = [(f"{name} (n {counts[name]}){_cut(found, edges, top)}", "fill") for name, found in shares.items()]
    return _figure([*_axes(frame, x_label, "share of the group"), *marks], swatch, title, heads, rows)


def _highest(shares: Sequence[float]) -> float:
    """The top of the axis. Few bins that tower above all others are cut, so that the others can be seen."""
    rising = sorted(shares)
    towers = [share for share in rising if share > TOWER * rising[-1 - CUT]] if len(rising) > CUT else []
    rest = rising[: len(rising) - len(towers)]
    return 1.1 * (rest[-1] if towers and rest[-1] > 0 else rising[-1])


def _column(frame: _Frame, edges: tuple[float, float], share: float, at: int) -> Html:
    left, right = frame.across(edges[0]) + 0.5, frame.across(edges[1]) - 0.5
    top, floor = frame.up(share), frame.up(0)
    return element("rect", x=left, y=top, width=right - left, height=floor - top, class_=f"s{at % STYLES} fill")


def _cut(found: Sequence[float], edges: Sequence[float], top: float) -> str:
    """What the legend says of the bins of a group that are higher than the drawing."""
    told = [
        f"{100 * share:.0f} % from {edges[k]:.3g} to {edges[k + 1]:.3g}" for k, share in enumerate(found) if share > top
    ]
    return f"; cut: {', '.join(told)}" if told else ""


def _shares(values: ArrayLike, axis: Axis, bins: int) -> list[float]:
    kept = _finite(values)
    # Clipped first: a difference to the low end must not overflow.
    along = (np.clip(kept, axis.low, axis.high) - axis.low) / (axis.high - axis.low)
    counts = np.bincount(np.minimum((along * bins).astype(np.int64), bins - 1), minlength=bins)
    return [float(count) / len(kept) for count in counts] if len(kept) else []


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    given = np.asarray(values, dtype=np.float64)
    return given[np.isfinite(given)]


def bars(given: Sequence[Bar], *, title: str, x_label: str, x_range: tuple[float, float] | None = None) -> Html:
    """Bars from 0 to the right, or the left where a value is below 0, with their intervals as whiskers."""
    kept = [one for one in given if math.isfinite(one.value)]
    if not kept:
        return _nothing(title)
    ends = [end for one in kept for end in (0.0, one.value, one.low, one.high) if math.isfinite(end)]
    left = min(LABEL, max(len(clip(one.label, LABEL)) for one in kept)) * CHARACTER + 20
    frame = _Frame(Axis.over(ends, x_range), Axis(low=0, high=len(kept)), left, TOP + BOTTOM + ROW * len(kept))
    marks = [mark for at, one in enumerate(kept) for mark in _bar(frame, one, len(kept) - at - 0.5)]
    zero = frame.across(0)
    marks.append(element("line", x1=zero, x2=zero, y1=TOP, y2=frame.height - BOTTOM, class_="axis"))
    heads = [Heading("name"), Heading(x_label, number=True), Heading("95 % interval", number=True)]
    rows = [[one.label, figure_text(one.value), interval_text(one.low, one.high)] for one in kept]
    return _figure([*_axes(frame, x_label, None), *marks], [], title, heads, rows, frame.height)


def _bar(frame: _Frame, bar: Bar, middle: float) -> list[Html]:
    y, zero, end = frame.up(middle), frame.across(0), frame.across(bar.value)
    label = element("text", clip(bar.label, LABEL), x=frame.left - 8, y=y + 4, text_anchor="end")
    box = element("rect", x=min(zero, end), y=y - ROW / 3, width=abs(end - zero), height=2 * ROW / 3, class_="s2 fill")
    return (
        [label, box, *_whisker(frame.across(bar.low), frame.across(bar.high), y, "s0")]
        if _sound(bar.low, bar.high)
        else [label, box]
    )


def _whisker(left: float, right: float, y: float, style: str) -> list[Html]:
    return [
        element("line", x1=left, x2=right, y1=y, y2=y, class_=f"{style} whisker"),
        *(element("line", x1=x, x2=x, y1=y - 4, y2=y + 4, class_=f"{style} whisker") for x in (left, right)),
    ]


def interval(value: float, low: float, high: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Html:
    """A value with its interval on a small scale, for a cell of a table that says the same in numbers."""
    if not math.isfinite(value):
        return Html("")
    axis, width = Axis(low=bounds[0], high=bounds[1]), 144.0

    def at(number: float) -> float:
        return 6 + axis.share(number) * (width - 12)

    marks = [element("line", x1=at(bounds[0]), x2=at(bounds[1]), y1=8, y2=8, class_="track")]
    if axis.holds(0):
        marks.append(element("line", x1=at(0), x2=at(0), y1=3, y2=13, class_="track"))
    marks += _whisker(at(low), at(high), 8, "s0") if _sound(low, high) else []
    marks.append(_dot(at(value), 8, 0, 4))
    return element("svg", *marks, viewBox=f"0 0 {width:g} 16", class_="inline", aria_hidden="true")


def _sound(*values: float) -> bool:
    return all(map(math.isfinite, values))


def _axes(frame: _Frame, x_label: str, y_label: str | None) -> list[Html]:
    """Grid, numbers and names of both axes; the upright one has numbers only where it has a name."""
    right, floor = WIDTH - RIGHT, frame.height - BOTTOM
    marks = []
    for value in frame.x.ticks(9):
        x = frame.across(value)
        marks.append(element("line", x1=x, x2=x, y1=TOP, y2=floor, class_="grid"))
        marks.append(_label(_tick(value), x, floor + 16, "middle", "tick"))
    for value in frame.y.ticks(6) if y_label is not None else []:
        y = frame.up(value)
        marks.append(element("line", x1=frame.left, x2=right, y1=y, y2=y, class_="grid"))
        marks.append(_label(_tick(value), frame.left - 6, y + 4, "end", "tick"))
    marks.append(element("line", x1=frame.left, x2=right, y1=floor, y2=floor, class_="axis"))
    marks.append(_label(clip(x_label, 2 * LABEL), (frame.left + right) / 2, frame.height - 8, "middle"))
    if y_label is not None:
        y = (TOP + floor) / 2
        turned = element(
            "text", clip(y_label, LABEL), text_anchor="middle", transform=f"translate(14 {y:g}) rotate(-90)"
        )
        marks.append(turned)
    return marks


def _tick(value: float) -> str:
    return f"{value:.6g}" if abs(value) > 1e-12 else "0"


def _label(label: str, x: float, y: float, anchor: Literal["start", "middle", "end"], style: str | None = None) -> Html:
    return element("text", label, x=x, y=y, text_anchor=anchor, class_=style)


def _figure(
    marks: Sequence[Html],
    legend: Sequence[tuple[str, str]],
    title: str,
    heads: Sequence[Heading],
    rows: Sequence[Sequence[Child]],
    height: float = HEIGHT,
) -> Html:
    """The drawing with its legend and title, and the numbers that it shows."""
    keys = [mark for at, (label, kind) in enumerate(legend) for mark in _key(label, kind, at, height + ROW * at)]
    size = height + ROW * len(legend)
    described = f"{title}. The numbers follow as a table."
    drawing = element(
        "svg", *marks, *keys, viewBox=f"0 0 {WIDTH:g} {size:g}", class_="chart", role="img", aria_label=described
    )
    scroll: dict[str, Attribute] = {"class_": "scroll", "tabindex": 0, "role": "region", "aria_label": title}
    numbers = details("The numbers", table(heads, rows, caption=title))
    return element("figure", element("figcaption", title), element("div", drawing, **scroll), numbers)


def _key(label: str, kind: str, at: int, y: float) -> list[Html]:
    style, middle = f"s{at % STYLES}", y + ROW / 2 - 4
    mark = {
        "line": element("line", x1=LEFT, x2=LEFT + 28, y1=middle, y2=middle, class_=f"{style} curve"),
        "dot": _dot(LEFT + 14, middle, at),
        "fill": element("rect", x=LEFT, y=middle - 6, width=28, height=12, class_=f"{style} fill"),
    }[kind]
    return [mark, _label(clip(label, 2 * LABEL), LEFT + 36, middle + 4, "start")]


def _nothing(title: str) -> Html:
    return element("figure", element("figcaption", title), paragraph("Nothing to draw: there are no such values."))
