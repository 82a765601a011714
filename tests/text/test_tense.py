"""Questions without a word of time, read by their tense."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.sensitivity import read_time
from memrank.text.tense import tense
from memrank.types import Sensitivity

NOON = datetime(2025, 6, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "sensitivity"),
    [
        ("Which bank do we bank with?", "recent"),
        ("vitamin D level", "recent"),
        ("What's the limit on the corporate card?", "recent"),
        ("how much is drawn on the facility", "recent"),
        ("Suggest a place for the team dinner", "recent"),
        ("Who approved the budget?", "historical"),
        ("why did we leave the old vendor?", "historical"),
        ("Which room flooded?", "historical"),
        ("timeline of the rollout", "historical"),
        ("How has the pressure in her eyes developed?", "historical"),
        ("How does a heat pump work?", "time-agnostic"),
        ("What does RPO stand for?", "time-agnostic"),
        ("what is core inflation?", "time-agnostic"),
        ("difference between a bond and a note", "time-agnostic"),
        (" ?", "time-agnostic"),
        ("Vitamin D supplements lower the risk of fractures in adults.", "time-agnostic"),
    ],
)
def test_the_tense_tells_what_is_asked_for(query: str, sensitivity: str) -> None:
    read = read_time(query, NOON, by_tense=True)
    assert read.sensitivity == sensitivity, read.evidence
    assert read_time(query, NOON).sensitivity in (Sensitivity.TIME_AGNOSTIC, read.sensitivity)


@pytest.mark.parametrize("query", ["What is the price right now?", "Where did I live before?", "news from March 2025"])
def test_a_word_of_time_counts_before_the_tense(query: str) -> None:
    assert read_time(query, NOON, by_tense=True) == read_time(query, NOON)


@given(st.text(max_size=3000))
def test_any_text_has_a_class_and_a_reason(text: str) -> None:
    sensitivity, why = tense(text.lower())
    assert sensitivity is not Sensitivity.REAL_TIME
    assert why
    assert read_time(text, NOON, by_tense=True).period == read_time(text, NOON).period
