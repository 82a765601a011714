"""The table and the plot of what memories are worth."""

import pytest
from factories import AS_OF, HOSTILE, memory
from rich.cells import cell_len

from memrank.render.worth import rules_text, worth_plot, worth_row, worth_table
from memrank.spec import ImportanceSpec
from memrank.types import Memory
from memrank.worth import Valued, value


def valued(*memories: Memory, **params: object) -> Valued:
    return value(memories, ImportanceSpec.model_validate(params), AS_OF, 0.0)


OLD = memory("old", days_ago=180, importance=0.9, access_count=3, memory_type="fact")
GONE = memory("gone", importance=0.9, superseded_by="old")
UNDATED = memory("undated", days_ago=None, memory_type=None)


def test_every_column_and_the_rules() -> None:
    text = worth_table(valued(OLD, GONE, UNDATED), [1, 2, 0], width=None, colour=False)
    time, rules, blank, head, *rows = text.split("\n")
    assert time == "as of 2026-03-20T09:00:00Z"
    assert rules == "exponential decay, 2 % a month; 0.5 a use, 3 at most; from 1 to 10"
    assert not blank
    assert head.split() == ["id", "type", "stated", "age", "decay", "uses", "boost", "worth", "0-1", "why"]
    assert [row.split()[:2] for row in rows] == [["gone", "note"], ["undated", "-"], ["old", "fact"]]
    assert rows[0].split()[2:9] == ["9.0", "2", "d", "0.999", "0", "0.0", "1.00"]
    assert rows[0].endswith("0.100  superseded by old: floor 1")
    assert "no date" in rows[1]
    assert rows[2].endswith("9.47  0.947  9 of 10 x 0.98^6.0 months + 1.5 for 3 uses")


def test_tenants_are_named_where_there_are_several() -> None:
    two = valued(memory("a", namespace="ana"), memory("a", namespace="bo"))
    assert "namespace" in worth_table(two, [0, 1], width=None, colour=False)
    assert "namespace" not in worth_table(valued(memory("a", namespace="ana")), [0], width=None, colour=False)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 130])
def test_it_fits_the_terminal_and_always_says_what_and_why(width: int) -> None:
    text = worth_table(valued(OLD, GONE, UNDATED), [0, 1, 2], width=width, colour=False)
    table = text.split("\n")[3:]
    assert all(cell_len(line) <= width for line in table)
    assert {"id", "worth", "why"} <= set(table[0].split())


def test_colour_is_only_colour() -> None:
    import re

    plain = worth_table(valued(OLD), [0], width=100, colour=False)
    coloured = worth_table(valued(OLD), [0], width=100, colour=True)
    assert "\x1b[" in coloured
    stripped = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).split("\n")]
    assert stripped == plain.split("\n")


@pytest.mark.parametrize("text", [text for text in HOSTILE if text], ids=range(sum(map(bool, HOSTILE))))
def test_hostile_names_stay_in_their_cell(text: str) -> None:
    hostile = valued(memory(text, memory_type=text, namespace=text, superseded_by=text + "x"), memory("b"))
    table = worth_table(hostile, [0, 1], width=None, colour=False)
    assert len(table.split("\n")) == 6
    plot = worth_plot(hostile, [0, 1], width=80)
    assert not [c for c in table + plot if c != "\n" and (ord(c) < 32 or c in "\u202e\u2028\u200b\x7f\x9b")]
    assert all(cell_len(line) <= 80 for line in plot.split("\n"))


def test_rules() -> None:
    def rules(**params: object) -> str:
        return rules_text(ImportanceSpec.model_validate(params))

    assert rules(decay="none", boost=False) == "no decay; uses do not count; from 1 to 10"
    assert rules(decay="linear", rate_per_month={"default": 0.02, "price": 0.5}, floor=2, ceiling=9.5) == (
        "linear decay, 2 % a month (price 50 %); 0.5 a use, 3 at most; from 2 to 9.5"
    )


def test_a_curve_for_each_type_and_a_dot_for_each_memory() -> None:
    plot = worth_plot(valued(OLD, GONE, UNDATED, rate_per_month={"default": 0.02, "fact": 0.3}), [0, 1, 2], width=None)
    assert "· 3 memories" in plot
    for label in ("* 5, 2 % a month: no type", "+ 9, 30 % a month: fact", "x 9, 2 % a month: note"):
        assert label in plot
    assert "no decay" in worth_plot(valued(OLD, decay="none"), [0], width=None)


def test_the_most_common_types_have_curves_and_equal_ones_share_them() -> None:
    memories = [memory(f"m{k}", memory_type=f"t{k % 9}", importance=(k % 9 + 1) / 10) for k in range(20)]
    plot = worth_plot(valued(*memories), list(range(20)), width=None)
    assert "20 memories, 3 more curves left out" in plot
    assert "% 6, 2 % a month: t5" in plot
    assert "* 5, 2 % a month: t0, t1, t2, 6 more" in worth_plot(
        valued(*(memory(f"m{k}", memory_type=f"t{k % 9}") for k in range(20))), list(range(20)), width=None
    )


def test_of_nothing_there_is_no_plot_and_no_table() -> None:
    assert worth_plot(valued(), [], width=80) == ""
    assert worth_table(valued(), [], width=80, colour=False).count("\n") == 1


def test_a_row_holds_what_the_value_is_made_of() -> None:
    row = worth_row(valued(OLD), 0)
    assert row == {
        "id": "old",
        "namespace": None,
        "memory_type": "fact",
        "importance": 0.9,
        "stated": 9.0,
        "age_months": 6.0,
        "rate_per_month": 0.02,
        "decay_factor": pytest.approx(0.98**6),
        "uses": 3,
        "boost": 1.5,
        "superseded_by": None,
        "worth": pytest.approx(9 * 0.98**6 + 1.5),
        "current_importance": pytest.approx(0.9 * 0.98**6 + 0.15),
        "why": "9 of 10 x 0.98^6.0 months + 1.5 for 3 uses",
    }
    assert worth_row(valued(UNDATED), 0)["age_months"] is None
    assert worth_row(valued(GONE), 0)["superseded_by"] == "old"
