"""Fit the model that recognises an outdated memory and write memrank/data/conflict.json.

    python benchmarks/fit_conflict.py FOLDER [FOLDER ...] [--out FILE]

Each FOLDER is a golden set whose queries name `metadata.stale` ids (superseded evidence) and `metadata.current`
ids (its replacement; the relevant ids that are not stale where it is left out). A pair (older candidate, newer
candidate) of one query's best candidates is positive when the older is stale and the newer current. The negatives
that count most are those whose older candidate alone is relevant: demoting it would cost relevance. Logistic regression
with a quadratic penalty on standardised features, each set with equal weight; deterministic. Of a set that states
parts, only `fit` is read.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from fit_relevance import arguments_of
from goldens import fitting_rows, relevant_ids
from numpy.typing import NDArray
from scipy.optimize import minimize

from memrank.conflicts import MAX_PAIRED, evidence
from memrank.errors import NamespaceError
from memrank.registry import build
from memrank.score.conflict import FEATURES, pair_features, possible
from memrank.score.fuse import order
from memrank.score.relevance import shipped
from memrank.specfile import parse_spec
from memrank.stages.ranker import judged_columns

Floats = NDArray[np.float64]

OLDER = 20
"""How many of the best candidates may be the older one of a pair."""
SPARED = 10
"""Of the pairs that hardly matter, every tenth is kept."""
HARMLESS = 0.5
RIDGE = 3e-3

SPEC = """
memrank: 1
name: fit
stages: [{kind: prefilter.hybrid.v1, top_k: 100}, {kind: temporal.v1, unmarked: tense}, {kind: ranker.v1}]
"""


def pairs(folder: Path) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Features (pairs, features), labels and weights of each query of a set."""
    pipeline = build(parse_spec(SPEC), folder, "fit", store=folder / "memories.jsonl")
    for row in fitting_rows(folder):
        meta = row.get("metadata") or {}
        try:
            pool = pipeline.candidates(row["query"], as_of=row["query_time"], namespace=row["group"])
        except NamespaceError:
            continue
        slate = pipeline.temporal(pool)
        if slate.time.asks_previous or meta.get("asks_previous") or len(slate) < 2:
            continue
        relevance = shipped().probability(judged_columns(slate))
        best = order(relevance)[:MAX_PAIRED]
        found = evidence(slate, best, relevance)
        ids = [slate.memory(int(k)).id for k in best]
        relevant, stale = relevant_ids(row), set(meta.get("stale") or [])
        current = (set(meta.get("current") or []) or relevant - stale) if stale else set()
        old, new = np.nonzero(possible(found)[:OLDER])
        is_stale = np.array([ids[i] in stale for i in old], dtype=np.bool_)
        positive = is_stale & np.array([ids[j] in current for j in new], dtype=np.bool_)
        helps = np.array([name in relevant for name in ids], dtype=np.bool_)
        costly = helps[old] & ~helps[new]
        kept = positive | costly | is_stale | (np.arange(len(old)) % SPARED == 0)
        features = pair_features(found)
        x = np.stack([features[name][old, new] for name in FEATURES], axis=1)
        yield x[kept], positive[kept].astype(np.float64), np.where(positive | costly, 1.0, HARMLESS)[kept]


def fit(sets: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, float]:
    """Coefficients, shape (features,), and intercept, from (features, labels, weights) of each set."""
    x = np.concatenate([s[0] for s in sets])
    y = np.concatenate([s[1] for s in sets])
    weight = np.concatenate([s[2] / s[2].sum() for s in sets]) / len(sets)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-12
    z = np.column_stack([(x - mean) / spread, np.ones(len(x))])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = z @ w
        value = weight @ (np.logaddexp(0.0, s) - y * s) + RIDGE * (w[:-1] @ w[:-1]) / 2
        return float(value), z.T @ (weight * (1 / (1 + np.exp(-s)) - y)) + RIDGE * np.append(w[:-1], 0.0)

    w = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return w[:-1] / spread, float(w[-1] - (w[:-1] * mean / spread).sum())


def load(folder: Path) -> tuple[Floats, Floats, Floats]:
    """All pairs of a set."""
    parts = list(pairs(folder))
    x, y, weight = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return x, y, weight


def main() -> None:
    """Fit on the folders named and write the model."""
    folders, out = arguments_of(__doc__, "conflict.json")
    sets = [load(folder) for folder in folders]
    coefficients, intercept = fit(sets)
    body = {
        "coefficients": {name: round(float(c), 6) for name, c in zip(FEATURES, coefficients, strict=True)},
        "intercept": round(intercept, 6),
        "fitted_on": {folder.name: int(s[1].sum()) for folder, s in zip(folders, sets, strict=True)},
        "fitted_by": "benchmarks/fit_conflict.py",
    }
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    out.write_text(text, encoding="utf-8")
    sys.stderr.write(text)


if __name__ == "__main__":
    main()
