"""The explanation: a reader can recompute every score from what is written."""

import re
import unicodedata
from math import exp

import pytest
from factories import HOSTILE, item, memory, result, spec

from memrank.render.explain import explain_text
from memrank.render.freshness import span
from memrank.result import Adjustment, Result
from memrank.types import Moment, Period, Sensitivity


def block(of: Result, number: int = 0, **stages: object) -> list[str]:
    text = explain_text(of, spec(**stages))  # type: ignore[arg-type]
    return text.split("\n\n")[1 + number].split("\n")


def value(lines: list[str], label: str) -> str:
    return next(line.strip().removeprefix(label).strip() for line in lines if line.strip().startswith(label + " "))


def test_an_item_from_its_parts_to_its_score() -> None:
    successor = Adjustment(code="superseded", factor=0.5, by="n20")
    of = item(
        memory("n17", "The rate is 4%.", days_ago=2.1),
        adjustments=[successor],
        flags=("superseded", "protected"),
        decay=1.0,
    )
    assert block(result([of])) == [
        "1. n17 (note): score 0.4040",
        "   text        The rate is 4%.",
        "   evidence    shares “rate” with the query",
        "   time        exponential 2^(-age / half-life), half-life 14 d, age 2.1 d -> 0.7300",
        "   relevance   0.8600 x 0.6 = 0.5160",
        "   freshness   0.7300 x 0.4 = 0.2920",
        "   importance  0.5000, not weighted",
        "   authority   0.5000, not weighted",
        "   raw_score   0.5160 + 0.2920 = 0.8080",
        "   score       0.8080 x 0.5000 (superseded by n20) = 0.4040",
        "   decay       1.0000: keep_full, 4 tokens",
        "   flags       superseded, protected",
    ]


def test_no_adjustment() -> None:
    assert value(block(result([item()])), "score") == "0.8080 = raw_score"


@pytest.mark.parametrize(("relevance", "capped"), [(0.5, False), (0.99, True)])
def test_bounded_is_shown_as_the_product(relevance: float, capped: bool) -> None:
    of = item(scores={"relevance": relevance}, weights={"freshness": 0.4, "importance": 0.2}, bounded=True)
    lines = block(result([of], combine="bounded"))
    assert "   relevance   " + f"{relevance:.4f}" in lines
    assert value(lines, "freshness") == "1 + 0.4 x (0.7300 - 0.5) = 1.0920"
    assert value(lines, "importance") == "1 + 0.2 x (0.5000 - 0.5) = 1.0000"
    end = "min(1, 1.0811) = 1.0000" if capped else "0.5460"
    assert value(lines, "raw_score") == f"{relevance:.4f} x 1.0920 x 1.0000 = {end}"


def test_planned_and_final_action() -> None:
    of = item(action="summarize", planned="keep_full", summary="4%.", tokens=2)
    assert value(block(result([of])), "decay") == "0.1920: planned keep_full, became summarize, 2 tokens"
    assert "decay" not in "".join(block(result([item(action=None)], pruned=False)))


@pytest.mark.parametrize(
    ("temporal", "text"),
    [
        ({}, "exponential 2^(-age / half-life), half-life 14 d, age 2.1 d"),
        (
            {"half_life": {"default": "14d", "note": "36h"}},
            "exponential 2^(-age / half-life), half-life 36 h, age 2.1 d",
        ),
        ({"rate_per_hour": 0.01}, "exponential exp(-rate * age in hours), rate 0.01 an hour, age 2.1 d"),
        ({"kernel": "linear", "window": "30d"}, "linear max(0, 1 - age / window), window 30 d, age 2.1 d"),
        ({"kernel": "gaussian"}, "gaussian 2^(-(age / half-life)^2), half-life 14 d, age 2.1 d"),
        ({"kernel": "power", "scale": "7d", "p": 1.5}, "power (1 + age / scale)^-p, scale 7 d, p 1.5, age 2.1 d"),
        (
            {"kernel": "weibull", "beta": 0.5},
            "weibull 2^(-(age / half-life)^beta), half-life 14 d, beta 0.5, age 2.1 d",
        ),
        ({"kernel": "cliff", "window": "7d"}, "cliff: 1 up to the window, else 0, window 7 d, age 2.1 d"),
        ({"kernel": "none"}, "none: 1 for every age, age 2.1 d"),
        (
            {"offset": "1d", "floor": 0.1},
            "exponential 2^(-age / half-life), half-life 14 d, age less a grace of 24 h, then 0.1 + 0.9 k, age 2.1 d",
        ),
    ],
)
def test_the_kernel_with_its_parameters(temporal: dict[str, object], text: str) -> None:
    lines = block(result([item(memory(days_ago=2.1))]), temporal=temporal)
    assert value(lines, "time") == f"{text} -> 0.7300"


def test_what_is_written_recomputes_the_freshness() -> None:
    age = 2.12345
    fresh = 2 ** (-age / 14)
    said = value(block(result([item(memory(days_ago=age), scores={"freshness": fresh})])), "time")
    found = re.search(r"half-life ([0-9.]+) d, age ([0-9.]+) d -> ([0-9.]+)", said)
    assert found
    assert abs(exp(-0.6931471805599453 * float(found[2]) / float(found[1])) - float(found[3])) < 1e-4


def test_the_other_sensitivities() -> None:
    of = item(memory(days_ago=0.5))
    real = value(block(result([of], sensitivity=Sensitivity.REAL_TIME)), "time")
    assert real == "real-time-cutoff 2^(-age / half-life), 0 beyond 24 h, half-life 6 h, age 12 h -> 0.7300"
    timeless = value(block(result([of], sensitivity=Sensitivity.TIME_AGNOSTIC)), "time")
    assert timeless == "none: age does not count for this query -> 0.7300"
    open_period = Period(start=None, end=None, text="ever")
    for period in (None, open_period):
        said = value(block(result([of], sensitivity=Sensitivity.HISTORICAL, period=period)), "time")
        assert said.startswith("historical-preference: no period is named")


@pytest.mark.parametrize(("days", "away"), [(5, "0 s"), (10, "3 d"), (1, "2 d")])
def test_the_distance_from_the_period(days: float, away: str) -> None:
    start, end = (memory(days_ago=n).created_at.end for n in (7, 3))  # type: ignore[union-attr]
    period = Period(start=start, end=end, text="then")
    said = value(
        block(result([item(memory(days_ago=days))], sensitivity=Sensitivity.HISTORICAL, period=period)), "time"
    )
    assert (
        said
        == f"historical-preference 2^(-distance / half-life), half-life 365 d, {away} away from the period -> 0.7300"
    )


def test_undated() -> None:
    assert value(block(result([item(memory(days_ago=None))])), "time") == "no date: zero -> 0.7300"


def until(days_ago: float) -> Moment:
    found = memory(days_ago=days_ago).created_at
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("reason", "fields", "text"),
    [
        ("below_relevance", {"scores": {"relevance": 0.1}}, "relevance 0.1000 is below relevance_threshold 0.2"),
        ("stale", {"stale_flag": True}, "age 400 d is above stale_after 365 d"),
        (
            "below_min_score",
            {"scores": {"relevance": 0.0, "freshness": 0.1}},
            "raw_score 0.0400 is below min_score 0.05",
        ),
        ("below_min_score", {"decay": 0.95}, "decay 0.9500 reaches drop_threshold 0.9"),
        ("expired", {}, "expired at 2026-03-19T09:00:00Z"),
        ("invalid_then", {}, "not true at the moment asked about: holds until 2026-03-10T09:00:00Z"),
        ("over_budget", {"tokens": 812}, "its 812 tokens did not fit in the budget"),
        ("over_top_k", {}, "enough others rank before it (top_k)"),
    ],
)
def test_why_an_item_is_excluded(reason: str, fields: dict[str, object], text: str) -> None:
    of = memory("x", days_ago=400, expires_at=until(1), invalid_at=until(10))
    ranker = {"relevance_threshold": 0.2, "stale_after": "365d", "min_score": 0.05}
    lines = block(result(excluded=[item(of, reason=reason, **fields)]), ranker=ranker)  # type: ignore[arg-type]
    assert lines[0] == f"excluded: x (note): {reason}"
    assert value(lines, "score") == f"0: {text}"
    assert "raw_score" in "".join(lines)


def test_overwritten_names_its_successor() -> None:
    replaced = Adjustment(code="superseded", factor=0.5, by="new")
    of = item(memory("old"), reason="stale", planned="overwrite", adjustments=[replaced])
    assert value(block(result(excluded=[of])), "score") == "0: replaced by new"


def test_results_stand_before_the_excluded_and_empty_says_so() -> None:
    text = explain_text(result([item(memory("a"))], [item(memory("b"), reason="stale")]), spec())
    assert text.index("1. a") < text.index("excluded: b")
    assert explain_text(result(), spec()).endswith("no memory was judged")


def test_hostile_memories_stay_in_their_lines() -> None:
    items = [
        item(memory(content[:60] + "id", content, memory_type=content[:60] or None), why=lambda c=content: c[:600])
        for content in HOSTILE
    ]
    text = explain_text(result(items, query=HOSTILE[4]), spec())
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"]
    blocks = text.split("\n\n")
    assert len(blocks) == 1 + len(HOSTILE)
    assert {len(lines.split("\n")) for lines in blocks[1:]} == {11}
    assert len(text) < 40_000


def test_spans() -> None:
    assert [span(s) for s in (0, 0.5, 90, 7200, 86400, 2 * 86400, 86400 * 365)] == [
        "0 s",
        "0.5 s",
        "90 s",
        "2 h",
        "24 h",
        "2 d",
        "365 d",
    ]
