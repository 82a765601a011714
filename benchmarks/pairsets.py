"""Golden pairs of memories: reading them, and the evidence of each as the library sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memrank.claimpairs import FEATURES, RULES, Comparer
from memrank.evals import goldenpairs
from memrank.evals.goldenpairs import GoldenPair
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.tenant import Tenant
from memrank.types import Memory, Notes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """n pairs: features by name, labels (n,), and what each is."""

    features: dict[str, Floats]
    labels: Floats
    rows: list[GoldenPair]

    def matrix(self, names: Sequence[str] = FEATURES) -> Floats:
        """(n, features)."""
        return np.stack([self.features[name] for name in names], axis=1)


def tenant_of(memories: Sequence[Memory]) -> Tenant:
    """Memories as one tenant, in the order given."""
    analyzer, vocabulary = Analyzer(), Vocabulary()
    return Tenant.build(None, index(memories, analyzer, vocabulary), vocabulary, analyzer.language)


def read_pairs(paths: Sequence[Path]) -> Pairs:
    """The pairs of some files. The memories of each file's domain are one tenant: words weigh what they do there."""
    rows = [pair for path in paths for pair in goldenpairs.read_pairs(path, Notes())]
    columns: dict[str, list[Floats]] = {name: [] for name in (*FEATURES, *RULES)}
    kept: list[GoldenPair] = []
    for domain in sorted({pair.domain for pair in rows}):
        own = [pair for pair in rows if pair.domain == domain]
        place = np.arange(len(own)) * 2
        memories = [memory for pair in own for memory in (pair.older, pair.newer)]
        found = Comparer(tenant_of(memories)).features(place, place + 1)
        for name, values in found.items():
            columns[name].append(values)
        kept += own
    features = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Pairs(features, np.array([pair.label for pair in kept], dtype=np.float64), kept)
