"""Fit the model that tells what an element of a conversation is worth and write memrank/data/dialogue.json.

    python benchmarks/fit_dialogue.py CONVERSATIONS.jsonl [--out FILE]

CONVERSATIONS holds golden conversations (evalsets/conversations/fit.jsonl; `report.jsonl` is never read here). Three
logistic regressions with a quadratic penalty on standardised features, each moment with equal weight; deterministic:
decay (the annotated class as a value, TARGETS), protection, and, over pairs, what corrects what. Then the decay is
stretched so that its classes mean what they say: out of fold (by conversation), the first two edges are where the
annotated classes end, and the third is the lowest from which at most PREMATURE of what a later question needs would go.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from memrank.dialogue.evidence import features
from memrank.dialogue.links import link_features
from memrank.dialogue.relations import relations
from memrank.evals.conversations import load_conversations
from memrank.indexing import Analyzer

Floats = NDArray[np.float64]

TARGETS = {1: 0.1, 2: 0.45, 3: 0.8, 4: 0.95, 5: 1.0}
"""The middle of each class of decay."""
RIDGE = 0.03
OWING_RIDGE = 0.02
LINK_RIDGE = 0.001
OWING = (
    "committed", "remaining", "deferred", "unanswered", "settled", "last_request", "reply_puts_off", "cue_request",
    "cue_later", "promised_later", "promise_kept", "opening", "length", "back", "is_user",
)  # fmt: skip
"""Features that tell what still owes something: the others add noise."""
FOLDS = 6
PREMATURE = 0.004
RECENT = 3
"""Turns that are kept anyway, and so do not count."""


def examples(path: Path) -> tuple[list[str], Floats, dict[str, Floats], Floats, list[str]]:
    """Feature names, features (n, f), targets by name (n,), weights (n,) and the conversation of each row."""
    analyzer = Analyzer()
    tables, weights, owners = [], [], []
    targets: dict[str, list[float]] = {part: [] for part in ("decay", "protected", "class", "needed")}
    names: list[str] = []
    for at in load_conversations(path).moments:
        found = features(at.elements, at.message, analyzer)
        names = list(found)
        tables.append(np.stack(list(found.values()), axis=1))
        n = len(at.elements)
        weights.append(np.full(n, 1.0 / n))
        owners += [at.conversation] * n
        for element in at.elements:
            targets["decay"].append(TARGETS[at.classes[element.id]])
            targets["protected"].append(float(element.id in at.protected))
            targets["class"].append(at.classes[element.id])
            targets["needed"].append(float(element.id in at.needed))
    values = {part: np.array(rows) for part, rows in targets.items()}
    return names, np.concatenate(tables), values, np.concatenate(weights), owners


def fit(x: Floats, target: Floats, weight: Floats, ridge: float = RIDGE) -> tuple[Floats, float]:
    """Coefficients (f,) and intercept of a logistic regression; `target` in [0, 1]."""
    share = weight / weight.sum()
    mean = share @ x
    spread = np.sqrt(share @ (x - mean) ** 2) + 1e-9
    z = np.column_stack([(x - mean) / spread, np.ones(len(x))])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = z @ w
        value = share @ (np.logaddexp(0.0, s) - target * s) + ridge * (w[:-1] @ w[:-1]) / 2
        return float(value), z.T @ (share * (1 / (1 + np.exp(-s)) - target)) + ridge * np.append(w[:-1], 0.0)

    w = minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return w[:-1] / spread, float(w[-1] - (w[:-1] * mean / spread).sum())


def fit_links(path: Path) -> tuple[list[str], Floats, float]:
    """Feature names, coefficients and intercept of what tells a correction from any other pair of elements."""
    analyzer = Analyzer()
    tables, labels = [], []
    names: list[str] = []
    for at in load_conversations(path).moments:
        related = relations([*(element.content for element in at.elements), at.message], analyzer)
        older, newer, found = link_features(at.elements, related, analyzer)
        names = list(found)
        tables.append(np.stack(list(found.values()), axis=1))
        pairs = zip(older, newer, strict=True)
        labels += [at.corrected.get(at.elements[i].id) == at.elements[j].id for i, j in pairs]
    x, y = np.concatenate(tables), np.array(labels, dtype=np.float64)
    return names, *fit(x, y, np.ones(len(y)), LINK_RIDGE)


def _model(names: list[str], coefficients: Floats, intercept: float) -> dict[str, object]:
    rounded = {name: round(float(c), 6) for name, c in zip(names, coefficients, strict=True)}
    return {"coefficients": rounded, "intercept": round(intercept, 6)}


def edges(x: Floats, names: list[str], targets: dict[str, Floats], weight: Floats, owners: list[str]) -> list[float]:
    """Decay, out of fold, at which the classes 2, 3 and 4 begin."""
    groups = sorted(set(owners))
    fold = np.array([groups.index(owner) % FOLDS for owner in owners])
    decay = np.zeros(len(x))
    for k in range(FOLDS):
        coefficients, intercept = fit(x[fold != k], targets["decay"][fold != k], weight[fold != k])
        decay[fold == k] = 1.0 / (1.0 + np.exp(-(x[fold == k] @ coefficients + intercept)))
    first, second = (float(np.quantile(decay, (targets["class"] <= kind).mean())) for kind in (1, 2))
    free = x[:, names.index("back")] >= np.log1p(RECENT)
    needed = np.sort(decay[free & (targets["needed"] > 0)])[::-1]
    allowed = int(PREMATURE * (targets["needed"] > 0).sum())
    third = float(np.nextafter(needed[allowed], 1.0))
    return [round(first, 4), round(second, 4), round(max(third, second), 4)]


def main() -> None:
    """Fit on the file named and write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conversations", type=Path)
    default = Path(__file__).resolve().parent.parent / "memrank" / "data" / "dialogue.json"
    parser.add_argument("--out", type=Path, default=default)
    arguments = parser.parse_args()
    names, x, targets, weight, owners = examples(arguments.conversations)
    owing = [names.index(name) for name in OWING]
    body: dict[str, object] = {
        "decay": _model(names, *fit(x, targets["decay"], weight)),
        "protected": _model(list(OWING), *fit(x[:, owing], targets["protected"], weight, OWING_RIDGE)),
    }
    body["replaced"] = _model(*fit_links(arguments.conversations))
    body["edges"] = edges(x, names, targets, weight, owners)
    body["fitted_on"] = {arguments.conversations.name: len(set(owners))}
    body["fitted_by"] = "benchmarks/fit_dialogue.py"
    arguments.out.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    sys.stderr.write(f"{arguments.out}: {len(x)} elements of {len(set(owners))} conversations\n")


if __name__ == "__main__":
    main()
