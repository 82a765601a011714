"""Whether a message turns to something else: by its own word, or because it can be understood by itself."""

from memrank.text.acts import sentences
from memrank.text.lazy import Pattern
from memrank.text.smalltalk import pleasant

_ANNOUNCED = Pattern(
    r"\b(?:by the way|btw|incidentally|unrelated|separately|meanwhile|moving on|besides that|apart from (?:that"
    r"|this)|quick aside|an aside|odd thing)\b",
    r"\b(?:an)?other (?:thing|question|matter|topic|subject|note|point|business)\b|\b(?:in|on|with) other (?:news"
    r"|business|matters)\b",
    r"\bdifferent (?:thing|matter|question|topic|subject|note)\b|\bsomething (?:else|different|new)\b|\bnot"
    r" (?:directly )?related\b",
    r"\b(?:chang|switch)(?:e|ing) (?:the )?(?:subject|topic|gears)\b|\b(?:new|next) (?:topic|subject|question|thing"
    r"|point|item)\b|\bon to\b",
    r"\b(?:let's|let us) (?:turn|move|talk|look at|leave|switch|discuss|go (?:on|over|back) to)\b",
    r"\bbefore i forget\b|\b(?:while|since|now that) (?:i have you|i'm at it|i remember|we're at it|you're at it|i"
    r" am at it|we're talking|you're here)\b",
    r"\bone (?:more|last|other) (?:thing|question|point)\b|\bkeep (?:meaning|wanting|forgetting) to (?:ask|tell"
    r"|say)\b|\bhold that thought\b",
    r"\bback to (?:the|my|our|your|mr|mrs|ms|business)\b|\bto business\b|\bforget (?:the|about)\b|\bleave (?:the"
    r"|that|this) .{1,20} and\b",
    r"\bi(?:'d| would)? also (?:want|like|need|have)\b|\balso,",
)
_POLITE = (
    r"^(?:\W*(?:ok|okay|right|fine|good|great|thanks|thank you|well|so|and|yes|perfect|lovely|marvellous|excellent"
    r"|oh|h+m+|cheers)\b)*\W*"
)
_OPENS = Pattern(
    _POLITE + r"(?:now(?: for| about| to| then)?\b,? \w+|next[,:]|anyway|anyhow|oh,? and|and (?:something|another)"
    r"|what about the|about (?:the|my)|as for|regarding|[\w ]{2,24} again:)"
)
_POINTS = Pattern(
    r"\b(?:it|its|it's|that|this|these|those|they|them|they're|their|he|him|his|he's|she|she's|there|then|one|ones"
    r"|both|either|neither|so|same|instead|too|though|else|such|above|below"
    r"|latter|former|more|half|better|worse|enough|still|go on|why)\b"
)
_GOES_ON = Pattern(
    r"^\W*(?:and|but|or|so|then|because|yes|yep|yeah|no|nope|ok|okay|sure|fine|right|good|great|nice|perfect|exactly"
    r"|only|also|both|as|in|at|on|since|for|from|until|not|with|into|by"
    r"|after|before|about|around|maybe|perhaps|probably|to|of|or|even|something|tell|show|all|the (?:first|second"
    r"|third|last|other|one))\b"
)
_WHOLE = Pattern(
    *(
        r"^(?:\W*(?:please|hi|hello|also),? )?" + start
        for start in (
            r"(?:who|what|when|where|how|which|why)(?:'s)?(?: \w+){0,2}? (?:is|are|was|were|do|does|did|has|have|can"
            r"|could|should"
            r"|would|won|will|goes|costs?|the|[a-z]+s)\b",
            r"(?:can|could|would|will|do|did|does|is|are|have|has) (?:you|i|we|my|our|the|there|anyone|someone)\b",
            r"(?:i|we|my|our|the|her|your|someone|somebody|please) \w+",
            r"there (?:is|are)\b",
        )
    )
)


def sets_apart(message: str) -> bool:
    """Whether a message says itself that it turns to something else."""
    return any(_ANNOUNCED.search(one) or _OPENS.search(one) for one in sentences(message))


def stands_alone(message: str) -> bool:
    """Whether a message can be understood without what was said before: whole sentences that point at nothing."""
    said = [one for one in sentences(message) if not pleasant(one)]
    return bool(said) and all(
        _WHOLE.search(one) and not _POINTS.search(one) and not _GOES_ON.search(one) for one in said[:2]
    )
