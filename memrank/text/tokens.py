"""Text to terms: Unicode words, lower case, English stop words and Snowball stems unless told otherwise."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Literal, TypeAlias

import Stemmer

Language: TypeAlias = Literal["english", "none"]

# A number keeps its decimals ("4.25"), a word its digits ("q1"); underscores and punctuation separate.
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
# Scripts written without spaces are cut into overlapping pairs of characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)

STOP_WORDS = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not of off on once only
    or other our ours ourselves out over own same she should so some such than that the their theirs them themselves
    then there these they this those through to too under until up very was we were what when where which while who whom
    why will with would you your yours yourself yourselves s t d ll m re ve don isn doesn didn wasn weren couldn shouldn
    wouldn hasn haven hadn ain""".split()  # noqa: SIM905 - words read better than a list of quotes
)


def words(text: str) -> list[str]:
    """Every word of the text, normalised (NFKC) and in lower case, in order; unspaced scripts as character pairs."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found = _WORD.findall(text.casefold())
    if text.isascii():
        return found
    out: list[str] = []
    for word in found:
        out.extend(_pairs(word) if _UNSPACED.search(word) else (word,))
    return out


def _pairs(word: str) -> list[str]:
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


class Tokenizer:
    """Turns text into terms. Pure for one language: the same text always gives the same terms."""

    def __init__(self, language: Language = "english") -> None:
        self.language = language
        # Without its own cache, a stemmer takes a word in one step that holds the interpreter's lock: threads share it.
        stem = Stemmer.Stemmer("english", 0).stemWord if language == "english" else str
        self._stem = lru_cache(maxsize=200_000)(stem)
        self._stop = STOP_WORDS if language == "english" else frozenset()

    def terms(self, text: str) -> list[str]:
        """Stems of the words that are not stop words, in order, repeats kept."""
        stem, stop = self._stem, self._stop
        return [stem(word) for word in words(text) if word not in stop]


@cache
def tokenizer_of(language: Language) -> Tokenizer:
    """The one tokenizer of a language in this process: what it has stemmed serves every reader."""
    return Tokenizer(language)
