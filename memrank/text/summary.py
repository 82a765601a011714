"""A shorter stand-in for a text: its sentences that share most with the query, in their own order, cut to a budget."""

import re
from collections.abc import Callable, Mapping

SCANNED = 20_000
"""Characters that are read; what comes after is not summarized."""
ELLIPSIS = "…"

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
