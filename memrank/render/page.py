"""One self-contained HTML page, and its blocks of text. Every report uses them; drawings are in `chart`.

A page holds its own style and no script, loads nothing, follows the reader's choice of dark or light, can be read by
keyboard and aloud, and is the same bytes for the same input. Blocks take texts as they are and escape them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from memrank.render.markup import Child, Html, element, join, text
from memrank.text.counted import distinct

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Should anything slip through, a browser still runs no script and loads nothing."""
Tone = Literal["good", "bad", "plain"]
_NO_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a heading of its own, listed in its table of contents."""

    heading: str
    blocks: Sequence[Html]
    intro: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """One number of a summary: what it is, its value, and what should be known about it."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Heading:
    """Head of a column of a table."""

    title: str
    number: bool = False
    """Its cells are numbers: they stand at the right."""


def page(title: str, parts: Sequence[Html | Section], *, lead: str = "") -> str:
    """The whole document. `lead` is a sentence below the title."""
    sections = [part for part in parts if isinstance(part, Section)]
    anchors = _anchors([section.heading for section in sections])
    named = iter(anchors)
    body = join(_section(part, next(named)) if isinstance(part, Section) else part for part in parts)
    head = join(
        [
            Html('<meta charset="utf-8"/>'),
            element("meta", http_equiv="Content-Security-Policy", content=POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="generator", content="memrank"),
            element("title", title),
            element("style", Html(_style())),
        ],
        "\n",
    )
    contents = [
        element("li", element("a", one.heading, href=f"#{at}")) for one, at in zip(sections, anchors, strict=True)
    ]
    nav = [element("nav", element("ol", *contents), aria_label="Contents")] if len(contents) > 1 else []
    header = element("header", element("h1", title), *([element("p", lead, class_="lead")] if lead else []))
    main = element("main", body, id="main")
    skip = element("a", "Skip to the contents of this page", href="#main", class_="skip")
    whole = join([skip, header, *nav, main], "\n").code
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head.code}\n</head>\n<body>\n{whole}\n</body>\n</html>\n'


def _style() -> str:
    return files("memrank.render").joinpath("page.css").read_text(encoding="utf-8")


def _anchors(headings: Sequence[str]) -> list[str]:
    """One for each heading, no two the same."""
    slugs = (_NO_SLUG.sub("-", heading.lower()).strip("-")[:60] or "part" for heading in headings)
    return distinct(slugs, "-{}")


def _section(section: Section, anchor: str) -> Html:
    intro = [paragraph(section.intro, class_="intro")] if section.intro else []
    heading = element("h2", section.heading, id=f"{anchor}-title")
    return element("section", heading, *intro, join(section.blocks, "\n"), id=anchor, aria_labelledby=f"{anchor}-title")


def paragraph(*children: Child, class_: str | None = None) -> Html:
    """A paragraph."""
    return element("p", *children, class_=class_)


def subheading(title: str) -> Html:
    """A heading within a section."""
    return element("h3", title)


def badge(label: str, tone: Tone) -> Html:
    """A word that stands out, and tells by itself what its colour tells."""
    return element("span", label, class_=f"badge {tone}")


def facts(pairs: Sequence[tuple[str, Child]], *, small: bool = False) -> Html:
    """What something is: names and their values. `small`: many short ones, close together."""
    items = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *items, class_="facts small" if small else "facts")


def summary(tiles: Sequence[Tile]) -> Html:
    """The numbers to read first."""
    return element("ul", *map(_tile, tiles), class_="tiles")


def _tile(tile: Tile) -> Html:
    parts = [element("span", tile.label, class_="label"), text(" "), element("strong", tile.value)]
    if tile.note:
        parts += [text(" "), element("span", tile.note, class_="note")]
    return element("li", *parts, class_=tile.tone)


def table(columns: Sequence[Heading], rows: Sequence[Sequence[Child]], *, caption: str) -> Html:
    """A table whose first column names its rows; it scrolls by itself where the window is narrow."""
    head = element("tr", *(element("th", one.title, scope="col", class_=_class(one)) for one in columns))
    body = [
        element(
            "tr",
            *(
                element("th", cell, scope="row") if at == 0 else element("td", cell, class_=_class(columns[at]))
                for at, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", join(body, "\n")))
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _class(column: Heading) -> str | None:
    return "number" if column.number else None


def details(label: Child, *blocks: Html, opened: bool = False) -> Html:
    """Blocks that are shown on demand."""
    return element("details", element("summary", label), *blocks, open=opened)


def side_by_side(*blocks: Html) -> Html:
    """Blocks next to each other where there is room."""
    return element("div", *blocks, class_="beside")


def listing(items: Sequence[Child], *, ordered: bool = False) -> Html:
    """A list."""
    return element("ol" if ordered else "ul", *(element("li", item) for item in items))
