"""What a turn of a conversation leaves to be done, sentence by sentence: promises, what is still to do, questions.

Narrower than the cues of `text.talk`, which only weigh in: a sentence counts if it has the form of such an act in the
present, and none of the forms of a report, a general truth or a manner of speaking.
"""

from functools import lru_cache

from memrank.text.lazy import Pattern
from memrank.text.talk import clipped

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_WHEN = rf"(?:{_DAY}|tomorrow|tonight|today|noon|midnight|then|the (?:end|weekend)|this|next|(?:\d|five|six|nine)\w*)"
_WE = r"\b(?:i|we|i myself)"
# What follows "I'll" without promising anything.
_IDLE = (
    r"(?:not|never|always|probably|be (?!in touch|back|there|with you|sending|looking|happy to|glad to|around|sure)"
    r"|admit|bet|miss|need|love|like|hate|understand|remember|forget|believe|see you|say\b|know|regret"
    r"|have (?:the|a|some|two|three|another)\b(?! \w+ (?:ready|for you|sent|by|done))|take (?:the|a|it|both|two"
    r"|that one)\b"
    r"|win|lose|die|wait and see|live|get used|end up|turn \d|stick with|go with)"
)
_PEOPLE = (
    r"\b(?:he|she|they|someone|somebody|one of us|colleagues?|team|technician|engineer|driver|plumber|electrician"
    r"|nurse"
    r"|doctor|midwife|accountant|courier|manager|support|billing|accounts|warehouse|lab|clinic|shop|office|secretary"
    r"|expert|specialist|lawyer|crew|(?:dr|mr|mrs|ms)\.? \w+)"
)
_SERVES = (
    r"(?:call|phone|ring|be in touch|be there|bring|send|come|write|go through|contact|visit|email|mail|get back|look"
    r"|follow up|reply|answer|deliver|collect|pick|arrange|confirm|check|let you|tell you|drop|fix|repair|join"
    r"|take over|correct|ask|hand|publish|report|make|do|add|post|ship|pay|see to)\b"
)

_PROMISE = (
    Pattern(
        rf"{_WE}(?:'ll|'ll also| will| shall|(?:'m|'re| am| are) (?:just |now )?(?:going to|about to))"
        rf" (?:(?:also|now|just|then|certainly|gladly|of course|personally|soon) )?(?!{_IDLE})[a-z]"
    ),
    Pattern(
        rf"{_WE}(?:'m|'re| am| are) (?:just |now |already |currently )?(?:on it|on that|on the case|sending|writing"
        rf"|asking"
        r"|checking|chasing|arranging|preparing|posting|shipping|sorting|forwarding|looking into|putting)\b"
    ),
    Pattern(
        r"\b(?:i|we) (?:(?:hereby|do|can|solemnly) )?(?:promise|vow|swear|pledge|guarantee|commit|undertake|assure)\b"
        r"(?! (?:nothing|you that it is\b|it was))"
    ),
    Pattern(rf"{_WE} (?:(?:still|fully) )?(?:plan|intend|mean|aim|propose) to [a-z]"),
    Pattern(rf"{_WE}(?: still)? owe you\b"),
    Pattern(rf"{_WE} (?:write|ask|ring|call|send|check|report|find out) (?:him|her|them|you|it|that)\b"),
    Pattern(
        r"\b(?:you have my word|my word on it|rest assured|consider (?:it|that) done|(?:count|rely) on (?:me|us)"
        r"|bear with"
        r" (?:me|us)|leave .{1,40}? (?:with|to) (?:me|us)|trust me to|give (?:me|us) (?:until|till)|expect .{1,60}"
        rf" (?:in your|by|on|before|tonight|tomorrow|{_WHEN}))\b"
    ),
    Pattern(
        r"\blet me (?:just |first |quickly )?(?:check|ask|talk|speak|find|get|look|see|call|ring|dig|confirm|verify"
        r"|pull"
        r"|consult|come back)\b"
    ),
    Pattern(
        rf"{_PEOPLE}(?: from \w+| at \w+| in \w+)?(?:'ll| will|(?:'s|'re| is| are) going to) (?:then "
        rf"|also )?{_SERVES}"
    ),
    Pattern(
        r"\byou(?:'ll| will| shall) (?:then |soon |shortly |also )?(?:have (?:the|it|an?|my|our|them|your|both|all)\b"
        r"|hear (?:from|back|more|about)|receive\b|get (?:the|it back|an?|my|our|your|one)\b|find it in\b"
        r"|be (?:refunded"
        r"|called|contacted|told|notified|informed|credited|reimbursed|paid))"
    ),
    Pattern(rf"{_WE} (?:can|could) (?!see\b|not\b)[a-z].{{1,60}}? (?:by|before|until|on|for|when) .{{0,20}}?{_WHEN}"),
    Pattern(rf"{_WE}'?(?: ha)?ve (?:asked|put in|requested|paged|written to|escalated|messaged)\b"),
    Pattern(
        r"(?<!you )(?<!it )(?:\bwill|'ll)(?: [\w'-]+){0,6}? (?:phone|call|ring|email|e-mail|mail|send|write to"
        r"|forward|tell|show"
        r"|contact|give|bring|hand|let) (?:it to |that to )?(?:you|me|us|him|her|them)\b"
    ),
    Pattern(
        r"\b(?:will|shall|'ll)(?: \w+)? be (?:sent|shipped|mailed|posted|refunded|returned|delivered|paid|credited"
        r"|done|fixed"
        r"|ready|sorted|corrected|replaced|waived|reimbursed|called|forwarded)\b"
    ),
    Pattern(r"\b(?:get|have|hear|see|receive)\b.{0,60}?\bfrom (?:me|us)\b"),
    Pattern(
        r"\bwill (?:forward|report|pass on|let you know|follow up|keep you posted|get back|be refunded"
        r"|be returned)\b"
    ),
    Pattern(
        rf"^(?:will do|on it|sure thing, .*|(?:he|she|they) has it ready (?:by|on)|has it ready (?:by"
        rf"|on) {_WHEN})"
    ),
)
_NO_PROMISE = Pattern(
    r"\b(?:if i were|would have|used to|they say|(?:can't|cannot|can not|won't|nobody can|could never"
    r"|never) (?:be able to"
    r" )?(?:promise|guarantee|commit|help)|never (?:understand|promise|commit)|as promised|every (?:summer|winter"
    r"|year|day"
    r"|week)|kept my word|let me (?:correct|rephrase|be clear|know|guess|tell you|think)|i'd (?:love|say)|(?:19"
    r"|20)\d\d.{0,9}"
    r" but|and (?:i|he|she|they|we) did|i'll be honest)\b"
)

_VERB = (
    r"(?:add|arrange|ask|book|bring|bump|buy|call|cancel|change|check|clean|close|collect|convert|create|deploy"
    r"|draft|email"
    r"|enable|find|fix|forward|get|give|hand|include|install|invite|keep|leave|list|mail|make|merge|mock|move|note"
    r"|open|order"
    r"|pack|pay|phone|pick|pin|plan|plot|post|print|pull|push|put|refactor|refund|remove|rename|renew|repair|replace"
    r"|reply"
    r"|reschedule|resend|reserve|reset|restart|return|revert|review|ring|rotate|run|save|schedule|send|set|share"
    r"|show|sign"
    r"|sort|squash|stop|submit|swap|switch|tag|take|tell|test|transfer|translate|turn|try|update|upload|use|verify"
    r"|wash|water"
    r"|wire|write|request|register|return|prepare|finish|file|let|have|block|measure|rebuild|compare|look|see to"
    r"|talk|speak"
    r"|hand in|fill|remind|confirm|process|escalate|investigate|clarify|decide|settle|answer)"
)
_DONE_TO = r"(?:[a-z]+(?:ed|en)\b|sent|paid|put|set|built|bought|done|made|told|cut|sold|brought|found|left|rung|run)"

_STANDING = (
    Pattern(
        r"\b(?:still (?:need|needs|have to|has to|must|to do|to be|missing|outstanding|pending|open|waiting|waits"
        r"|lack|lacks"
        r"|owe|owes|undone|unpaid|unsigned)|(?:has|have) yet to|yet to be|remains? to be|is (?:outstanding|overdue"
        r"|pending"
        r"|unpaid)|(?:is|are|'re|'m) (?:still )?waiting (?:for|on)|to[- ]do\b|todo\b|to be done|left to do|awaits?"
        r"|awaiting"
        r"|pending with)\b"
    ),
    Pattern(r"\b(?:haven't|hasn't|have not|has not|not been|isn't|aren't|is not) .{1,50}?\byet\b"),
    Pattern(r"\b(?:(?:do not|don't|let's not|never|not to) forget|remember to|remind (?:me|us))\b"),
    Pattern(
        rf"\b(?:i|we|someone|somebody|you|he|she|they|one of us) (?:still |also |really )?(?:need to|needs to"
        rf"|have to|has to"
        rf"|must|ought to|should|had better|want to|'ve got to)(?: also| then| first)? {_VERB}\b"
    ),
    Pattern(rf"\b(?:must|has to|have to|needs? to|should)(?: still| also| first)? be {_DONE_TO}"),
    Pattern(
        r"\b(?:the|my|our|your|this|that|her|his) (?:\w+ ){1,3}(?:still |also )?needs? (?:an?|the|to|another|new"
        r"|one)\b"
    ),
    Pattern(rf"\b(?:before|once|after|when|by|until) .{{2,50}}?, (?:please )?{_VERB}\b"),
    Pattern(
        r"\b(?:question|point|request|offer|matter|invitation)s? (?:still )?(?:stands?|remains?|is (?:still )?open"
        r"|are (?:still )?open)\b"
        r"|\b(?:i|we)(?:'d| would)? still (?:like|want|wait|hope|miss|owe)\b|\b(?:wait|waits|leave (?:it|that)"
        r"|keep (?:it|that)) (?:till|until)\b"
        r"|\b(?:don't|do not|not to|nothing|not) .{2,60}? (?:until|till|before)\b"
    ),
    Pattern(r"\b(?:first thing|sometime before|some time before|not today|not now|park (?:it|that|this))\b"),
    Pattern(r"\b(?:has|have|want|wants) it (?:back|ready|done|fixed) (?:by|before|until|on)\b"),
)
_DIRECT = (
    Pattern(
        rf"\bplease,? (?:do |don't |also |then |just |not )?(?:\w+ly )?{_VERB}\b|\b{_VERB} .{{1,80}},? please\b"
        rf"|, please$"
    ),
    Pattern(
        rf"\b(?:can|could|would|will) (?:you|we|someone|somebody)(?: please| also| then| just| perhaps"
        rf"| kindly)? {_VERB}\b"
        r"|\bwould you mind \w+ing\b"
    ),
    Pattern(
        r"\b(?:i|we)(?: also| still| really| just)? (?:need|want)(?: you to| him to| her to| them to)"
        r"|(?:\b(?:i|we)|^(?:also |and )?)(?: ?also| ?still| ?really| ?just)? ?(?:need|want|require) (?:an?|the|my"
        r"|our|your|that|this|one|two|three|it"
        r"|all|some|his|her|more)\b"
    ),
    Pattern(
        rf"\b(?:i|we)(?:'d| would)(?: also| really)? like (?:you to|to (?:{_VERB})|an?|the|my|it|that|one|two"
        rf"|him|her)\b"
    ),
    Pattern(
        rf"^(?:(?:and|but|so|then|yes|ok|okay|right|also|well|now|good|fine|no|first)[,:]? )*(?:let's "
        rf"|let us )?{_VERB} "
        r"(?:me|us|him|her|them|it|that|this|these|those|the|an?|my|our|your|his|their|all|both|every\w*|one|two"
        r"|three|some"
        r"|another|up|out|in|to|for|on|off|back|at|with|any|\w+)\b"
    ),
    Pattern(r"\b(?:yes|go ahead|do (?:it|that|so)|go on)(?: please| pls)\b|^(?:please do|pls do)\b"),
)
_NO_REQUEST = Pattern(
    r"\b(?:you (?:must|should|need to|have to) (?:see|try|hear|read|visit|taste|watch|have\b|be\b|admit|know)"
    r"|i (?:must|have to"
    r"|need to) (?:say|admit|confess|be honest)|(?:has|have) to be (?:said|admitted|noted)|no need|needs? no\b"
    r"|(?:don't|doesn't"
    r"|do not|didn't) (?:need|want|have to)|nothing (?:left|more|else) to do|must have|should have"
    r"|must be (?!\w+ed\b)"
    r"|like to (?:say|think|thank|know how)|(?:already|was|were|got) (?:booked|sent|ordered|paid|renewed|updated"
    r"|done|fixed"
    r"|approved|installed)|needless|as they say|look forward)\b"
    r"|^(?:books?|orders?|plans?|plants|checks|tests|tests|calls|plots|lists?|notes?|files?|tags?|posts?|prints?"
    r"|uses?) (?!me\b|us"
    r"|the\b|a\b|an\b|it\b|that\b|two\b|my\b|our\b|him\b|her\b|them\b|for\b|out\b|down\b|in\b|to\b)"
)

_IDLE_QUESTION = Pattern(
    r"^(?:\W*(?:and|so|well|but|oh|hi|hey|hello|haha|fine|good|ok|okay),? )*(?:how are (?:you|things)|how(?:'s| is"
    r"| was) (?:it going"
    r"|life|your (?:day|week|weekend|evening|holiday))|how do you do|what's up|are you (?:ok|okay|all right|well"
    r"|there)|you know what"
    r"|know what|guess what|who (?:cares|knows|would have|could have)|what would (?:i|we) do|why (?:not|me)|right"
    r"|really|ready|ok"
    r"|okay|sorry|pardon|excuse me|huh|eh|yes|no|and you|you too|is (?:that|it|this) (?:clear|ok|okay|all right)"
    r"|anything else"
    r"|(?:can|may|could) i help you|how (?:can|may) i help(?: you)?|isn't (?:it|that)|isn't that \w+"
    r"|what can i do for you"
    r"|shall we(?: go on)?)\b[^?]{0,14}\?|,? ?(?:isn't it|aren't they|don't you think|huh|eh|innit|wasn't it)\?$"
)


def sentences(text: str) -> list[str]:
    """The sentences of a turn, in lower case, as far as it is read. A point within a number or a name ends none."""
    plain = clipped(text).lower().replace("\u2019", "'")
    return [part for found in _SENTENCE.finditer(plain) if (part := found[0].strip(" \t\r\n-*\u2022\"'(\u201c"))]


_SENTENCE = Pattern(r"(?:[^.!?;\n]|[.!?](?=\w))+[.!?;]*")


@lru_cache(maxsize=20_000)
def commits(text: str) -> bool:
    """Whether a turn promises something that its speaker, or somebody for him, is going to do."""
    return any(_is(_PROMISE, one) and not _NO_PROMISE.search(one) for one in sentences(text) if not one.endswith("?"))


@lru_cache(maxsize=20_000)
def remains(text: str) -> bool:
    """Whether a turn says that something is yet to be done, by whomever."""
    return any(_is(_STANDING, one) and not _NO_REQUEST.search(one) for one in sentences(text))


@lru_cache(maxsize=20_000)
def requests(text: str) -> bool:
    """Whether a turn asks that something be done."""
    return any(_is(_DIRECT, one) and not _NO_REQUEST.search(one) for one in sentences(text))


@lru_cache(maxsize=20_000)
def asks(text: str) -> bool:
    """Whether a turn asks something that wants an answer: greetings and manners of speaking do not."""
    return any(one.endswith("?") and not _IDLE_QUESTION.search(one) for one in sentences(text))


def _is(forms: tuple[Pattern, ...], sentence: str) -> bool:
    return any(form.search(sentence) for form in forms)
