"""The context block: what it holds, in what order, within what budget, and that nothing in a memory gets out of it."""

import html
import re
import unicodedata
from dataclasses import replace

import pytest
from factories import HOSTILE, item, memory, moment, result, spec
from hypothesis import given
from hypothesis import strategies as st

from memrank.context import context_block
from memrank.result import Adjustment, Item
from memrank.spec import Spec
from memrank.tenant import count_tokens

LINE = re.compile(r'([0-9]+)\. (⚠ )?<memory( [a-z_]+="[^"<>\n]*")*>[^<\n]*</memory>')


def rated(name: str, relevance: float, importance: float, content: str = "text") -> Item:
    return item(memory(name, content), scores={"relevance": relevance, "importance": importance})


def context(**settings: object) -> Spec:
    return spec(pruner={"context": settings})


def ids(block: str) -> list[str]:
    return re.findall(r'<memory id="([^"]*)"', block)


def test_nothing_returned_is_an_empty_string() -> None:
    assert context_block(result(), spec()) == ""
    assert context_block(result(excluded=[item(reason="stale")]), spec(pruner={"context": {"footer": "end"}})) == ""


def test_heading_numbered_lines_mark_date_and_footer() -> None:
    items = [rated("a", 0.5, 0.5, "Plain."), item(memory("b", "Weighty."), scores={"importance": 0.8})]
    block = context_block(result(items), context(heading="Remembered", footer="End of memories"))
    assert block.split("\n") == [
        "Remembered",
        '1. ⚠ <memory id="b" date="2026-03-18T09:00:00Z">Weighty.</memory>',
        '2. <memory id="a" date="2026-03-18T09:00:00Z">Plain.</memory>',
        "End of memories",
    ]


def test_default_heading_and_no_footer() -> None:
    assert context_block(result([rated("a", 0.5, 0.5)]), spec()).startswith("Context from previous interactions\n1. ")
    assert context_block(result([rated("a", 0.5, 0.5)]), context(heading="")).startswith("1. ")


def test_importance_order_puts_marked_first_then_relevance_times_importance() -> None:
    items = [rated("low", 0.9, 0.2), rated("mid", 0.5, 0.79), rated("marked", 0.1, 0.8), rated("top", 0.2, 0.95)]
    assert ids(context_block(result(items), spec())) == ["top", "marked", "mid", "low"]
    assert ids(context_block(result(items), context(order="score"))) == ["low", "mid", "marked", "top"]


def test_equals_keep_their_rank() -> None:
    assert ids(context_block(result([rated(i, 0.5, 0.5) for i in "zay"]), spec())) == ["z", "a", "y"]


def test_max_items_loses_the_least_important() -> None:
    items = [rated(f"m{k}", 0.1 * k, 0.5) for k in range(1, 9)]
    assert ids(context_block(result(items), spec())) == ["m8", "m7", "m6", "m5", "m4"]
    assert ids(context_block(result(items), context(max_items=1))) == ["m8"]


@pytest.mark.parametrize("budget", range(1, 160, 7))
def test_the_whole_block_fits_and_loses_whole_lines_from_the_end(budget: int) -> None:
    items = [rated(f"m{k}", 0.9 - 0.1 * k, 0.5, "word " * 10 * (k + 1)) for k in range(5)]
    settings = {"heading": "Head é", "footer": "Foot"}
    whole = context_block(result(items), context(**settings)).split("\n")
    block = context_block(result(items), context(**settings, max_tokens=budget))
    assert count_tokens(block) <= budget
    lines = block.split("\n") if block else []
    assert lines == [*whole[: len(lines) - 1], "Foot"] or not lines or "…" in block


@pytest.mark.parametrize("length", range(1, 9))
@pytest.mark.parametrize("footer", ["", "FOOT"])
def test_a_block_of_exactly_the_budget_fits(length: int, footer: str) -> None:
    """Over eight lengths, every remainder of bytes in a token occurs."""
    returned = result([rated("a", 0.5, 0.5, "x" * length)])
    needed = count_tokens(context_block(returned, context(footer=footer)))
    assert context_block(returned, context(footer=footer, max_tokens=needed))
    assert not context_block(returned, context(footer=footer, max_tokens=needed - 1))


def test_an_attribute_cannot_be_ended_from_inside() -> None:
    block = context_block(result([item(memory('a" date="2099', speaker="Ann > Bob"))]), spec())
    assert '<memory id="a&quot; date=&quot;2099" date="2026-03-18T09:00:00Z" by="Ann &gt; Bob">' in block


def test_the_pruners_budget_and_the_reads_own_limit_apply() -> None:
    items = [rated(f"m{k}", 0.5, 0.5, "word " * 60) for k in range(5)]
    for tight in (
        context_block(result(items), spec(pruner={"max_tokens": 200})),
        context_block(result(items, max_tokens=200), spec()),
        context_block(result(items, max_tokens=200), context(max_tokens=1000)),
        context_block(result(items, max_tokens=1000), context(max_tokens=200)),
    ):
        assert ids(tight) == ["m0", "m1"]
        assert count_tokens(tight) <= 200


def test_too_long_alone_is_cut_and_never_hides_the_rest() -> None:
    items = [rated("huge", 0.9, 0.9, "long " * 200_000), rated("small", 0.5, 0.5, "Small.")]
    block = context_block(result(items), spec())
    assert ids(block) == ["huge", "small"]
    assert "long…</memory>" in block
    assert count_tokens(block) < 150


def test_what_cannot_fit_even_cut_makes_room() -> None:
    items = [rated("huge", 0.9, 0.9, "<" * 10_000), rated("small", 0.5, 0.5, "Small.")]
    assert ids(context_block(result(items), context(max_tokens=60))) == ["small"]


def test_summary_stands_for_content() -> None:
    block = context_block(result([item(memory("a", "The long story."), summary="Short.", action="summarize")]), spec())
    assert ">Short.</memory>" in block
    assert "long story" not in block


def test_works_without_a_pruner() -> None:
    returned = result([item(memory(f"m{k}"), action=None) for k in range(7)], pruned=False)
    block = context_block(returned, spec(without_pruner=True))
    assert len(ids(block)) == 5
    assert block.startswith("Context from previous interactions\n")


def test_event_date_goes_before_created_and_undated_says_nothing() -> None:
    dated = item(memory("a", event_date=moment(10), speaker="Anna"))
    assert '<memory id="a" date="2026-03-10T09:00:00Z" by="Anna">' in context_block(result([dated]), spec())
    assert '<memory id="b">' in context_block(result([item(memory("b", days_ago=None))]), spec())


def test_a_superseded_memory_names_what_replaced_it() -> None:
    old = item(memory("old"), adjustments=[Adjustment(code="superseded", factor=0.5, by="new")])
    assert 'replaced_by="new">' in context_block(result([old]), spec())


def test_escapes_can_be_read_back_and_leave_ordinary_text_alone() -> None:
    for content in ('R&D -> 5 > 3 & "so"', "a < b </memory>", "&lt; &amp;lt; &quot; &gt;"):
        shown = re.search(r">(.*)</memory>", context_block(result([rated("a", 0.5, 0.5, content)]), spec()))
        assert shown
        assert html.unescape(shown[1]) == content
    assert ">R&D -> 5</memory>" in context_block(result([rated("a", 0.5, 0.5, "R&D -> 5")]), spec())


def assert_contained(block: str, items: int) -> None:
    lines = block.split("\n")
    assert block.splitlines() == lines  # no other kind of line break either
    assert lines[0] == "Context from previous interactions"
    assert lines[-1] == "FOOT"
    assert len(lines) == items + 2
    for number, line in enumerate(lines[1:-1], start=1):
        found = LINE.fullmatch(line)
        assert found
        assert found[1] == str(number)
    folded = unicodedata.normalize("NFKC", block)
    assert folded.count("</memory>") == folded.count("<memory") == items
    assert not [c for c in block if unicodedata.category(c) in ("Cf", "Cs", "Zl", "Zp") or (c != "\n" and ord(c) < 32)]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_content_stays_in_its_line(content: str) -> None:
    settings = context(footer="FOOT", max_tokens=2000)
    block = context_block(result([rated("a", 0.5, 0.9, content), rated("b", 0.5, 0.5)]), settings)
    assert_contained(block, 2 if content.strip() else 1)


FORGERY = st.text(
    st.one_of(
        st.sampled_from(
            list("<>&/\"'\n\r\t 0123456789.;⚠\x00\x1b\x85\u2028\u2029\u202e\u2066\u200b\ufeff\uff1c\ufe64")
        ),
        st.characters(exclude_categories=["Cn", "Cf"]),
    ),
    min_size=1,
    max_size=40,
)
PIECES = st.lists(
    st.one_of(
        FORGERY,
        st.sampled_from(
            ["</memory>", "<memory id=", "\n2. ", "FOOT", "&lt;", "\nContext from previous interactions\n"]
        ),
    ),
    min_size=1,
    max_size=6,
).map("".join)


@given(content=PIECES, name=PIECES, speaker=PIECES, summary=st.none() | PIECES)
def test_no_memory_can_forge_a_line_or_close_a_fence(
    content: str, name: str, speaker: str, summary: str | None
) -> None:
    settings = context(footer="FOOT", max_tokens=4000)
    hostile = item(memory(name, "x" + content, speaker=speaker), summary=None if summary is None else "x" + summary)
    assert_contained(context_block(result([hostile, rated("b", 0.1, 0.1)]), settings), 2)


def pinned(of: Item) -> Item:
    return replace(of, memory=replace(of.memory, pinned=True))


def test_what_is_pinned_stands_first_and_is_not_counted() -> None:
    items = [rated("a", 0.9, 1.0), rated("b", 0.8, 0.5), *(pinned(rated(name, 0.1, 0.1)) for name in ("c", "d"))]
    for order in ("importance", "score"):
        assert ids(context_block(result(items), context(max_items=1, order=order))) == ["c", "d"]
        assert ids(context_block(result(items), context(max_items=3, order=order)))[:2] == ["c", "d"]
