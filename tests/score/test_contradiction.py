"""The probability of a contradiction: what rules one out, and that it is one of the shipped model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memrank.claimpairs import EXCLUDED, FEATURES, RULES
from memrank.score.contradiction import probability, shipped
from memrank.updates import UPDATES


def features(**given: float) -> dict[str, NDArray[np.float64]]:
    """One pair with nothing to be said of it but this."""
    return {name: np.array([given.get(name, 0.0)]) for name in (*FEATURES, *RULES)}


def test_the_shipped_model_weighs_the_evidence_that_is_gathered() -> None:
    assert shipped().trees.features == FEATURES
    assert tuple(shipped().updates) == UPDATES


@given(st.dictionaries(st.sampled_from(FEATURES), st.floats(-10, 10)))
def test_it_is_a_probability(given: dict[str, float]) -> None:
    (found,) = probability(shipped(), features(**given))
    assert 0 <= found <= 1


@pytest.mark.parametrize("rule", EXCLUDED)
def test_a_rule_is_above_all_evidence(rule: str) -> None:
    strong = {"old_in_new": 0.8, "new_in_old": 0.8, "held": 0.8, "ratio": 0.8, "slot_differs": 1.0}
    assert probability(shipped(), features(**strong))[0] > 0
    assert probability(shipped(), features(**strong, **{rule: 1.0}))[0] == 0.0


def test_no_pairs() -> None:
    assert probability(shipped(), {name: np.zeros(0) for name in (*FEATURES, *RULES)}).shape == (0,)


@pytest.mark.parametrize("turn", UPDATES)
def test_a_plain_case_is_as_likely_as_it_was_right(turn: str) -> None:
    weak = probability(shipped(), features())[0]
    chance = shipped().updates[turn]
    assert weak < chance
    assert probability(shipped(), features(**{turn: 1.0}))[0] == chance
    assert probability(shipped(), features(**{turn: 1.0, "disjoint": 1.0}))[0] == 0.0
