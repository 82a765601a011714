"""Words that differ by a slip of the fingers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.text.slips import MAX_LETTERS, MIN_LETTERS, near, slips

WORDS = st.text("abcdefghij", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("said", "meant", "same"),
    [
        ("typscript", "typescript", True),
        ("typsecript", "typescript", True),
        ("mongod", "mongodb", True),
        ("eror", "error", True),
        ("error", "error", True),
        ("mango", "mongo", False),
        ("martin", "marvin", False),
        ("kub", "kube", False),
        ("k9s", "k8s", False),
        ("v12345", "v1234", False),
        ("reviews", "review", True),
        ("overview", "review", False),
    ],
)
def test_slips_and_other_words(said: str, meant: str, same: bool) -> None:
    assert near(meant, {said, "beside"}) is same
    assert near(said, {meant}) is same


@given(WORDS, WORDS)
def test_it_is_mutual_and_only_one_letter_or_one_swap(one: str, two: str) -> None:
    assert near(one, {two}) == near(two, {one})
    if near(one, {two}) and one != two:
        assert max(len(one), len(two)) >= MIN_LETTERS
        assert abs(len(one) - len(two)) == 1 or sorted(one) == sorted(two)


@given(WORDS)
def test_a_word_is_near_itself_but_no_slip_of_itself(word: str) -> None:
    assert near(word, {word})
    assert word not in slips(word)


def test_nothing_is_near_nothing() -> None:
    assert not near("kubernetes", ())


def test_an_endless_word_has_no_slips() -> None:
    # Each would be as long as the word, and there are as many: a megabyte would become a terabyte.
    endless = "ab" * 500_000
    assert slips(endless) == frozenset()
    assert near(endless, {endless})
    assert not near(endless, {endless[1:]})
    longest = "ab" * (MAX_LETTERS // 2)
    assert near(longest, {longest[1:]})
    assert not near(longest + "a", {longest})
