"""What a text claims, as far as words show: numbers, names, dates, and the cues of change, denial and history."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product

from memrank.text.kinds import kinds, no_topic, plain_words, states
from memrank.text.lazy import Pattern
from memrank.text.tokens import STOP_WORDS, Language, tokenizer_of

SCANNED = 4_000
"""Characters of a text that are read."""

_TOKEN = re.compile(r"\d{1,2}:\d{2}\b|\b[QHqh][1-4]\b|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[%€$£]")

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: Mapping[str, int] = {
    **{word: i for i, word in enumerate(_UNITS.split())},
    **{word: 10 * i for i, word in enumerate(_TENS.split(), start=2)},
    "once": 1,
    "twice": 2,
    "dozen": 12,
    "pair": 2,
    "fortnight": 14,
}

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
PERIODS: Mapping[str, str] = {
    **{name: name for name in (*_MONTHS, *_DAYS)},
    **{name[:3]: name for name in (*_MONTHS, *_DAYS) if name != "may"},
    **{f"{day}s": day for day in _DAYS},
    "sept": "september",
    "tues": "tuesday",
    "thur": "thursday",
    "thurs": "thursday",
    **{word: word for word in ("q1", "q2", "q3", "q4", "h1", "h2", "spring", "summer", "autumn", "winter", "easter")},
    **{word: word for word in ("advent", "christmas", "first", "second", "third", "fourth", "interim", "final")},
}

CUES: Mapping[str, Pattern] = {
    "correction": Pattern(
        r"\b(?:actually|correct(?:ion|ed)|amended|scratch|scrap|disregard|mistaken?|mis(?:read|heard|spoke|took)"
        r"|mixed up|wrong(?:ly)?|sorry|typo|error in|swapped|instead|rather than|not .{1,40}? but)\b"
    ),
    "change": Pattern(
        r"\b(?:now|nowadays|these days|from now on|as of (?:now|today)|since (?:monday|the|last|then)|switch(?:ed|es)?"
        r"|chang(?:ed|es|ing)|moved? to|raised|lowered|increased?d?|cut to|trimmed|lifted? to|reduced|extended|upgraded"
        r"|replaced?|resched\w+|trailed|went live|goes? to|new|no further|turned? (?:on|off)|took over|takes over"
        r"|merged|settled on|for the time being|until further notice)\b"
    ),
    "ended": Pattern(
        r"\b(?:no longer|not any ?more|any ?more|stopp?(?:ed|s)|discontinued|cancell?ed|called off|dropped|closed|ended"
        r"|lapsed?|expired|retired|resigned|quit|gave up|given up|gave .{1,20} back|handed back|switched off|turned off"
        r"|turned down|rejected|withdrawn|withdrew|removed|revoked|suspended|sold|left|fell away|came off|off the"
        r"|read-only|refus\w+|banned|out of the|for good|over(?:ruled|turned)|no more|never again|broke"
        r"|behind (?:him|her"
        r"|them|us))\b"
    ),
    "confirmation": Pattern(
        r"\b(?:still|as (?:ever|before|always|it was|they were|usual|planned|agreed)|same as|remains?|unchanged"
        r"|no change|stays?|confirmed?|continues?|survives?|keeps?|holds?)\b"
    ),
    "history": Pattern(
        r"\b(?:used to|formerly|previously|back in|at the time|in those days|until (?:19|20)\d\d|in (?:19|20)\d\d"
        r"|from (?:19|20)\d\d|years? ago|as a (?:child|student|boy|girl)|at university|was once|had been"
        r"|up to and including)\b"
    ),
    "open": Pattern(
        r"\b(?:plann?(?:ed|s|ing)|pending|waiting|open|applied|requested|request|proposed|proposal|considering"
        r"|undecided"
        r"|not (?:yet )?decided|not yet|so far|unsigned|draft|evaluating|debating|looking for|raising|intends?|awaiting"
        r"|with the (?:panel|council|board)|engaged|provisional|scheduled|will)\b"
    ),
    "denial": Pattern(
        r"\b(?:not|no|never|none|nobody|nothing|without|cannot|neither|nor|\w+n['’]t|hardly|denies|denied|free of|stop"
        r"|avoid)\b"
    ),
    "narrative": Pattern(
        r"\b(?:because|after|since|asked|explained|rang|told|said|says|minutes|committee|letter|met)\b"
    ),
}
"""Words that show how a text stands to what was said before. Matched in lower case."""

_OPPOSITES = (
    "open/closed open/shut start/stop on/off enabled/disabled active/inactive active/retired approved/rejected "
    "approved/refused approve/reject allowed/forbidden allowed/banned allow/deny accept/refuse accepted/declined "
    "buy/sell bought/sold long/short overweight/underweight positive/negative up/down raise/cut rise/fall "
    "increase/decrease higher/lower morning/afternoon morning/evening mornings/afternoons mornings/evenings day/night "
    "single/married engaged/separated married/divorced employed/unemployed likes/dislikes loves/hates prefers/avoids "
    "tolerates/intolerant tolerated/stopped pass/fail passed/failed healthy/ill better/worse before/after left/right "
    "hired/fired joined/left fixed/floating growth/decline public/private signed/unsigned public/internal "
    "vegetarian/meat fully/empty comfortable/worried ample/short full/empty light/dark hot/cold with/without "
    "more/less always/never all/none early/late in/out inside/outside manual/automatic weekly/daily monthly/weekly "
    "aisle/window optional/required mandatory/optional"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One text, read."""

    words: tuple[str, ...]
    """Stems of the words that carry meaning, and numbers, in order."""
    starts: tuple[float, ...]
    """Where each stands in the text, 0 to 1."""
    names: frozenset[str]
    """Stems written with a capital within a sentence."""
    heads: frozenset[str]
    """Stems written with a capital at the start of the text or a sentence: names, or not."""
    numbers: frozenset[str]
    """Numbers, normalised: `30`, `4.5`; times as `15:30`."""
    slots: frozenset[tuple[str, str]]
    """(what stands beside a number, number)."""
    periods: frozenset[str]
    """Months, days of the week, quarters, years and ordinals."""
    cues: frozenset[str]
    """Those of CUES that it shows."""
    kinds: Mapping[str, frozenset[int]]
    """Kinds that its words are values of, each with the numbers of the values."""
    holds: int
    """Words that say that something goes on."""
    ends: int
    """Words that say that something has ended, or is not so."""
    topic: frozenset[str]
    """Those of `words` that say what it is about: no numbers, no values of a kind, no words of a state."""
    written: Mapping[str, str] = field(compare=False)
    """Each of `words` to how the text first writes it: `polici` to `policies`, `30` to `thirty`."""


def read_claim(text: str, language: Language = "english") -> Claim:
    """The claim of a text. Cues, number words and dates are English."""
    return _read(text[:SCANNED], language)


@lru_cache(maxsize=20_000)
def _read(text: str, language: Language) -> Claim:
    stem = tokenizer_of(language).terms
    words: list[str] = []
    starts: list[float] = []
    names: set[str] = set()
    heads: set[str] = set()
    numbers: set[str] = set()
    periods: set[str] = set()
    near: list[tuple[str, str]] = []
    written: dict[str, str] = {}
    tokens = list(_TOKEN.finditer(text))
    length = max(len(text), 1)
    for i, token in enumerate(tokens):
        raw = token[0]
        lower = raw.lower().replace("’", "'")
        number = _number(raw, lower, tokens[i + 1][0].lower() if i + 1 < len(tokens) else "")
        if number is not None:
            if len(number) == 4 and number[:2] in ("19", "20") and "." not in number:
                periods.add(number)
            numbers.add(number)
            written.setdefault(number, raw)
            words.append(number)
            starts.append(token.start() / length)
            near += [(beside, number) for beside in _beside(tokens, i, stem)]
            continue
        if lower in PERIODS:
            periods.add(PERIODS[lower])
        terms = stem(raw)
        if not terms:
            continue
        first = not i or _opens(text[tokens[i - 1].end() : token.start()])
        if raw[0].isupper():
            (heads if first else names).update(terms)
        for term in terms:
            # Several terms of one run: characters of a script without spaces, which stand in the text as they are.
            written.setdefault(term, term if len(terms) > 1 and term in raw else raw)
        words += terms
        starts += [token.start() / length] * len(terms)
    lowered = text.lower()
    plain = plain_words(text)
    holds, ends = states(plain)
    return Claim(
        words=tuple(words),
        starts=tuple(starts),
        names=frozenset(names - _period_stems()),
        heads=frozenset(heads - _period_stems()),
        numbers=frozenset(numbers),
        slots=frozenset(near),
        periods=frozenset(periods),
        cues=frozenset(name for name, pattern in CUES.items() if pattern.search(lowered)),
        kinds=kinds(plain),
        holds=holds,
        ends=ends,
        topic=frozenset(word for word in words if not word[0].isdigit()) - no_topic(),
        written=written,
    )


def _opens(gap: str) -> bool:
    """Whether what stands before a word lets a capital be that of a sentence: its end, or a new line."""
    seen = gap.rstrip()
    return (bool(seen) and seen[-1] in ".!?:;>") or "\n" in gap[len(seen) :]


def _number(raw: str, lower: str, following: str) -> str | None:
    if raw[0].isdigit():
        if not raw.isascii():  # the digits of every script are one number
            raw = "".join(str(unicodedata.digit(character, character)) for character in raw)
        if ":" in raw:
            hour, minute = raw.split(":")
            return f"{int(hour)}:{minute}"
        plain = raw.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", raw) else raw.replace(",", ".")
        whole, _, part = plain.partition(".")
        if "." not in part:  # else a version or a date, whose every part counts
            part = part.rstrip("0")
        return (whole.lstrip("0") or "0") + (f".{part}" if part else "")
    if lower in NUMBER_WORDS and not (lower == "one" and following in ("of", "by", "another", "day", "thing")):
        return str(NUMBER_WORDS[lower])
    return None


def _beside(tokens: list[re.Match[str]], i: int, stem: Callable[[str], list[str]]) -> list[str]:
    """Stems of the nearest meaningful word on both sides of a number."""
    found = []
    for step in (-1, 1):
        for j in range(i + step, i + 4 * step, step):
            if not 0 <= j < len(tokens) or tokens[j][0][0].isdigit():
                break
            word = tokens[j][0].lower()
            if word in "%€$£":
                found.append(word)
                break
            terms = stem(word) if word not in STOP_WORDS else []
            if terms:
                found.append(terms[0])
                break
    return found


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Stems to the stems that exclude them, both ways."""
    stem = tokenizer_of("english").terms
    found: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split():
        one, two = (stem(word) for word in pair.split("/"))
        for a, b in (*product(one, two), *product(two, one)):
            found.setdefault(a, set()).add(b)
    return {word: frozenset(others) for word, others in found.items()}


@cache
def _period_stems() -> frozenset[str]:
    stem = tokenizer_of("english").terms
    return frozenset(PERIODS) | {term for word in PERIODS for term in stem(word)}
