"""What a turn of a conversation leaves to be done, sentence by sentence: promises, what is still to do, questions.

Narrower than the cues of `text.talk`, which only weigh in: a sentence counts if it has the form of such an act in the
present, and none of the forms of a report, a general truth or a manner of speaking.
"""

from functools import lru_cache

from memrank.text.lazy import Pattern
from memrank.text.talk import clipped

_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d+(?:st|nd|rd|th)|\d+ (?:jan|feb|mar|apr|may|jun|jul|aug|sep"
    r"|oct|nov|dec)\w*)"
)
_SOON = (
    rf"(?:(?:by|before|until|within|on|at|for|in|no later than|this|next|first thing|close of|end of|later) (?:the"
    rf" )?(?:{_DAY}|\w+)|tomorrow|tonight|today|soon|shortly"
    r"|in a (?:bit|minute|moment|while)|asap)"
)
_WE = r"\b(?:i|we|i myself|one of us)"
# What follows "I'll" without promising anything.
_IDLE = (
    r"(?:not|never|always|probably|be (?!in touch|back|there|with you|sending|looking|happy to|glad to|around|sure)"
    r"|admit|bet|miss|need|love|like|hate|understand|remember|forget|believe"
    r"|see you|say\b|know|regret|have (?:the|a|some|two|three|another|to)\b(?! \w+ (?:ready|for you|sent|by|done))"
    r"|take (?:the|a|it|both|two|that)\b|win|lose|die|wait and see|live"
    r"|get used|end up|turn \d|stick with|go with)"
)
_PEOPLE = (
    r"\b(?:he|she|they|someone|somebody|one of us|colleagues?|team|technician|engineer|driver|plumber|electrician"
    r"|nurse|doctor|midwife|accountant|courier|manager|support|billing|accounts"
    r"|warehouse|lab|clinic|shop|office|secretary|expert|specialist|lawyer|crew|(?:our|my) \w+|(?:dr|mr|mrs"
    r"|ms)\.? \w+)"
)
_SERVES = (
    r"(?:call|phone|ring|be in touch|be there|bring|send|come|write|go through|contact|visit|email|mail|get back"
    r"|look|follow up|reply|answer|deliver|collect|pick|arrange|confirm|check|let you"
    r"|tell you|drop|stop by|fix|repair|join|take over|correct|ask|hand|publish|report|make|do|add|post|ship|pay|see"
    r" to)\b"
)
_DOING = (
    r"(?:sending|writing|asking|checking|chasing|arranging|preparing|posting|shipping|sorting|forwarding|looking"
    r" (?:into|at)|putting|drafting|handling|investigating|dealing with|working on"
    r"|processing|organi[sz]ing|finishing|fixing)\b(?! from)"
)
_GIVE = (
    r"(?:call|phone|ring|email|e-mail|mail|send|write to|forward|tell|show|contact|give|bring|hand|let|ping|drop|cc)"
)

_PROMISE = Pattern(
    rf"{_WE}(?:'ll|'ll also| will| shall|(?:'m|'re| am| are) (?:just |now )?(?:going to|about to)) (?:(?:also|now"
    rf"|just|then|certainly|gladly|of course|personally|soon) )?(?!{_IDLE})[a-z]",
    r"^(?:(?:ok|okay|right|sure|yes|noted|fine|good|and|then)\b,? )*(?:will|shall) (?!it|you|he|she|they|we|i\b|the"
    r"|there|be\b|that|this|my|your|our|anyone|someone|not)[a-z]+ ?(?!.*\?$)",
    rf"{_WE}(?:'m|'re| am| are) (?:just |now |already |currently )?(?:on it\b|on that\b|on the case|{_DOING})",
    rf"\b(?:our|my) (?:\w+ ){{1,3}}(?:is|are) (?:just |now |already |currently )?{_DOING}|\bbeing (?:arranged"
    rf"|prepared|sorted|handled|processed|drafted|investigated)\b",
    r"\b(?:i|we) (?:(?:hereby|do|can|solemnly) )?(?:promise|vow|swear|pledge|guarantee|commit|undertake|assure)\b(?!"
    r" (?:nothing|you that it is\b|it was))",
    rf"{_WE} (?:(?:still|fully) )?(?:plan|intend|mean|aim|propose) to [a-z]|\b(?:my|our) (?:plan|aim|intention) is"
    rf" to\b",
    rf"{_WE}(?:'d| would|'m| am|'re| are)(?: be)? (?:also |only too |very )?(?:glad|happy|pleased|delighted) to"
    rf" (?!hear|see|meet|be|have|help\b)",
    rf"{_WE}(?: still)? owe you\b|{_WE} (?:write|ask|ring|call|send|check|report|find out) (?:him|her|them|you|it"
    rf"|that)\b",
    r"\b(?:you have my word|my word on it|rest assured|consider (?:it|that) done|(?:count|rely) on (?:me|us)|bear"
    r" with (?:me|us)|leave .{1,40}? (?:with|to) (?:me|us)|trust me to"
    r"|(?:give|allow) (?:me|us) (?:until|till|\w+ (?:days?|hours?|weeks?))|on my list|expect .{1,60} (?:in your"
    r"|tonight|tomorrow|by|on|before))\b",
    r"\blet me (?:just |first |quickly )?(?:check|ask|talk|speak|find|get|look|see|call|ring|dig|confirm|verify|pull"
    r"|consult|come back|run)\b",
    rf"{_PEOPLE}(?: from \w+| at \w+| in \w+)?(?:'ll| will|(?:'s|'re| is| are) going to|, who will) (?:then |also"
    rf" )?{_SERVES}",
    rf"{_PEOPLE} (?:comes?|calls?|picks?|brings?|stops?|rings?|delivers?|gets?|writes?|sends?)\b .{{0,40}}(?:{_SOON}"
    rf"|to you)",
    rf"\b(?:leaves?|ships?|goes? out|arrives?|starts?) .{{0,40}}(?:tonight|tomorrow|(?:on|by|next) {_DAY})",
    r"\byou(?:'ll| will| shall|'d) (?:then |soon |shortly |also )?(?:have (?:the|it|an?|my|our|them|your|both|all)\b"
    r"|hear (?:from|back|more|about)|receive\b|get (?:the|it back|an?|my|our|your|one)\b"
    r"|find it in\b|be (?:refunded|called|contacted|told|notified|informed|credited|reimbursed|paid|compensated"
    r"|holding|hearing|getting|receiving))",
    rf"\byou (?:should|can|may|will)(?: then)? (?:see|have|expect|get|receive|count on|hear)\b.{{0,60}}{_SOON}"
    rf"|\bthen you (?:get|have|receive)\b",
    rf"{_WE} (?:can|could) (?:get|have|send|do|bring|deliver|finish|write|draft|put|prepare|make|arrange|ask|call"
    rf"|check)\b.{{1,60}}?{_SOON}",
    rf"{_WE} (?:can|could) (?:get|have|send|do|bring|put|prepare|make|arrange)\b.{{1,60}}? (?:for|when) (?:you|him"
    rf"|her|them|\w+ when)\b",
    rf"{_WE}'?(?: ha)?ve (?:asked|put in|requested|paged|written to|escalated|messaged|(?:passed|handed|given"
    rf"|forwarded) (?:it|this|that|them) (?:on )?to)\b",
    rf"{_WE}(?:'ll| will|'m| am)? ?(?:won't|not|will not) (?:let|touch|change|do|delete|send|start|go|move|stop"
    rf"|close|activate)\b.{{1,60}}(?:until|unless|before|without|drop)",
    rf"(?<!you )(?<!it )(?:\bwill|'ll)(?: [\w'-]+){{0,6}}? {_GIVE} (?:it to |that to )?(?:you|me|us|him|her|them)\b",
    r"\b(?:will|shall|'ll)(?: \w+)? be (?:sent|shipped|mailed|posted|refunded|returned|delivered|paid|credited|done"
    r"|fixed|ready|sorted|corrected|replaced|waived|reimbursed|called|forwarded"
    r"|in your)\b",
    r"\b(?:get|have|hear|see|receive)\b.{0,60}?\bfrom (?:me|us)\b",
    r"\bwill (?:forward|report|pass on|let you know|follow up|keep you posted|get back|be refunded|be returned)\b"
    r"|\band i will\W*$",
    r"^(?:will do|on it|sure thing, .*)",
    rf"\bhas it ready (?:by|on) {_DAY}",
)
_NO_PROMISE = Pattern(
    r"\b(?:if i were|would have|used to|they say|(?:can't|cannot|can not|nobody can|could never|never) (?:be able to"
    r" )?(?:promise|guarantee|commit|help)|won't be able|never (?:understand|promise"
    r"|commit|forget)|as promised|every (?:summer|winter|year|day|week)|kept my word|let me (?:correct|rephrase|be"
    r" clear|know|guess|tell you|think|take)|i'd (?:love|say)|(?:19|20)\d\d.{0,9} but"
    r"|and (?:i|he|she|they|we) (?:did|called)|i'll be (?:honest|blunt|frank)|will not be (?:there|able|attending"
    r"|coming))\b",
)

_VERB = (
    r"(?:add|arrange|ask|book|bring|bump|buy|call|cancel|change|check|clean|close|collect|convert|create|deploy"
    r"|draft|email|enable|find|fix|forward|get|give|hand|include|install|invite|keep"
    r"|leave|list|mail|make|merge|mock|move|note|open|order|pack|pay|phone|pick|pin|plan|plot|post|print|pull|push"
    r"|put|refactor|refund|remove|rename|renew|repair|replace|reply|reschedule|resend"
    r"|reserve|reset|restart|return|revert|review|ring|rotate|run|save|schedule|send|set|share|show|sign|sort|squash"
    r"|stop|submit|swap|switch|tag|take|tell|test|transfer|translate|turn|try|update"
    r"|upload|use|verify|wash|water|wire|write|request|register|prepare|finish|file|let|have|block|measure|rebuild"
    r"|compare|look|see to|talk|speak|fill|remind|confirm|process|escalate|investigate"
    r"|clarify|decide|settle|answer|unlock|lock|hold|pencil|rotate|redo|do|paint|cut|drop|export|import|attach|apply"
    r"|assign|back up|bin|build|copy|count|delete|disable|download|edit|explain"
    r"|extend|flag|freeze|grant|hire|increase|lower|raise|reduce|label|link|load|log|lookup|mark|monitor|notify"
    r"|patch|pause|publish|quote|record|report|restore|retry|scan|search|ship|shorten"
    r"|split|start|store|summari[sz]e|trim|type|undo|validate|wrap|consult|contact|chase|bake|feed|walk|fetch)"
)
_THING = (
    r"(?:me|us|him|her|them|it|that|this|these|those|the|an?|my|our|your|his|their|all|both|every\w*|one|two|three"
    r"|some|another|\d+)\b"
)
_DONE_TO = r"(?:[a-z]+(?:ed|en)\b|sent|paid|put|set|built|bought|done|made|told|cut|sold|brought|found|left|rung|run)"

_STANDING = Pattern(
    r"\bstill (?:need|needs|have to|has to|must|to do|to be|missing|outstanding|pending|open|waiting|waits|lack"
    r"|lacks|owe|owes|undone|unpaid|unsigned|without|due)\b",
    r"\b(?:has|have) yet to\b|\byet to be\b|\bremains? to be\b|\b(?:is|are) (?:outstanding|overdue|pending|unpaid"
    r"|due (?:for|on|by))\b|\b(?:is|are|'re|'m) (?:still )?waiting (?:for|on)\b",
    r"\bto[- ]do\b|\btodo\b|\bto be done\b|\bleft to do\b|\bawait(?:s|ing)?\b|\bpending with\b|\b(?:next )?on (?:the"
    r"|my|our) list\b|\bone thing left\b",
    r"\b(?:haven't|hasn't|have not|has not|not been|isn't|aren't|is not|nobody has|no one has|nothing has)"
    r" .{1,50}?\byet\b",
    r"\b(?:hasn't|haven't|has not|have not|never) (?:turned up|arrived|come (?:back|in|through)|shown up|replied"
    r"|answered|been (?:sent|paid|signed|fixed|done|answered|refunded|returned))\b",
    r"\b(?:(?:do not|don't|let's not|never|not to) forget|remember to|remind (?:me|us)|mind the)\b",
    rf"\b(?:i|we|someone|somebody|you|he|she|they|one of us) (?:still |also |really )?(?:need to|needs to|have to"
    rf"|has to|'ll have to|must|ought to|should|had better|want to|'ve got to|will have to)"
    rf"(?: also| then| first)? {_VERB}\b",
    rf"\b(?:i|we|you)'ll (?:have|need) to {_VERB}\b|\b(?:you|he|she|they) (?:were|was) (?:going|supposed|meant) to\b",
    rf"\b(?:must|has to|have to|needs? to|should)(?: still| also| first)?(?: not)? be {_DONE_TO}",
    r"\b(?:the|my|our|your|this|that|her|his) (?:\w+ ){1,3}(?:still |also )?(?:needs?|wants?|requires?|lacks?)"
    r" (?:an?|another|new|one) (?!lot)",
    rf"\b(?:before|once|after|when|by|until) .{{2,50}}?, (?:please )?{_VERB}\b",
    r"\b(?:question|point|request|offer|matter|invitation)s? (?:still )?(?:stands?|remains?|is (?:still )?open|are"
    r" (?:still )?open)\b",
    r"\b(?:i|we)(?:'d| would)? still (?:like|want|wait|hope|miss|owe)\b|\b(?:wait|waits|leave (?:it|that)|keep (?:it"
    r"|that)) (?:till|until)\b",
    r"\b(?:don't|do not|not to|nothing|not) .{2,60}? (?:until|till)\b",
    r"\b(?:first thing|sometime before|some time before|not today|not now|park (?:it|that|this))\b|\b(?:has|have"
    r"|want|wants) it (?:back|ready|done|fixed) (?:by|before|until|on)\b",
)
_DIRECT = Pattern(
    rf"\b(?:please|kindly),? (?:do |don't |also |then |just |not )?(?:\w+ly )?{_VERB}\b|\b{_VERB}"
    rf" .{{1,80}},? (?:please|pls)\b|, (?:please|pls)$|\bplease$",
    rf"\b(?:can|could|would|will) (?:you|we|someone|somebody|anyone)(?: please| also| then| just| perhaps|"
    rf" kindly)? {_VERB}\b|\bwould you mind \w+ing\b|\b(?:can|could|may) i (?:get|have|ask you)\b",
    r"\b(?:would|it'd|it would|'d) be (?:great|good|nice|lovely|helpful|kind) (?:if (?:you|someone|somebody|we)|to"
    r" (?:have|get))\b|\bi(?:'d| would) (?:appreciate|be grateful)\b",
    r"\b(?:i|we)(?: also| still| really| just)? (?:need|want) (?:you|him|her|them) to",
    r"(?:\b(?:i|we)|^(?:also |and )?)(?: ?also| ?still| ?really| ?just)? ?(?:need|want|require) (?:an?|the|my|our"
    r"|your|that|this|one|two|three|it|all|some|his|her|more)\b(?! (?:holiday|break|drink|nap))",
    rf"\b(?:i|we)(?:'d| would)(?: also| really)? like (?:you to|to {_VERB}|an?|the|my|it|that|one|two|him|her)\b",
    rf"^(?:(?:and|but|so|then|yes|ok|okay|right|also|well|now|good|fine|no|first|please|next|argh)\b[,:]? )*(?:let's"
    rf" |let us )?{_VERB} (?:up |in |out |off |over |back |on |down )?{_THING}",
    rf"^(?:(?:and|but|so|then|yes|ok|okay|right|also|well|now|good|fine|no|first|please)\b[,:]? )*(?:let's |let us"
    rf" )?{_VERB} (?:\w+ )?(?:to|in|on|for|up|out|off|back|at|with|any|\w+)\b(?! (?:is|are|was|were)\b)",
    rf": {_VERB} {_THING}|, (?:please )?{_VERB} (?:it|them|that|this|him|her)\b.{{0,40}}(?:by|before|until|on"
    rf"|please)\b",
    r"\b(?:go ahead|do (?:it|that|so)|go on)\b(?=[ ,.!]*(?:please|pls|$))|\byes (?:please|pls)\b|^(?:please|pls)"
    r" do\b",
)
_NO_REQUEST = Pattern(
    r"\byou (?:must|should|need to|have to|'ll have to) (?:see|try|hear|read|visit|taste|watch|have\b|be\b|admit"
    r"|know|love)|\bi (?:must|have to|need to) (?:say|admit|confess|be honest)"
    r"|\b(?:has|have) to be (?:said|admitted|noted)|\b(?:no need|needs? no\b|no longer)|\b(?:don't|doesn't|do not"
    r"|didn't) (?:need|want|have to|mention)|\bnothing (?:left|more|else) to do"
    r"|\b(?:must|should) have\b|\bmust be (?!\w+ed\b)|\blike to (?:say|think|thank|know how)|\b(?:already|was|were"
    r"|got) (?:booked|sent|ordered|paid|renewed|updated|done|fixed|approved|installed)"
    r"|\b(?:needless|as they say|look forward|says the)\b",
    rf"^(?:books?|orders?|plans?|plants|checks|tests?|calls|plots"
    rf"|lists?|notes?|files?|tags?|posts?|prints?|uses?|cuts?|drops?|reports?|records?|marks?|links?|loads?|walks?|feeds?|stores?|searches"
    rf"|types?|builds?|copies|counts?|quotes?|labels?|scans?|starts?) (?!up |in |out |off |over |back |on |down |for"
    rf" )(?!{_THING})",
)

_IDLE_QUESTION = Pattern(
    r"^(?:\W*(?:and|so|well|but|oh|hi|hey|hello|haha|fine|good|ok|okay)\b,? )*(?:"
    r"how are (?:you|things)|how(?:'s| is| was) (?:it going|life|your (?:day|week|weekend|evening|holiday))|how"
    r" (?:do you do|have you been|about that)|what's up|are you (?:ok|okay|all right|well|there)"
    r"|you know what|know what|guess what|who (?:cares|knows|needs|would have|could have)|what would (?:i|we) do"
    r"|what more could|why (?:not|me)|right|really|ready|ok|okay|sorry|pardon|excuse me|huh|eh"
    r"|yes|no|and you|you too|is (?:that|it|this) (?:clear|ok|okay|all right)|anything else|(?:can|may|could) i help"
    r" you|how (?:can|may) i help(?: you)?|isn't (?:it|that)|isn't that \w+"
    r"|what can i do for you|shall we(?: go on)?|fancy a \w+)\b[^?]{0,14}\?",
    r"^long time no see\b.*\?",
    r",? ?(?:isn't it|aren't they|don't you think|huh|eh|innit|wasn't it)\?$",
)
_SENTENCE = Pattern(r"(?:[^.!?;\n]|[.!?](?=\w))+[.!?;]*")


def sentences(text: str) -> list[str]:
    """The sentences of a turn, in lower case, as far as it is read. A point within a number or a name ends none."""
    plain = clipped(text).lower().replace("\u2019", "'")
    return [part for found in _SENTENCE.finditer(plain) if (part := found[0].strip(" \t\r\n-*\u2022\"'(\u201c"))]


@lru_cache(maxsize=20_000)
def commits(text: str) -> bool:
    """Whether a turn promises something that its speaker, or somebody for him, is going to do."""
    return any(_PROMISE.search(one) and not _NO_PROMISE.search(one) for one in sentences(text) if not one.endswith("?"))


@lru_cache(maxsize=20_000)
def remains(text: str) -> bool:
    """Whether a turn says that something is yet to be done, by whomever."""
    return any(
        _STANDING.search(one) and not _NO_REQUEST.search(one) for one in sentences(text) if not one.endswith("?")
    )


@lru_cache(maxsize=20_000)
def requests(text: str) -> bool:
    """Whether a turn asks that something be done."""
    return any(_DIRECT.search(one) and not _NO_REQUEST.search(one) for one in sentences(text))


@lru_cache(maxsize=20_000)
def asks(text: str) -> bool:
    """Whether a turn asks something that wants an answer: greetings and manners of speaking do not."""
    return any(one.endswith("?") and not idle_question(one) for one in sentences(text))


def idle_question(sentence: str) -> bool:
    """Whether a question, in lower case, is a greeting or a manner of speaking."""
    return _IDLE_QUESTION.search(sentence) is not None
