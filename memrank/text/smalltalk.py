"""Whether a turn of a conversation only passes the time: thanks, greetings, good wishes, a word about the weather."""

from functools import lru_cache

from memrank.text.acts import idle_question, sentences
from memrank.text.lazy import Pattern

_HEART = frozenset(
    """
    thanks thank thankful grateful thx ta cheers hi hello hey hiya welcome morning afternoon evening night bye goodbye
    cheerio farewell great perfect lovely excellent super awesome fantastic nice brilliant wonderful cool marvellous
    splendid amazing terrific pleasure pleased glad happy delighted appreciated appreciate congratulations congrats luck
    lucky ha haha hahaha lol wow yay hooray oh ah ooh aw aww hm hmm brr phew ok okay fine sure right understood noted
    worries problem sorry apologise apologize apologies bless enjoy hope fun weather fancy goodness gracious kind sweet
    star legend best wishes birthday christmas easter weekend relief pity shame surprise joke funny good well poor dear
    grief crossed sunny rainy cold hot warm freezing interesting impressive beautiful complain later soon understand see
    """.split()  # noqa: SIM905
)
_FILL = frozenset(
    """
    a an the i i'm i've i'd me my you you're you've your yours we we're us our he she they them it it's its that
    that's this these what what's how how's so very much lot lots such really too quite rather truly all both one
    another some any every is are was were be been am has have had having do does did can can't could couldn't will
    would i'll you'll let's may might to for of in on at by from with and but or as if than then there here now
    today tonight tomorrow again back day days week year time times long hear heard meet meeting met talk talking
    speak speaking say said saying help helped helping helpful message note patience waiting wait reaching out
    contacting asking question point idea job work stuff news make made makes making know come came get got go going
    keep up trip journey travels safe home rest sleep way care take mention trouble bother inconvenience delay
    concern frustrating annoying everyone everybody folks friend friends mate guys team sir madam until next no not
    at anytime same more most over done look looking feel better merry happy new holidays holiday fingers being like
    sorting sounds yes yep yeah nope heavens god lord mind don't won't ever thought coming nothing just pop
    """.split()  # noqa: SIM905
)
_MOST = 14
"""Words of a sentence that still passes the time."""
_WORD = Pattern(r"[^\W_][\w'’]*(?:-\w+)*")
_SET = Pattern(
    r"\b(?:that|you)(?:'s|'ve)? (?:really )?made my (?:day|week)|much appreciated|and you\W*$|same to you"
    r"|you too"
)


@lru_cache(maxsize=20_000)
def smalltalk(text: str) -> bool:
    """Whether a turn says nothing but pleasantries."""
    said = sentences(text)
    return bool(said) and all(pleasant(one) for one in said)


def pleasant(sentence: str) -> bool:
    """Whether a sentence, in lower case, is a pleasantry: all of its words may stand in one, one at its heart."""
    if sentence.endswith("?"):
        return idle_question(sentence)
    words = [found[0] for found in _WORD.finditer(sentence)]
    known = all(word in _HEART or word in _FILL for word in words)
    heart = any(word in _HEART for word in words) or _SET.search(sentence) is not None
    return bool(words) and len(words) <= _MOST and known and heart
