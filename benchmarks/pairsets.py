"""Golden pairs of memories: reading them, and the evidence of each as the library sees it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memrank.claimpairs import FEATURES, RULES, Comparer
from memrank.indexing import Analyzer, Vocabulary, index
from memrank.records import read_record
from memrank.tenant import Tenant
from memrank.types import Memory

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """n pairs: features by name, labels (n,), and what each is."""

    features: dict[str, Floats]
    labels: Floats
    rows: list[dict[str, Any]]

    def matrix(self, names: Sequence[str] = FEATURES) -> Floats:
        """(n, features)."""
        return np.stack([self.features[name] for name in names], axis=1)


def tenant_of(memories: Sequence[Memory]) -> Tenant:
    """Memories as one tenant, in the order given."""
    analyzer, vocabulary = Analyzer(), Vocabulary()
    return Tenant.build(None, index(memories, analyzer, vocabulary), vocabulary, analyzer.language)


def read_pairs(paths: Sequence[Path]) -> Pairs:
    """The pairs of some files. The memories of each file's domain are one tenant: words weigh what they do there."""
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]
    columns: dict[str, list[Floats]] = {name: [] for name in (*FEATURES, *RULES)}
    kept: list[dict[str, Any]] = []
    for domain in sorted({row["domain"] for row in rows}):
        own = [row for row in rows if row["domain"] == domain]
        memories = [
            read_record(row[side], position=2 * i + k)[0]
            for i, row in enumerate(own)
            for k, side in enumerate(("older", "newer"))
        ]
        place = np.arange(len(own)) * 2
        found = Comparer(tenant_of(memories)).features(place, place + 1)
        for name, values in found.items():
            columns[name].append(values)
        kept += own
    features = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Pairs(features, np.array([row["label"] for row in kept], dtype=np.float64), kept)
