"""Markup: texts stay texts, whatever they hold."""

import math

import pytest
from factories import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from parsing import Page

from memrank.render.markup import NONE, Html, element, figure_text, interval_text, join, short, signed, text
from memrank.text.inert import inert


@given(st.text())
def test_any_text_is_one_text_without_code(given: str) -> None:
    page = Page(element("p", given, title=given).code)
    assert page.tags() == ["p"]
    assert page.text.strip() == inert(given)
    assert (page.of("p")[0]["title"] or "").strip() == inert(given)


@pytest.mark.parametrize("given", HOSTILE)
def test_hostile_text_is_one_text(given: str) -> None:
    page = Page(element("td", given, aria_label=given).code)
    assert page.tags() == ["td"]
    assert not set("\x1b\x00\x7f\u202e\u200b") & set(page.text)


def test_code_is_kept_and_text_beside_it_is_escaped() -> None:
    assert join([Html("<b>x</b>"), "<i>", element("i", "y")]).code == "<b>x</b>&lt;i&gt;<i>y</i>"
    assert join(["a", "b"], "\n").code == "a\nb"


def test_spaces_at_the_ends_of_a_text_stay() -> None:
    assert join(["one ", " two\n", "three"]).code == "one  two three"
    assert text(" ").code.strip() == ""


def test_attributes() -> None:
    made = element("p", "x", class_="a b", aria_label='"<', hidden=True, id=None, open=False, tabindex=0, x=1.23456)
    assert made.code == '<p class="a b" aria-label="&quot;&lt;" hidden tabindex="0" x="1.23">x</p>'
    assert element("circle", r=2).code == '<circle r="2"/>'
    assert element("td").code == "<td></td>"


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "0"), (-0.001, "0"), (10, "10"), (100.0, "100"), (1.5, "1.5"), (-2.255, "-2.25")]
)
def test_coordinates(value: float, expected: str) -> None:
    assert short(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.000"),
        (-0.0001, "0.000"),
        (0.8123, "0.812"),
        (-0.5, "-0.500"),
        (12.34, "12.3"),
        (-1234.5, "-1,234"),
        (math.nan, NONE),
        (math.inf, NONE),
        (None, NONE),
    ],
)
def test_numbers_for_people(value: float | None, expected: str) -> None:
    assert figure_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.25, "+0.250"), (-0.25, "-0.250"), (0.0, "0.000"), (1e-6, "0.000"), (2500.0, "+2,500"), (math.nan, NONE)],
)
def test_differences_have_a_sign(value: float, expected: str) -> None:
    assert signed(value) == expected


def test_intervals() -> None:
    assert interval_text(0.1, 0.25) == "0.100 to 0.250"
    assert interval_text(math.nan, 0.25) == NONE
