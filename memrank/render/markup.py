"""Markup that cannot be broken by what it shows: every text is made inert and escaped, `Html` is what already was."""

import html
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from memrank.text.inert import inert

NONE = "–"
"""Stands where there is no number."""
_SPACE_AT_START, _SPACE_AT_END = re.compile(r"\A\s"), re.compile(r"\s\Z")
_EMPTY = frozenset({"meta", "link", "line", "circle", "rect", "path", "polyline"})
"""Elements that are closed at once where they hold nothing."""


@dataclass(frozen=True, slots=True)
class Html:
    """Code of a page. It is no text, so that nothing becomes code by being joined to it."""

    code: str


Child = Html | str
Attribute = str | float | bool | None


def text(given: str) -> Html:
    """The text on one line, nothing invisible, escaped; a space at either end stays."""
    start = " " if _SPACE_AT_START.search(given) else ""
    end = " " if _SPACE_AT_END.search(given) else ""
    return Html(start + html.escape(inert(given)) + end)


def join(children: Iterable[Child], between: str = "") -> Html:
    """Texts and code one after another."""
    return Html(between.join((child if isinstance(child, Html) else text(child)).code for child in children))


def element(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """One element. `class_` is written `class`, other underscores become hyphens; None and False are left out."""
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _EMPTY and not children:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{join(children).code}</{tag}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{short(value) if isinstance(value, (int, float)) else text(value).code}"'


def short(value: float) -> str:
    """A coordinate: two decimals at most, and never -0."""
    written = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


def figure_text(value: float | None) -> str:
    """A measured number for people: three decimals below 10, fewer above; `–` for none, NaN and the infinities."""
    if value is None or not math.isfinite(value):
        return NONE
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = 3 if size < 10 else 1
    rounded = f"{value:.{decimals}f}"
    return rounded.lstrip("-") if float(rounded) == 0 else rounded


def interval_text(low: float, high: float) -> str:
    """As `0.812 to 0.904`; `–` where there is none."""
    return NONE if not (math.isfinite(low) and math.isfinite(high)) else f"{figure_text(low)} to {figure_text(high)}"


def signed(value: float) -> str:
    """A difference for people, with its sign where it is not 0."""
    told = figure_text(value)
    return f"+{told}" if value > 0 and float(told.replace(",", "")) > 0 else told
