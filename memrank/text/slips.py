"""Words that differ by a slip of the fingers: a letter left out, one too many, or two neighbours swapped."""

from collections.abc import Collection
from functools import lru_cache

MIN_LETTERS = 5
"""Of the longer word: shorter ones are too often other words ("mango", "mongo")."""
MAX_LETTERS = 60
"""Of a word that has slips: what is longer is no word that somebody typed, and its slips would take its length squared.
"""


def near(word: str, asked: Collection[str]) -> bool:
    """Whether a word is one of those asked for, or a slip away from one.

    Another letter in the place of one is no slip: that is as often another word or name ("Martin", "Marvin").
    """
    if word in asked:
        return True
    others = slips(word)
    return any(other in others or word in slips(other) for other in asked)


@lru_cache(maxsize=100_000)
def slips(word: str) -> frozenset[str]:
    """What a word becomes with a letter left out or two neighbours swapped; nothing for one too short or too long."""
    if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha():
        return frozenset()
    without = {word[:i] + word[i + 1 :] for i in range(len(word))}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    return frozenset((without | swapped) - {word})
