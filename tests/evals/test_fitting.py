"""Maps fitted to labels: they keep the order, stay inside, and mend what is wrong."""

import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.calibration import calibrated
from memrank.errors import DataError, DependencyError
from memrank.evals.fitting import ENOUGH, Method, fit, method_for, smoothed
from memrank.score.calibration import ece

METHODS: tuple[Method, ...] = ("isotonic", "platt")


def labelled(n: int = 4000, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    said = rng.beta(0.5, 2.0, size=n)
    return said, rng.uniform(size=n) < said**1.7


@pytest.mark.parametrize("method", METHODS)
def test_a_map_mends_what_it_was_not_fitted_on(method: Method) -> None:
    section = fit(method, *labelled())
    said, relevant = labelled(seed=4)
    assert ece(said, relevant) > 0.05
    assert ece(calibrated(section, said), relevant) < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_what_was_told_apart_stays_apart(method: Method) -> None:
    section = fit(method, *labelled())
    found = calibrated(section, np.linspace(0.001, 0.999, 999))
    assert np.all(np.diff(found) > 0)
    assert np.all((found > 0) & (found < 1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(10, 40), st.sampled_from(METHODS))
def test_any_labels_give_a_map_or_a_reason(seed: int, kind: int, method: Method) -> None:
    rng = np.random.default_rng(seed)
    said = np.round(rng.uniform(size=2 * kind), int(rng.integers(1, 4)))
    with suppress(DataError):  # a judge that says the opposite
        section = fit(method, said, np.arange(2 * kind) < kind)
        found = calibrated(section, np.linspace(0, 1, 101))
        assert np.all(np.diff(found) >= 0)
        assert np.all((found >= 0) & (found <= 1))


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_a_judge_tells_apart_wholly_leave_room(method: Method) -> None:
    said = np.concatenate([np.full(20, 0.1), np.full(20, 0.9)])
    low, high = calibrated(fit(method, said, said > 0.5), np.array([0.1, 0.9]))
    assert 0 < low < 0.1
    assert 0.9 < high < 1


@pytest.mark.parametrize("method", METHODS)
def test_a_judge_that_says_the_opposite_is_refused(method: Method) -> None:
    said = np.concatenate([np.full(20, 0.1), np.full(20, 0.9)])
    with pytest.raises(DataError, match="nothing to calibrate"):
        fit(method, said, said < 0.5)


def test_too_few_of_a_kind_are_refused() -> None:
    with pytest.raises(DataError, match="9 relevant judged memories and 91 others are too few"):
        fit("platt", np.linspace(0, 1, 100), np.arange(100) >= 91)


def test_the_method_goes_by_the_rarer_kind() -> None:
    assert method_for(np.arange(10_000) < ENOUGH) == "isotonic"
    assert method_for(np.arange(10_000) < ENOUGH - 1) == "platt"
    assert method_for(np.arange(10_000) >= ENOUGH - 1) == "platt"


def test_smoothed_labels_are_those_of_platt() -> None:
    assert smoothed(np.array([True, True, False])).tolist() == [0.75, 0.75, pytest.approx(1 / 3)]


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(DependencyError, match="needs scikit-learn") as caught:
        fit("platt", *labelled())
    assert caught.value.hint == "pip install scikit-learn"
