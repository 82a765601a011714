"""A shorter stand-in for a text: its sentences that share most with the query, in their own order, cut to a budget."""

import re
from collections.abc import Callable, Mapping

SCANNED = 20_000
"""Characters that are read; what comes after is not summarized."""
ELLIPSIS = "…"

# A point inside a number or a name ("4.25", "memrank.org") ends nothing.
LONG_SENTENCE = 40
"""Characters that are added to a sentence's length, so that the shortest do not win by being short."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]+")
_DECISION = re.compile(
    r"(?i)\b(?:decided|agreed|must|never|only|limit|because|error|fail\w*|denied|due|deadline|approved|rejected|instead"
    r"|total|allerg\w*|not)\b"
)
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?=\w))+[.!?。！？]*[\"'”’»)\]]*\s*")


def summarize(text: str, weights: Mapping[str, float], terms: Callable[[str], list[str]], max_bytes: int) -> str:
    """Extract of at most `max_bytes` of UTF-8, from sentences ranked by the summed weight of the query terms they hold.

    Sentences without any such term count by their order, so that a text that shares nothing is represented by its
    start.
    """
    sentences = [part.strip() for part in _SENTENCE.findall(text[:SCANNED]) if part.strip()] or [text[:SCANNED].strip()]
    worth = [sum(weights.get(term, 0.0) for term in set(terms(sentence))) for sentence in sentences]
    chosen: list[int] = []
    size = 0
    for i in sorted(range(len(sentences)), key=lambda i: (-worth[i], i)):
        needed = len(sentences[i].encode("utf-8", "replace")) + 1
        if chosen and (size + needed > max_bytes or worth[i] == 0):
            break
        chosen.append(i)
        size += needed
    return cut(" ".join(sentences[i] for i in sorted(chosen)), max_bytes)


def extract(text: str, asked: Mapping[str, float], terms: Callable[[str], list[str]], max_bytes: int) -> str:
    """Extract of at most `max_bytes` of UTF-8: the sentences that carry most names, numbers, decisions and asked words.

    Sentences (lines, for a tool's output) are taken by what they carry a byte, and stand in their own order.
    """
    pieces = [part.strip() for line in text[:SCANNED].splitlines() for part in _SENTENCE.findall(line) if part.strip()]
    worth = [_carries(piece, asked, terms) / (len(piece) + LONG_SENTENCE) for piece in pieces]
    chosen: list[int] = []
    size = 0
    for i in sorted(range(len(pieces)), key=lambda i: (-worth[i], i)):
        needed = len(pieces[i].encode("utf-8", "replace")) + 1
        if size + needed <= max_bytes and worth[i] > 0:
            chosen.append(i)
            size += needed
    if not chosen:
        return cut(" ".join(pieces) or text.strip(), max_bytes)
    return cut(" ".join(pieces[i] for i in sorted(chosen)), max_bytes)


def _carries(piece: str, asked: Mapping[str, float], terms: Callable[[str], list[str]]) -> float:
    """How much a sentence carries: asked words, numbers, names, words of decision."""
    facts = len(_NUMBER.findall(piece)) + len(_NAME.findall(piece)) + 2 * len(_DECISION.findall(piece))
    return 1.0 + facts + 2.0 * sum(asked.get(term, 0.0) for term in set(terms(piece)))


def cut(text: str, max_bytes: int) -> str:
    """The text, or its start up to a word boundary with an ellipsis, in at most `max_bytes` of UTF-8."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    mark = len(ELLIPSIS.encode())
    if max_bytes < mark:
        return ""
    kept = raw[: max_bytes - mark].decode("utf-8", "ignore")
    space = kept.rfind(" ")
    return (kept[:space] if space > len(kept) // 2 else kept).rstrip() + ELLIPSIS
