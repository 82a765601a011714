"""Words that are values of one kind, and words of a state."""

import pytest

from memrank.text.kinds import ENDS, HOLDS, kinds, no_topic, plain_words, states


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ("Mornings suit me.", "Afternoons suit me.", "part of day"),
        ("He is vegan.", "He is pescatarian.", "diet"),
        ("Pay by card.", "Pay in cash.", "payment"),
        ("A part-time post.", "A full time post.", "work time"),
        ("Runs on PostgreSQL.", "Runs on SQLite.", "database"),
        ("Mails on Tuesdays.", "Mails on Thursdays.", "weekday"),
    ],
)
def test_two_values_of_one_kind_exclude_each_other(one: str, two: str, kind: str) -> None:
    first, second = kinds(plain_words(one)), kinds(plain_words(two))
    assert first[kind].isdisjoint(second[kind])


def test_other_words_for_one_value_do_not() -> None:
    assert kinds(["bike"])["transport"] == kinds(["bicycle"])["transport"]
    assert kinds(["morning"])["part of day"] == kinds(["mornings"])["part of day"]


def test_words_in_hyphens_and_beside_each_other_are_looked_up_too() -> None:
    assert "seat" in kinds(plain_words("an aisle-side place"))
    assert kinds(plain_words("part time")) == kinds(plain_words("part-time"))


def test_a_word_may_be_of_several_kinds_and_most_are_of_none() -> None:
    assert len(kinds(["cash"])) > 1
    assert kinds(plain_words("The committee met about the bridge.")) == {}
    assert kinds([]) == {}


def test_states_are_counted() -> None:
    assert states(plain_words("Takes and tolerates it.")) == (2, 0)
    assert states(plain_words("Stopped, doesn’t help.")) == (0, 2)
    assert not HOLDS & ENDS


def test_words_of_a_state_or_a_kind_are_no_topic() -> None:
    assert {"stop", "toler", "morn", "user"} <= no_topic()
    assert not {"lisinopril", "appoint"} & no_topic()
