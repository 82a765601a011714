"""Why a candidate is relevant, in a sentence that names only what is there: shared words, similarity, dates, links."""

from memrank.slate import Column, Slate
from memrank.text.tokens import Tokenizer, tokenizer_of, words
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
    shared = shared_words(slate, k, tokenizer_of(slate.tenant.language))
    parts = [f"shares {_listed(shared)} with the query" if shared else "shares no word with the query"]
    if slate.tenant.vectors is not None:
        parts.append(f"sentence similarity {slate[Column.DENSE][k]:.2f}")
    if slate[Column.BEFORE][k] + slate[Column.AFTER][k] >= 1.0:
        parts.append("stands beside turns that match")
    if Column.INHERITS in slate.columns:
        parts.extend(_links(slate, k))
    if slate.time.sensitivity is not Sensitivity.TIME_AGNOSTIC:
        parts.append(_dated(slate, k))
    return "; ".join(parts)


def _links(slate: Slate, k: int) -> list[str]:
    """How candidate k stands to others that state the same thing, as far as the ranker has judged it."""
    links = []
    if slate[Column.INHERITS][k] >= 0:
        links.append(f"replaces {slate.memory(int(slate[Column.INHERITS][k])).id}")
    if slate[Column.LIFTED_OVER][k] >= 0:
        links.append(f"seems to state a newer value than {slate.memory(int(slate[Column.LIFTED_OVER][k])).id}")
    if slate[Column.OUTDATED_BY][k] >= 0:
        newer = slate.memory(int(slate[Column.OUTDATED_BY][k])).id
        links.append(f"seems outdated by {newer} (probability {slate[Column.OUTDATED][k]:.2f})")
    return links


def _dated(slate: Slate, k: int) -> str:
    memory = slate.memory(k)
    moment = memory.event_date or memory.created_at
    return f"dated {moment.text}" if moment else "undated"


def _listed(found: list[str]) -> str:
    return ", ".join(f"“{word}”" for word in found)
