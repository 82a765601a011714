"""Fits boosted trees with scikit-learn and turns them into `memrank.score.trees`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

from memrank.score.trees import Trees

Floats = NDArray[np.float64]
DEPTH = 4
SEEDS = 2


def fit(
    x: Floats, y: Floats, weight: Floats, names: Sequence[str], *, trees: int = 250, leaf: int = 10, rate: float = 0.06
) -> Trees:
    """Trees of depth DEPTH for binary labels: the mean of SEEDS fits, which differ in what they draw.

    `x` is (n, features), `weight` is scaled to a mean of 1.
    """
    fits = [_fit(x, y, weight, names, seed, trees=trees, leaf=leaf, rate=rate) for seed in range(SEEDS)]
    return Trees(
        features=tuple(names),
        base=float(np.mean([one.base for one in fits])),
        feature=np.concatenate([one.feature for one in fits]),
        threshold=np.concatenate([one.threshold for one in fits]),
        value=np.concatenate([one.value for one in fits]) / SEEDS,
    )


def _fit(
    x: Floats,
    y: Floats,
    weight: Floats,
    names: Sequence[str],
    seed: int,
    *,
    trees: int,
    leaf: int,
    rate: float,
) -> Trees:
    model = GradientBoostingClassifier(
        n_estimators=trees,
        max_depth=DEPTH,
        learning_rate=rate,
        subsample=0.6,
        max_features=0.4,
        min_samples_leaf=leaf,
        random_state=seed,
    ).fit(x, y, sample_weight=weight * len(weight) / weight.sum())
    inner, leaves = 2**DEPTH - 1, 2**DEPTH
    feature = np.zeros((trees, inner), dtype=np.int64)
    threshold = np.zeros((trees, inner), dtype=np.float32)
    value = np.zeros((trees, leaves))
    for k, (estimator,) in enumerate(model.estimators_):
        tree = estimator.tree_

        def place(node: int, at: int, k: int = k, tree: object = tree) -> None:
            left = tree.children_left[node]  # type: ignore[attr-defined]
            if at >= inner:
                value[k, at - inner] = rate * tree.value[node, 0, 0]  # type: ignore[attr-defined]
            elif left < 0:  # a leaf before the last level: both sides of what stands below are the same
                place(node, 2 * at + 1)
                place(node, 2 * at + 2)
            else:
                feature[k, at] = tree.feature[node]  # type: ignore[attr-defined]
                # The greatest single that is not above it: a row, read as single, falls on the same side.
                double = tree.threshold[node]  # type: ignore[attr-defined]
                single = np.float32(double)
                threshold[k, at] = single if single <= double else np.nextafter(single, np.float32(-np.inf))
                place(left, 2 * at + 1)
                place(tree.children_right[node], 2 * at + 2)  # type: ignore[attr-defined]

        place(0, 0)
    prior = float(np.average(y, weights=weight))
    out = Trees(
        features=tuple(names),
        base=float(np.log(prior / (1.0 - prior))),
        feature=feature,
        threshold=threshold,
        value=value,
    )
    expected = model.decision_function(x)
    found = out.margin({name: x[:, i] for i, name in enumerate(names)})
    if not np.allclose(expected, found, atol=1e-6):
        raise AssertionError("the exported trees do not say what scikit-learn says")
    return out
