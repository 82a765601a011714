"""Errors of calibration by hand and by their properties; a map of scikit-learn is applied as it applies it itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.score.calibration import (
    Isotonic,
    Platt,
    bin_sums,
    brier,
    ece,
    ece_of_sums,
    logit,
    reliability,
    risk_coverage,
)

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)
NOTHING = np.zeros(0)


def columns(pairs: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])


def test_by_hand() -> None:
    p, y = np.array([0.05, 0.15, 0.15, 0.95, 1.0]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    assert brier(p, y) == pytest.approx((0.05**2 + 0.85**2 + 0.15**2 + 0.05**2) / 5)
    # [0, .1): |.05 - 0|; [.1, .2): |.15 - .5| twice; [.9, 1]: |.975 - 1| twice.
    assert ece(p, y) == pytest.approx((0.05 + 2 * 0.35 + 2 * 0.025) / 5)
    diagram = reliability(p, y)
    assert diagram.n.tolist() == [1, 2, 0, 0, 0, 0, 0, 0, 0, 2]
    assert diagram.mean[[0, 1, 9]] == pytest.approx([0.05, 0.15, 0.975])
    assert diagram.share[[0, 1, 9]] == pytest.approx([0, 0.5, 1])
    assert math.isnan(diagram.mean[4])
    assert (diagram.low[3], diagram.high[9]) == (0.3, 1.0)


def test_of_nothing_nothing_is_told() -> None:
    assert math.isnan(brier(NOTHING, NOTHING))
    assert math.isnan(ece(NOTHING, NOTHING))
    assert reliability(NOTHING, NOTHING).n.sum() == 0
    curve = risk_coverage(NOTHING, NOTHING)
    assert len(curve.threshold) == 0
    assert math.isnan(curve.area)


@given(PAIRS)
def test_errors_lie_in_the_unit_interval_and_know_no_order(pairs: list[tuple[float, bool]]) -> None:
    p, y = columns(pairs)
    assert 0 <= ece(p, y) <= 1
    assert 0 <= brier(p, y) <= 1
    assert ece(p[::-1], y[::-1]) == pytest.approx(ece(p, y))
    # One bin: only the mean is compared; more bins never hide more.
    assert ece(p, y, bins=1) == pytest.approx(abs(p.mean() - y.mean()), abs=1e-12)
    assert ece(p, y, bins=10) >= ece(p, y, bins=1) - 1e-12


@given(PAIRS, PAIRS)
def test_sums_of_two_lots_are_those_of_both(one: list[tuple[float, bool]], two: list[tuple[float, bool]]) -> None:
    both = bin_sums(*columns(one)) + bin_sums(*columns(two))
    assert both == pytest.approx(bin_sums(*columns(one + two)))
    assert float(ece_of_sums(both.ravel())) == pytest.approx(ece(*columns(one + two)), abs=1e-12)
    assert float(ece_of_sums(np.append(both.ravel(), 2.0))) == pytest.approx(ece(*columns(one + two)), abs=1e-12)


def test_what_is_said_as_often_as_it_is_true_is_calibrated() -> None:
    p = np.repeat([0.2, 0.8], 10)
    y = np.array([1] * 2 + [0] * 8 + [1] * 8 + [0] * 2)
    assert ece(p, y) == pytest.approx(0)
    assert brier(p, y) == pytest.approx(0.16)


def test_risk_and_coverage_by_hand() -> None:
    curve = risk_coverage(np.array([0.5, 0.9, 0.7, 0.7]), np.array([True, False, True, False]))
    assert curve.threshold.tolist() == [0.9, 0.7, 0.5]
    assert curve.coverage == pytest.approx([0.25, 0.75, 1.0])
    assert curve.risk == pytest.approx([0, 1 / 3, 0.5])
    assert curve.area == pytest.approx((0 + 2 / 3 + 0.5) / 4)


@given(PAIRS)
def test_at_full_coverage_the_risk_is_the_share_that_is_wrong(pairs: list[tuple[float, bool]]) -> None:
    confidence, wrong = columns(pairs)
    curve = risk_coverage(confidence, wrong)
    assert curve.coverage[-1] == 1
    assert curve.risk[-1] == pytest.approx(wrong.mean())
    assert (np.diff(curve.coverage) > 0).all()
    assert (np.diff(curve.threshold) < 0).all()
    shuffled = risk_coverage(confidence[::-1], wrong[::-1])
    assert shuffled.area == pytest.approx(curve.area)


def test_knots_are_joined_by_lines_and_flat_outside() -> None:
    knots = Isotonic(x=(0.2, 0.4, 0.8), y=(0.1, 0.1, 0.9))
    assert knots.apply(np.array([0.0, 0.2, 0.3, 0.6, 0.8, 1.0])) == pytest.approx([0.1, 0.1, 0.1, 0.5, 0.9, 0.9])
    assert Isotonic(x=(0.5,), y=(0.3,)).apply(np.array([0.0, 1.0])).tolist() == [0.3, 0.3]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((), ()),
        ((0.1, 0.2), (0.1,)),
        ((0.2, 0.2), (0.1, 0.3)),
        ((0.2, 0.1), (0.1, 0.3)),
        ((0.1, 0.2), (0.3, 0.1)),
        ((0.1, 1.2), (0.1, 0.3)),
        ((0.1, 0.2), (-0.1, 0.3)),
        ((0.1, math.nan), (0.1, 0.3)),
    ],
)
def test_knots_that_are_no_rising_map_are_refused(x: tuple[float, ...], y: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="knots"):
        Isotonic(x=x, y=y)


@pytest.mark.parametrize(("slope", "intercept"), [(0.0, 0.0), (-1.0, 0.0), (math.nan, 0.0), (1.0, math.inf)])
def test_coefficients_that_reverse_an_order_are_refused(slope: float, intercept: float) -> None:
    with pytest.raises(ValueError, match="slope above 0"):
        Platt(slope=slope, intercept=intercept)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 20), st.floats(-20, 20))
def test_mended_probabilities_keep_their_order(p: list[float], slope: float, intercept: float) -> None:
    rising = np.sort(p)
    for mended in (
        Platt(slope=slope, intercept=intercept).apply(rising),
        Isotonic(x=(0.1, 0.5, 0.7), y=(0.0, 0.4, 1.0)).apply(rising),
    ):
        assert ((mended >= 0) & (mended <= 1)).all()
        assert (np.diff(mended) >= 0).all()


@given(st.floats(0.001, 0.999), st.floats(0.1, 5), st.floats(-5, 5))
def test_what_was_mended_can_be_undone(p: float, slope: float, intercept: float) -> None:
    said = np.array([p])
    line = Platt(slope=slope, intercept=intercept)
    mended = line.apply(said)
    if 1e-5 < mended[0] < 1 - 1e-5:
        assert line.undo(mended) == pytest.approx(said, rel=1e-4, abs=1e-6)
    steps = Isotonic(x=(0.0, 0.3, 0.6, 1.0), y=(0.1, 0.4, 0.4, 0.9))
    assert steps.apply(steps.undo(steps.apply(said))) == pytest.approx(steps.apply(said))
    assert steps.undo(np.array([0.4])) == pytest.approx([0.3])


def test_slope_one_changes_nothing() -> None:
    p = np.array([0.001, 0.3, 0.5, 0.999])
    assert Platt(slope=1.0, intercept=0.0).apply(p) == pytest.approx(p)
    assert logit(np.array([0.5])) == pytest.approx([0])
    assert np.isfinite(logit(np.array([0.0, 1.0]))).all()


def test_as_scikit_learn_applies_its_own() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1)
    chance = np.random.default_rng(4)
    p = chance.random(300)
    isotonic.fit(p, chance.random(300) < p**2)
    said = Isotonic(x=tuple(isotonic.X_thresholds_.tolist()), y=tuple(isotonic.y_thresholds_.tolist()))
    asked = np.linspace(0, 1, 101)
    assert said.apply(asked) == pytest.approx(isotonic.predict(asked))
