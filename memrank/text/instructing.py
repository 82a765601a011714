"""Text of a memory that tries to instruct whoever judges it: found, and taken out of what a model is shown.

A list of forms, not an understanding: orders to ignore or obey, talk of scores and of the judge's own role, answers
and markers of a chat that were written into the text, and codes that hide text. What is found costs the memory little
(see `stages.lm.ranking`), so the list would rather find too much.
"""

import base64
import binascii
import re
import unicodedata
from functools import lru_cache

from memrank.text.inert import inert

REMOVED = "[removed: an instruction]"
"""Stands for each stretch that was taken out."""

_WORDS = "|".join(
    (
        # Orders to forget what was said, in the languages that attacks are written in most.
        r"(?:ignore|disregard|forget|override|overrule|bypass|skip|drop)\b.{0,40}\b(?:above|previous|prior|earlier|"
        r"preceding|instructions?|rules?|polic(?:y|ies)|prompt|guidelines?|everything|other memories|all others?)",
        r"(?:ignor\w*|olvid\w*|omit\w*|descart\w*|esque[cç]\w*|desconsider\w*|dimentic\w*)\b.{0,40}\b"
        r"(?:instruc\w*|instru[cç]\w*|istruz\w*|anterior\w*|precedent\w*|todo|tudo|tutto|reglas|regras|regole)",
        r"(?:ignore[zr]?|oublie[zr]?|néglige[zr]?)\b.{0,40}\b(?:instructions?|consignes?|précédent\w*|règles?|tout)",
        r"(?:ignorier\w*|vergiss|vergessen|missacht\w*|negeer|vergeet)\b.{0,40}\b"
        r"(?:anweisung\w*|instrukt\w*|vorherig\w*|obig\w*|regeln|alles|instructies|vorige|bovenstaande)",
        r"(?:zignoruj|pomiń|zapomnij|ignoruj|yoksay|görmezden|unut|bỏ qua|abaikan)\b.{0,60}",
        r"(?:игнорируй\w*|забудь\w*|проигнорируй\w*|ігноруй\w*).{0,60}",
        "(?:忽略|无视|無視|忘记|忘記|忽視).{0,20}|(?:指示|命令|ルール).{0,10}(?:無視|忘れ)|(?:무시|잊어).{0,20}",
        "(?:تجاهل|انس|अनदेखा|भूल जा|नज़रअंदाज़).{0,40}",
        # Talk of the score that it wants.
        r"(?:relevan(?:ce|cy|t|cia|z|z[ae]|ță)|pertinence|rilevanza|relevância|score|rating|rank(?:ed|ing)?|puntuaci[oó]n|"
        r"bewert\w*|punteggio|pontua\w*|note|punkt\w*|оценк\w*|релевантност\w*|wynik|puan)\b[^.!?\n]{0,25}?"
        r"(?:\b1(?:[.,]0+)?\b|\b100\b|\b10\s*/\s*10\b|\b0?[.,]9\d*\b|\bmax\w*|\bhighest\b|\bfirst\b|\btop\b|\bperfect\b)",
        r"(?:give|assign|set|award|return|output|mark|rate|score|rank|answer|respond|treat)\b[^.!?\n]{0,40}?"
        r"(?:\b1\.0+\b|\bscores?\b|\brelevan\w*|\bhighest\b|\bmost important\b|\bmaximum\b|\bnumber one\b|\bas true\b)",
        "(?:相关性|相關性|关联度|分数|評分|评分|スコア|関連度|関連性|점수|관련성|الصلة|درجة|स्कोर|प्रासंगिक).{0,20}",
        # Its judge, its role, and other memories.
        r"you (?:are|must|will|shall|should|have to)(?: now| always| only)?\b[^.!?\n]{0,30}\b(?:judge|rank\w*|scor\w*|"
        r"evaluat\w*|model|assistant|ai|obey|return|output|rate|treat|dan|pretend|unrestricted)",
        r"(?:as|to|dear|attention|note to|hey),? (?:an? |the |all )?(?:ai|llm|judges?|rankers?|graders?|evaluators?|"
        r"language models?|assistants?|scorers?)\b",
        r"(?:pretend|imagine|role-?play|act as|simulate|from now on|new (?:rules?|instructions?|polic\w*|task)|"
        r"system (?:prompt|message|override|notice|update)|developer mode|jailbreak|"
        r"end of (?:data|memor\w*|input|prompt)|"
        r"begin (?:new )?instructions?)\b",
        r"(?:the )?(?:other|remaining|rest of the|all other) (?:memor\w*|entries|candidates|items|passages)\b"
        r"[^.!?\n]{0,40}(?:\b0(?:\.0+)?\b|zero|irrelevant|ignore\w*|lower|worthless|drop\w*)",
        # Answers and frames written into the text.
        r"[\"'“”`]?(?:relevance|justification|judg[e]?ments?|memor(?:y|ies)_?id|scored?_?\w*|output_?schema|\$schema)"
        r"[\"'“”`]\s*:",
        r"\brelevance\s*[:=]\s*\d",
        r"\[\[\s*##|##\s*\]\]|<\|[^|>]{1,40}\|>|</?(?:system|user|assistant|memory|memories|instructions?|data|think|"
        r"judgements?|s|inst)\b[^>]{0,40}>|\[/?INST\]|```|~~~|<<SYS>>",
        r"(?:^|\s)(?:system|assistant|developer|instruction)\s*:",
        r"\b(?:decode|rot13|base64|base-64|hex-?decode|unscramble|reverse the)\b",
    )
)
_FORM = re.compile(_WORDS, re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？;\n])\s+|\n+|(?<=[。！？])")
_CODED = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:(?:\\x|0x|%)?[0-9a-fA-F]{2}[ ,:]?){12,}")
_SPELLED = re.compile(r"\b(?:\w[ .\-_*]){7,}\w\b")
_LEET = str.maketrans("013457@$", "oieastas")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_STRONG = re.compile(
    r"(?:ignor|disregard|override|forget)\w*\b.{0,40}\b(?:above|previous|prior|instructions?|rules?)|"
    r"relevance\b.{0,25}(?:1\.0|\b1\b|max|highest)|(?:score|rate|rank)\b.{0,30}(?:1\.0|\b1\b|highest|maximum|first)",
    re.IGNORECASE,
)
"""Forms that are looked for in text that was decoded, where chance finds are likelier."""
_LOOKALIKES = str.maketrans("аеорсухіјѕԁɡһӏοανικτρ", "aeopcyxijsdghloavikτp")


def instructs(text: str) -> bool:
    """Whether a text holds something that tries to instruct a judge."""
    return disarmed(text) != _plain(text)


@lru_cache(maxsize=4096)
def disarmed(text: str) -> str:
    """The text on one line without what tries to instruct: each such sentence is replaced by `REMOVED`."""
    plain = _plain(text)
    parts = [part for part in _SENTENCE.split(unicodedata.normalize("NFKC", text)) if part.strip()]
    kept = [REMOVED if _instructing(_plain(part)) else _plain(part) for part in parts]
    if REMOVED not in kept:
        # What is spread over sentences or lines shows only in the whole.
        return REMOVED if _instructing(plain) else plain
    joined = " ".join(part for i, part in enumerate(kept) if part != REMOVED or i == 0 or kept[i - 1] != REMOVED)
    return REMOVED if _instructing(joined.replace(REMOVED, "")) else joined


def _plain(text: str) -> str:
    return inert(unicodedata.normalize("NFKC", text))


def _instructing(text: str) -> bool:
    if _FORM.search(text):
        return True
    folded = unicodedata.normalize("NFD", text.translate(_LOOKALIKES))
    folded = "".join(char for char in folded if not unicodedata.combining(char))
    if folded != text and _FORM.search(folded):
        return True
    return any(_STRONG.search(hidden) for hidden in _hidden(text))


def _hidden(text: str) -> list[str]:
    """Other readings of a text: figures for letters, reversed, rotated, spelled out, base64 and hexadecimal."""
    readings = [text.translate(_LEET), text[::-1], text.translate(_ROT13)]
    readings += [re.sub(r"[ .\-_*](?=\w\b|\w[ .\-_*])", "", match[0]) for match in _SPELLED.finditer(text)]
    if _SPELLED.search(text):
        readings.append(re.sub(r"(?<=\b\w)[ .\-_*]+(?=\w\b)", "", text))
    for match in _CODED.finditer(text):
        readings.append(_base64(match[0]))
    for match in _HEX.finditer(text):
        digits = re.sub(r"\\x|0x|[^0-9a-fA-F]", "", match[0])
        readings.append(bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", "replace"))
    return readings


def _base64(code: str) -> str:
    whole = code.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
