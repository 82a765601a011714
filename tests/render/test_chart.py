"""Drawings: what is drawn is where it should be, told as numbers too, and inside the drawing."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing import Page

from memrank.render.chart import Bar, Bin, Curve, bars, histogram, interval, line_plot, reliability
from memrank.render.markup import Html

NOTHING = "there are no such values"


def parsed(drawing: Html) -> Page:
    return Page(drawing.code)


def size(page: Page) -> tuple[float, float]:
    _, _, width, height = (page.of("svg")[0]["viewbox"] or "").split()
    return float(width), float(height)


def inside(page: Page) -> None:
    """Every mark lies within the drawing."""
    width, height = size(page)
    for attributes in (*page.of("circle"), *page.of("line"), *page.of("rect")):
        for name, value in attributes.items():
            if name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value or "") <= width
            if name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value or "") <= height
            if name in ("width", "height", "r"):
                assert float(value or "") >= 0
    for way in page.of("polyline"):
        for point in (way["points"] or "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_a_curve_rises_where_its_values_do() -> None:
    page = parsed(line_plot([Curve(label="up", points=[(0, 0), (1, 1), (2, 4)])], title="T", x_label="x", y_label="y"))
    points = [tuple(map(float, one.split(","))) for one in (page.of("polyline")[0]["points"] or "").split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert len(page.of("circle")) == 3
    inside(page)


def test_a_drawing_is_named_and_its_numbers_are_a_table() -> None:
    page = parsed(line_plot([Curve(label="a", points=[(1, 0.5)])], title="T", x_label="x", y_label="y"))
    (svg,) = page.of("svg")
    assert (svg["role"], svg["aria-label"]) == ("img", "T. The numbers follow as a table.")
    assert "1.0000.500" in page.text


def test_what_is_not_finite_or_outside_is_left_out() -> None:
    points = [(0.0, 0.5), (math.nan, 0.1), (0.5, math.inf), (3.0, 0.5), (1.0, 0.5)]
    page = parsed(
        line_plot(
            [Curve(label="a", points=points)], title="T", x_label="x", y_label="y", x_range=(0, 1), y_range=(0, 1)
        )
    )
    assert len(page.of("circle")) == 2
    assert NOTHING in line_plot([Curve(label="a", points=points[1:3])], title="T", x_label="x", y_label="y").code


def test_dots_of_the_second_series_have_another_shape() -> None:
    curves = [Curve(label=name, points=[(0, 0), (1, 1)], line=False) for name in "ab"]
    page = parsed(line_plot(curves, title="T", x_label="x", y_label="y"))
    assert len(page.of("circle")) == len(page.of("rect")) == 3  # two dots and one in the legend
    assert not page.of("polyline")


numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(st.lists(st.tuples(numbers, numbers), max_size=8))
def test_any_numbers_can_be_drawn(points: list[tuple[float, float]]) -> None:
    page = parsed(line_plot([Curve(label="a", points=points)], title="T", x_label="x", y_label="y"))
    if page.of("svg"):
        inside(page)


@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=8))
def test_any_bars_can_be_drawn(given: list[tuple[float, float, float]]) -> None:
    page = parsed(bars([Bar(label="a", value=v, low=a, high=b) for v, a, b in given], title="T", x_label="x"))
    if page.of("svg"):
        inside(page)


def test_bars_go_left_below_zero() -> None:
    drawn = [Bar(label="up", value=2, low=1, high=3), Bar(label="down", value=-1)]
    page = parsed(bars(drawn, title="T", x_label="x"))
    up, down = ({name: float(one[name] or "") for name in ("x", "y", "width")} for one in page.of("rect"))
    assert up["width"] == pytest.approx(2 * down["width"], abs=0.02)
    assert down["x"] + down["width"] == pytest.approx(up["x"], abs=0.02)
    assert up["y"] < down["y"]
    assert len([one for one in page.of("line") if "whisker" in (one["class"] or "")]) == 3
    assert "1.000 to 3.000" in page.text


def test_a_histogram_holds_every_value_once() -> None:
    drawing = histogram({"a": [0.0, 0.05, 0.5, 1.0, math.nan]}, title="T", x_label="x", bins=10)
    page = parsed(drawing)
    shares = [float(one) for one in re.findall(r">([\d.]+) %</td>", drawing.code)]
    assert shares == [50.0, 0, 0, 0, 0, 25.0, 0, 0, 0, 25.0]
    assert "a (n 4)" in page.text
    inside(page)


def test_a_tower_is_cut_and_says_so() -> None:
    many = [0.01] * 90 + [0.1 * k + 0.05 for k in range(10)]
    page = parsed(histogram({"a": many}, title="T", x_label="x", bins=10))
    assert "cut: 91 % from 0 to 0.1" in page.text
    heights = sorted(float(one["height"] or "") for one in page.of("rect") if "fill" in (one["class"] or ""))
    assert heights[1] > 100
    inside(page)
    even = histogram({"a": [0.1 * k + 0.05 for k in range(10)]}, title="T", x_label="x", bins=10)
    assert "cut" not in even.code


@given(st.dictionaries(st.sampled_from("abc"), st.lists(numbers, max_size=12)))
def test_any_values_make_a_histogram(groups: dict[str, list[float]]) -> None:
    page = parsed(histogram(groups, title="T", x_label="x"))
    if page.of("svg"):
        inside(page)
    else:
        assert NOTHING in page.text


def test_a_calibrated_judge_lies_on_the_diagonal() -> None:
    page = parsed(reliability({"j": [Bin(said=0.25, seen=0.25, n=10), Bin(said=0.75, seen=0.75, n=90)]}, title="T"))
    (even,) = [one for one in page.of("line") if one["class"] == "even"]
    x1, y1, x2, y2 = (float(even[name] or "") for name in ("x1", "y1", "x2", "y2"))
    small, large = ({name: float(one[name] or "") for name in ("cx", "cy", "r")} for one in page.of("circle"))
    for dot in (small, large):
        assert (dot["cx"] - x1) / (x2 - x1) == pytest.approx((dot["cy"] - y1) / (y2 - y1), abs=1e-3)
    assert small["r"] < large["r"]


def test_empty_bins_are_no_dots() -> None:
    nothing = Bin(said=math.nan, seen=math.nan, n=0)
    assert NOTHING in reliability({"j": [nothing]}, title="T").code
    page = parsed(reliability({"j": [nothing, Bin(said=0.5, seen=0.1, n=1)]}, title="T"))
    assert len(page.of("circle")) == 1


def test_an_interval_in_a_cell_says_nothing_aloud() -> None:
    page = parsed(interval(0.5, 0.4, 0.6))
    assert page.of("svg")[0]["aria-hidden"] == "true"
    inside(page)
    assert interval(math.nan, 0, 1).code == ""
    assert len(parsed(interval(0.5, math.nan, math.nan)).of("circle")) == 1
