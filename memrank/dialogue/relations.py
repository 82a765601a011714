"""How the texts of a conversation stand to each other: words that two of them hold, and meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrank.indexing import Analyzer, Vocabulary
from memrank.score import bm25
from memrank.types import Floats

GRAIN = 2.0**24


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """How n elements and the message stand to each other; index n is the message."""

    shared: Floats
    """(n + 1, n + 1): summed idf of the words that both hold; the diagonal is what each holds."""
    held: Floats
    """(n + 1, n + 1): share of the row's words that the column holds, by idf."""
    cosine: Floats
    """(n + 1, n + 1): of the sentence vectors; 0 without an embedder."""


def relations(texts: Sequence[str], analyzer: Analyzer) -> Relations:
    """Of the texts of a conversation, the message last."""
    found = analyzer.analyse(list(texts), remember=True)
    vocabulary = Vocabulary()
    ids = [vocabulary.ids(one.terms) for one in found]
    n = len(texts)
    holds = np.zeros((n, max(len(vocabulary), 1)))
    for row, terms in enumerate(ids):
        holds[row, terms] = 1.0
    holding = holds.sum(axis=0)
    # Multiples of 2^-24: their sums are exact, and so do not depend on the order of the terms or on threads.
    idf = np.round(np.array([bm25.idf(n, int(count)) for count in holding]) * GRAIN) / GRAIN
    common = holding > 1
    shared = (holds[:, common] * idf[common]) @ holds[:, common].T
    shared[np.arange(n), np.arange(n)] = holds @ idf
    if found and found[0].vector is not None:
        vectors = np.stack([one.vector for one in found if one.vector is not None]).astype(np.float64)
        cosine = np.einsum("id,jd->ij", vectors, vectors)
    else:
        cosine = np.zeros((n, n))
    return Relations(shared=shared, held=shared / (np.diag(shared)[:, None] + 1e-9), cosine=cosine)
