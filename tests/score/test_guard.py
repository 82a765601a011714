"""What a memory may gain by a model's word."""

import math

import pytest

from memrank.score.guard import FREE, NOISE, innocent, must_be_checked


def test_what_rises_must_be_checked() -> None:
    assert must_be_checked(0.9, 0.2)
    assert not must_be_checked(0.2, 0.9)
    assert not must_be_checked(0.25, 0.25)
    assert not must_be_checked(FREE, 0.0)


@pytest.mark.parametrize(
    ("said", "foreign", "clear"),
    [
        (1.0, 0.0, True),
        (1.0, NOISE, True),
        (1.0, 0.31, False),
        (1.0, 1.0, False),
        (0.4, 0.2, True),
        (0.4, 0.21, False),
        (0.1, 0.1, False),
        (1.0, math.nan, False),
    ],
)
def test_who_is_high_for_a_foreign_question_is_not_innocent(said: float, foreign: float, clear: bool) -> None:
    assert innocent(said, foreign) is clear
