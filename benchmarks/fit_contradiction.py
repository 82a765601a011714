"""Fit the model that finds contradicting memories and write memrank/data/contradiction.json.

    python benchmarks/fit_contradiction.py PAIRS.jsonl [--unrelated FOLDER ...] [--out FILE]

PAIRS holds golden pairs (evalsets/contradictions/fit.jsonl). Nearly all pairs of a real store do not conflict at all,
so pairs of memories that belong to different golden pairs, and pairs of other golden sets (FOLDERs), are added as
negatives: drawn at random, and among those that a scan would look at. Known stale and current memories of a set are
left out. Boosted trees (`boosting.py`); how often the plain cases of `memrank/updates.py` are right is counted on PAIRS
alone. Every draw is seeded, so that a rerun gives the same file. `choose.jsonl` and `report.jsonl` are never read here.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import boosting
import numpy as np
from goldens import GoldenSet, relevant_ids
from numpy.typing import NDArray
from pairsets import Pairs, read_pairs, tenant_of

from memrank.blocking import proposals
from memrank.claimpairs import EXCLUDED, FEATURES, Comparer, in_order
from memrank.score.trees import dump
from memrank.stores.readers import read_memories
from memrank.tenant import Tenant
from memrank.updates import UPDATES

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

DRAWN = 500
"""Random pairs of a tenant, and pairs that a scan would look at, at most."""
NEGATIVE = 1.0
"""Weight of all unrelated pairs together, beside that of the golden ones."""
DIFFICULT = 0.75
"""Share of that for the pairs that a scan would look at."""


def unrelated(tenant: Tenant, apart: set[tuple[str, str]], draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Features of random pairs, and of pairs that a scan would look at; pairs of ids in `apart` are left out."""
    n = len(tenant.memories)
    comparer = Comparer(tenant)
    one, two = draw.integers(0, n, DRAWN), draw.integers(0, n, DRAWN)
    near = proposals(tenant)
    out: list[Floats] = []
    for a, b in ((one, two), near):
        ids = [(tenant.memories[i].id, tenant.memories[j].id) for i, j in zip(a, b, strict=True)]
        kept = [k for k, (x, y) in enumerate(ids) if x != y and (x, y) not in apart and (y, x) not in apart]
        if len(kept) > DRAWN:
            kept = sorted(draw.choice(kept, DRAWN, replace=False).tolist())
        found = comparer.features(*in_order(tenant, a[kept], b[kept]))
        table = np.stack([found[name] for name in FEATURES], axis=1)
        out.append(table[np.all([found[name] == 0 for name in EXCLUDED], axis=0)])
    return out[0], out[1]


def golden_tenants(pairs: Pairs) -> Iterator[tuple[Tenant, set[tuple[str, str]]]]:
    """The memories of each domain, and its golden pairs."""
    for domain in sorted({pair.domain for pair in pairs.rows}):
        own = [pair for pair in pairs.rows if pair.domain == domain]
        apart = {(pair.older.id, pair.newer.id) for pair in own}
        yield tenant_of([memory for pair in own for memory in (pair.older, pair.newer)]), apart


def set_tenants(folder: Path) -> Iterator[tuple[Tenant, set[tuple[str, str]]]]:
    """The tenants of a golden set, and the pairs that are known to be stale and current."""
    apart: set[tuple[str, str]] = set()
    # Of every part: pairs that are known to conflict are never taken for unrelated ones.
    for row in GoldenSet(folder).rows:
        meta = row.get("metadata") or {}
        stale = set(meta.get("stale") or [])
        apart |= {(old, new) for old in stale for new in set(meta.get("current") or relevant_ids(row)) - stale}
    memories = read_memories(folder / "memories.jsonl").memories
    for name in dict.fromkeys(memory.namespace for memory in memories):
        own = [memory for memory in memories if memory.namespace == name]
        if len(own) > 5:
            yield tenant_of(own), apart


def training(pairs: Pairs, folders: Sequence[Path]) -> tuple[Floats, Floats, Floats]:
    """Features, labels and weights of the golden pairs and of all unrelated ones."""
    draw = np.random.default_rng(0)
    sources = [*golden_tenants(pairs), *(found for folder in folders for found in set_tenants(folder))]
    tables = [unrelated(tenant, apart, draw) for tenant, apart in sources]
    judged = np.all([pairs.features[name] == 0 for name in EXCLUDED], axis=0)
    labels = pairs.labels[judged]
    blocks = [pairs.matrix()[judged]]
    weights = [np.full(len(labels), 1.0 / len(labels))]
    for k, share in enumerate((1.0 - DIFFICULT, DIFFICULT)):
        total = sum(len(table[k]) for table in tables)
        blocks += [table[k] for table in tables]
        weights += [np.full(len(table[k]), NEGATIVE * share / total) for table in tables]
    x = np.concatenate(blocks)
    y = np.concatenate([labels, np.zeros(len(x) - len(labels))])
    return x, y, np.concatenate(weights)


def updates(pairs: Pairs) -> dict[str, float]:
    """How likely a pair that shows each plain case is a contradiction: the rule of succession over the golden pairs."""
    shown = {name: pairs.features[name] > 0 for name in UPDATES}
    return {name: round(float((pairs.labels[hit].sum() + 1) / (hit.sum() + 2)), 4) for name, hit in shown.items()}


def main() -> None:
    """Fit on the files named and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--unrelated", nargs="*", type=Path, default=[])
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent.parent / "memrank" / "data" / "contradiction.json"
    )
    arguments = parser.parse_args()
    folders = sorted(arguments.unrelated, key=lambda folder: folder.name)
    pairs = read_pairs([arguments.pairs])
    x, y, weight = training(pairs, folders)
    model = boosting.fit(x, y, weight, FEATURES)
    body = {
        "model": dump(model),
        "updates": updates(pairs),
        "fitted_on": {arguments.pairs.name: len(pairs.labels), **{folder.name: "unrelated" for folder in folders}},
        "fitted_by": "benchmarks/fit_contradiction.py",
    }
    arguments.out.write_text(json.dumps(body, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stderr.write(f"{arguments.out}: {len(pairs.labels)} golden pairs, {len(y) - len(pairs.labels)} unrelated\n")


if __name__ == "__main__":
    main()
