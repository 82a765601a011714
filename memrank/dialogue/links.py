"""Which later element corrects or replaces an earlier one: a logistic judgement over pairs that may be about one thing.

A correction stands near what it corrects: only pairs within WINDOW turns are judged; a tool call made again, and its
results, at any distance.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memrank.claimpairs import Comparer
from memrank.dialogue.elements import Element
from memrank.dialogue.evidence import reruns
from memrank.dialogue.relations import Relations
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.score import contradiction
from memrank.tenant import Tenant
from memrank.text.claims import read_claim
from memrank.text.corrections import corrects
from memrank.types import Floats

Places = NDArray[np.int64]

WINDOW = 20
LEAST_SAME = 0.15
"""Words or meaning that a pair must share."""
VOICES = (("user", "user"), ("assistant", "assistant"), ("user", "assistant"), ("assistant", "user"))
"""Who is corrected by whom."""


def possible(elements: Sequence[Element], related: Relations, again: Floats) -> tuple[Places, Places]:
    """Places (older, newer) of the pairs that are judged."""
    n = len(elements)
    turn = np.array([element.turn for element in elements], dtype=np.int64)
    gap = turn[None, :] - turn[:, None]
    same = _same(related, n) >= LEAST_SAME
    near = np.triu(same, 1) & (gap > 0) & (gap <= WINDOW)
    older, newer = np.nonzero(near | (again > 0))
    return older, newer


def _same(related: Relations, n: int) -> Floats:
    held = related.held[:n, :n]
    same: Floats = np.maximum(np.maximum(held, held.T), related.cosine[:n, :n])
    return same


def link_features(
    elements: Sequence[Element], related: Relations, analyzer: Analyzer
) -> tuple[Places, Places, dict[str, Floats]]:
    """The pairs (older, newer), and the features of each, of shape (pairs,)."""
    again = reruns(elements, related)
    older, newer = possible(elements, related, again)
    n = len(elements)
    claims = [read_claim(element.content) for element in elements]
    correcting = [element.kind in ("user", "assistant") and corrects(element.content) for element in elements]
    kinds = [element.kind for element in elements]
    pairs = list(zip(older.tolist(), newer.tolist(), strict=True))

    def column(values: list[bool]) -> Floats:
        return np.array(values, dtype=np.float64)

    correction = column([correcting[j] for _, j in pairs])
    numbers = column(
        [bool(claims[i].numbers - claims[j].numbers and claims[j].numbers - claims[i].numbers) for i, j in pairs]
    )
    same = _same(related, n)[older, newer]
    turn = np.array([element.turn for element in elements], dtype=np.float64)
    return (
        older,
        newer,
        {
            "old_in_new": related.held[older, newer],
            "new_in_old": related.held[newer, older],
            "cosine": related.cosine[older, newer],
            "same": same,
            "gap": np.log1p(np.maximum(turn[newer] - turn[older], 0.0)),
            "corrects": correction,
            "corrects_same": correction * same,
            "numbers": numbers,
            "numbers_same": numbers * same,
            "ended": column(["ended" in claims[j].cues for _, j in pairs]),
            "change": column(["change" in claims[j].cues for _, j in pairs]),
            "rerun": again[older, newer],
            "outputs": column([kinds[i] == kinds[j] == "tool_output" for i, j in pairs]),
            "calls": column([kinds[i] == kinds[j] == "tool_call" for i, j in pairs]),
            "document": column(["document" in (kinds[i], kinds[j]) for i, j in pairs]),
            **{
                f"{one}_by_{two}": column([(kinds[i], kinds[j]) == (one, two) for i, j in pairs]) for one, two in VOICES
            },
            "contradicts": _contradiction(elements, older, newer, analyzer),
        },
    )


def _contradiction(elements: Sequence[Element], older: Places, newer: Places, analyzer: Analyzer) -> Floats:
    """Probability that the newer one contradicts the older one, as between memories of a store."""
    if not len(older):
        return np.zeros(0)
    # Their order is that of the conversation, whatever dates they have.
    memories = [
        replace(element.memory, position=i, event_date=None, created_at=None) for i, element in enumerate(elements)
    ]
    vocabulary = Vocabulary()
    tenant = Tenant.build(None, index(memories, analyzer, vocabulary, remember=True), vocabulary, analyzer.language)
    return contradiction.probability(contradiction.shipped(), Comparer(tenant).features(older, newer))
