"""BM25 over an inverted index held in numpy arrays.

Formula (Robertson and Zaragoza 2009, as in Lucene): sum over query terms of
idf(t) * tf / (tf + k1 * (1 - b + b * length / average length)), idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)).
N, df and the average length are taken over the visible documents only, so that hidden ones leave no trace in a score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """An inverted index over n documents and v terms, in compressed sparse rows (one row a term)."""

    starts: NDArray[np.int64]
    """(v + 1,): term t's entries are `docs[starts[t]:starts[t + 1]]`."""
    docs: Ints
    """Document of each entry, rising within a term."""
    counts: NDArray[np.float32]
    """How often the term stands in that document."""
    lengths: NDArray[np.float64]
    """(n,): terms in each document, repeats counted."""

    @classmethod
    def build(cls, documents: Sequence[NDArray[np.int32]], terms: int) -> "Postings":
        """From each document's term ids (repeats kept), every id in [0, terms)."""
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        flat = np.concatenate(documents) if documents else np.empty(0, dtype=np.int32)
        owner = np.repeat(np.arange(len(documents), dtype=np.int64), lengths)
        # One number a (term, document) pair: sorting it groups by term, then document.
        pair, counts = np.unique(flat.astype(np.int64) * max(len(documents), 1) + owner, return_counts=True)
        term_of = pair // max(len(documents), 1)
        return cls(
            starts=np.searchsorted(term_of, np.arange(terms + 1)).astype(np.int64),
            docs=(pair % max(len(documents), 1)).astype(np.int32),
            counts=counts.astype(np.float32),
            lengths=lengths.astype(np.float64),
        )

    def entries(self, term: int) -> tuple[Ints, NDArray[np.float32]]:
        """Documents that hold the term, and how often; empty for a term that came after this index was built."""
        if term + 1 >= len(self.starts):
            return self.docs[:0], self.counts[:0]
        span = slice(self.starts[term], self.starts[term + 1])
        return self.docs[span], self.counts[span]


def idf(visible: int, holding: int) -> float:
    """Inverse document frequency, above 0 for every term."""
    return float(_idf(visible, holding))


def _idf(visible: int, holding: int | NDArray[np.int64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.log(1.0 + (visible - holding + 0.5) / (holding + 0.5))
    return ratio


def idf_of(postings: Postings, terms: NDArray[np.int64], visible: NDArray[np.bool_]) -> NDArray[np.float64]:
    """idf of each of these terms over the visible documents, shape (len(terms),)."""
    return idf_of_counts(int(visible.sum()), holding(postings, terms, visible))


def idf_of_counts(visible: int, holding: NDArray[np.int64]) -> NDArray[np.float64]:
    """idf of terms that `holding` of the `visible` documents hold."""
    return _idf(visible, holding)


def holding(postings: Postings, terms: NDArray[np.int64], visible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many visible documents hold each of these terms, shape (len(terms),)."""
    if visible.all():
        return np.asarray(postings.starts[terms + 1] - postings.starts[terms], dtype=np.int64)
    seen = np.concatenate([[0], np.cumsum(visible[postings.docs])])
    return np.asarray(seen[postings.starts[terms + 1]] - seen[postings.starts[terms]], dtype=np.int64)


def score(
    postings: Postings,
    query: Mapping[int, int],
    *,
    k1: float,
    b: float,
    visible: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float64], dict[int, float]]:
    """BM25 of every document, shape (n,), and the idf of each query term.

    `query` maps term ids to their count in the query; terms are added up in its order, so that a score does not depend
    on how ids were given out. Documents that are not `visible` score 0.
    """
    lengths = postings.lengths
    total = len(lengths) if visible is None else int(visible.sum())
    scores = np.zeros(len(lengths), dtype=np.float64)
    weights: dict[int, float] = {}
    if total == 0:
        return scores, weights
    mean = float(lengths.sum() if visible is None else lengths[visible].sum()) / total
    norm = k1 * (1.0 - b + b * lengths / mean) if mean > 0 else np.full(len(lengths), k1)
    for term in query:
        docs, counts = postings.entries(term)
        if visible is not None:
            seen = visible[docs]
            docs, counts = docs[seen], counts[seen]
        weights[term] = idf(total, len(docs))
        frequency = counts.astype(np.float64)  # a product with float32 would be rounded to it
        scores[docs] += query[term] * weights[term] * frequency / (frequency + norm[docs])
    return scores, weights
