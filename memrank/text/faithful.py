"""Whether a summary that somebody else wrote says only what its text says: numbers, dates, names, and what is owed.

Strict rather than clever: what cannot be found in the text counts as made up. Names are known by their capitals; in
scripts without any, every stretch of the summary must stand in the text.
"""

import re
import unicodedata
from functools import lru_cache

from memrank.text.acts import asks, commits, remains, requests, sentences
from memrank.text.instructing import instructs

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = re.compile(r"(?:(?<!\w)[-+−])?[$€£¥]?\s?(?<!\d)\.?\d+(?:[.,:/-]\d+)*(?:\s?[%‰€$£¥]|[^\W\d_]{1,3}\b)?")
_STARTS = re.compile(r"(?:^|[.!?:;\n(\"“]\s*|\s[-–*]\s)$")
_POSSESSIVE = re.compile(r"['’]s?$")

OPENERS = frozenset(
    (
        *("a", "an", "the", "it", "its", "he", "she", "they", "we", "i", "you", "his", "her", "their", "our", "my"),
        *("this", "that", "these", "those", "there", "and", "but", "or", "so", "then", "also", "no", "not", "only"),
        *("open", "still", "asked", "asks", "says", "said", "decided", "agreed", "wants", "needs", "pending"),
        *("result", "summary", "in", "on", "at", "for", "from", "with", "to", "of", "by", "as", "is", "was", "are"),
        *("were", "has", "had", "user", "assistant", "question", "decision"),
    )
)
"""Words that a sentence may begin with although the text has them not: they name nothing."""
_UNITS = tuple(f"{unit}{ending}" for unit in ("hour", "day", "week", "month", "year") for ending in ("", "s", "ly"))
_DAYS = tuple(f"{day}day" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"))
FIGURES = frozenset(
    (
        *("zero", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty"),
        *("forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million", "billion"),
        *("half", "dozen", "double", "twice", "quarter", "triple", "today", "tonight", "tomorrow", "yesterday"),
        *("noon", "midnight", "morning", "afternoon", "evening", *_UNITS, *_DAYS),
        *("january", "february", "april", "june", "july", "august", "september", "october", "november", "december"),
    )
)
"""Words that are numbers or dates."""
_UNIT = (
    r"(?:mg|g|kg|mcg|ug|µg|lbs?|oz|ml|cl|l|lit(?:er|re)s?|mm|cm|m|km|miles?|feet|inch(?:es)?|percent|euros?|eur|usd|gbp"
    r"|dollars?|pounds?|cents?|seconds?|min|minutes?|hours?|days?|weeks?|months?|years?|times|k|million|billion|am|pm"
    r"|grams?|units?|tablets?|pills?|mb|gb|kb|tb|ms|degrees?)"
)
_MEASURE = re.compile(rf"(?<!\d)(?<!\d[.,:/-])(\d+(?:[.,:/-]\d+)*)\s?({_UNIT})\b", re.IGNORECASE)


def made_up(summary: str, source: str) -> str | None:
    """What is wrong with a summary of a text, in words that quote neither; None where nothing is.

    What it may not hold is a number, a date or a name that the text lacks, or what instructs a judge. What the text
    promises, asks, requests or leaves to be done must stand in it as it is written, see `owed`.
    """
    said, given = _plain(summary), _plain(source)
    if instructs(summary):
        return "it gives instructions"
    if _figures(said) - _figures(given) or _measures(said) - _measures(given):
        return "it holds a number or a date that the text lacks"
    known = _words(given)
    for match in _WORD.finditer(said):
        word = _bare(match[0])
        if word in known or word.isdecimal():
            continue
        if word in FIGURES:
            return "it holds a number or a date that the text lacks"
        if _caseless(match[0]):
            if match[0] not in given:
                return "it holds words that the text lacks"
        elif match[0] != match[0].lower() and not (word in OPENERS and _STARTS.search(said[: match.start()])):
            return "it holds a name that the text lacks"
    flat = f" {_flat(said)} "
    if any(f" {kept} " not in flat for one in owed(source) if (kept := _flat(_plain(one)))):
        return "it does not keep a promise, a question or a request as it is written"
    return None


@lru_cache(maxsize=1024)
def owed(text: str) -> tuple[str, ...]:
    """The sentences of a text that promise, ask, request or leave something to be done, in their order."""
    return tuple(one for one in sentences(text) if commits(one) or asks(one) or remains(one) or requests(one))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _flat(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _figures(text: str) -> frozenset[str]:
    return frozenset("".join(match.split()).casefold() for match in _NUMBER.findall(text))


def _measures(text: str) -> frozenset[tuple[str, str]]:
    """Numbers with the unit behind them: 500 mg are not 500 g."""
    return frozenset((number, unit.casefold().rstrip("s")) for number, unit in _MEASURE.findall(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(_bare(word) for word in _WORD.findall(text))


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word).casefold()


def _caseless(word: str) -> bool:
    """Whether a word is of a script without capitals."""
    return all(letter.lower() == letter.upper() for letter in word)
