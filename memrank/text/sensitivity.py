"""How a query stands to time: real-time, recent, historical or time-agnostic, with the reason in words.

Whatever shows no sign of time is time-agnostic: then age counts for nothing, which does no harm; a store of what goes
on now may have it read by its tense. Statements (the claims
of a scientific abstract, say) are held to a stricter test than questions: "previously reported" asks for nothing.
"""

from datetime import datetime, timedelta

from memrank.text.lazy import Pattern
from memrank.text.periods import clean, find_period, utc
from memrank.text.tense import tense
from memrank.types import Period, Sensitivity, TimeOfQuery

RECENT_WINDOW = timedelta(days=100)
"""A period that ends now ("the past week", "since 2020") makes a query recent when it is at most this long."""


_MEASURED = (
    r"(?:price|quote|temperature|weather|traffic|queue|latency|load|usage|wait(?:ing)?(?: time)?|speed"
    r"|heart rate|pulse|blood pressure|oxygen saturation|glucose(?: level)?|exchange rate|rate of exchange|bid"
    r"|spot price|stock price"
    r"|share price|market price|uptime|throughput|error rate)"
)
_LIVE = Pattern(
    r"\b(?:right now|right this (?:minute|second|moment)|at (?:the|this)(?: very)? moment(?! (?:of|when|that))|this "
    r"(?:minute|second|instant)"
    r"|as we speak|so far today|today so far|in progress|in real[- ]time|real[- ]time (?:data|price|status|feed)"
    rf"|current (?:[a-z-]+ ){{0,2}}{_MEASURED}|current (?:score|status)|(?:{_MEASURED}|score|status) now"
    r"|live (?:[a-z-]+ )?(?:quote|score|price|data|feed|status|traffic|results?|updates?|ticker|stream|error rate"
    r"|count|coverage|view|metrics)s?"
    r"|(?:is|are) .{1,60}\b(?:open|closed|online|offline|available|running|live|reachable) (?:right )?now)\b"
)
_UP_OR_DOWN = Pattern(r"^(?:is|are) .{1,60}\b(?:up|down|online|offline|reachable|open|closed)(?: or .{1,40})?$")
_NOT_LIVE = Pattern(r"\b(?:up to date|set ?up|sign(?:ed)? up|live[- ]attenuated|live births?)\b")

_TERM = Pattern(
    r"\b(?:non-)?current (?:(?:\w+ ){0,2}tax\w*|assets?|liabilit\w+|ratio|portion|maturit\w+|service costs?"
    r"|accounts?|receivables|payables"
    r"|borrowings|provisions?|deferred|period|year|trade|financial (?:assets?|liabilit\w+)|smokers?|users?"
    r"|and non-current|contract)"
)
"""Terms of the trade, not a cue: "current assets", "current smokers"."""
_RECENT = Pattern(
    r"\b(?:current(?:ly)?|latest|newest|(?:most )?recent(?:ly)?|up[- ]to[- ]date|lately|these days|nowadays|as of "
    r"(?:now|today)|today"
    r"|now|still|so far|to date|anymore|any more|any longer|what's new|what is new|any news|the last time|presently"
    r"|at present)\b"
    r"|\bdid \w+ last (?!(?:week|month|year|night|weekend|quarter)\b)\w+"
)
_STRONG = Pattern(r"\b(?:current(?:ly)?|latest|newest|most recent(?:ly)?|now|still|these days|nowadays)\b")
_HOW_NOW = Pattern(r"\b(?:from now on|is now (?:considered|known)|by now|until now|now that)\b")
_PAST_TENSE = Pattern(r"\b(?:was|were|did|had|used)\b")

_OFFICE = (
    r"(?:ceo|cfo|cto|coo|chair(?:man|woman|person)?|president|prime minister|chancellor|king|queen|pope|mayor"
    r"|governor|minister"
    r"|secretary|head|managing director|chief \w+ officer|director(?! of (?:the (?:film|movie|play|documentary"
    r"|series)|[^\w ]))|manager|leader|captain|coach|owner|boss|landlord|on call|on-call|on duty|on shift|principal"
    r"|dean|editor"
    r"|auditor|maintainer|lead|contact|physician|doctor|assignee|responsible|in charge)"
)
_ME = r"(?:i|we|the (?:user|customer|client|patient|team)|my \w+|our \w+|he|she|they)"
_STATE = Pattern(
    rf"\b(?:who(?: is|'s)(?: the| our| my)? (?:(?!of )[\w'-]+ ){{0,3}}{_OFFICE}\b|who (?:owns|runs|leads|maintains"
    rf"|manages|heads|chairs)\b"
    rf"|(?:which|what|where|how often|how much|how many|when|at what time|who)\b[^.?!]{{0,60}}\b(?:do|does) {_ME} "
    rf"(?:\w+ )?"
    r"(?:use|prefer|like|take|want|need|live|work|keep|park|own|have|go|wake|get|drink|eat|drive|play|water|follow"
    r"|run|listen|pay|call"
    r"|store|wear|see|report|host|deploy|usually|normally|typically|love|enjoy|belong|lead|study|train|practi[cs]e"
    r"|charge|log|read)\b"
    rf"|(?:what|which|who|where|when|how (?:old|big|tall|long|much))(?: is| are|'s|'re) (?:my|our|the (?:user"
    rf"|customer|client|patient)'s)\b"
    r"|how (?:many|much) .{1,60} have (?:i|we) .{1,60} since\b"
    rf"|(?:do|does) {_ME} (?:prefer|like|use|own|have|take|live|work|want)\b"
    rf"|(?:am|are) (?:i|we) (?!(?:going|supposed|able)\b)\w+"
    rf"|(?:which|what)\b.{{0,40}}\b(?:does|do) (?:my|our|the) .{{1,30}}\b(?:use|listen|run|prefer|like|take)\b)"
)
_NO_STATE = Pattern(
    r"\bhow (?:do|should|can|could|would|to)\b|\bwhat (?:do|should|can|could|would) (?:i|we) (?:do|say|bring|call)\b"
    r"|\b(?:when|what) (?:do|does) .{1,40} (?:mean|require|stand for)\b"
)

_TALK = r"(?:conversations?|chats?|discussions?|sessions?|messages?|talks?|exchanges?|threads?|answers?|replies|reply)"
_PREVIOUS = Pattern(
    r"\b(?:originally|initially|formerly|previously|at first|in the beginning(?! of)|back then|in those days|beforehand"
    rf"|(?:previous|former|prior|(?<=\bmy )earlier|(?<=\bour )earlier)(?! (?:{_TALK}|experience|work experience|year"
    rf"|quarter|month|week|period|fiscal)\b) \w+"
    r"|(?:i|we|he|she|they|you|who) used to|(?:did .{1,40}\buse to|(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )"
    r"(?<!been )(?<!get )(?<!being )used to) "
    r"(?:be|get|live|work|have|go|love|like|prefer"
    r"|keep|take|use|play|drive|call|run|own|eat|drink|do|wear|want|pay|think|host|sit|stay|say|meet|wake|store"
    r"|deploy|own|call)\b)"
)
_OLD = Pattern(
    r"\b(?:my|our|his|her|their|the|\w+'s) (?:old|original|initial) (?:\w+ )?(?:address|phone|number|email|job|role"
    r"|password|policy|plan|name"
    r"|price|value|version|setting|limit|dose|dosage|deadline|title|schedule|apartment|flat|house|car|employer"
    r"|company|school|team"
    r"|provider|vendor|rate|preference|record|score|logo|budget|estimate|date|time|landlord|manager|boss|doctor"
    r"|salary|rent)\b"
)
_BEFORE = Pattern(
    r"\bbefore\b(?! (?:(?:income |any |exceptional |unusual )?(?:tax\w*|interest|items|valuation|allowances?"
    r"|depreciation|amorti[sz]ation"
    r"|provisions?|minority)|breakfast|lunch|dinner|bed|bedtime|noon|midnight|work|school|going|anything)\b)"
)
_NOT_BEFORE = Pattern(
    r"\b(?:how (?:long|many|much|soon|far)\b.{0,40}\bbefore|(?:day|night|week|morning|evening|month|year|hour"
    r"|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s? before"
    r"|before and after|ever .{1,30} before)\b"
)
_PAST_ASK = Pattern(
    r"\b(?:what|which|where|who|whom|how|when)\b.*\b(?:was|were|did|had|used)\b|^who (?:\w+ed|led|ran|held|wrote)\b"
)
_BEFORE_CLAUSE = Pattern(
    r"before (?:(?:i|we|he|she|they|it|my|our|the) .{0,40}\b(?:\w+ed|got|had|was|were|went|began|left|bought)"
    r"|\w+ing)\b.*, ?(?:what|which|who|where|how|do|did|was|were)\b"
)
_FORMER_PERSON = Pattern(r"\b(?:led|managed|owned|run|taught|given|told) by .{0,20}\bformer\b")
_HISTORY = Pattern(
    r"\b(?:history of|historically|at (?:the|that) time|back in(?= (?:the|those)\b| \d)"
    r"|in the past(?= ?(?:[?!.,;]|$))|long ago"
    r"|a long time ago|once upon"
    r"|when did .{1,60}\bfirst\b|when was .{1,60}\bfirst\b|when did the first\b|the first time|how did .{1,60}\b"
    r"(?:begin|start|originate)"
    r"|how (?:it|this|that) (?:all )?(?:began|started)|origins? of|in (?:its|his|her|their|my|our) early (?:days"
    r"|years))\b"
    r"|\bago\b"
)
_HISTORY_TERM = Pattern(
    r"\bhistory of present illness|\b(?:family|medical|personal) history of\b|\bhow (?:many|long) .{1,20}\bago\b"
)

_ASKING = Pattern(
    r"^(?:who|what|which|where|when|why|how|whose|whom|is|are|am|was|were|do|does|did|has|have|had|can|could|should"
    r"|would|will|shall|may"
    r"|any|please|tell|show|give|list|find|remind|check|get|explain|summari[sz]e|compare|describe|look"
    r"|sum up|suggest|draft|draw up|write up|quote|outline|recap|help|in which|in what|at what|on what"
    r"|from which|latest|current|newest|recent|most recent|live|news|today|now|history|former|previous|commits"
    r"|status)\b"
    r"|\b(?:who|what|which|where|whom|whose|what's|who's)\b|\b(?:i|i'm|i've|my|me|we|our|us|you|your)\b"
)
_STATEMENT = 5
"""Spaces from which on words that ask for nothing are a statement, no longer a few keywords."""
_QUOTED = Pattern(r'"[^"]{1,100}"')
"""A title or an utterance: its words are not those of the asker."""


def read_time(text: str, as_of: datetime, *, by_tense: bool = False) -> TimeOfQuery:
    """Reads the first 2,000 characters of a query, and whether it ends with a question mark. `as_of` is aware, in any
    zone; UsageError otherwise.

    With `by_tense`, a question without any sign of time is read by its tense (`text.tense`); one without any word is
    time-agnostic.
    """
    now = utc(as_of)
    period = find_period(text, now)
    plain = _QUOTED.sub('""', clean(text).lower().rstrip(" ?!.,;:\u2026"))
    asks = text.rstrip().endswith("?") or _ASKING.search(plain)
    stated = not asks and plain.count(" ") >= _STATEMENT
    previous = None if stated else _asks_previous(plain)
    found = _class_of(plain, stated, previous, period, now)
    if found is None:
        if stated:
            found = Sensitivity.TIME_AGNOSTIC, "a statement without a period"
        else:
            found = tense(plain) if by_tense and plain else (Sensitivity.TIME_AGNOSTIC, "no sign of time")
    sensitivity, evidence = found
    return TimeOfQuery(sensitivity=sensitivity, period=period, asks_previous=previous is not None, evidence=evidence)


def _class_of(
    text: str, stated: bool, previous: str | None, period: Period | None, now: datetime
) -> tuple[Sensitivity, str] | None:
    """The class that words of time or of a state give, and why; None without any."""
    past = period is not None and _is_past(period, now)
    cues = _TERM.sub(" ", text)
    live = None if stated or past else _LIVE.search(cues) or _UP_OR_DOWN.search(cues)
    if live and not previous and not _NOT_LIVE.search(cues):
        return Sensitivity.REAL_TIME, f"'{_short(live[0])}' asks for this moment"
    recent = None if stated or _HOW_NOW.search(cues) else _RECENT.search(cues)
    strong = recent and _STRONG.search(cues)
    if period is not None and past:
        if strong and not previous and not _PAST_TENSE.search(cues):
            return Sensitivity.RECENT, f"'{strong[0]}' asks for recent"
        return Sensitivity.HISTORICAL, f"'{period.text}' lies in the past"
    if previous:
        return Sensitivity.HISTORICAL, f"'{_short(previous)}' asks for an earlier value"
    history = None if stated else _HISTORY.search(text)
    if history and not _HISTORY_TERM.search(text) and not recent:
        return Sensitivity.HISTORICAL, f"'{_short(history[0])}' asks about the past"
    if period is not None:
        return Sensitivity.RECENT, f"'{period.text}' reaches now or later"
    if recent:
        return Sensitivity.RECENT, f"'{_short(recent[0])}' asks for recent"
    state = None if stated or _NO_STATE.search(text) else _STATE.search(text)
    if state:
        return Sensitivity.RECENT, f"'{_short(state[0])}' asks for a present state"
    return None


def _is_past(period: Period, now: datetime) -> bool:
    """Wholly over, or ending now and longer than RECENT_WINDOW."""
    if period.end is None or period.end > now:
        return False
    return period.end < now or period.start is None or now - period.start > RECENT_WINDOW


def _asks_previous(text: str) -> str | None:
    """The words that ask for an earlier value, or None."""
    found = _PREVIOUS.search(text) or _OLD.search(text)
    if found and not _FORMER_PERSON.search(text):
        return found[0]
    before = _BEFORE.search(text)
    if before and _PAST_ASK.search(text) and not _NOT_BEFORE.search(text):
        return before[0]
    if _BEFORE_CLAUSE.match(text):
        return "before"
    return None


def _short(words: str) -> str:
    return words if len(words) <= 48 else words[:45].rstrip() + "..."
