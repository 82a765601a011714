"""The page of an evaluation and of a comparison."""

import numpy as np
import pytest
from evaluating import failed, judged, labelled, report, scored
from factories import HOSTILE
from parsing import assert_self_contained

from memrank.evals.compare import compare
from memrank.evals.outcome import Unscored
from memrank.evals.report import Report, RiskPoint
from memrank.render.evalpage import comparison_page, report_page
from memrank.render.page import Section, paragraph

QUERIES = [
    labelled("good", "all is well?"),
    labelled("bad", "which rate?", relevant={"m2": 2, "far": 1}, stale=["m1"], must_not=["m0"], category="prices"),
    labelled("broken", "who fails?"),
    labelled("none", "nothing there?", relevant=[]),
]
OUTCOMES = [
    scored("good", {"nDCG@10": 1.0}),
    scored("bad", {"nDCG@10": 0.25}),
    failed("broken", {"nDCG@10": 0.0}),
    scored("none", {"empty_ok": 0.0}),
    Unscored(query_id="open", why="nobody said what is relevant"),
]
GROUPS = list("abcde")


def test_the_page_shows_every_part() -> None:
    page = assert_self_contained(report_page(report(OUTCOMES), QUERIES))
    headings = [one["id"] for one in page.of("section")]
    assert headings == ["measures", "calibration", "scores", "decay", "categories", "worst-queries"]
    assert "3 queries scored, 1 failed (each counts as the worst answer)" in page.text
    assert "0.600 to 0.800" in page.text
    assert "at least 0.85" in page.text
    assert "1 query without labels" in page.text


def test_the_worst_queries_come_first_and_are_explained() -> None:
    page = assert_self_contained(report_page(report(OUTCOMES), QUERIES))
    text = page.text[page.text.index("By nDCG@10; by empty_ok") :]
    places = [text.index(asked) for asked in ("who fails?", "nothing there?", "which rate?")]
    assert places == sorted(places)
    assert "all is well?" not in text
    assert "namespace: no such tenant" in text
    assert "the right answer is empty" in text
    assert "What is relevant (2 in all)" in text
    assert "m22excluded0.1000.1000.100" in text
    assert "far1not judged" in text
    assert "m00.900must notshares a word" in text
    assert "m10.500outdatedshares a word" in text


def test_without_queries_only_ids_are_shown() -> None:
    page = assert_self_contained(report_page(report(OUTCOMES)))
    assert "which rate?" not in page.text
    assert "bad" in page.text


def test_nothing_worst_where_all_is_right() -> None:
    assert "There are none: every value is 1." in report_page(report(OUTCOMES[:1]), QUERIES)


def test_scores_are_told_apart_by_label() -> None:
    text = assert_self_contained(report_page(report([scored("good", {"nDCG@10": 1.0})]), QUERIES)).text
    assert "relevant (n 1)" in text
    assert "not relevant (n 2)" in text


def test_relevance_by_age_is_drawn_against_freshness() -> None:
    pool = judged(relevant=[True] * 5 + [False] * 15)
    text = assert_self_contained(report_page(report([scored("good", {"nDCG@10": 1.0}, judged=pool)]), QUERIES)).text
    groups = text[text.index("Groups by age") :]
    assert "0.000 to 10.00.879100.00 %2" in groups  # the two youngest of 19 that are dated
    assert "180.0 to 180.00.1420.00 %1" in groups


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        [failed("broken", {"nDCG@10": 0.0})],
        [Unscored(query_id="open", why="no labels")],
        [scored("none", {"empty_ok": 1.0}, judged=judged(relevant=[]), top=())],
        [scored("bad", {"nDCG@10": 0.0}, judged=judged(relevant=[False]), top=())],
    ],
    ids=["nothing", "a failure", "unscored", "an empty pool", "undated and irrelevant"],
)
def test_there_is_a_page_whatever_came_of_it(outcomes: list[object]) -> None:
    bare = report(outcomes, figures={}, by_category={}, deciles=(), gates=())  # type: ignore[arg-type]
    assert_self_contained(report_page(bare, QUERIES))


def test_later_reports_add_parts_of_their_own() -> None:
    extra = [Section("Pruning", [paragraph("as agreed")])]
    page = assert_self_contained(report_page(report(OUTCOMES), QUERIES, extra))
    assert page.of("section")[-1]["id"] == "pruning"
    two = compare([report(OUTCOMES), report(OUTCOMES)], GROUPS)
    assert assert_self_contained(comparison_page(two, QUERIES, extra)).of("section")[-1]["id"] == "pruning"


def risky(**more: object) -> Report:
    points = (RiskPoint(threshold=0.9, coverage=0.5, risk=0.0), RiskPoint(threshold=0.1, coverage=1.0, risk=0.25))
    return report(OUTCOMES, risk_coverage=points, **more)


def test_a_comparison_shows_what_was_lost() -> None:
    better = [scored("good", {"nDCG@10": 1.0}), scored("bad", {"nDCG@10": 0.5}), *OUTCOMES[2:]]
    worse = [scored("good", {"nDCG@10": 0.5}), *OUTCOMES[1:3], failed("none", {"empty_ok": 0.0}), OUTCOMES[4]]
    two = compare([risky(), report(better, spec="second"), report(worse, spec="third")], GROUPS)
    code = comparison_page(two, QUERIES)
    page = assert_self_contained(code)
    assert [one["id"] for one in page.of("section")] == [
        *("side-by-side", "second-differences", "third-differences", "second-lost-queries", "third-lost-queries"),
        *("calibration", "first", "second", "third"),
    ]
    assert "every difference is against first" in page.text
    assert "No query lost anything." in page.text
    assert "1 query won, 0 lost" in page.text
    assert "0 queries won, 1 lost" in page.text
    assert "1.000 to 0.500 all is well?" in " ".join(page.text.split())
    assert "+0." in page.text
    assert "first: 0 of 1 gates hold." in page.text


@pytest.mark.parametrize("given", [*filter(None, HOSTILE), "</style><script>alert(1)</script>", "&amp;#<!--"])
def test_no_text_of_others_changes_a_page(given: str) -> None:
    def texts(text: str) -> tuple[str, str]:
        outcomes = [
            scored("q", {"nDCG@10": 0.5}, why=text, top=((text, 0.5, text),), judged=judged(ids=(text, "m1", "m2"))),
            failed(f"f{text}", {"nDCG@10": 0.0}, text),
            Unscored(query_id=f"u{text}", why=text),
        ]
        more = {"spec": text, "evalset": text, "by_category": {text: report([]).figures}}
        one = report(outcomes, **more)
        queries = [labelled("q", text, relevant=[text], category=text), labelled(f"f{text}", text)]
        two = compare([one, one], ["a", "b", "c"])
        return report_page(one, queries), comparison_page(two, queries)

    for hostile, plain in zip(texts(given), texts("plain"), strict=True):
        assert assert_self_contained(hostile).tags() == assert_self_contained(plain).tags()


def test_the_same_report_gives_the_same_bytes() -> None:
    assert report_page(report(OUTCOMES), QUERIES) == report_page(report(OUTCOMES), QUERIES)


def test_many_bad_queries_are_cut_and_counted() -> None:
    outcomes = [scored(f"q{k}", {"nDCG@10": float(value)}) for k, value in enumerate(np.linspace(0, 0.9, 25))]
    text = assert_self_contained(report_page(report(outcomes), [])).text
    assert "5 more are below 1." in text
    other = [scored(f"q{k}", {"nDCG@10": 0.0}) for k in range(25)]
    two = compare([report(outcomes), report(other, spec="second")], ["g"] * 25)
    assert "4 more lost less." in comparison_page(two)
