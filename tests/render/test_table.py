"""The table: right figures, aligned, the same in every environment, and harmless whatever the memories hold."""

import io
import unicodedata
from dataclasses import replace

import pytest
from factories import HOSTILE, item, memory, result, spec

from memrank.render.table import age_text, table_text
from memrank.render.terminal import FALLBACK, Look, look
from memrank.result import Adjustment, Result
from memrank.spec import Spec
from memrank.types import Note, Period, Sensitivity

SPEC = spec()


def body(text: str) -> list[str]:
    return text.split("\n\n")[1].split("\n")


def test_a_row_shows_the_figures_to_three_places() -> None:
    of = item(memory("n17", "The rate\nis 4%."), scores={"relevance": 1 / 3, "importance": 0.66666})
    header, row = body(table_text(result([of]), SPEC))
    titles = "rank, score, relevance, freshness, importance, age, type, action, id, content"
    assert header.split() == titles.split(", ")
    assert row.split("  ")[-1] == "The rate is 4%."
    assert row.split()[:10] == ["1", "0.492", "0.333", "0.730", "0.667", "2", "d", "note", "keep_full", "n17"]


def test_columns_are_aligned_under_their_titles() -> None:
    rows = body(table_text(result([item(memory(f"m{k}", "Text.")) for k in range(12)]), SPEC))
    assert {row.index("Text.") for row in rows[1:]} == {rows[0].index("content")}
    assert {row.index("0.808") for row in rows[1:]} == {rows[0].index("score")}


def test_the_heading_says_how_the_query_was_read() -> None:
    period = Period(start=None, end=memory().created_at.end, text="before Wednesday")  # type: ignore[union-attr]
    of = result(
        [item()], period=period, sensitivity=Sensitivity.HISTORICAL, evidence="names a period", asks_previous=True
    )
    assert table_text(of, SPEC).split("\n\n")[0].split("\n") == [
        "query: What is the current rate?",
        "as of 2026-03-20T09:00:00Z, historical (names a period)",
        "period: “before Wednesday” = open to 2026-03-18T09:00:00Z",
        "asks for an earlier value: nothing is demoted for having been replaced",
    ]


def test_the_footer_counts() -> None:
    excluded = [
        item(memory(f"x{k}"), reason=reason)
        for k, reason in enumerate(["stale", "over_top_k", "stale", "below_relevance"])
    ]
    notes = [Note(level="failure", stage="temporal", code="no_date", detail="undated", count=2)]
    of = result(
        [item(tokens=30), item(memory("b"), tokens=11)],
        excluded,
        notes=notes,
        review_reasons=("low_top_score", "ambiguous_top"),
    )
    assert table_text(of, SPEC).split("\n\n")[-1].split("\n") == [
        "returned 2 of 6, excluded 4: 1 below_relevance, 2 stale, 1 over_top_k",
        "stale 2; tokens 41 of 1200",
        "needs review: low_top_score, ambiguous_top",
    ]
    assert "tokens 41 of 300" in table_text(replace(of, max_tokens=300), SPEC)


def test_rank_only_has_no_action_and_no_budget() -> None:
    text = table_text(result([item(action=None)], pruned=False), SPEC)
    assert "no budget applied" in text
    assert body(text)[1].split()[8] == "-"


@pytest.mark.parametrize("excluded", [[], [item(reason="stale")]])
def test_nothing_returned_leaves_the_counts(excluded: list[object]) -> None:
    text = table_text(result(excluded=excluded), SPEC)  # type: ignore[arg-type]
    assert len(text.split("\n\n")) == 2
    assert f"returned 0 of {len(excluded)}" in text


def test_flags_stand_in_a_column_only_where_there_are_any() -> None:
    old = item(memory("old"), flags=("superseded",), adjustments=[Adjustment(code="superseded", factor=0.5, by="m1")])
    ageing = item(memory("ageing"), stale_flag=True)
    undated = item(memory("undated", days_ago=None), flags=("no_date",))
    assert "flags" not in table_text(result([item(), undated]), SPEC)
    rows = body(table_text(result([old, ageing, undated]), SPEC))
    assert "superseded" in rows[1]
    assert "stale_flag" in rows[2]
    assert "no date" in rows[3]
    future = item(memory("f", days_ago=-5), flags=("future_date",))
    assert " future " in body(table_text(result([future]), SPEC))[1]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3600 * 5.5, "5 h"),
        (86400, "1 d"),
        (86400 * 59.9, "59 d"),
        (86400 * 60, "2 mo"),
        (86400 * 364, "12 mo"),
        (86400 * 365 * 2.5, "2 y"),
    ],
)
def test_ages_in_whole_units(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def hostile() -> Result:
    items = [item(memory(content[:60] + "id", content, memory_type=content[:60] or None)) for content in HOSTILE]
    notes = [Note(level="info", stage="s", code="c", detail=HOSTILE[0] + HOSTILE[4])]
    return result(items, query=HOSTILE[0] + HOSTILE[2] + HOSTILE[5], evidence=HOSTILE[1], notes=notes)


def assert_harmless(text: str) -> None:
    bad = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]
    assert not bad
    assert text.splitlines() == text.split("\n")


def test_memory_text_cannot_steer_the_terminal() -> None:
    text = table_text(hostile(), SPEC)
    assert_harmless(text)
    assert len(body(text)) == 1 + len(HOSTILE)
    assert "[bold red]markup[/bold red]" in text  # shown, not obeyed
    assert ":warning:" in text


@pytest.mark.parametrize("width", [1, 40, 60, 80, 100, 120, 200])
def test_no_line_of_the_table_is_wider_than_the_terminal(width: int) -> None:
    rows = body(table_text(hostile(), SPEC, width=width))
    assert len(rows) == 1 + len(HOSTILE)
    for row in rows:
        cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in row)
        assert cells <= max(width, 40)


def test_a_wide_terminal_shows_more() -> None:
    of = result([item()])
    titles = [body(table_text(of, SPEC, width=width))[0].split() for width in (40, 80, 160)]
    assert titles[0] == ["rank", "score", "content"]
    assert set(titles[0]) < set(titles[1]) < set(titles[2])


def test_colour_only_when_asked_and_plain_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    of = result([item()])
    plain = table_text(of, SPEC)
    coloured = table_text(of, SPEC, width=100, colour=True)
    assert "\x1b[" in coloured
    assert "\x1b" not in plain
    for name, value in (
        ("FORCE_COLOR", "1"),
        ("COLUMNS", "41"),
        ("TERM", "dumb"),
        ("TTY_COMPATIBLE", "1"),
        ("NO_COLOR", "1"),
    ):
        monkeypatch.setenv(name, value)
        assert table_text(of, SPEC) == plain
        assert table_text(of, SPEC, width=100, colour=True) == coloured


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_a_stream_can_show() -> None:
    assert look(io.StringIO(), {}) == Look(width=None, colour=False)
    assert look(Terminal(), {}, windows=False) == Look(width=FALLBACK, colour=True)
    assert look(Terminal(), {"NO_COLOR": ""}, windows=False).colour
    for environ in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert not look(Terminal(), environ, windows=False).colour
    assert not look(Terminal(), {}, windows=True).colour
    assert look(Terminal(), {"WT_SESSION": "x"}, windows=True).colour


def test_spec_without_pruner() -> None:
    bare: Spec = spec(without_pruner=True)
    assert "no budget applied" in table_text(result([item(action=None)], pruned=False), bare)
