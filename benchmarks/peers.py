"""The systems that memrank is compared with: plain search, and the published formulas of memory systems.

Each takes a golden set and returns the ids of every query, best first, at most KEEP of them. All read the same text
(with the speaker and the other names of a record, as memrank does), the same vectors (wordllama, 256-d) and the same
memories: those of the query's tenant that were known at its time. What has no date counts as old as the median of those
that have one, so that it is neither raised nor sunk; what states no importance has 0.5.

`crewai`, `redis-ams` and `generative-agents` are re-implemented from their documentation for this comparison, with the
defaults given there. They show what a formula does to the order, not what those products do as a whole. The packages in
`packages.py` are the real ones.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import packages
from goldens import Asked, Floats, GoldenSet, text_of

KEEP = 50
"""Length of a ranking; also how many of the most similar memories the formulas over a vector search re-rank."""
DEPTH, RRF_K = 100, 60.0
"""Reciprocal rank fusion (Cormack et al. 2009): how far down both lists are read, and the constant."""

Run = list[list[str]]


def order(scores: Floats, keep: int = KEEP) -> list[int]:
    """Places of the best scores, best first; ties in the order of the file."""
    return [int(place) for place in np.argsort(-scores, kind="stable")[:keep]]


def words(golden: GoldenSet, k1: float, b: float) -> list[Floats]:
    """BM25 of every memory that each query may see, by bm25s with its own stop words and PyStemmer.

    An index holds what was known at the time of the query, so that later memories leave no trace in a score.
    """
    import bm25s
    import Stemmer

    if (k1, b) in golden.words:
        return golden.words[k1, b]

    def tokens(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english")
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)

    texts = list({text_of(memory): None for asked in golden.asked for memory in asked.memories})
    read = dict(zip(texts, tokens(texts), strict=True))
    queries = tokens([asked.text for asked in golden.asked])
    alike: dict[tuple[str | None, bytes], list[int]] = {}
    for place, asked in enumerate(golden.asked):
        alike.setdefault((asked.tenant, asked.rows.tobytes()), []).append(place)
    found = [np.zeros(len(asked.memories)) for asked in golden.asked]
    for places in alike.values():
        corpus = [read[text_of(memory)] for memory in golden.asked[places[0]].memories]
        if not any(corpus):
            continue
        index = bm25s.BM25(method="lucene", k1=k1, b=b)
        index.index(corpus, show_progress=False)
        for place in places:
            known = [token for token in queries[place] if token in index.vocab_dict]
            if known:
                found[place] = index.get_scores(known).astype(np.float64)
    golden.words[k1, b] = found
    return found


def standardised(scores: Floats) -> Floats:
    """Mean 0 and deviation 1; all 0 where they are equal."""
    spread = float(scores.std()) if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread > 1e-12 else np.zeros_like(scores)


def bm25(golden: GoldenSet) -> Run:
    """bm25s (Lucene's formula, k1 1.2, b 0.75)."""
    return [asked.ids(order(score)) for asked, score in zip(golden.asked, words(golden, 1.2, 0.75), strict=True)]


def dense(golden: GoldenSet) -> Run:
    """Cosine of the wordllama vectors."""
    return [asked.ids(order(asked.similarity)) for asked in golden.asked]


def fusion(golden: GoldenSet) -> Run:
    """Equal shares of BM25 (k1 0.9, b 0.4) and cosine, both standardised over what the query may see."""
    scores = words(golden, 0.9, 0.4)
    return [
        asked.ids(order(standardised(score) + standardised(asked.similarity)))
        for asked, score in zip(golden.asked, scores, strict=True)
    ]


def rrf(golden: GoldenSet) -> Run:
    """Reciprocal rank fusion of `bm25` and `dense`."""
    run = []
    for asked, score in zip(golden.asked, words(golden, 1.2, 0.75), strict=True):
        total = np.zeros(len(asked.memories))
        for ranking in (order(score, DEPTH), order(asked.similarity, DEPTH)):
            total[ranking] += 1.0 / (RRF_K + 1.0 + np.arange(len(ranking)))
        run.append(asked.ids(order(total)))
    return run


def formula(score: Callable[[Asked], Floats], *, pool: int | None) -> Callable[[GoldenSet], Run]:
    """A ranking by a score of every memory, among the `pool` most similar ones where that is given."""

    def run(golden: GoldenSet) -> Run:
        found = []
        for asked in golden.asked:
            value = score(asked)
            chosen = order(asked.similarity, pool) if pool else range(len(value))
            found.append(asked.ids(sorted(chosen, key=lambda place: -value[place])[:KEEP]))
        return found

    return run


def crewai(asked: Asked) -> Floats:
    """0.5 similarity + 0.3 * 0.5^(age in days / 30) + 0.2 importance, similarity = 1 / (1 + distance).

    The defaults that CrewAI documents for its memory (semantic_weight, recency_weight, importance_weight,
    recency_half_life_days). Distance: cosine distance.
    """
    similarity = 1.0 / (2.0 - asked.similarity)
    return 0.5 * similarity + 0.3 * halved(asked.hours, 30.0) + 0.2 * asked.importance


def redis_ams(asked: Asked) -> Floats:
    """0.8 similarity + 0.2 recency, recency = 0.6 freshness (half-life 7 d) + 0.4 novelty (half-life 30 d).

    The defaults that Redis agent-memory-server documents for its recency boost: freshness counts from the last use,
    novelty from creation.
    """
    similarity = np.clip(asked.similarity, 0.0, 1.0)
    return 0.8 * similarity + 0.2 * (0.6 * halved(asked.unused_hours, 7.0) + 0.4 * halved(asked.hours, 30.0))


def generative_agents(asked: Asked) -> Floats:
    """Recency 0.995^hours since the last use + importance + relevance, each scaled to 0..1 by its least and greatest.

    Park et al. 2023, Generative agents, section 4.1: all three with equal weight.
    """
    return scaled(0.995**asked.unused_hours) + scaled(asked.importance) + scaled(asked.similarity)


def halved(hours: Floats, days: float) -> Floats:
    """Exponential decay with a half-life in days."""
    return np.exp2(-hours / (24.0 * days))


def scaled(values: Floats) -> Floats:
    """From 0 (the least) to 1 (the greatest); 0.5 where all are equal."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.full_like(values, 0.5)


@dataclass(frozen=True)
class Peer:
    """A system by name; `label` says in the table what it is."""

    label: str
    run: Callable[[GoldenSet], Run]


BASELINES = ("bm25", "dense", "fusion", "rrf")
"""Untrained search without any notion of time: what memrank has to beat."""

PEERS = {
    "bm25": Peer("bm25 (bm25s)", bm25),
    "dense": Peer("dense (wordllama)", dense),
    "fusion": Peer("fusion, equal shares", fusion),
    "rrf": Peer("reciprocal rank fusion", rrf),
    "langchain-time-weighted": Peer("LangChain time-weighted", packages.langchain_time_weighted),
    "llamaindex-recency": Peer("LlamaIndex FixedRecency", packages.llamaindex_fixed),
    "llamaindex-recency-10": Peer("LlamaIndex FixedRecency, top 10", packages.llamaindex_fixed_first),
    "llamaindex-embedding-recency": Peer("LlamaIndex EmbeddingRecency", packages.llamaindex_embedding),
    "llamaindex-time-weighted": Peer("LlamaIndex TimeWeighted", packages.llamaindex_time_weighted),
    "crewai": Peer("CrewAI's formula (re-implemented)", formula(crewai, pool=KEEP)),
    "redis-ams": Peer("Redis agent-memory-server's formula (re-implemented)", formula(redis_ams, pool=KEEP)),
    "generative-agents": Peer("Generative Agents' formula (re-implemented)", formula(generative_agents, pool=None)),
}


def labels(names: Iterable[str]) -> dict[str, str]:
    """What the table calls each system."""
    return {name: PEERS[name].label if name in PEERS else name for name in names}
