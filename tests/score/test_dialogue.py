"""What an element is worth: bounds, monotony, relevance in long conversations, the push of a topic shift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import columns, shares

from memrank.score.dialogue import (
    CLASSES,
    LONG,
    USUAL,
    DialogueModel,
    age_correlation,
    faded,
    shipped,
    with_relevance,
)

Floats = NDArray[np.float64]


def model(weight: float = 1.0, edges: tuple[float, float, float] = (0.2, 0.4, 0.6)) -> DialogueModel:
    parts = ("decay", "protected", "replaced")
    return DialogueModel(
        coefficients={part: {"x": weight} for part in parts}, intercepts=dict.fromkeys(parts, 0.0), edges=edges
    )


def test_the_edges_of_the_fit_become_the_edges_of_the_classes() -> None:
    edges = np.array([0.2, 0.4, 0.6])
    worth = model().worth({"x": np.log(edges / (1 - edges))})
    np.testing.assert_allclose(worth.decay, CLASSES, atol=1e-12)
    np.testing.assert_allclose(worth.protected, edges)


@given(columns(8, st.floats(-50, 50)))
def test_worth_is_bounded_and_rises_with_its_evidence(x: Floats) -> None:
    worth = model().worth({"x": np.sort(x)})
    assert np.all((worth.decay >= 0) & (worth.decay <= 1))
    assert np.all(np.diff(worth.decay) >= 0)
    assert np.all(np.diff(worth.protected) >= 0)


def test_in_a_longer_conversation_a_pair_is_less_likely_a_correction() -> None:
    links = {"x": np.array([0.0])}
    of = [float(model().replaced(links, n)[0]) for n in (1, USUAL, 10 * USUAL, 100 * USUAL)]
    assert of[0] == of[1] == pytest.approx(0.5)
    assert of[2] == pytest.approx(1 / 11)
    assert of[1] > of[2] > of[3] > 0
    assert len(model().replaced({"x": np.zeros(0)}, 5)) == 0


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(columns(n), columns(n))))
def test_relevance_keeps_decay_within_bounds_and_only_its_order_counts(both: tuple[Floats, Floats]) -> None:
    decay, relevance = both
    out = with_relevance(decay, relevance)
    assert np.all((out >= 0) & (out <= 1))
    np.testing.assert_array_equal(out, with_relevance(decay, relevance * 2))


def test_relevance_decides_in_a_long_conversation_only() -> None:
    def best(n: int) -> float:
        relevance = np.zeros(n)
        relevance[0] = 0.9
        return float(with_relevance(np.full(n, 0.95), relevance)[0])

    assert best(3) > 0.9
    assert best(int(LONG)) < 0.9
    assert best(2_000) < 0.01
    assert float(with_relevance(np.full(2_000, 0.05), np.arange(2_000.0))[0]) > 0.9
    assert len(with_relevance(np.zeros(0), np.zeros(0))) == 0


@given(columns(6), columns(6), shares)
def test_a_shift_pushes_up_what_is_off_topic(decay: Floats, off: Floats, push: float) -> None:
    out = faded(decay, off, push)
    assert np.all(out >= decay - 1e-15)
    assert np.all(out <= 1 + 1e-15)
    np.testing.assert_array_equal(faded(decay, np.zeros(6), push), decay)


def test_correlation_of_age_and_decay() -> None:
    age = np.array([4.0, 3.0, 2.0, 1.0])
    assert age_correlation(age, age / 4) == pytest.approx(1.0)
    assert age_correlation(age, 1 - age / 4) == pytest.approx(-1.0)
    assert age_correlation(age, np.array([1.0, 0.0, 0.0, 1.0])) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("age", "decay"),
    [([], []), ([1.0], [0.5]), ([2.0, 1.0], [0.5, 0.1]), ([3.0, 2.0, 1.0], [0.5] * 3), ([1.0] * 3, [0.1, 0.2, 0.3])],
)
def test_a_correlation_that_cannot_be_computed_is_none(age: list[float], decay: list[float]) -> None:
    assert age_correlation(np.array(age), np.array(decay)) is None


def test_the_model_that_is_shipped_reads() -> None:
    found = shipped()
    assert 0 < found.edges[0] < found.edges[1] < found.edges[2] < 1
    assert {*found.coefficients} == {*found.intercepts} == {"decay", "protected", "replaced"}
    assert all(np.isfinite(value) for part in found.coefficients.values() for value in part.values())
