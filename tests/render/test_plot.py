"""Plots: every point in its cell, lines without gaps, axes that tell the truth, and never wider than asked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from memrank.render.plot import NARROWEST, Point, Series, plot


def drawing(text: str) -> list[str]:
    """The rows of the drawing, from the top, without their axis."""
    return [
        line.partition("│")[2] if "│" in line else line.partition("┤")[2]
        for line in text.split("\n")
        if "│" in line or "┤" in line
    ]


def dots(*points: Point) -> Series:
    return Series(label="dots", points=points, mark="·", line=False)


def test_a_whole_plot() -> None:
    curve = Series(label="half a month", points=[(0, 8), (1, 4), (2, 2), (3, 1)], mark="*")
    text = plot([dots((0, 2), (3, 8)), curve], width=30, height=7, x_label="months", y_label="worth", y_range=(0, 8))
    assert text.split("\n") == [
        "worth",
        "  │**                        ·",
        "  │  ***",
        "5 ┤     ***",
        "  │        *****",
        "  │·            *********",
        "  │                      *****",
        "0 ┤",
        "  └┬────────────────┬─────────",
        "   0                2",
        "             months",
        "· dots   * half a month",
    ]


def test_later_series_are_drawn_over_earlier_ones() -> None:
    over = Series(label="over", points=[(0, 0)], mark="#", line=False)
    assert drawing(plot([dots((0, 0), (1, 1)), over], width=20, height=3))[2].startswith("#")
    assert drawing(plot([over, dots((0, 0), (1, 1))], width=20, height=3))[2].startswith("·")


def test_nothing_to_draw_is_empty() -> None:
    nan, inf = math.nan, math.inf
    assert plot([]) == ""
    assert plot([dots()]) == ""
    assert plot([dots((nan, 1), (1, nan), (inf, 0), (0, -inf), (1e301, 0))]) == ""


def test_one_point_stands_in_the_middle() -> None:
    rows = drawing(plot([dots((7, 7))], width=33, height=9))
    assert [row.strip() for row in rows] == ["", "", "", "", "·", "", "", "", ""]


def test_what_lies_outside_the_range_ends_a_line() -> None:
    line = Series(label="line", points=[(0, 0), (1, 1), (5, 1), (2, 1), (3, 0)], mark="*")
    rows = drawing(plot([line], width=40, height=5, x_range=(0, 4), y_range=(0, 1)))
    assert rows[0].split("*")[2].strip() == rows[0].strip(" *") == ""
    assert "**        **" in rows[0]  # around (1, 1) and (2, 1), with nothing between them
    broken = Series(label="line", points=[(0, 0), (1, math.nan), (4, 0)], mark="*")
    assert drawing(plot([broken], width=40, height=5, x_range=(0, 4), y_range=(0, 1)))[4].count("*") == 2


def test_labels_are_harmless_and_fit() -> None:
    wide = Series(label="天気" * 40 + "\x1b[2J\n", points=[(0, 0), (1, 1)], mark="*")
    text = plot([wide, wide], width=30, height=3, x_label="天" * 40, y_label="気\n" * 40)
    assert "\x1b" not in text
    assert all(cell_len(line) <= 30 for line in text.split("\n"))


numbers = st.floats(allow_nan=True, allow_infinity=True)
points = st.lists(st.tuples(numbers, numbers), max_size=12)


@given(points, points, st.integers(0, 100), st.integers(0, 30), st.text(max_size=80))
def test_any_points_give_a_plot_of_the_size_asked_for(
    some: list[Point], others: list[Point], width: int, height: int, label: str
) -> None:
    series = [Series(label=label, points=some, mark="*"), Series(label="dots", points=others, mark="·", line=False)]
    text = plot(series, width=width, height=height, x_label=label, y_label="y")
    sound = [p for p in (*some, *others) if all(abs(v) <= 1e300 for v in p)]
    assert bool(text) == bool(sound)
    if text:
        rows = drawing(text)
        assert len(rows) == max(height, 3)
        assert all(cell_len(line) <= max(width, NARROWEST) for line in text.split("\n"))
        assert sum(row.count("*") + row.count("·") for row in rows) > 0


@given(st.lists(st.tuples(st.integers(0, 36), st.integers(0, 9)), min_size=2, max_size=6))
def test_a_line_has_no_gaps(corners: list[tuple[int, int]]) -> None:
    """Cells that are numbered like the points: every marked cell touches another one, and every corner is marked."""
    line = Series(label="", points=corners, mark="*")
    rows = drawing(plot([line], width=40, height=10, x_range=(0, 36), y_range=(0, 9)))
    assert len(rows) == 10
    marked = {(x, 9 - y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell == "*"}
    assert set(corners) <= marked
    reached, open_ = {corners[0]}, [corners[0]]
    while open_:
        x, y = open_.pop()
        near = {(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} & marked - reached
        reached |= near
        open_ += near
    assert reached == marked


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 10), (1, 10), (-3, 3), (0.001, 0.0042), (1e9, 3e9), (0, 1e-200)])
def test_ticks_are_round_numbers_at_their_place(low: float, high: float) -> None:
    text = plot([dots((low, low), (high, high))], width=60, height=13)
    rows = [line for line in text.split("\n") if "│" in line or "┤" in line]
    ticks = [(12 - row, float(line.partition("┤")[0])) for row, line in enumerate(rows) if "┤" in line]
    assert 2 <= len(ticks) <= 5
    for cell, value in ticks:
        assert cell == pytest.approx(12 * (value - low) / (high - low), abs=0.51)
