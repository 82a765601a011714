"""Plain cases of an updated fact, read by rule: what the trees see too seldom to be sure of.

`stopped`: something that went on (a medicine borne well, a service in use) is said to have ended. `preference`: what
somebody prefers is asked for in another value of the same kind ("mornings", "switch me to afternoons"). `moved`: a home
or an employer is another. How often each is right is counted on golden pairs (`benchmarks/fit_contradiction.py`).
"""

import re

from memrank.text.claims import Claim
from memrank.text.lazy import Pattern
from memrank.text.tokens import tokenizer_of

UPDATES = ("stopped", "preference", "moved")
LONGEST = 160
"""Characters of a text beyond which no rule reads it: it says too many things."""
SHORT = 80
"""The same for wishes, which are told apart from other news by saying little else."""
MANNERS = frozenset(
    {"part of day", "weekday", "frequency", "channel", "seat", "class", "place", "payment", "side", "language"}
    | {"work mode", "transport", "drink", "diet", "theme", "format", "room", "temperature", "order", "system"}
)
"""Kinds in which people wish things done."""
BESIDE = 40
"""Characters between the word of an end and what has ended, at most."""

_ENDED = Pattern(
    r"\b(?:stopped(?! (?:at|by|in|near|over|off))|stopping|stop (?:it|the|taking|giving)|discontinu\w+"
    r"|ceased|came off|taken off (?:it|his|her|the)"
    r"|took (?:him|her|them|me) off|off (?:it|the drug)|gave up|given up|withdrawn|withheld|cancell?ed|terminated"
    r"|abandoned|no longer (?:takes?|uses?|on|taking|tolerat\w+)|not tolerat\w+"
    r"|(?:can ?not|can['’]t|could ?n[o'’]t|did ?n[o'’]t|can no longer|unable to) tolerate|intoleran\w+|halted|paused"
    r"|switched (?:from|off)|changed from|replaced (?:by|with)|caused|gave (?:him|her|me|\w+) (?:a rash|hives)"
    r"|rash on|reaction to)\b"
)
_GOES_ON = Pattern(
    r"\b(?:tolerat\w+|takes?|taking|on|uses?|using|can eat|started|starts|began|begun|prescribed|continues?|given"
    r"|receives?|daily|nightly|weekly|keeps|runs|attends|without (?:any )?(?:problems|complaints|side effects|trouble"
    r"|issues)|no (?:side effects|complaints|problems|issues))\b"
)
_PREFERS = Pattern(
    r"\b(?:prefer\w*|preference|likes?|wants?|best|suits?|favou?rite|usually|always|rather|ideally|asks? for"
    r"|insists? on|works? best|normally|please)\b"
)
_ASKS = Pattern(
    r"\b(?:switch|move|make|book|put|send|ring|call|text|use|try|go with|set|schedule|please|prefer\w*|wants?|suits?"
    r"|rather|better|from now on|asks? for|asked (?:for|to)|let['’]s|instead|would like|works? best|moved|changed"
    r"|no longer)\b"
)
_HEDGED = Pattern(
    r"\b(?:if|might|may|could have|would have|consider\w*|thinking of|thought (?:about|of)|wonder\w*|whether|unless"
    r"|next time|just (?:this|once)|this (?:once|time)|for once|exception\w*|only (?:this|today|for)|today only"
    r"|one[- ]off|nearly|almost|was going to|plans? to|planning|proposed|suggested|kept|still|used to|once)\b"
)
_RELATIVE = Pattern(
    r"\b(?:(?:step|grand)?(?:brother|sister|mother|father|mum|mom|dad|son|daughter)s?|wife|husband|neighbou?rs?|friends?"
    r"|colleagues?|aunt|uncle|cousins?|partner|flatmate|roommate|boss|parents?|another|others?|else)\b"
)
_NAME = r"\s*(?:to|in|at|near|for|with|by)?\s*((?:[A-Z][^\W\d_]+[ ,.]?)+)"
_MOVED = (
    re.compile(
        r"\b(?i:lives?|living|resides?|residing|moved|relocated|settled|home is|based|address is)"
        r"(?:\s+(?:back|over|out|now|again))*" + _NAME
    ),
    re.compile(
        r"\b(?i:works?|working|job|joined|employed|hired|position|employer is|engineer|nurse|teacher|manager|analyst"
        r"|developer)(?:\s+(?:now|again))*" + _NAME
    ),
)
_TITLED = re.compile(r"\W*(?:Dr|Mr|Mrs|Ms|Prof|Nurse|Flat|Room)\b")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def updates(older: str, old: Claim, newer: str, new: Claim) -> frozenset[str]:
    """Those of UPDATES that the newer text shows against the older one, of which the claims were read."""
    if max(len(older), len(newer)) > LONGEST or _apart(older, old, newer, new):
        return frozenset()
    before, after = older.lower(), newer.lower()
    if _HEDGED.search(after) or _relatives(before) != _relatives(after):
        return frozenset()
    found = {
        "stopped": _stopped(before, old, after, new),
        "preference": _prefers_other(before, old, after, new),
        "moved": "history" not in new.cues and any(_other(one, older, newer) for one in _MOVED),
    }
    return frozenset(name for name, shown in found.items() if shown)


def preferring(text: str) -> bool:
    """Whether a text may say what somebody prefers."""
    return len(text) <= SHORT and _PREFERS.search(text.lower()) is not None


def asking(text: str) -> bool:
    """Whether a text may ask for something to be done another way."""
    return len(text) <= SHORT and _ASKS.search(text.lower()) is not None


def _relatives(text: str) -> set[str]:
    """Whose matter it may be but the subject's own."""
    return {found[0] for found in _RELATIVE.finditer(text)}


def _apart(older: str, old: Claim, newer: str, new: Claim) -> bool:
    """Whether each begins with somebody or something that the other does not name: two subjects."""
    if _TITLED.match(older) and _TITLED.match(newer):
        named = old.names | old.heads, new.names | new.heads
        return bool(named[0] - set(new.words)) and bool(named[1] - set(old.words))
    first = [{word for word in claim.words[:1] if word in claim.heads and word in claim.topic} for claim in (old, new)]
    return bool(first[0] - set(new.words)) and bool(first[1] - set(old.words))


def _stopped(before: str, old: Claim, after: str, new: Claim) -> bool:
    end = _ENDED.search(after)
    if end is None or _ENDED.search(before) or not _GOES_ON.search(before):
        return False
    stem = tokenizer_of("english").terms
    near = {t for word in _WORD.finditer(after) if abs(word.start() - end.start()) <= BESIDE for t in stem(word[0])}
    return bool((old.topic & new.topic & near) - {t for word in _WORD.findall(end[0]) for t in stem(word)})


def _prefers_other(before: str, old: Claim, after: str, new: Claim) -> bool:
    shared = old.kinds.keys() & new.kinds.keys() & MANNERS
    if (
        max(len(before), len(after)) > SHORT
        or not any(old.kinds[kind].isdisjoint(new.kinds[kind]) for kind in shared)
        or "denial" in old.cues | new.cues
    ):
        return False
    if not _PREFERS.search(before) or not _ASKS.search(after):
        return False
    return bool(old.topic & new.topic) or len(new.topic) <= 1


def _other(pattern: re.Pattern[str], older: str, newer: str) -> bool:
    """Whether both name something in this place, and nothing of it is the same."""
    one, two = pattern.search(older), pattern.search(newer)
    if one is None or two is None:
        return False
    stem = tokenizer_of("english").terms
    names = [{term for word in found[1].split() for term in stem(word)} for found in (one, two)]
    return bool(names[0]) and bool(names[1]) and names[0].isdisjoint(names[1])
