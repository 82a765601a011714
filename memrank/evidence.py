"""Why a candidate is relevant, in a sentence that names only what is there: shared words, similarity, dates, links."""

from memrank.slate import Column, Slate
from memrank.text.tokens import Tokenizer, words
from memrank.types import Sensitivity

MAX_WORDS = 6
SCANNED = 20_000
"""Characters of a memory that are searched for shared words."""


def shared_words(slate: Slate, k: int, tokenizer: Tokenizer) -> list[str]:
    """Words of candidate k that stand for a term of the query, rarest term first, at most MAX_WORDS."""
    memory = slate.memory(k)
    text = " ".join((memory.speaker or "", *memory.aliases, memory.content[:SCANNED]))
    found: dict[str, str] = {}
    for word in words(text):
        for term in tokenizer.terms(word):
            if term in slate.query_terms:
                found.setdefault(term, word)
    rare = sorted(found, key=lambda term: (-slate.query_terms[term], term))
    return [found[term] for term in rare[:MAX_WORDS]]


def justify(slate: Slate, k: int) -> str:
    """One sentence about candidate k."""
    shared = shared_words(slate, k, _tokenizer(slate))
    parts = [f"shares {_listed(shared)} with the query" if shared else "shares no word with the query"]
    if slate.tenant.vectors is not None:
        parts.append(f"sentence similarity {slate[Column.DENSE][k]:.2f}")
    if slate[Column.BEFORE][k] + slate[Column.AFTER][k] >= 1.0:
        parts.append("stands beside turns that match")
    inherits = int(slate.columns[Column.INHERITS][k]) if Column.INHERITS in slate.columns else -1
    if inherits >= 0:
        parts.append(f"replaces {slate.memory(inherits).id}")
    if slate.time.sensitivity is not Sensitivity.TIME_AGNOSTIC:
        parts.append(_dated(slate, k))
    return "; ".join(parts)


def _dated(slate: Slate, k: int) -> str:
    memory = slate.memory(k)
    moment = memory.event_date or memory.created_at
    return f"dated {moment.text}" if moment else "undated"


def _listed(found: list[str]) -> str:
    return ", ".join(f"“{word}”" for word in found)


_TOKENIZERS: dict[str, Tokenizer] = {}


def _tokenizer(slate: Slate) -> Tokenizer:
    """The tokenizer that read this tenant."""
    return _TOKENIZERS.setdefault(slate.tenant.language, Tokenizer(slate.tenant.language))
