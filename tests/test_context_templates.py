"""The forms of the context block: whatever a memory holds, the block is read back as what it was made of."""

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from factories import HOSTILE, item, memory, result
from hypothesis import given
from hypothesis import strategies as st
from test_context import PIECES, context, rated

from memrank.context import context_block
from memrank.result import Adjustment, Item
from memrank.tenant import count_tokens
from memrank.text.block import TEMPLATES
from memrank.text.inert import clip, inert

MARK = "⚠"
HEADING, FOOTER = "What we know", "FOOT"
NAMES = tuple(TEMPLATES)


class Seen(NamedTuple):
    """A memory as a reader finds it in a block."""

    mark: str
    text: str
    id: str
    by: str | None


class Read(NamedTuple):
    heading: str
    memories: list[Seen]
    footer: str


_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_ITEM = re.compile(
    rf"([0-9]+)\. (?:(\S+) )?{_QUOTED} \(id {_QUOTED}(?:, [0-9TZ:.+-]+)?"
    rf"(?:, by {_QUOTED})?(?:, replaced by {_QUOTED})?(?:, seems outdated by {_QUOTED})?\)"
)
_TAGGED = re.compile(
    r'([0-9]+)\. (?:(\S+) )?<memory id="([^"<>]*)"(?: date="[^"<>]*")?(?: by="([^"<>]*)")?'
    r'(?: replaced_by="[^"<>]*")?(?: outdated_by="[^"<>]*")?>'
    r"([^<]*)</memory>"
)


def read_quoted(lines: list[str], undo: Callable[[str], str]) -> list[Seen]:
    seen = []
    for number, line in enumerate(lines, start=1):
        found = _ITEM.fullmatch(line)
        assert found, line
        assert found[1] == str(number)
        by = None if found[5] is None else undo(found[5])
        seen.append(Seen(undo(found[2] or ""), undo(found[3]), undo(found[4]), by))
    return seen


def read_lines(block: str) -> Read:
    heading, *lines, footer = block.split("\n")
    seen = []
    for number, line in enumerate(lines, start=1):
        found = _TAGGED.fullmatch(line)
        assert found, line
        assert found[1] == str(number)
        parts = [None if part is None else unescaped(part) for part in found.groups()]
        seen.append(Seen(parts[1] or "", parts[4] or "", parts[2] or "", parts[3]))
    return Read(heading, seen, footer)


def unescaped(text: str) -> str:
    """Nothing in it reads as an escape but what `lines` escapes."""
    assert not re.search(r"&(?!amp;)(#|lt(?!;)|gt(?!;)|quot(?!;)|apos)", text, re.IGNORECASE)
    for escape, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(escape, character)
    return text


def read_plain(block: str) -> Read:
    heading, *lines, footer = block.split("\n")
    return Read(heading, read_quoted(lines, lambda text: re.sub(r"\\(.)", r"\1", text)), footer)


def read_markdown(block: str) -> Read:
    heading, *lines, blank, footer = block.split("\n")
    assert not blank
    assert heading.startswith("## ")
    assert "<" not in block
    assert ">" not in block
    for line in lines:
        bare = re.sub(r"\\.", "", line)
        assert not re.search(r"[`*\[\]~]", bare)
        assert not re.search(r"(?<![^\W_])_|_(?![^\W_])", bare)
    seen = read_quoted(lines, lambda text: html.unescape(re.sub(r"\\(.)", r"\1", text)))
    return Read(heading.removeprefix("## "), seen, footer)


def read_xml(block: str) -> Read:
    tree = ElementTree.fromstring(block)
    assert tree.tag == "memories"
    heading, *memories, footer = tree
    assert (heading.tag, footer.tag) == ("heading", "footer")
    assert {one.tag for one in memories} == {"memory"}
    assert all(set(one.attrib) <= {"id", "date", "by", "replaced_by", "outdated_by", "mark"} for one in memories)
    seen = [Seen(m.get("mark", ""), m.text or "", m.attrib["id"], m.get("by")) for m in memories]
    assert len(block.split("\n")) == len(memories) + 4
    return Read(heading.text or "", seen, footer.text or "")


READERS = {"lines": read_lines, "plain": read_plain, "markdown": read_markdown, "xml": read_xml}


def made(items: list[Item], template: str, **settings: object) -> str:
    given = {"heading": HEADING, "footer": FOOTER, "max_tokens": 1_000_000, **settings}
    return context_block(result(items), context(template=template, **given))


def folded(text: str) -> str:
    """`lines` shows the wide forms of `<` as `<`."""
    return text.replace("\uff1c", "<").replace("\ufe64", "<")


def check(block: str, items: list[Item], template: str) -> None:
    """The block holds these items and nothing else, in any order, and not a character that cannot be seen."""
    read = READERS[template](block)
    assert (read.heading, read.footer) == (HEADING, FOOTER)
    expected = set()
    for one in items:
        by = one.memory.speaker or one.memory.role
        text = inert(one.content if one.summary is None else one.summary)
        expected.add(
            Seen(
                MARK if one.scores["importance"] >= 0.8 else "",
                folded(text) if template == "lines" else text,
                folded(clip(one.id, 80)) if template == "lines" else clip(one.id, 80),
                None if not by else folded(clip(by, 80)) if template == "lines" else clip(by, 80),
            )
        )
    assert set(read.memories) == expected
    assert block.splitlines() == block.split("\n")  # no other kind of line break
    hidden = [c for c in block if unicodedata.category(c) in ("Cf", "Cs", "Zl", "Zp") or (c != "\n" and ord(c) < 32)]
    assert not hidden


def test_every_template_has_a_reader() -> None:
    assert set(READERS) == set(TEMPLATES)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "lines",
            "What we know\n"
            '1. ⚠ <memory id="b" date="2026-03-18T09:00:00Z" by="Anna">Weighty &lt;b> & "so".</memory>\n'
            '2. <memory id="a_1" date="2026-03-18T09:00:00Z">Plain.</memory>\n'
            "FOOT",
        ),
        (
            "plain",
            "What we know\n"
            '1. ⚠ "Weighty <b> & \\"so\\"." (id "b", 2026-03-18T09:00:00Z, by "Anna")\n'
            '2. "Plain." (id "a_1", 2026-03-18T09:00:00Z)\n'
            "FOOT",
        ),
        (
            "markdown",
            "## What we know\n"
            '1. ⚠ "Weighty &lt;b&gt; &amp; \\"so\\"." (id "b", 2026-03-18T09:00:00Z, by "Anna")\n'
            '2. "Plain." (id "a_1", 2026-03-18T09:00:00Z)\n'
            "\n"
            "FOOT",
        ),
        (
            "xml",
            "<memories>\n"
            "<heading>What we know</heading>\n"
            '<memory id="b" date="2026-03-18T09:00:00Z" by="Anna" mark="⚠">Weighty &lt;b&gt; &amp; "so".</memory>\n'
            '<memory id="a_1" date="2026-03-18T09:00:00Z">Plain.</memory>\n'
            "<footer>FOOT</footer>\n"
            "</memories>",
        ),
    ],
)
def test_what_it_looks_like(template: str, expected: str) -> None:
    weighty = item(memory("b", 'Weighty <b> & "so".', speaker="Anna"), scores={"importance": 0.8})
    assert made([rated("a_1", 0.5, 0.5, "Plain."), weighty], template) == expected


@pytest.mark.parametrize("template", NAMES)
def test_without_heading_footer_and_mark(template: str) -> None:
    lines = made([rated("a", 0.5, 0.9)], template, heading="", footer="", mark="").split("\n")
    assert len(lines) == (3 if template == "xml" else 1)
    assert MARK not in "".join(lines)


@pytest.mark.parametrize("template", NAMES)
def test_nothing_is_an_empty_string(template: str) -> None:
    assert made([], template) == ""
    assert made([rated("a", 0.5, 0.9, " \n\u200b")], template) == ""
    assert made([rated("a", 0.5, 0.9)], template, max_tokens=1) == ""


@pytest.mark.parametrize("template", NAMES)
def test_what_is_empty_takes_no_place(template: str) -> None:
    items = [*(rated(f"e{k}", 0.9, 0.9, "") for k in range(5)), rated("a", 0.5, 0.5, "Plain.")]
    assert "Plain." in made(items, template)


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("lines", '1. &lt;*> "&" <memory id="a"'),
        ("plain", '1. <*> "&" "text" ('),
        ("markdown", '1. &lt;\\*&gt; \\"&amp;\\" "text" ('),
        ("xml", ' mark="&lt;*&gt; &quot;&amp;&quot;">text</memory>'),
    ],
)
def test_a_mark_of_ones_own_is_escaped_too(template: str, shown: str) -> None:
    block = made([rated("a", 0.5, 0.9, "text")], template, mark='<*>\n"&"')
    assert shown in block
    assert len(block.split("\n")) == len(made([rated("a", 0.5, 0.9, "text")], template).split("\n"))


@pytest.mark.parametrize("template", ["markdown", "xml"])
def test_heading_and_footer_are_one_escaped_line(template: str) -> None:
    block = made([rated("a", 0.5, 0.5)], template, heading="One\n<two> \x00", footer="a\n\n</memories>")
    if template == "xml":
        assert READERS[template](block)[0::2] == ("One <two> \ufffd", "a </memories>")
    else:
        assert block.split("\n")[0] == "## One <two> \ufffd"
        assert block.split("\n")[-2:] == ["", "a </memories>"]


@pytest.mark.parametrize("template", NAMES)
def test_a_superseded_memory_names_what_replaced_it(template: str) -> None:
    old = item(memory("old"), adjustments=[Adjustment(code="superseded", factor=0.5, by="new")])
    assert re.search(r'replaced[_ ]by[ =]+"new"', made([old], template))
    inferred = replace(rated("old", 0.5, 0.5), outdated_by="new")
    assert re.search(r'outdated[_ ]by[ =]+"new"', made([inferred], template))
    assert "new" not in made([rated("old", 0.5, 0.5)], template)


@pytest.mark.parametrize("template", NAMES)
@pytest.mark.parametrize("successor", [*HOSTILE, "x"], ids=range(len(HOSTILE) + 1))
def test_the_id_of_what_outdates_a_memory_is_escaped_and_counted(successor: str, template: str) -> None:
    items = [replace(rated("a", 0.9, 0.5), outdated_by=successor or None), rated("b", 0.5, 0.5)]
    block = made(items, template)
    check(block, items, template)
    needed = count_tokens(block)
    for budget in (needed, needed - 1):
        fitted = context_block(
            result(items), context(template=template, heading=HEADING, footer=FOOTER, max_tokens=budget)
        )
        assert count_tokens(fitted) <= budget
        assert (fitted == block) == (budget == needed)


@pytest.mark.parametrize("template", NAMES)
@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_content_stays_in_its_line(content: str, template: str) -> None:
    items = [rated("a", 0.5, 0.9, content), rated("b", 0.5, 0.5)]
    check(made(items, template), [one for one in items if inert(one.content)], template)


MARKUP = st.sampled_from(
    [
        "\n# ", "## ", "\n- ", "* ", "\n```\n", "`", "<b>", "</memory>", "</memories>", "<!--", "<![CDATA[", "]]>",
        "<?x?>", "&#60;", "&lt;", "&LT", "\\", '\\"', '"', "' ", "[a](b)", "![", "|", "~~", "__", "_x_", "**",
        "\n2. ", "2. ", "⚠ ", "> ",
        '" (id "x")\n', '" (id "x", 2026-01-01)', "\ufffe", "\uffff", "\U0001fffe", "\uff02", "\uff3c", "\uff06lt;",
        "\uff1cmemory\uff1e", "\x85", "\ud800", "\u2028",
    ]
)  # fmt: skip
HOSTILE_TEXT = st.lists(st.one_of(MARKUP, PIECES), min_size=1, max_size=8).map("".join)


@pytest.mark.parametrize("template", NAMES)
@given(
    content=HOSTILE_TEXT,
    name=HOSTILE_TEXT,
    speaker=HOSTILE_TEXT,
    summary=st.none() | HOSTILE_TEXT,
    weighty=st.booleans(),
)
def test_no_memory_gets_out_of_its_line(
    template: str, content: str, name: str, speaker: str, summary: str | None, weighty: bool
) -> None:
    hostile = item(
        memory("i" + name, "x" + content, speaker="s" + speaker),
        summary=None if summary is None else "x" + summary,
        scores={"importance": 0.9 if weighty else 0.1},
    )
    items = [hostile, rated("other", 0.1, 0.1, "Other.")]
    check(made(items, template), items, template)


@pytest.mark.parametrize("template", NAMES)
@given(
    contents=st.lists(HOSTILE_TEXT.map(lambda text: "x" + text), min_size=1, max_size=6),
    budget=st.integers(1, 200),
    most=st.integers(1, 7),
    order=st.sampled_from(["importance", "score"]),
)
def test_within_the_budget_and_the_most_important_survives(
    template: str, contents: list[str], budget: int, most: int, order: str
) -> None:
    items = [rated(f"m{k}", 0.9 - k / 10, 0.9 - k / 10, text) for k, text in enumerate(contents)]
    settings = {"max_tokens": budget, "max_items": most, "order": order}
    block = made(items, template, **settings)
    assert count_tokens(block) <= budget
    alone = made(items[:1], template, **settings)
    if alone:
        assert READERS[template](block).memories[0] == READERS[template](alone).memories[0]
    if block:
        found = [one.id for one in READERS[template](block).memories]
        assert len(found) <= most
        assert found == [one.id for one in items if one.id in found]


@pytest.mark.parametrize("template", NAMES)
def test_a_block_of_exactly_the_budget_fits(template: str) -> None:
    for length in range(1, 9):
        items = [rated("a", 0.5, 0.5, "x" * length)]
        needed = count_tokens(made(items, template))
        assert made(items, template, max_tokens=needed)
        assert not made(items, template, max_tokens=needed - 1, heading=HEADING)
