"""What a reply does to a question before it: answers it, waits with it, or defers it."""

from functools import lru_cache
from typing import Literal

from memrank.text.acts import commits, sentences
from memrank.text.lazy import Pattern
from memrank.text.smalltalk import pleasant

Reply = Literal["answers", "waits", "defers"]

_LEAD = r"^(?:\W|(?:so|ok|okay|well|sure|sorry|h+m+|right|please|yes|thanks|good question|just|and)\b)*"
_MOMENTS = (
    r"(?:(?:one|a|just a|give me a|half a) )?(?:moment|sec|second|minute|mo)\b",
    r"(?:hold|hang) on\b",
    r"bear with",
    r"wait a\b",
    r"back in a\b",
    r"(?:be right back|brb)\b",
    r"(?:checking|looking|searching|running|digging|asking|calling|waiting|working|on it)\b",
    r"let me (?:just |first |quickly )?(?:check|look|see|think|find|ask|get|dig|pull|run)",
    r"let(?:'s| us) first",
    r"i(?:'m| am) (?:just |still )?(?:checking|looking|asking|searching|waiting|on it|reading)",
    r"before i (?:answer|can)",
    r"we(?:'ll| will) (?:come|get) (?:back )?to",
    r"(?:sorry, )?i was (?:on|away|in)\b",
    r"(?:give|allow) me\b",
    r"in a (?:bit|moment|minute)",
    r"(?:i'm |i am |i'd be )?(?:happy|glad) to help",
    r"i (?:do |really |fully |totally |can )?(?:understand|see|apologi[sz]e|appreciate) (?:that|your|how|for|the|why"
    r"|this)",
    r"thanks? (?:you )?for\b",
)
_MOMENT = Pattern(*(_LEAD + moment for moment in _MOMENTS))
_WONDER = Pattern(r"^(?:oo+h|o+h|a+h|ha(?:ha)*|wow|brr+|phew|aww?|yay|my|gosh)\b[^.?]{0,40}!$")
_THEY = r"(?:(?:he|she|they|who|which|that|someone|somebody|nobody|\w+) )"
_UNKNOWN = Pattern(
    r"\b(?:no|not an?|haven't (?:got )?(?:any|an?)|have no|without) (?:idea|clue|information|data|record|answer"
    r"|reply|response|news|entry|trace)\b",
    r"\b(?:don't|do not|didn't|can't|cannot|can not|couldn't|could not|doesn't|does not|haven't|hasn't|won't|isn't"
    r"|wasn't|weren't|aren't|never)"
    r" (?:\w+ ){0,2}?(?:know|known|say|said|tell|told|remember|recall|answer\w*|see|seen|find|found|access|reach\w*"
    r"|open|look\w*|judge|check\w*|mention\w*|record\w*"
    r"|list\w*|show\w*|state\w*|contain\w*|note[sd]?|written|wrote|documented|heard|load|respond\w*|replied|called"
    r"|available|clear|sure|certain|mine|there yet|there|up to me)\b",
    r"\bnot (?:sure|certain|that i know|known|mine|up to me|available|mentioned|recorded|listed|stated|clear|in"
    r" (?:the|our|my)\b|on (?:the|our|my)\b|now|today|yet)",
    r"\b(?:i|we)(?:'d| would|'ll| will)?(?: first| really)? (?:have|need|want) (?:you )?to\b(?! (?:fast|pay|wait"
    r"|do)\b)",
    r"\bfor that (?:i|we) need\b|\bcan only (?:tell|say)\b",
    r"\b(?:hard|difficult|impossible|too (?:early|soon)) to (?:say|tell|know|judge)|\btoo early\b",
    r"\b(?:ask|check with|leave (?:that|it|this) to|put (?:that|it|this) to|wait for|better ask) (?:the|my|our|your"
    r"|someone|somebody|accounting|dr|them|him|her|[a-z]{2,12}\W*$)",
    r"\b(?:someone else|somebody else|somebody with|the \w+|your \w+|our \w+) (?:would|will|has to|must|needs to"
    r"|should|can|decides?|knows?) (?:have to |have |to )?(?:tell|decide|say|know"
    r"|confirm|answer|check|look|settle|that|show)",
    r"\brather (?:not (?:guess|say)|leave)|\bfind (?:it |that )?out\b|\bnobody (?:knows|has)",
    r"\b(?:i|we)(?:'ve| have) (?:just )?asked\b",
    r"\b(?:is|are|was|were|'s|'re) (?:still |currently |just |right now |only )?(?:down|offline|closed|unavailable"
    r"|out|away|on leave|gone|missing|back (?:on|in|at)|searching|looking"
    r"|checking|investigating|working on|analysing|analyzing|waiting|under review|being (?:checked|looked"
    r"|examined))\b",
    r"\b(?:has|have) (?:left for|gone home|a gap)|\bvoicemail\b|\b(?:timeout|times? out)\b|\bas we speak\b",
    r"\b(?:the \w+ ){1,2}?(?:test|scan|result|lab|report|audit)s? will (?:show|tell)|\bremains to be seen\b|\bmay or"
    r" may not\b|\bmight not\b|\btime will tell\b",
    r"\bstill (?:waiting|open|unclear|unknown|stands)\b|\bhave to know\b|\bneed to know\b",
    r"\bpark (?:that|it|this)\b|\b(?:come|get) back to (?:that|you|it)\b|\blater\b|\banother time\b|\bfirst tell\b"
    r"|\bfirst\b.{0,30}\bthen\b|\bfinish .{1,30} first\b|\b(?:log|sign) in first\b",
    r"\bdepends,? (?:i|we)\b|\bi(?:'ll| will) (?:ask|check|find|look|try|request|get back|let you)\b|\blet me"
    r" (?:check|find|ask|see|look|chew|think)\b",
)
_PLAIN = Pattern(
    r"^(?:\W|well\b|so\b|ok\b|okay\b|sorry\b|unfortunately\b|oh\b|um\b|i think\b|ah\b|i'm afraid\b)*(?:yes|no|yep"
    r"|nope|yeah|sure|certainly|of course|absolutely|never"
    r"|always|exactly|correct|definitely|not any more|both|neither|none|all of|fully|not at all)\b(?! idea| clue|"
    r" information| problem| worries| record| answer| reply| response)",
    r"^\W*\d",
)


@lru_cache(maxsize=20_000)
def reply_to_question(text: str) -> Reply:
    """What a turn does to a question before it: answers it, waits with it (small talk, a moment, a question in turn),
    or defers it (nothing known, somebody else has to be asked, a promise to find out).
    """
    said = sentences(text)
    if said and _PLAIN.search(said[0]):
        return "answers"
    telling = [one for one in said if not (pleasant(one) or _MOMENT.search(one) or _WONDER.search(one))]
    if any(_UNKNOWN.search(one) for one in telling if not one.endswith("?")):
        return "defers"
    if all(one.endswith("?") for one in telling):
        return "waits"
    return "defers" if all(commits(one) for one in telling) else "answers"


@lru_cache(maxsize=20_000)
def puts_off(text: str) -> bool:
    """Whether some of a turn puts off what was asked: nothing known, somebody else to be asked, a promise."""
    return commits(text) or any(_UNKNOWN.search(one) for one in sentences(text))
