"""What a reply does to what was said before: leave it open, correct it, pass the time, change the topic."""

from functools import lru_cache
from typing import Literal

from memrank.text.acts import commits, sentences
from memrank.text.lazy import Pattern

Reply = Literal["answers", "waits", "defers"]

_PLEASANT = (
    r"(?:thanks?(?: (?:a lot|so much|again|a million|for (?:your (?:help|message|patience|time|question)|waiting"
    r"|asking|everything"
    r"|the help)))?|thank you(?: (?:so|very) much| again)?(?: (?:for|indeed)[\w ]{0,24})?|thx|ta|cheers(?:,? mate)?"
    r"|(?:very |much |really )?(?:great|perfect|lovely|excellent|super|awesome|fantastic|nice|brilliant|wonderful"
    r"|cool|marvellous"
    r"|splendid|amazing)(?: (?:question|to (?:meet|see|hear)[\w ]{0,24}|one|day|weather(?: today)?|stuff|job|work))?"
    r"|(?:hi|hello|hey|hiya|welcome)(?: (?:there|again|back|you|everyone|all|to the chat))?|good(?: (?:morning"
    r"|afternoon|evening"
    r"|day|night|luck|question|point|one|job|idea|to (?:see|hear)[\w ]{0,24}))?(?: to you(?: too)?)?|bye(?: bye)?"
    r"|goodbye"
    r"|see you(?: \w+){0,2}|talk soon|take care|all the best|best wishes|you(?:'re| are)(?: very| most)? (?:welcome"
    r"|a star|a legend"
    r"|too kind|so kind)|my pleasure|a pleasure[\w ]{0,24}|it was a pleasure[\w ]{0,24}|no (?:worries|problem"
    r"|trouble)(?: at all)?"
    r"|not at all|any ?time|don't mention it|ha(?:ha)*|lol|wow|oh|ah|aww?|hm+|brr+|phew|yay|hooray"
    r"|ok(?:ay)?(?: then)?|all right"
    r"|right|sure|i see|noted|understood|got it|fine|sounds (?:good|great|fine|lovely)|congratulations|congrats"
    r"|well done|bless you"
    r"|sleep well|safe (?:travels|trip)|get well soon|happy \w+|merry \w+[\w ]{0,20}|cool|yes|yep|too|you too"
    r"|same (?:here|to you)"
    r"|i(?:'m| am)(?: \w+)? (?:fine|good|well|great|ok|okay)|very (?:nice|well|good|kind)|how nice|much appreciated"
    r"|(?:i )?(?:really |do )?appreciate"
    r" (?:it|that|your help)|(?:i )?hope (?:you|that you|all)[\w ']{0,40}|(?:have|enjoy)(?: (?:a|an|the|your|some"
    r"|fun))[\w ]{0,30}|have fun"
    r"|(?:i'm )?glad (?:to (?:hear|help|be of)|it|that)[\w ]{0,30}|(?:i'm )?(?:so )?sorry(?: (?:to (?:hear|bother)"
    r"|about|for)[\w ']{0,30})?"
    r"|(?:what|such) an? (?:\w+ ){0,2}(?:day|relief|surprise|pity|shame|joy|week|weather|idea|question)|(?:lovely"
    r"|nice|awful|terrible) (?:weather|day)"
    r"[\w ]{0,20}|that(?:'s| is)(?: so| very| really)? (?:kind|sweet|nice|great|good|lovely|wonderful|funny|right"
    r"|perfect|amazing|made my day)[\w ]{0,16}"
    r"|that made my day|long (?:day|week)|it(?:'s| is) (?:so |very |really )?(?:cold|hot|warm|sunny|rainy"
    r"|grey)[\w ]{0,16}|another \w+|mate|there|again|and|but|so"
    r"|i (?:fully |totally )?understand(?: (?:that|your|how)[\w ']{0,40})?|and you|how are you(?: \w+)?|how(?:'s"
    r"| is) it going|huh|isn't it|super|best|then)"
)
_SMALL = Pattern(rf"{_PLEASANT}(?:[\s,.!:)?;\u2013-]+{_PLEASANT})*[\s,.!:)?;]*")

_HOLD = Pattern(
    r"^(?:\W|so|ok|okay|well|sure|sorry|hm+|right|please|yes|thanks|good question|just)*,? ?(?:(?:one|a|just a"
    r"|give me a|half a) (?:moment|sec|second"
    r"|minute|mo)\b|moment\b|hold on|hang on|bear with|wait a|back in a|be right back|brb|checking\b|looking\b"
    r"|let me (?:just |first |quickly )?(?:check|look"
    r"|see|think|find|ask|get|dig|pull)|let(?:'s| us) first|i(?:'m| am) (?:just )?(?:checking|looking|asking|on it)"
    r"|before i (?:answer|can)|we(?:'ll| will)"
    r" (?:come|get) to (?:that|it)|(?:sorry, )?i was (?:on|away|in)|give me|in a (?:bit|moment|minute))"
)
_UNKNOWN = Pattern(
    r"\b(?:(?:no|haven't (?:got )?(?:any|an?)|not an?|have no) (?:idea|clue|information|data)|(?:don't|do not|didn't"
    r"|can't|cannot) (?:really |yet )?(?:know"
    r"|say|tell|remember|recall|answer)|not (?:sure|certain|that i know|known)|(?:can't|cannot|can not|could not"
    r"|couldn't|can only) (?:\w+ )?(?:see|find|access|reach"
    r"|open|look|judge|tell|check)|(?:i|we)(?:'d| would|'ll| will)? (?:have|need|want) to (?:ask|look|check|see|find"
    r"|know|examine|test)|hard to (?:say|tell)|too early"
    r"|(?:ask|check with|leave (?:that|it) to) (?:the|my|our|someone|somebody|accounting|dr|them|him|her)\b"
    r"|someone else (?:would|will|has)|rather not (?:guess|say)"
    r"|rather leave|find out|nobody (?:knows|has)|(?:i|we)(?:'ve| have) asked|(?:isn't|is not|aren't|not) (?:(?:in"
    r"|on) (?:the|our|my)|available|there|mine|up to me)"
    r"|(?:is|are|was) (?:down|offline|closed|unavailable|out of office)\b|(?:does|do|did|will)(?: not|n't) (?:load"
    r"|open|respond|answer)|still waiting|hasn't (?:written|replied"
    r"|answered|called)|haven't (?:heard|looked|checked|got)|wait for|park (?:that|it|this)|(?:only|first) tell you"
    r"|i(?:'ll| will) (?:ask|check|find|look|try|request|get back|let"
    r" you)|come back to (?:that|you|it)|later|not (?:now|today|yet)|first\b.{0,30}\bthen|another time|depends,? i"
    r"|(?:have|need) to know .{0,30}first|let me (?:check|find|ask|see|look|chew|think))\b"
)
_PLAIN_ANSWER = Pattern(
    r"^(?:\W|well|so|ok|okay|sorry|unfortunately|oh|um|i think|ah)*,? ?(?:(?:yes|no|yep|nope|yeah|sure|certainly"
    r"|of course|absolutely|never|always|exactly|correct|definitely"
    r"|unfortunately not|not any more|both|neither|none|all of)\b(?! idea| clue| information| problem| worries)|\d)"
)

_CORRECTS = (
    Pattern(
        r"\b(?:correction|my (?:bad|mistake|error)|(?:i|we) (?:\w+ )?(?:misspoke|misread|mistyped|misremembered"
        r"|misheard|miscounted|mis\w+ed|mixed (?:up|them|it)|mean[t]? )"
        r"|i confused|scratch (?:that|what)|strike (?:that|the|it)|(?:ignore|disregard|forget"
        r"|never mind)(?: please)? (?:that|my (?:last|earlier|previous)|what (?:i|we)|the"
        r" (?:earlier|last|previous|above|first))|i take (?:that|it) back|take that back|(?:i |let me |to )?(?:must "
        r"|have to |should )?correct (?:myself|that|this|what|it\b)"
        r"|stand corrected|let me rephrase|typo\b(?!s)|oops|whoops|changed (?:my|our|his|her) mind"
        r"|on second thoughts?|on reflection|turns? out|is (?:outdated|out of date)"
        r"|no longer (?:right|true|valid|correct|want|need)|after all\b|used the wrong|(?:gave|sent|told|quoted"
        r"|wrote|put|had|got|typed|read) (?:you |in )?(?:the|that|it|a|this)"
        r" wrong|had (?:that|it) wrong|was (?:wrong|mistaken|off\b|reading|looking at)|wrong (?:link|number|file"
        r"|date|address|name|column|button|one|chat|line|way)\b(?! side)"
        r"|small error|error in my|should (?:read|say|be)\b.{1,30}\bnot\b|said .{1,40}\b(?:but|and) (?:i "
        r"|it )?(?:mean|meant|is|was)\b|i told you .{1,60}\bbut\b|i (?:said|wrote)\b.{1,40}"
        r"\b(?:meant|but)|not quite right|that's not (?:right|correct|true)|update on that|last (?:year|month|week"
        r"|quarter)'s .{0,20}\bthis|that was (?:for )?(?:last|the (?:old|other"
        r"|previous|wrong)))"
    ),
    Pattern(
        r"^(?:\W*(?:oh|ah|sorry|no|ok|wait|argh|hm|yes|and|but|then),? )*(?:make (?:it|that|them) (?!quick|fit"
        r"|work|sure|so|happen|up|clear|a )[\w:]+|no,? wait|wait,? no|hold on, that"
        r"|no,? not (?:the|a|my|in|on|at)|not (?:the|my|a|on|in|at) .{1,30}?,? (?:but )?(?:the|my|an?|on|in|at)"
        r"|rather (?:the|on|in|a|an)\b|actually,? (?:it|the|we|i|my|he|she|they|there"
        r"|this|no)\b)"
    ),
    Pattern(
        r"(?:\b(?:sorry|apologies)\b.{1,60}|\b(?:is|was|are|it's|he's|she's|on|ends?|has|takes?|costs?|meant"
        r"|read|at|spelled) .{1,40}),? (?:not|rather than|instead of) (?:in |at |on |the"
        r" |with |from |a )*[\w.:$\u20ac]+(?: \w+)?[.!]?$"
    ),
    Pattern(
        r"\b(?:is|was|isn't|wasn't|are|were) (?:not )?(?!only|just|far)[\w. %]{1,30}? but (?:rather|the|a|an|in"
        r"|on|at|\d[\w.]*)(?! \w+ish)\b"
    ),
    Pattern(r"\bisn't .{2,50}\bit's\b|\bit is(?:n't| not) .{2,40}, it(?:'s| is)\b"),
    Pattern(r"^sorry,? (?:it|that|this|the|i meant|he|she|we|they|there)(?:'s| is| was|'re| are)?\b"),
    Pattern(r"\binstead of (?:the|two|three|four|\d+|a)\b"),
)
_NO_CORRECTION = Pattern(
    r"\b(?:not only|what is wrong|what's wrong|something (?:is )?wrong|nothing (?:is )?wrong"
    r"|do(?:ne)? something wrong|wrong turn|wrong side|sorry (?:for|about|to)|a mistake to|i was right"
    r"|turned out)\b|\?$"
)

_ASIDE = Pattern(
    r"\b(?:by the way|btw|(?:an)?other (?:thing|question|matter|topic|subject|note|point)|(?:quite "
    r"|very )?(?:a )?different (?:thing|matter|question|topic|subject|note)|something (?:else|different|new)"
    r"|unrelated|separately|(?:chang|switch)(?:e|ing) (?:the )?(?:subject|topic|gears)|new (?:topic|subject"
    r"|question)|next (?:topic|thing|question|point|item)|moving on|on to|(?:let's|let us) (?:turn"
    r"|move|talk|look|leave|switch|go|discuss)|before i forget|while (?:i have you|i'm at it|i remember|we're at it"
    r"|you're at it|i am at it)|since (?:i'm|we're) at it|one (?:more|last|other)"
    r" (?:thing|question|point)|apart from (?:that|this)|besides that|quick aside|an aside|meanwhile|in other news"
    r"|incidentally|odd thing|back to (?:the|my|our|your|mr|mrs|ms|business)|forget (?:the|about)"
    r"|i(?:'d| would)? also (?:want|like|need|have)|also,|leave (?:the|that|this) .{1,20} and)\b"
)
_OPENING_ASIDE = Pattern(
    r"^(?:\W*(?:ok|okay|right|fine|good|great|thanks|thank you|well|so|and|yes|perfect|lovely|marvellous|excellent"
    r"|oh|hm|cheers)[,.!:]* )*(?:now(?: for| about| to| then)?\b,? \w+|anyway|anyhow|oh,? and|and (?:something"
    r"|another)|what about the|about (?:the|my)|as for|regarding|[\w ]{2,24} again:|switching)"
)
_ELSEWHERE = Pattern(
    r"\b(?:it|its|it's|that|this|these|those|they|them|they're|their|he|him|his|he's|she|she's|there|then|one|ones"
    r"|both|either|neither|so|same|instead|too|though|again|else|other|others|such|above|below|latter|former|more"
    r"|first|second|last|next|half|why|better|worse|enough|done|ok|okay)\b"
)
_CONTINUES = Pattern(
    r"^\W*(?:and|but|or|so|then|because|yes|yep|yeah|no|nope|ok|okay|sure|fine|right|good|great"
    r"|nice|perfect|exactly|only|also|both|as|in|at|on|since|for|from|until|not|still|with|into|by|after|before"
    r"|about|around"
    r"|maybe|perhaps|probably|newest|to)\b"
)
_WHOLE = Pattern(
    r"^(?:\W*(?:please|hi|hello|also),? )?(?:(?:who|what|when|where|how|which|why)(?:'s| \w+)? (?:\w+ )?(?:is|are"
    r"|was|were|do|does|did|has|have|can|could|should|would|won|will|goes|costs?|the|audits)\b|(?:can|could|would"
    r"|will|do|did"
    r"|does|is|are|have|has) (?:you|i|we|my|our|the|there|anyone|someone)\b|(?:i|we|my|our|the|his|her|your) \w+"
    r"|please \w+|there (?:is|are)\b)"
)


@lru_cache(maxsize=20_000)
def smalltalk(text: str) -> bool:
    """Whether a turn passes the time and says nothing else: every word of it is thanks, greetings, good wishes."""
    said = sentences(text)
    return bool(said) and all(_SMALL.fullmatch(one) for one in said)


@lru_cache(maxsize=20_000)
def reply_to_question(text: str) -> Reply:
    """What a turn does to a question before it: answers it, waits with it (small talk, a moment, a question in turn),
    or defers it (nothing known, somebody else has to be asked, a promise to find out).
    """
    said = sentences(text)
    if not said or all(_SMALL.fullmatch(one) or _HOLD.search(one) for one in said):
        return "answers" if said and _PLAIN_ANSWER.search(said[0]) else "waits"
    telling = [one for one in said if not (_SMALL.fullmatch(one) or _HOLD.search(one))]
    if _PLAIN_ANSWER.search(said[0]):
        return "answers"
    if any(_UNKNOWN.search(one) for one in telling if not one.endswith("?")):
        return "defers"
    if all(one.endswith("?") for one in telling):
        return "waits"
    return "defers" if all(commits(one) for one in telling) else "answers"


@lru_cache(maxsize=20_000)
def puts_off(text: str) -> bool:
    """Whether some of a turn puts off what was asked: nothing known, somebody else to be asked, a promise."""
    return commits(text) or any(_UNKNOWN.search(one) for one in sentences(text))


@lru_cache(maxsize=20_000)
def corrects(text: str) -> bool:
    """Whether a turn takes back or corrects what was said before."""
    return any(
        any(form.search(one) for form in _CORRECTS) and not _NO_CORRECTION.search(one) for one in sentences(text)
    )


def sets_apart(message: str) -> bool:
    """Whether a message says itself that it turns to something else."""
    return any(_ASIDE.search(one) or _OPENING_ASIDE.search(one) for one in sentences(message))


def stands_alone(message: str) -> bool:
    """Whether a message can be understood without what was said before: whole sentences that point at nothing."""
    said = [one for one in sentences(message) if not _SMALL.fullmatch(one)]
    return bool(said) and all(
        _WHOLE.search(one) and not _ELSEWHERE.search(one) and not _CONTINUES.search(one) for one in said[:2]
    )
