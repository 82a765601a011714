"""Whether a turn of a conversation takes back or corrects what was said before, by its words."""

from functools import lru_cache

from memrank.text.acts import sentences
from memrank.text.lazy import Pattern

_LEAD = r"^(?:\W*(?:oh|ah|uh|um|sorry|pardon|apologies|no|ok|wait|argh|h+m+|yes|and|but|then)\b)*\W*"
_FORMS = (
    Pattern(
        r"\b(?:correction|amendment|erratum|mea culpa|oops|whoops)\b",
        r"\bmy (?:bad|mistake|error)\b",
        r"\b(?:i|we|you) (?:\w+ )?(?:misspoke|misread|mistyped|misremembered|misheard|miscounted|misunderstood"
        r"|misquoted)\b",
        r"\bi (?:meant\b|mean (?!to\b)|confused\b|mixed (?:up|them|it|the (?:two|\w+) up)\b)",
        r"\b(?:scratch|strike) (?:that|what|the|it)\b(?! at)",
        r"\b(?:ignore|disregard|forget|never mind|replace)(?: please)? (?:that\b|my (?:last|earlier|previous)|what"
        r" (?:i|we)|the (?:earlier|last|previous|above|first))",
        r"\btake (?:that|it|this) back\b",
        r"\b(?:i|me|to|must|have to|should) (?:correct|revise|amend) (?:myself|that|this|what|it)\b|\bcorrects me\b",
        r"\bstand corrected\b|\blet me rephrase\b|\btypo\b(?!s)|\bcontrary to what\b|\bcome to think of it\b",
        r"\bchanged (?:my|our|his|her) mind\b|\bon (?:second thoughts?|reflection)\b|\bturns? out\b",
        r"\b(?:outdated|out of date)\b|\bno longer (?:right|true|valid|correct|want|need)\b|\bafter all\b|\bby"
        r" (?:accident|mistake)\b",
        r"\b(?:used|gave|sent|told|quoted|wrote|put|had|got|typed|read|pasted|picked|took|attached|booked) (?:you "
        r"|in )?(?:the|that|it|a|this) wrong\b",
        r"\b(?:i|we|it|that) (?:was|were|had (?:that|it)) (?:wrong|mistaken|off\b|reading|looking at)",
        r"^(?:\W|sorry|oh|no)*wrong (?:link|number|file|date|address|name|column|button|one|chat|line)\b|\bwas the"
        r" wrong \w+\W*$",
        r"\bsmall error\b|\berror in my\b|\bshould (?:read|say|be|have (?:said|written|read|been))\b",
        r"\bsaid .{1,40}\b(?:but|and) (?:i |it )?(?:mean|meant|is|was)\b|\bi (?:told you|said|wrote|sent"
        r"|gave)\b.{1,60}\b(?:but|is missing|was too|is wrong)\b",
        r"\bnot quite right\b|\bthat's not (?:right|correct|true)\b|\b(?:update|news) on that\b|^(?:no, |hm+ )?not"
        r" so\b",
        r"\blast (?:year|month|week|quarter)'s\b.{0,30}(?:\bthis\b|\bby accident)|\b(?:that|this)(?:'s| is| was)"
        r" (?:for )?(?:last|the (?:old|other|previous|wrong))\b",
        r"\bcan't count\b|\byou (?:wrote|put|said) \w+\W*$|\bi gave you\b.{1,30}\btoo\b|\b(?:is|has) (?:been"
        r" )?(?:expired|moved)\W*$",
        r"\b(?:moved|postponed|changed|switched|brought) (?:\w+ ){0,3}from .{1,30} to\b|\blet's go with .{1,30}"
        r" instead\b",
    ),
    Pattern(
        _LEAD + r"(?:make (?:it|that|them) (?!quick|fit|work|sure|so|happen|up|clear|a )[\w:]+|wait,? no\b|hold on,"
        r" that|that was (?:the|for)|rather (?:the|on|in|a|an)\b"
        r"|not (?:the|my|a|on|in|at) .{1,30}?,? (?:but )?(?:the|my|an?|on|in|at)|actually,? (?:it|the|we|i|my|he|she"
        r"|they|there|this|no)\b)",
        r"^(?:\W*(?:oh|no)\b)*\W*no,? (?:wait|not (?:the|a|my|in|on|at))\b",
        r"^(?:sorry|pardon|apologies),? (?:it|that|this|the (?=\d)|the \w+ is|i meant|he|she|we|they|there)(?:'s| is"
        r"| was|'re| are)?\b",
        r"^(?:uh|oops|pardon)\W+(?!me\b)\w+",
    ),
    Pattern(
        r"(?:\b(?:sorry|apologies)\b.{1,60}|\b(?:is|was|are|it's|he's|she's|on|ends?|has|takes?|costs?|meant|read|at"
        r"|spelled|said) .{1,40}|\w),"
        r" (?:not|rather than|instead of) (?:in |at |on |the |with |from |a )*[\w.:$\u20ac]+(?: \w+)?[.!]?$",
        r"\b(?:is|was|are|ends|costs|takes) .{1,40} (?:rather than|instead of) [\w.]+(?: \w+)?[.!]?$",
        r"\b(?:is|was|isn't|wasn't|are|were) (?:not )?(?!only|just|far)[\w. %]{1,30}? but (?:rather|the|a|an|in|on"
        r"|at|\d[\w.]*)\b",
        r"\b(?:isn't|is not|it's not|not) (?!you\b)[^,]{2,50}, (?:it's|it is|he's|she's)\b",
        r"\binstead of (?:two|three|four|\d+)\b|\binstead of the \w+ (?:i|we)\b",
    ),
)
_NOT = Pattern(
    r"\b(?:not only|what is wrong|what's wrong|(?:something|nothing) (?:is )?wrong|do(?:ne)? something wrong|wrong"
    r" (?:turn|side)|sorry (?:for|about|to)|a mistake to|i was right|turned out"
    r"|it's not you|i was looking for)\b",
    r"\?$",
)


@lru_cache(maxsize=20_000)
def corrects(text: str) -> bool:
    """Whether a turn takes back or corrects what was said before."""
    return any(any(form.search(one) for form in _FORMS) and not _NOT.search(one) for one in sentences(text))
