"""Fit the embedded relevance model and write memrank/data/relevance.json.

    python benchmarks/fit_relevance.py FOLDER [FOLDER ...] [--out FILE]

Each FOLDER is a golden set (memories.jsonl, queries.jsonl); of one that states parts, only `fit` is read. Two steps,
both deterministic (no random number is drawn):

1. Order. The features that order the candidates of a query are fitted by listwise softmax cross-entropy (Cao et al.
   2007): each set, and in it each answerable query, with equal weight; signs fixed to what the feature means; a
   quadratic penalty pulls towards equal-share fusion with its neighbours. Capacity without variety does not travel.
2. Level. The logistic level is fitted by log loss over all candidates, a candidate at rank r with weight 1 / r,
   queries without any answer included, so that the output is a probability. Each set's tenants are also asked the
   queries of the next set, which nothing there answers: without them, a model fitted on golden sets never learns what
   it looks like when nothing is relevant.

Fit only on sets whose licence allows it. The sets that the shipped file was fitted on are named inside it.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from goldens import fitting_ids, fitting_rows, relevant_ids
from numpy.typing import NDArray
from scipy.optimize import minimize

from memrank.errors import NamespaceError
from memrank.registry import build
from memrank.score.relevance import LEVEL, ORDER, Model, combine, dump, level_features, order_features
from memrank.specfile import parse_spec
from memrank.stages.ranker import judged_columns

Floats = NDArray[np.float64]

PRIOR = {
    "phrases": 1.0,
    "answers_number": 0.2,
    "bm25_z": 0.55,
    "bm25_few": 2.0,
    "dense_z": 0.6,
    "overlap": 0.8,
    "before": 0.15,
    "after": 0.15,
    "before_last": 0.1,
}
FALLING = frozenset({"other_numbers", "log_rank", "log_pool", "weak_few"})
"""Features that can only count against a candidate; all others can only count for it."""
CEILING = {"before_last": 0.25}
FLOOR = {"weak_few": -2.5}
"""Further down, what a small pool shares with the query would overrule the order, which ranks it better."""
CHOSEN = {"unnamed": -5.0}
"""Not fitted (the fit would say -1.9): who keeps an index of named subjects wants silence about what a query does not
name, at the price of the few memories that answer without being named. The others are fitted as if it were not there.
"""
PULL = 0.2
RIDGE = 1e-3
FOREIGN = 0.5
"""Weight of a set's foreign queries beside its own."""
MOST_FOREIGN = 200

SPEC = """
memrank: 1
name: fit
stages: [{kind: prefilter.hybrid.v1, top_k: 100}, {kind: temporal.v1}, {kind: ranker.v1}]
"""


@dataclass(frozen=True)
class Example:
    """One query: the columns of its pool, and labels (n,)."""

    columns: dict[str, Floats]
    labels: Floats
    """(n,): 1 for what helps to answer now, by which the order is fitted."""
    fits: Floats
    """(n,): 1 for what speaks to the question, however old, by which the level is fitted."""


def examples(folder: Path) -> list[Example]:
    """Every query that may be fitted on and whose tenant exists, through memrank's own prefilter."""
    pipeline = build(parse_spec(SPEC), folder, "fit", store=folder / "memories.jsonl")
    out = []
    for row in fitting_rows(folder):
        try:
            slate = pipeline.candidates(row["query"], as_of=row["query_time"], namespace=row["group"])
        except NamespaceError:
            continue
        ids = [slate.memory(k).id for k in range(len(slate))]
        labels, fits = (
            np.array([name in chosen for name in ids], dtype=np.float64)
            for chosen in (relevant_ids(row), fitting_ids(row))
        )
        out.append(Example(judged_columns(slate), labels, fits))
    return out


def foreign(folder: Path, other: Path) -> list[Example]:
    """The queries of another set, asked of this set's tenants in turn: nothing there answers them."""
    pipeline = build(parse_spec(SPEC), folder, "fit", store=folder / "memories.jsonl")
    own, asked = fitting_rows(folder), fitting_rows(other)
    tenants = list(dict.fromkeys(row["group"] for row in own))
    out = []
    for k in range(min(len(own), MOST_FOREIGN)):
        text, now = asked[k % len(asked)]["query"], own[k]["query_time"]
        try:
            slate = pipeline.candidates(text, as_of=now, namespace=tenants[k % len(tenants)])
        except NamespaceError:
            continue
        if len(slate):
            out.append(Example(judged_columns(slate), np.zeros(len(slate)), np.zeros(len(slate))))
    return out


def all_foreign(folders: Sequence[Path]) -> list[list[Example]]:
    """Each set with the queries of the next one."""
    return [foreign(one, other) for one, other in zip(folders, [*folders[1:], folders[0]], strict=True)]


def bounds(name: str) -> tuple[float | None, float | None]:
    """The sign that a coefficient may have."""
    return (FLOOR.get(name), 0.0) if name in FALLING else (0.0, CEILING.get(name))


def fit_order(sets: list[list[Example]], pull: float = PULL) -> dict[str, float]:
    """Coefficients of ORDER."""
    chosen = [[e for e in some if e.labels.any()] for some in sets]
    x = np.concatenate([np.stack(list(order_features(e.columns).values()), axis=1) for some in chosen for e in some])
    y = np.concatenate([e.labels / e.labels.sum() for some in chosen for e in some])
    sizes = np.array([len(e.labels) for some in chosen for e in some])
    weight = np.concatenate([np.full(len(some), 1.0 / len(some)) for some in chosen])
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    query = np.repeat(np.arange(len(sizes)), sizes)
    prior = np.array([PRIOR.get(name, 0.0) for name in ORDER])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = x @ w
        s = s - np.maximum.reduceat(s, start)[query]
        total = np.add.reduceat(np.exp(s), start)
        value = weight @ (np.log(total) - np.add.reduceat(y * s, start)) + pull * (w - prior) @ (w - prior)
        return float(value), x.T @ (weight[query] * (np.exp(s) / total[query] - y)) + 2 * pull * (w - prior)

    found = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=[bounds(name) for name in ORDER]).x
    return dict(zip(ORDER, found.tolist(), strict=True))


def fit_level(
    sets: list[list[Example]], unanswerable: list[list[Example]], order: dict[str, float]
) -> tuple[dict[str, float], float]:
    """Coefficients of LEVEL, and the intercept, from each set's own and foreign examples."""
    fitted = [name for name in LEVEL if name not in CHOSEN]
    xs, ys, weights = [], [], []
    for some, share in (*((own, 1.0) for own in sets), *((other, FOREIGN) for other in unanswerable)):
        for e in some:
            features = level_features(e.columns, combine(order_features(e.columns), order))
            xs.append(np.stack([*(features[name] for name in fitted), np.ones(len(e.labels))], axis=1))
            ys.append(e.fits)
            by_rank = np.exp(-features["log_rank"])
            weights.append(share * by_rank / by_rank.sum() / len(some))
    x, y, weight = np.concatenate(xs), np.concatenate(ys), np.concatenate(weights)

    def loss(w: Floats) -> tuple[float, Floats]:
        s = x @ w
        value = weight @ (np.logaddexp(0.0, s) - y * s) + RIDGE * (w[:-1] @ w[:-1])
        return float(value), x.T @ (weight * (1.0 / (1.0 + np.exp(-s)) - y)) + 2 * RIDGE * np.append(w[:-1], 0.0)

    limits = [*(bounds(name) for name in fitted), (None, None)]
    start = np.zeros(len(limits))
    *level, intercept = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x.tolist()
    return dict(zip(fitted, level, strict=True)) | CHOSEN, intercept


def fit(sets: list[list[Example]], unanswerable: list[list[Example]]) -> Model:
    """The model of some sets and of what each leaves unanswered."""
    order = fit_order(sets)
    level, intercept = fit_level(sets, unanswerable, order)
    return Model(order=order, level=level, intercept=intercept)


def arguments_of(doc: str | None, model: str) -> tuple[list[Path], Path]:
    """The command line of a fit: its folders by name, and the file to write, by default the shipped one."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    default = Path(__file__).resolve().parent.parent / "memrank" / "data" / model
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    return sorted(arguments.folders, key=lambda folder: folder.name), arguments.out


def main() -> None:
    """Fit on the folders named and write the model."""
    folders, out = arguments_of(__doc__, "relevance.json")
    sets = [examples(folder) for folder in folders]
    model = fit(sets, all_foreign(folders))
    fitted_on = {folder.name: len(some) for folder, some in zip(folders, sets, strict=True)}
    extra = {"fitted_on": fitted_on, "fitted_by": "benchmarks/fit_relevance.py"}
    text = dump(model, extra)
    out.write_text(text, encoding="utf-8")
    sys.stderr.write(text)


if __name__ == "__main__":
    main()
