"""The test of calibration against labels."""

import math

import numpy as np
import pytest

from memrank.score.recalibration import calibration_test


def test_nothing_can_be_told_of_one_group() -> None:
    assert math.isnan(calibration_test(np.array([]), np.array([]), []))
    assert math.isnan(calibration_test(np.array([0.5, 0.5]), np.array([1.0, 0.0]), ["a", "a"]))


def test_the_value_of_a_case_worked_by_hand() -> None:
    # Only the intercept is told, because all logits are 0: (4 * 0.5)^2 / (4 * 0.25) = 4, so p = erfc(sqrt(2)).
    p = calibration_test(np.full(4, 0.5), np.ones(4), list("abcd"))
    assert p == pytest.approx(math.erfc(math.sqrt(2.0)))


def test_labels_without_any_error_are_no_evidence() -> None:
    assert calibration_test(np.array([0.0, 1.0]), np.array([0.0, 1.0]), ["a", "b"]) == 1.0


def test_the_order_does_not_matter_and_groups_do() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(size=60)
    y = rng.uniform(size=60) < p**2
    groups = [str(k) for k in range(60)]
    alone = calibration_test(p, y, groups)
    assert calibration_test(p[::-1], y[::-1], groups[::-1]) == pytest.approx(alone)
    # The same labels counted five times over are no more evidence when they belong together.
    again = calibration_test(np.tile(p, 5), np.tile(y, 5), groups * 5)
    assert again == pytest.approx(alone)
    assert calibration_test(np.tile(p, 5), np.tile(y, 5), list(map(str, range(300)))) < alone


def test_it_rejects_as_often_as_it_says_and_finds_what_is_wrong() -> None:
    rng = np.random.default_rng(7)
    groups = [str(k // 3) for k in range(300)]
    true, wrong = [], []
    for _ in range(400):
        p = rng.beta(0.6, 1.2, size=300).clip(0.001, 0.999)
        y = rng.uniform(size=300)
        true.append(calibration_test(p, y < p, groups))
        wrong.append(calibration_test(p, y < np.sqrt(p), groups))
    assert 0.02 < np.mean(np.array(true) < 0.05) < 0.09
    assert np.mean(np.array(wrong) < 0.05) > 0.99
