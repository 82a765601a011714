"""How relevant each element is to a message, by the ranking's own model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import SAID, Record, assistant, conversations, document, elements, plain_analyzer, user

from memrank.dialogue.relevance import relevance_to


@settings(max_examples=40, deadline=None)
@given(conversations(), st.sampled_from(SAID))
def test_one_probability_an_element(records: list[Record], message: str) -> None:
    read = elements(*records)
    found = relevance_to(read, message, plain_analyzer())
    assert found.shape == (len(read),)
    assert np.all((found >= 0) & (found <= 1))


def test_what_the_message_speaks_of_is_more_relevant() -> None:
    read = elements(document("The garden chairs are blue."), document("The hotel is in Rome."), user("Hello."))
    found = relevance_to(read, "Which hotel in Rome?", plain_analyzer())
    assert found.argmax() == 1


@pytest.mark.parametrize("message", ["", " \n", "\x00"])
def test_nothing_is_relevant_to_nothing(message: str) -> None:
    found = relevance_to(elements(user("Hello."), assistant("Hotel.")), message, plain_analyzer())
    assert np.all(found < 0.3)


@pytest.mark.parametrize("message", ["next year", "in 99999999 days", "in the year 9999", "999999999 years ago"])
def test_no_period_overflows(message: str) -> None:
    assert relevance_to(elements(user("Hello.", created_at="2026-03")), message, plain_analyzer()).shape == (1,)


def test_expired_and_invalid_records_are_elements_as_well() -> None:
    read = elements(
        document("The hotel is in Rome.", expires_at="2020-01-01"),
        document("The hotel is in Rome, far out.", invalid_at="2020-01-01", namespace="other"),
    )
    assert np.all(relevance_to(read, "Which hotel in Rome?", plain_analyzer()) > 0)
