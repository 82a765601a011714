"""The forms of a context block. In each of them a memory is one line, and its text cannot get out of its fence.

Memory text and the names beside it are data. What comes here is inert (`text.inert`): one line, nothing invisible.
Each form then escapes what would end its fence, and the characters that Unicode holds equal to those.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memrank.text.inert import clip, inert

LONGEST_NAME = 80
"""Characters of an id or a name that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory of a block."""

    number: int
    mark: str
    """Of important memories; empty for others."""
    id: str
    date: str | None
    """ISO 8601, made by memrank: the one thing beside the number that needs no escape."""
    by: str | None
    replaced_by: str | None
    """Id of what replaces it, as the data say."""
    outdated_by: str | None
    """Id of what seems to state a newer value, as memrank infers."""
    text: str
    """Inert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """`head` and `foot` make the lines before and after the entries, of a heading and a footer that may be empty."""

    head: Callable[[str], list[str]]
    line: Callable[[Entry], str]
    foot: Callable[[str], list[str]]


def _given(text: str) -> list[str]:
    return [text] if text else []


# lines: `1. ⚠ <memory id="n17" date="2026-03-18" by="Anna">The fee is 4% &lt;confirmed></memory>`

# Readers of HTML take these for escapes without a semicolon, too.
_AMPERSAND = re.compile(r"&(?=#|lt|gt|amp|quot|apos)", re.IGNORECASE)
_LESS = re.compile("[<\ufe64\uff1c]")


def _lines(entry: Entry) -> str:
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in _attributes(entry).items() if value)
    mark = f"{_fenced(entry.mark)} " if entry.mark else ""
    return f"{entry.number}. {mark}<memory{shown}>{_fenced(entry.text)}</memory>"


def _attributes(entry: Entry) -> dict[str, str | None]:
    return {
        "id": entry.id,
        "date": entry.date,
        "by": entry.by,
        "replaced_by": entry.replaced_by,
        "outdated_by": entry.outdated_by,
    }


def _fenced(text: str) -> str:
    """`<` is always escaped, `&` only where it would read as an escape: ordinary text stays as it is."""
    return _LESS.sub("&lt;", _AMPERSAND.sub("&amp;", text))


def _attribute(value: str) -> str:
    """As an attribute's value, where a quote or a `>` would end it."""
    return _fenced(clip(value, LONGEST_NAME)).replace(">", "&gt;").replace('"', "&quot;")


_WIDE = re.compile("[\ufe60\ufe64\ufe65\uff06\uff1c\uff1e]")
"""What Unicode holds equal to `&`, `<` and `>`."""


def _referenced(text: str) -> str:
    """With every `&`, `<` and `>` escaped, as XML and Markdown read it."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text if text.isascii() else _WIDE.sub(lambda found: f"&#x{ord(found[0]):X};", text)


# plain: `1. ⚠ "The fee is 4%" (id "n17", 2026-03-18, by "Anna")`


def _plain(entry: Entry) -> str:
    return _quoting(entry, lambda text: f'"{_backslashed(text)}"', entry.mark)


def _quoting(entry: Entry, quoted: Callable[[str], str], mark: str) -> str:
    """A numbered line in which everything that others wrote stands in quotes."""
    names = [
        f"id {quoted(clip(entry.id, LONGEST_NAME))}",
        *([entry.date] if entry.date else []),
        *([f"by {quoted(clip(entry.by, LONGEST_NAME))}"] if entry.by else []),
        *([f"replaced by {quoted(clip(entry.replaced_by, LONGEST_NAME))}"] if entry.replaced_by else []),
        *([f"seems outdated by {quoted(clip(entry.outdated_by, LONGEST_NAME))}"] if entry.outdated_by else []),
    ]
    return f"{entry.number}. {f'{mark} ' if mark else ''}{quoted(entry.text)} ({', '.join(names)})"


def _backslashed(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if text.isascii() else text.replace("\uff3c", "\\\uff3c").replace("\uff02", "\\\uff02")


# markdown: the same as an item of a numbered list under a heading, with what Markdown and HTML would read escaped

_ACTIVE = re.compile("[`*\\[\\]~]")
_UNDERSCORE = re.compile("(?<![^\\W_])_|_(?![^\\W_])")
"""Between letters or digits it is no emphasis."""


def _markdown(entry: Entry) -> str:
    return _quoting(entry, lambda text: f'"{_marked_down(text)}"', _marked_down(entry.mark))


def _marked_down(text: str) -> str:
    text = _ACTIVE.sub(r"\\\g<0>", _referenced(_backslashed(text)))
    return _UNDERSCORE.sub(r"\_", text) if "_" in text else text


def _markdown_head(heading: str) -> list[str]:
    return [f"## {line}" for line in _given(inert(heading))]


def _markdown_foot(footer: str) -> list[str]:
    """An empty line before it: without one, Markdown would read the footer as the end of the last item."""
    return [part for line in _given(inert(footer)) for part in ("", line)]


# xml: `<memory id="n17" date="2026-03-18" by="Anna" mark="⚠">The fee is 4% &lt;confirmed&gt;</memory>` in one tree


def _xml(entry: Entry) -> str:
    names = {**_attributes(entry), "mark": entry.mark}
    shown = "".join(f' {name}="{_xml_attribute(value)}"' for name, value in names.items() if value)
    return f"<memory{shown}>{_referenced(entry.text)}</memory>"


def _xml_attribute(value: str) -> str:
    return _referenced(clip(value, LONGEST_NAME)).replace('"', "&quot;").replace("\uff02", "&#xFF02;")


def _xml_head(heading: str) -> list[str]:
    return ["<memories>", *(f"<heading>{_referenced(line)}</heading>" for line in _given(inert(heading)))]


def _xml_foot(footer: str) -> list[str]:
    return [*(f"<footer>{_referenced(line)}</footer>" for line in _given(inert(footer))), "</memories>"]


TEMPLATES: Mapping[str, Template] = {
    "lines": Template(head=_given, line=_lines, foot=_given),
    "plain": Template(head=_given, line=_plain, foot=_given),
    "markdown": Template(head=_markdown_head, line=_markdown, foot=_markdown_foot),
    "xml": Template(head=_xml_head, line=_xml, foot=_xml_foot),
}
"""By the name that the spec's context section gives; memory text never decides on anything but its own line."""
