"""A shorter stand-in for a text: its sentences that share most with the query, in their own order, cut to a budget."""

import re
from collections.abc import Callable, Mapping

SCANNED = 20_000
"""Characters that are read; what comes after is not summarized."""
ELLIPSIS = "…"

LONG_SENTENCE = 40
"""Characters that are added to a sentence's length, so that the shortest do not win by being short."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]+")
_DECISION = re.compile(
    r"(?i)\b(?:decided|agreed|must|never|only|limit|because|error|fail\w*|denied|due|deadline|approved|rejected|instead"
    r"|total|allerg\w*|not)\b"
)
LEANS_ON = 2
"""Sentences at most that one brings along."""
SUBJECT = 24
"""Bytes from which the start of a sentence tells its subject."""
_LEANS = re.compile(
    r"(?i)[-*\u2022\"'(\s]*(?:(?:it|he|she|they|this|that|these|those|its|his|her|their|both|which|there|one|so|then|but|and"
    r"|or|because|also|instead|otherwise|except|must|was|were|is|are|has|had|will|would|should|can|could|needs)\b)(?!.*\?$)"
)
# A point inside a number or a name ("4.25", "memrank.org") ends nothing.
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

    Sentences (lines, for a tool's output) are taken by what they carry a byte, each once, and stand in their own order.
    One that leans on the sentence before it ("It is 45 million") brings that along, or as much of its start as has
    room.
    """
    pieces = [part.strip() for line in text[:SCANNED].splitlines() for part in _SENTENCE.findall(line) if part.strip()]
    worth = [_carries(piece, asked, terms) / (len(piece) + LONG_SENTENCE) for piece in pieces]
    chosen: dict[int, str] = {}
    room = max_bytes
    for i in sorted(range(len(pieces)), key=lambda i: (-worth[i], i)):
        if i in chosen or pieces[i] in chosen.values() or _bytes(pieces[i]) > room or worth[i] <= 0:
            continue
        brought = _brought(pieces, i, chosen, room - _bytes(pieces[i]))
        if brought is None:
            continue
        chosen |= {i: pieces[i], **brought}
        room = max_bytes - sum(_bytes(piece) for piece in chosen.values())
    if not chosen:
        return cut(" ".join(pieces) or text.strip(), max_bytes)
    return cut(" ".join(chosen[i] for i in sorted(chosen)), max_bytes)


def _brought(pieces: list[str], i: int, chosen: Mapping[int, str], room: int) -> dict[int, str] | None:
    """What a sentence leans on and is not chosen yet, within `room` bytes; None where not even its start has room."""
    brought: dict[int, str] = {}
    while i > 0 and _LEANS.match(pieces[i]) and i - 1 not in chosen and len(brought) < LEANS_ON:
        i -= 1
        piece = pieces[i] if _bytes(pieces[i]) <= room else cut(pieces[i], room - 1) if room > SUBJECT else ""
        if not piece:
            return brought or None
        brought[i] = piece
        room -= _bytes(piece)
        if piece != pieces[i]:
            break
    return brought


def _bytes(piece: str) -> int:
    """Bytes that a sentence takes, with the space after it."""
    return len(piece.encode("utf-8", "replace")) + 1


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
