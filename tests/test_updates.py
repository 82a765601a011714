"""Plain cases of an updated fact: what each rule sees, and what it must leave alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.claims import read_claim
from memrank.updates import LONGEST, UPDATES, asking, preferring, updates


def shown(older: str, newer: str) -> frozenset[str]:
    return updates(older, read_claim(older), newer, read_claim(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Tolerates lisinopril 20 mg well.", "Lisinopril stopped because of cough."),
        ("Started naproxen in January and tolerates it.", "Naproxen was stopped for stomach bleeding."),
        ("On sertraline 50 mg, no side effects.", "Came off sertraline in March, nausea and insomnia."),
        ("Amoxicillin tolerated well.", "Developed a rash on amoxicillin."),
        ("The household uses a meal box service.", "The meal box was cancelled, too much packaging."),
    ],
)
def test_what_went_on_has_stopped(older: str, newer: str) -> None:
    assert shown(older, newer) == {"stopped"}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Prefers morning appointments.", "Switch me to afternoons from now on."),
        ("Patient prefers morning appointments.", "Patient now asks for afternoon appointments."),
        ("Best by phone.", "Please text instead."),
        ("Wants the window seat.", "Would like the aisle seat from now on."),
    ],
)
def test_another_value_of_one_kind_is_asked_for(older: str, newer: str) -> None:
    assert shown(older, newer) == {"preference"}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Lives in Lisbon.", "Moved to Porto last month."),
        ("User lives in Boston", "User lives in Denver"),
        ("Tomas works at Skoda.", "Tomas works at Bosch."),
    ],
)
def test_another_home_or_employer(older: str, newer: str) -> None:
    assert shown(older, newer) == {"moved"}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Tolerates lisinopril 20 mg well.", "Metformin stopped because of diarrhoea."),
        ("Tolerates lisinopril.", "Lisinopril is well tolerated."),
        ("Tolerates metformin.", "Her brother stopped metformin."),
        ("Takes lisinopril.", "Thought about stopping lisinopril, but kept it."),
        ("Ilse takes no sugar in her tea.", "Ilse stopped at the sugar museum."),
        ("Dr. Castellano does telehealth on Mondays.", "Dr. Brandt has given up telehealth."),
        ("Prefers morning appointments.", "Just this once an afternoon appointment, please."),
        ("Prefers morning appointments.", "Her husband prefers afternoons, please."),
        ("Prefers morning appointments.", "Prefers the morning, please."),
        ("Wants reminders in the evening, never in the morning.", "Please no reminders in the morning."),
        ("Lives in Lisbon.", "Works in Porto."),
        ("Lives in Lisbon.", "Used to live in Porto."),
        ("Ana lives in Lisbon.", "Bruno lives in Porto."),
        ("User works at Google", "User's sister works at Meta"),
    ],
)
def test_what_looks_like_one_and_is_none(older: str, newer: str) -> None:
    assert shown(older, newer) == frozenset()


def test_long_texts_are_left_alone() -> None:
    older, newer = "Tolerates lisinopril.", "Lisinopril stopped." + " x" * LONGEST
    assert shown(older, newer) == frozenset()
    assert not asking("please " + "x" * LONGEST)
    assert not preferring("prefers " + "x" * LONGEST)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_are_read(older: str, newer: str) -> None:
    assert shown(older, newer) <= set(UPDATES)
    assert shown(older, older) == frozenset()
