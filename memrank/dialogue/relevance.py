"""How relevant each element of a conversation is to a message, by the ranking's own prefilter and model."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from memrank.dialogue.elements import Element
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.score.relevance import shipped
from memrank.slate import Slate
from memrank.spec import PrefilterSpec
from memrank.stages.prefilter import Prefilter
from memrank.stages.ranker import judged_columns
from memrank.tenant import Tenant
from memrank.types import Floats, Query

SITTING = "conversation"


def relevance_to(elements: Sequence[Element], message: str, analyzer: Analyzer) -> Floats:
    """Calibrated relevance of each element, (n,), in [0, 1]. Neighbouring elements count as neighbouring turns."""
    if not message.strip():
        return np.zeros(len(elements))
    memories = [
        replace(element.memory, session_id=element.memory.session_id or SITTING, turn=i, position=i)
        for i, element in enumerate(elements)
    ]
    vocabulary = Vocabulary()
    indexed = index(memories, analyzer, vocabulary, remember=True)
    tenant = Tenant.build(None, indexed, vocabulary, analyzer.language)
    everything = np.ones(len(memories), dtype=np.bool_)
    slate = Slate(
        # Nothing here depends on the time of asking.
        query=Query(text=message, as_of=datetime(9999, 1, 1, tzinfo=UTC)),
        tenant=tenant,
        rows=np.arange(len(memories)),
        visible=everything,
        protected=np.zeros(len(memories), dtype=np.bool_),
        columns={},
    )
    search = Prefilter(PrefilterSpec(kind="prefilter.hybrid.v1", top_k=max(len(memories), 1)), analyzer)
    pool: Slate = search(slate)
    out = np.zeros(len(memories))
    out[pool.rows] = shipped().probability(judged_columns(pool))
    return out
