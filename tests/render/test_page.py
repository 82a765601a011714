"""The page and its blocks of text."""

import re

import pytest
from factories import HOSTILE
from parsing import assert_self_contained

from memrank.render.markup import Html
from memrank.render.page import (
    Heading,
    Section,
    Tile,
    badge,
    details,
    facts,
    listing,
    page,
    paragraph,
    side_by_side,
    subheading,
    summary,
    table,
)


def every_block(given: str) -> list[Html | Section]:
    blocks = [
        paragraph(given),
        subheading(given),
        badge(given, "bad"),
        facts([(given, given)]),
        summary([Tile(given, given, given, "good")]),
        table([Heading(given), Heading(given, number=True)], [[given, given]], caption=given),
        details(given, paragraph(given)),
        side_by_side(paragraph(given), paragraph(given)),
        listing([given], ordered=True),
    ]
    return [Section(given, blocks, given), Section(given, [], given)]


@pytest.mark.parametrize("given", ["plain", *HOSTILE, "</style></title><script>alert(1)</script>"])
def test_no_text_changes_a_page(given: str) -> None:
    found = assert_self_contained(page(given, every_block(given), lead=given))
    if given:
        assert found.tags() == assert_self_contained(page("plain", every_block("plain"), lead="plain")).tags()


def test_a_page_can_be_read_aloud_and_by_keyboard() -> None:
    found = assert_self_contained(page("A title", every_block("Part"), lead="What it is."))
    assert found.of("html") == [{"lang": "en"}]
    assert found.tags().count("h1") == 1
    assert found.of("main")
    assert found.of("a")[0]["href"] == "#main"
    assert [one["href"] for one in found.of("a")][1:] == ["#part", "#part-2"]
    assert [one["scope"] for one in found.of("th")] == ["col", "col", "row"]
    assert found.of("caption") == [{}]
    scrolling = [one for one in found.of("div") if one.get("class") == "scroll"]
    assert scrolling == [{"class": "scroll", "tabindex": "0", "role": "region", "aria-label": "Part"}]


def test_a_page_forbids_all_that_it_does_not_need() -> None:
    code = page("A title", [])
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', code)
    assert "default-src &#x27;none&#x27;" in policy
    assert "script" not in policy
    assert "<nav" not in code  # a single part, or none, needs no contents


def test_it_follows_dark_and_light() -> None:
    code = page("A title", [])
    assert "prefers-color-scheme: dark" in code
    assert 'name="color-scheme" content="light dark"' in code


def test_colours_stand_out_enough() -> None:
    """WCAG 2.2: text 4.5 to 1 against its ground, in both schemes; parts of drawings 3 to 1."""
    code = page("A title", [])
    schemes = re.findall(r":root \{(.*?)\}", code, re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", scheme))
        for text in ("ink", "faint", "link"):
            for ground in ("ground", "raised"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for tone in ("good", "bad"):
            assert contrast(colours[tone], colours[f"{tone}-ground"]) >= 4.5, tone
        for series in range(6):
            assert contrast(colours[f"s{series}"], colours["ground"]) >= 3, series


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_same_blocks_give_the_same_bytes() -> None:
    assert page("A", every_block("x")) == page("A", every_block("x"))
