"""Text of a memory that tries to instruct whoever judges it: found, and taken out of what a model is shown.

A list of rules, not an understanding: it finds orders to set rules aside, talk of a memory's own score, words to the
judge, answers and marks of a chat that were written into the text, also in disguise (`disguises`) and in the languages
that such orders are written in most. An order in words of its own passes. What a memory of everyday life says ("from
now on", "ignore my last mail", a rate at its highest) is left alone.
"""

import re
import unicodedata
from functools import lru_cache

from memrank.text.disguises import fold, readings
from memrank.text.inert import inert

REMOVED = "[removed: an instruction]"
"""Stands for each stretch that was taken out."""
LONGEST = 16_000
"""Characters of a text that are read; what stands behind them is shown to nobody."""


def _any(*words: str) -> str:
    """One of these: patterns as they are written, plain words folded as the text is."""
    patterns = (word if "\\" in word or "(" in word else fold(word) for word in words)
    return f"(?:{'|'.join(patterns)})"


_ASIDE = _any(
    *(r"\b(?:ignor|disregard|forget|overrid|overrul|bypass|neglect)\w*", r"\bset aside\b", r"\bpay no \w+ to\b"),
    *(r"\b(?:do not|don't|stop) (?:judg|follow|evaluat|obey)\w*", r"\b(?:vergiss|vergess|missacht|negeer|vergeet)\w*"),
    *(
        r"\b(?:oubli|neglig|olvid|descart|esque[c]|desconsider|dimentic|trascur)\w*",
        r"\b(?:zignoruj|pomin|zapomnij)\w*",
    ),
    *(r"(?:игнорир|забуд|ігнор)\w*", "не обращай", "не зважай", "yok say", "goz ardi", r"\bunut\w*", "görmezden"),
    *("bỏ qua", "abaikan", "hiraukan", "bortse", "glöm", "nedbej", "älä välitä", "αγνόησε", "ξέχασε", "התעלם", "תתעלם"),
    *("تجاهل", "انس", "نادیده", "अनदेखा", "नज़रअंदाज़", "भूल जा", "무시", "忽略", "无视", "無視", "忘记", "忘記", "忽視"),
    *("ไม่ต้องสนใจ", "เพิกเฉย"),
)
_RULES = _any(
    *(r"\b(?:instru[ck]|istruz|anweis|guideline|prompts?\b|polic(?:y|ies)\b|rules?\b|criteria\b|consigne)\w*",),
    *(r"\b(?:regeln|reglas|regole|regras|indicacion|anvisning|pokyn|ohjei|polecen|wskazow|petunjuk)\w*",),
    *(r"\bwhat you (?:were|have been) told", r"(?:инструкц|указани|вказівк)\w*"),
    *("talimat", "hướng dẫn", "οδηγίες", "הוראות", "הנחיות", "التعليمات", "تعليمات", "دستور", "निर्देश"),
    *("指令", "指示", "命令", "规则", "規則", "ルール", "지시", "명령", "คำสั่ง"),
)
_SCORE = _any(
    *(r"\b(?:scor(?:e[sd]?|ing)|rank(?:s|ed|ing|ings)?|relevan\w*|grad(?:e|ed|ing)|full marks|judg\w*|evaluat\w*)\b",),
    *(r"\b(?:rat(?:e|ed|ing)|marks?|treat)\b(?= (?:this|the (?:preceding|last) |it |me ))", r"\b(?:bewert|puntua)\w*"),
    *(r"\b(?:pertinenc|rilevan|relevanz|punteggio|valut|oceni|ocen|trafno|betyg|ohodno|pisteet)\w*",),
    *(r"(?:релевантн|оцен|оцін)\w*", r"\bpuan\b", "điểm", "liên quan", "nilai", "βαθμό", "συνάφεια", "ציון", "רלוונטי"),
    *("درجة", "صلة", "امتیاز", "प्रासंगिक", "स्कोर", "相关性", "相關性", "关联", "關聯", "関連", "评分", "評分", "分数"),
    *("スコア", "評価", "점수", "관련성", "평가", "คะแนน"),
)
_ITSELF = _any(
    r"\b(?:this|that|the (?:preceding|above|last|present)) (?:memory|entry|item|passage|record|id|candidate|text)\b",
    *(r"\b(?:this|that) one\b", r"\b(?:memories|memory|entries)\b", r"\b(?:erinnerung|eintrag|souvenir|recuerdo)\w*"),
    *(r"\b(?:ricordo|memoria|herinnering|wspomnieni|minnet|vzpomin|muisto)\w*", r"\bэто\w* запис\w*|\bзапис[иьу]\b"),
    *("kayda", "kaydı", "ký ức", "catatan ini", "ανάμνηση", "זיכרון", "ذاكرة", "الذاكرة", "خاطره", "स्मृति", "记忆"),
    *("記憶", "기억", "ความทรงจำ"),
)
_MOST = r"(?:\b1[.,]0+\b|\b0?[.,]9\d*\b|\b100 ?%|= ?1\b|\bmax\w*|\bhighest\b|\bfull marks\b|\bperfect\b)"
_JUDGE = r"(?:ai|llms?|language models?|judges?|rankers?|graders?|evaluators?|scorers?|\w+bot|dan)\b"

RULES = tuple(
    re.compile(rule)
    for rule in (
        rf"{_ASIDE}.{{0,50}}?(?:{_RULES}|\beverything (?:above|below|else))",
        rf"{_RULES}.{{0,40}}?{_ASIDE}",
        rf"{_SCORE}.{{0,60}}?{_ITSELF}",
        rf"{_ITSELF}.{{0,60}}?{_SCORE}",
        rf"\brelevan(?:ce|t|cy)\b.{{0,45}}?{_MOST}",
        rf"\b(?:this|that) (?:memory|entry|id|item)\b.{{0,40}}?{_MOST}",
        r"[\"']?\b(?:relevance(?:_score)?|judg[e]?ments?)\b[\"']?\s*[:=]",
        # Words to the judge, and what it should play.
        r"\b(?:dear|hey|attention|note to|if you are|you are|act as|as)\b"
        rf"(?: (?:now|an?|the|my|any|all|your)\b)* ?{_JUDGE}",
        r"\bas (?:the |a )?\w{0,12} ?(?:evaluator|judge|grader)\b.{0,80}\byou\b",
        r"\bdeveloper mode (?:is )?enabled|\bjailbreak|\bstay in character|\bwithout any rules\b",
        r"\bpretend (?:that )?(?:the query|you(?:'re| are))\b",
        r"\b(?:give|use|take|copy|exchange|swap)\b.{0,20}?\bscores?\b",
        rf"\bids? (?:of|for) {_ITSELF}",
        # Frames of prompts, and the end of data that is none.
        r"\[\[ ?##|<\|[^|>]{1,40}\|>|\[/?inst\]|<<\s*/?\s*sys\s*>>|<\s*/?\s*sys\s*>>",
        r"</?(?:system|memory|memories|instructions?|data|judgements?)\b[^>]{0,40}>",
        r"#{2,} ?(?:instruction|response|system)\b",
        r"\b(?:end|begin)(?: of)?(?: the)? (?:untrusted|data|prompt|memories)\b",
        r"\bsystem ?: .{0,40}?\b(?:you|new|instruction)",
    )
)
"""Over folded text: lower case, without marks on letters, on one line."""

_SPELLED = re.compile(
    r"(?:ignor|disregard|forget)\w{0,24}(?:instruction|rule|polic)|(?:score|rate)(?:s|d)?this(?:memory|entry|item)"
)
"""What shows where letters stand apart and no word has an end."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")


def instructs(text: str) -> bool:
    """Whether a text holds something that tries to instruct a judge."""
    return REMOVED in disarmed(text)


@lru_cache(maxsize=4096)
def disarmed(text: str) -> str:
    """The text on one line without what tries to instruct: each such sentence is replaced by `REMOVED`.

    What is spread over sentences costs the whole text.
    """
    text = text[:LONGEST].replace(REMOVED, "")
    if not _instructing(text):
        return _plain(text)
    parts = [part for part in _SENTENCE.split(text) if part.strip()]
    kept: list[str] = []
    for part in parts:
        said = REMOVED if _instructing(part) else _plain(part)
        if said != REMOVED or kept[-1:] != [REMOVED]:
            kept.append(said)
    rest = " ".join(said for said in kept if said != REMOVED)
    return REMOVED if REMOVED not in kept or _instructing(rest) else " ".join(kept)


def _plain(text: str) -> str:
    return inert(unicodedata.normalize("NFKC", text))


def _instructing(text: str) -> bool:
    plain = fold(text)
    return _ordering(plain) or any(_ordering(reading) for reading in readings(text) if reading != plain)


def _ordering(folded: str) -> bool:
    return any(rule.search(folded) for rule in RULES) or _SPELLED.search(folded.replace(" ", "")) is not None
