"""Bootstrap intervals: against plain resampling, their coverage, and what is paired; Holm's correction by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.calibration import bin_sums, ece, ece_of_sums
from memrank.score.intervals import Bootstrap, Estimate, holm, summary, two_sided

NAN = math.nan
GROUPS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=25)
P_VALUES = st.lists(st.floats(0, 1), max_size=12)


def bounds(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def alone(n: int, *, seed: int = 1, resamples: int = 400) -> Bootstrap:
    return Bootstrap([f"q{i}" for i in range(n)], seed=seed, resamples=resamples)


@given(GROUPS, st.data())
def test_each_resample_is_the_mean_of_whole_groups(groups: list[str], data: st.DataObject) -> None:
    value = st.just(NAN) | st.floats(-5, 5)
    values = np.array(data.draw(st.lists(value, min_size=len(groups), max_size=len(groups))))
    found = Bootstrap(groups, seed=3, resamples=20).estimate(values)
    names = list(dict.fromkeys(groups))
    times = np.random.default_rng(3).multinomial(len(names), [1 / len(names)] * len(names), size=20)
    for one, drawn in zip(times, found.drawn, strict=True):
        picked = [
            value
            for name, how_often in zip(names, one, strict=True)
            for value, group in zip(values, groups, strict=True)
            for _ in range(how_often if group == name and not math.isnan(value) else 0)
        ]
        assert drawn == pytest.approx(np.mean(picked) if picked else NAN, nan_ok=True, abs=1e-9)
    kept = values[~np.isnan(values)]
    assert found.n == len(kept)
    assert found.mean == pytest.approx(kept.mean() if len(kept) else NAN, nan_ok=True, abs=1e-9)


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    values = np.random.default_rng(0).random(40)
    assert bounds(alone(40).estimate(values)) == bounds(alone(40).estimate(values))
    assert bounds(alone(40).estimate(values)) != bounds(alone(40, seed=2).estimate(values))


def test_nine_intervals_of_ten_and_more_hold_the_truth() -> None:
    chance = np.random.default_rng(7)
    held = 0
    for seed in range(200):
        estimate = alone(60, seed=seed, resamples=300).estimate(chance.normal(0.5, 1.0, 60))
        held += estimate.low <= 0.5 <= estimate.high
    assert 180 <= held <= 199


def test_cases_of_one_group_widen_the_interval() -> None:
    values = np.repeat(np.arange(10) % 2, 20).astype(np.float64)
    together = Bootstrap([f"g{i // 20}" for i in range(200)], seed=1, resamples=500).estimate(values)
    apart = alone(200, resamples=500).estimate(values)
    assert together.high - together.low > 2 * (apart.high - apart.low)
    assert together.mean == apart.mean == 0.5


@pytest.mark.parametrize("values", [[], [NAN], [NAN, NAN]])
def test_of_nothing_nothing_is_told(values: list[float]) -> None:
    found = alone(len(values)).estimate(np.array(values))
    assert found.n == 0
    assert all(map(math.isnan, (found.mean, found.low, found.high)))
    assert alone(len(values)).quantile(np.array(values), 0.5).n == 0


def test_one_group_has_a_mean_and_no_interval() -> None:
    found = Bootstrap(["a", "a", "b"], seed=1, resamples=50).estimate(np.array([1.0, 0.0, NAN]))
    assert (found.mean, found.n) == (0.5, 2)
    assert all(map(math.isnan, bounds(found)))


def test_a_paired_difference_is_over_the_cases_of_both() -> None:
    draw = np.random.default_rng(1).random(50)
    better = draw + 0.1
    better[0] = NAN
    found = alone(50).paired(better, draw)
    assert found.n == 49
    assert found.mean == pytest.approx(0.1)
    assert bounds(found) == pytest.approx((0.1, 0.1))
    assert found.p == pytest.approx(2 / 401)
    assert alone(50).paired(draw, draw).p == 1.0
    assert math.isnan(alone(1).paired(np.array([1.0]), np.array([0.0])).p)


def test_p_agrees_with_the_interval_and_errs_one_time_in_twenty() -> None:
    chance = np.random.default_rng(11)
    false = 0
    for seed in range(200):
        found = alone(50, seed=seed, resamples=400).paired(chance.normal(size=50), chance.normal(size=50))
        if found.p < 0.045:
            assert found.low > 0 or found.high < 0
        if found.p > 0.055:
            assert found.low <= 0 <= found.high
        false += found.p < 0.05
    assert 2 <= false <= 22


def test_two_sided_by_hand() -> None:
    assert two_sided(np.array([1.0, 2.0, -1.0])) == 1.0
    assert two_sided(np.array([1.0] * 19)) == pytest.approx(2 / 20)
    assert two_sided(np.array([-1.0] * 38 + [1.0])) == pytest.approx(2 * 2 / 40)
    assert two_sided(np.zeros(9)) == 1.0


def test_figures_of_sums_are_drawn_like_means() -> None:
    chance = np.random.default_rng(2)
    lots = [(chance.random(5), chance.random(5) < 0.5) for _ in range(30)]
    rows = np.array([bin_sums(p, y).ravel() for p, y in lots] + [np.full(30, NAN)])
    found = alone(31).of_sums(rows, ece_of_sums)
    p, y = (np.concatenate(parts) for parts in zip(*lots, strict=True))
    assert found.n == 30
    assert found.mean == pytest.approx(ece(p, y))
    assert found.low < found.high
    as_sums = alone(30).of_sums(p[:30, None], lambda sums: sums[..., 0] / sums[..., 1])
    assert bounds(as_sums) == bounds(alone(30).estimate(p[:30]))


def test_quantiles_by_nearest_rank() -> None:
    values = np.array([NAN, *range(1, 101)], dtype=np.float64)
    np.random.default_rng(0).shuffle(values)
    draws = alone(101, resamples=300)
    for share, wanted in ((0.5, 50), (0.95, 95), (0.99, 99), (0.07, 7), (1.0, 100), (0.0, 1)):
        found = draws.quantile(values, share)
        assert (found.mean, found.n) == (wanted, 100)
        assert found.low <= found.mean <= found.high
    middle = draws.quantile(values, 0.5)
    assert 30 < middle.low < 50 < middle.high < 70


@given(GROUPS, st.floats(0.01, 1), st.data())
def test_each_resample_of_a_quantile_is_one_of_its_cases(groups: list[str], share: float, data: st.DataObject) -> None:
    values = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(groups), max_size=len(groups))), np.float64)
    found = Bootstrap(groups, seed=3, resamples=10).quantile(values, share)
    names = list(dict.fromkeys(groups))
    times = np.random.default_rng(3).multinomial(len(names), [1 / len(names)] * len(names), size=10)
    for one, drawn in zip(times, found.drawn, strict=True):
        weights = [int(one[names.index(group)]) for group in groups]
        picked = np.sort(np.repeat(values, weights))
        assert drawn == picked[max(math.ceil(round(share * len(picked), 9)), 1) - 1]


def test_a_difference_of_figures_keeps_the_resamples_paired() -> None:
    draw = np.random.default_rng(1).random(50)
    draws = alone(50)
    change = draws.estimate(draw + 0.1).minus(draws.estimate(draw))
    assert (change.mean, *bounds(change)) == pytest.approx((0.1, 0.1, 0.1))


def test_a_summary_leaves_out_what_was_not_drawn() -> None:
    found = summary(1.0, 3, np.array([NAN, 1.0, 1.0]))
    assert bounds(found) == (1.0, 1.0)
    assert all(map(math.isnan, bounds(summary(1.0, 3, np.array([NAN])))))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, NAN, 0.6]) == pytest.approx([1.0, NAN, 1.0], nan_ok=True)
    assert holm([]) == []


@given(P_VALUES)
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    assert all(c <= min(1.0, len(p_values) * p) + 1e-12 for p, c in zip(p_values, corrected, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert bool((np.diff(np.array(corrected)[order]) >= 0).all())
