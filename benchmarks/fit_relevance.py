"""Fit the embedded relevance model and write memrank/data/relevance.json.

    python benchmarks/fit_relevance.py FOLDER [FOLDER ...] [--out FILE]

Each FOLDER is a golden set (memories.jsonl, queries.jsonl). Two steps, both deterministic (no random number is drawn):

1. Order. The four features that order candidates are fitted by listwise softmax cross-entropy (Cao et al. 2007), each set
   and each of its answerable queries with equal weight, coefficients not below 0, pulled towards equal-share fusion by a
   quadratic penalty: capacity without variety does not travel.
2. Level. A scale, an intercept and the three features that are the same for all candidates of a query are fitted by
   log loss over all candidates, queries without any answer included, so that the output is a probability.

Fit only on sets whose licence allows it. The sets that the shipped file was fitted on are named inside it.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from memrank.errors import NamespaceError
from memrank.registry import build
from memrank.score.relevance import Logistic, dump
from memrank.slate import Slate
from memrank.specfile import parse_spec
from memrank.stages.ranker import relevance_features

ORDER = ("bm25_z", "dense_z", "neighbour", "overlap")
PRIOR = np.array([0.5, 0.5, 0.1, 0.4])
LEVEL = ("top_overlap", "top_dense", "log_pool")
PULL = 10.0
RIDGE = 1e-3

SPEC = """
memrank: 1
name: fit
stages: [{kind: prefilter.hybrid.v1, top_k: 200}, {kind: temporal.v1}, {kind: ranker.v1}]
"""


@dataclass(frozen=True)
class Example:
    """One query: features (n, 7) of its pool and labels (n,)."""

    features: NDArray[np.float64]
    labels: NDArray[np.float64]


def examples(folder: Path) -> list[Example]:
    """Every query of a golden set whose tenant exists, through memrank's own prefilter."""
    pipeline = build(parse_spec(SPEC), folder, "fit", store=folder / "memories.jsonl")
    out = []
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        try:
            slate: Slate = pipeline.candidates(row["query"], as_of=row["query_time"], namespace=row["group"])
        except NamespaceError:
            continue
        columns = relevance_features(slate)
        relevant = set(row["relevant"])
        labels = np.array([slate.memory(k).id in relevant for k in range(len(slate))], dtype=np.float64)
        out.append(Example(np.stack([columns[name] for name in (*ORDER, *LEVEL)], axis=1), labels))
    return out


def fit_order(sets: list[list[Example]]) -> NDArray[np.float64]:
    """Coefficients of ORDER, shape (4,)."""
    answerable = [[e for e in examples if e.labels.any()] for examples in sets]
    rows = [
        (e.features[:, : len(ORDER)], e.labels / e.labels.sum(), 1.0 / len(some)) for some in answerable for e in some
    ]

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, gradient = PULL * float((w - PRIOR) @ (w - PRIOR)), 2 * PULL * (w - PRIOR)
        for x, y, weight in rows:
            s = x @ w
            e = np.exp(s - s.max())
            total += weight * float(np.log(e.sum()) - y @ (s - s.max()))
            gradient = gradient + weight * (x.T @ (e / e.sum() - y))
        return total, gradient

    return minimize(loss, PRIOR, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(ORDER)).x


def fit_level(sets: list[list[Example]], order: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale, coefficients of LEVEL, intercept: shape (5,)."""
    xs, ys, weights = [], [], []
    for some in sets:
        for e in some:
            n = len(e.labels)
            xs.append(np.column_stack([e.features[:, : len(ORDER)] @ order, e.features[:, len(ORDER) :], np.ones(n)]))
            ys.append(e.labels)
            weights.append(np.full(n, 1.0 / (len(some) * n)))
    x, y, weight = np.concatenate(xs), np.concatenate(ys), np.concatenate(weights)

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        s = x @ w
        p = 1.0 / (1.0 + np.exp(-s))
        value = float(weight @ (np.logaddexp(0.0, s) - y * s)) + RIDGE * float(w[:-1] @ w[:-1])
        penalty = 2 * RIDGE * np.append(w[:-1], 0.0)
        return value, x.T @ (weight * (p - y)) + penalty

    start = np.array([1.0, 0.0, 0.0, 0.0, -4.0])
    bounds = [(1e-3, None), (0, None), (0, None), (None, None), (None, None)]
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def main() -> None:
    """Fit on the folders named and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    default = Path(__file__).resolve().parent.parent / "memrank" / "data" / "relevance.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    folders = sorted(arguments.folders, key=lambda folder: folder.name)
    sets = [examples(folder) for folder in folders]
    order = fit_order(sets)
    scale, *level, intercept = fit_level(sets, order)
    model = Logistic(
        features=(*ORDER, *LEVEL),
        coefficients=tuple(float(v) for v in (*(scale * order), *level)),
        intercept=float(intercept),
    )
    fitted_on = {folder.name: len(some) for folder, some in zip(folders, sets, strict=True)}
    arguments.out.write_text(dump(model, {"fitted_on": fitted_on, "fitted_by": "benchmarks/fit_relevance.py"}), encoding="utf-8")
    sys.stderr.write(arguments.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
