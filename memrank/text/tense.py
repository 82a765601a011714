"""The tense of a question without any word of time: what is asked of the present, of the past, or of no time at all.

"Which bank do we use?" asks for a state that may have changed; "who approved the budget?" asks for what is done;
"how does a heat pump work?" asks for what does not change. English.
"""

from memrank.text.lazy import Pattern
from memrank.types import Sensitivity

_LASTING = Pattern(
    r"^(?:so |and |please )?(?:explain|define)\b|\bwhat (?:does|do) .{1,60}\b(?:mean|stand for)\b|\bdefinition of\b"
    r"|\bmeaning of\b|^(?:in what way|by what rule)\b"
    r"|^how (?:do|does|is|are|can) (?:a|an|the)? ?(?:[\w'-]+ ){1,6}(?:work|differ|form|happen|arise|get \w+"
    r"|calculated|computed|measured|made|defined|named|turned|diagnosed|elected|counted|spread)\b"
    r"|^(?:what|who) (?:is|are) (?:an? )?(?!the\b|our\b|my\b|your\b|his\b|her\b|their\b|its\b|it\b|this\b|that\b"
    r"|wrong\b|left\b|new\b|due\b|going\b|happening\b|on\b|in\b|next\b|open\b|still\b|planned\b|known\b|we\b|i\b|she\b|he\b"
    r"|they\b|you\b|there\b|behind\b|paid\b|for\b)[a-z]+(?: [a-z]+){0,2}$"
    r"|\b(?:difference|differences) between\b|^why (?:do|does|is|are) (?:an? )?(?!the\b|our\b|my\b|we\b|i\b)[a-z]+s\b"
    r"|^what is (?:meant by|the (?:purpose|point|idea|meaning) of)\b"
)
_COURSE = Pattern(
    r"\b(?:timeline|time line|chronology|history|story|saga|recap|post-?mortem|retrospective)\b"
    r"|\bfrom (?:the )?(?:start|beginning|first) (?:to|until)\b|\bstart to (?:finish|end)\b|\bstep by step\b"
    r"|\b(?:over|through) (?:time|the (?:years|months|weeks))\b|\bhow (?:has|have|did) .{1,80}\b(?:develop|evolve|go"
    r"|gone|change|changed|developed|evolved|come about)\b"
    r"|\bin order$|\b(?:the )?(?:whole|full|entire) (?:course|story|affair|sequence|chain)\b|\btrend (?:in|of)\b"
    r"|\b(?:came|come) out of\b|\bthe course of\b|\bfindings of\b"
)
"""How something went, from its beginning on."""
_PAST = Pattern(
    r"\b(?:was|were|did|wasn't|weren't|didn't|had|hadn't|happened|went|came|took|gave|got to|said|told|paid for"
    r"|cost us)\b"
    r"|^(?:who|what|which(?: \w+){0,3}) (?!need\b|feed\b|speed\b|bleed\b|breed\b|exceed\b|proceed\b|embed\b)\w{2,}ed\b"
    r"|^who (?:led|ran|held|wrote|bought|sold|won|lost|made|chose|built|found|sent|brought|signed|paid|put|set"
    r"|broke|drew|began|left|met|kept|spoke|taught|caught|drove)\b"
)


def tense(text: str) -> tuple[Sensitivity, str]:
    """Class of a lower-cased question that names no time, and why, in words."""
    lasting = _LASTING.search(text)
    if lasting:
        return Sensitivity.TIME_AGNOSTIC, "it asks for what does not change"
    course = _COURSE.search(text)
    if course:
        return Sensitivity.HISTORICAL, f"'{course[0]}' asks how it went"
    past = _PAST.search(text)
    if past:
        return Sensitivity.HISTORICAL, f"'{past[0]}' asks for what is past"
    return Sensitivity.RECENT, "it asks in the present"
