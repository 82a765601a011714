"""Words of a turn of a conversation that weigh in: of promises, requests, later times, things done, lasting wishes."""

import re
from collections.abc import Mapping
from functools import lru_cache

from memrank.text.lazy import Pattern

SCANNED = 4_000
"""Characters of a turn that are read; of a longer one, its start and its end."""

CUES: Mapping[str, Pattern] = {
    "promise": Pattern(
        r"\b(?:i['’]?ll|we['’]?ll|i will|we will|i shall|let me (?:check|find|get|look|see)|leave .{1,40} to me|i['’]?m"
        r" (?:going to|writing|asking|putting|sending|chasing)|i['’]?ve (?:asked|put in|paged|requested"
        r"|written to)|i['’]?d"
        r" have to ask|i (?:can|could) ask|i (?:write|ask|ring|call|send|check|report|find out|get back) (?:him"
        r"|her|them|you|it"
        r"|that|this)?|will (?:send|forward|phone|ring|call|write|get|tell|let you|report|check|come back"
        r"|go through|be sent"
        r"|follow|arrange|do|make|add|try|have|set|turn)|going to (?:telephone|call|send|ask|write|phone)|you['’]?ll"
        r" (?:have|get|hear)|owe you|promis\w+|swears?|has it ready|by (?:monday|tuesday|wednesday|thursday|friday"
        r"|saturday|sunday|tomorrow|tonight|noon|midnight|then)|tonight['’]s batch|list (?:for|is open)"
        r"|remind (?:you|me))\b"
    ),
    "request": Pattern(
        r"(?:\b(?:please|can you|could you|would you|will you|i(?:['’]d| would) like|i need|need(?:s)? (?:to|a"
        r"|the)|we need"
        r"|help me|make (?:me|sure)|send (?:me|it|the)|add (?:to|it|a|the)|keep (?:the|a)|put (?:it|that|the|in)"
        r"|book|order"
        r"|check|find|look (?:at|into|for|up)|write (?:me|the|a|to)|update|fix|switch|swap|go ahead|do (?:it|that"
        r"|so|the)"
        r"|get (?:me|the)|tell (?:him|her|them|me)|want(?:s)? (?:it|you|the|a|to|me)|must|don['’]?t forget|remember to"
        r"|to[- ]?do|has to run|take the)\b|^(?:add|book|cancel|change|check|draft|find|fix|give|make|move|pull"
        r"|run|send"
        r"|set|show|take|tell|try|update|use|write)\b)"
    ),
    "later": Pattern(
        r"\b(?:later|not (?:now|today|yet)|next (?:week|month|time|sprint)|after (?:the|go-live|lunch|that"
        r"|release)|tomorrow"
        r"|tonight|(?:on )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|before (?:monday|tuesday"
        r"|wednesday"
        r"|thursday|friday|then|the)|until|till|once (?:the|it|that|she|he|they|you)|when (?:it|that|she|he"
        r"|they)['’]?s?"
        r"|park (?:it|that|this)|for (?:now|the time being)|in a (?:bit|while|second|minute)|postpone\w*|put off"
        r"|hold off"
        r"|some ?time|pending|awaited?|deliberately|remind|by (?:monday|tuesday|wednesday|thursday|friday|noon))\b"
    ),
    "done": Pattern(
        r"\b(?:done|sent|booked|ordered|moved|fixed|added|updated|forwarded|attached|cancelled|here (?:is|are|it"
        r"|you)|as"
        r" (?:promised|asked)|it came|came (?:back|in)|has gone|have gone|arrived|struck|switched|swapped|merged"
        r"|deployed"
        r"|closed|refunded|confirmed|requested|submitted|finished|kept his word|kept her word|is in|are in|is out"
        r"|it['’]?s in"
        r"|that['’]?s it|all (?:green|set|sorted)|passed|rang|wrote|called|replied|says?|answered|got (?:it"
        r"|an answer))\b"
    ),
    "lasting": Pattern(
        r"\b(?:never|always|must(?:n['’]?t| not)?|only|rule|rules|allerg\w*|limit|maximum|at most|no more than|budget"
        r"|deadline|policy|mandate|require\w*|insist\w*|prefer\w*|don['’]?t|do not|cannot|can['’]?t|hands off"
        r"|before anything"
        r"|house rules?|by heart|account|order (?:no|number)|reference|serial|case|password|address|due|expires?"
        r"|contract"
        r"|warranty|agreed|decided|stays?|small changes)\b"
    ),
}
"""Matched in lower case."""

_QUESTION = re.compile(r"[^.!?\n]*\?")
_CALL = re.compile(r"\s*([A-Za-z_][\w.]*)\s*\(")


@lru_cache(maxsize=20_000)
def cues_of(text: str) -> frozenset[str]:
    """Those of CUES that a turn shows."""
    lowered = clipped(text).lower()
    return frozenset(name for name, pattern in CUES.items() if pattern.search(lowered))


@lru_cache(maxsize=20_000)
def questions(text: str) -> int:
    """How many questions a turn asks."""
    return len(_QUESTION.findall(clipped(text)))


def ends_in_question(text: str) -> bool:
    """Whether the last thing that a turn says is a question."""
    return text.rstrip().rstrip("\"')”’ ").endswith("?")


def called(text: str) -> str | None:
    """The name of the function that a tool call names first, None where it names none."""
    found = _CALL.match(text)
    return found[1].lower() if found else None


def clipped(text: str) -> str:
    """The part of a text that is read."""
    return text if len(text) <= SCANNED else f"{text[: SCANNED // 2]}\n{text[-SCANNED // 2 :]}"
