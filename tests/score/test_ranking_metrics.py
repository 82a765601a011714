"""Measures of one ranking: trec_eval as the oracle (by ir_measures), by hand, and by their properties."""

import math
import random

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from memrank.score import metrics

RUNS = 10_000
CUTS = (1, 3, 5, 10, 50)
IDS = st.sampled_from([f"m{i}" for i in range(12)])
RANKED = st.lists(IDS, max_size=20)
GRADES = st.dictionaries(IDS, st.floats(0.1, 5), max_size=8)
CUT = st.none() | st.integers(1, 15)


def test_ten_thousand_random_runs_equal_trec_eval() -> None:
    chance = random.Random(5)
    names = [f"m{i}" for i in range(70)]
    asked, runs, qrels, docs = {}, {}, [], []
    for query in map(str, range(RUNS)):
        grades = {name: chance.randint(0, 3) for name in chance.sample(names, chance.randint(1, 15))}
        run = chance.sample(names, chance.randint(1, 60))
        asked[query], runs[query] = {name: float(grade) for name, grade in grades.items() if grade}, run
        qrels += [ir_measures.Qrel(query, name, grade) for name, grade in grades.items()]
        docs += [ir_measures.ScoredDoc(query, name, float(-place)) for place, name in enumerate(run)]
    wanted = [RR, AP, nDCG, *(measure @ k for k in CUTS for measure in (P, R, nDCG, RR, AP))]
    seen = 0
    for query, measure, value in ir_measures.iter_calc(wanted, qrels, docs):
        ranked, relevant, k = runs[query], asked[query], measure.params.get("cutoff")
        ours = {
            "P": metrics.precision,
            "R": metrics.recall,
            "nDCG": metrics.ndcg,
            "RR": metrics.reciprocal_rank,
            "AP": metrics.average_precision,
        }[measure.NAME](ranked, relevant, k)
        assert abs(ours - value) < 1e-6, (query, measure, ours, value)
        seen += 1
    assert seen == RUNS * len(wanted)


def test_by_hand() -> None:
    ranked, grades = ["x", "a", "x", "b", "y"], {"a": 1.0, "b": 3.0, "c": 2.0}
    # Distinct: x, a, b, y.
    assert metrics.first(ranked, 3) == ["x", "a", "b"]
    assert metrics.recall(ranked, grades, 3) == pytest.approx(2 / 3)
    assert metrics.precision(ranked, grades, 5) == pytest.approx(2 / 5)
    assert metrics.reciprocal_rank(ranked, grades) == 0.5
    assert metrics.reciprocal_rank(ranked, grades, 1) == 0.0
    assert metrics.average_precision(ranked, grades) == pytest.approx((1 / 2 + 2 / 3) / 3)
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    best = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg(ranked, grades, 10) == pytest.approx(gained / best)
    assert metrics.place(ranked, {"b", "y"}) == 3
    assert metrics.place(ranked, {"z"}) == math.inf
    assert (metrics.found(ranked, {"b"}, 2), metrics.found(ranked, {"b"}, 3)) == (0.0, 1.0)


@given(RANKED, CUT)
def test_with_nothing_relevant_all_are_zero(ranked: list[str], k: int | None) -> None:
    assert metrics.recall(ranked, {}, k) == metrics.average_precision(ranked, {}, k) == metrics.ndcg(ranked, {}, k) == 0
    assert metrics.precision(ranked, {}, k or 1) == metrics.reciprocal_rank(ranked, {}, k) == 0


@given(RANKED, GRADES, CUT)
def test_all_lie_between_nothing_and_the_best_ranking(
    ranked: list[str], grades: dict[str, float], k: int | None
) -> None:
    best = sorted(grades, key=lambda name: -grades[name])
    for measure in (metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.average_precision):
        assert 0 <= measure(ranked, grades, k) <= measure(best, grades, k) + 1e-12
    assert metrics.ndcg(best, grades, k) == (1.0 if grades else 0.0)
    assert metrics.precision(ranked, grades, k or 1) <= metrics.precision(best, grades, k or 1)


@given(RANKED, GRADES, CUT)
def test_repeats_count_once(ranked: list[str], grades: dict[str, float], k: int | None) -> None:
    once = list(dict.fromkeys(ranked))
    for measure in (metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.average_precision):
        assert measure(ranked, grades, k) == measure(once, grades, k)
    assert metrics.precision(ranked, grades, k or 1) == metrics.precision(once, grades, k or 1)


@given(RANKED, GRADES, st.floats(0.5, 4))
def test_ndcg_knows_grades_only_by_their_proportion(ranked: list[str], grades: dict[str, float], factor: float) -> None:
    scaled = {name: factor * grade for name, grade in grades.items()}
    assert metrics.ndcg(ranked, scaled, 10) == pytest.approx(metrics.ndcg(ranked, grades, 10), abs=1e-9)
