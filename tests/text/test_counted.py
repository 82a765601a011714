"""Numbers with the word for what they count."""

import pytest

from memrank.text.counted import counted, distinct, verb


@pytest.mark.parametrize(("number", "said"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (11, "11 calls")])
def test_the_plural_is_for_all_but_one(number: int, said: str) -> None:
    assert counted(number, "call") == said


def test_words_with_a_plural_of_their_own_and_verbs() -> None:
    assert [counted(n, "memory", "memories") for n in (1, 2)] == ["1 memory", "2 memories"]
    assert [verb(n) for n in (0, 1, 2)] == ["are", "is", "are"]
    assert [verb(n, "its", "their") for n in (1, 2)] == ["its", "their"]


def test_names_that_come_again_are_numbered() -> None:
    assert distinct(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
    assert distinct(["x", "x"], "-{}") == ["x", "x-2"]
    assert distinct([]) == []
