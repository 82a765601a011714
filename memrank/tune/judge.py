"""The embedded judge's coefficients, fitted by gradient on the queries of a problem and pulled towards those it had.

The order is fitted by listwise softmax cross-entropy (Cao et al. 2007), every answerable query with equal weight; the
level by log loss over all candidates, one at place r with weight 1 / r. Both are small convex problems: no number is
drawn, and the same queries give the same coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrank.errors import DependencyError
from memrank.parameters import Number, Parameter, rounded
from memrank.score.listwise import listwise_loss
from memrank.score.relevance import LEVEL, ORDER, combine, level_features, order_features
from memrank.stages.ranker import judged_columns
from memrank.tenant import Rows
from memrank.tune.problem import Problem, Values
from memrank.types import Floats

PULLS = (0.005, 0.02, 0.05, 0.2, 1.0)
"""Strengths of the pull towards the coefficients of the start, from weak to strong; the folds choose."""
LEVEL_PULL = 0.01
FOLDS = 4
ORDER_PATH, LEVEL_PATH, INTERCEPT = (
    "ranker.coefficients.order.",
    "ranker.coefficients.level.",
    "ranker.coefficients.intercept",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """Candidates of all queries, one after the other."""

    x: Floats
    y: Floats
    sizes: Rows
    """(queries,): how many each has."""


def library_version() -> str:
    """The version of scipy. Raises DependencyError without it."""
    try:
        import scipy
    except ImportError as error:
        raise DependencyError("compiling needs scipy", hint="pip install scipy") from error
    return str(scipy.__version__)


def fit_order(problem: Problem, free: Sequence[Parameter], values: Values, pull: float) -> dict[str, Number]:
    """The free coefficients of the order by path, fitted on the problem's queries; empty where none can be."""
    chosen = {one.path.removeprefix(ORDER_PATH): one for one in free if one.path.startswith(ORDER_PATH)}
    model = problem.model(values)
    listed = _listed(problem, values)
    if not chosen or listed is None:
        return {}
    prior = np.array([model.order.get(name, 0.0) for name in ORDER])
    loss = listwise_loss(listed.x, listed.y, listed.sizes, prior, pull)
    limits = [_limits(chosen.get(name), prior[k]) for k, name in enumerate(ORDER)]
    found = _minimum(loss, prior, limits)
    return {f"{ORDER_PATH}{name}": rounded(found[k]) for k, name in enumerate(ORDER) if name in chosen}


def fit_level(problem: Problem, free: Sequence[Parameter], values: Values) -> dict[str, Number]:
    """The free coefficients of the level and the intercept by path, for the order that `values` have."""
    chosen = {one.path.removeprefix(LEVEL_PATH): one for one in free if one.path.startswith(LEVEL_PATH)}
    intercept = next((one for one in free if one.path == INTERCEPT), None)
    model = problem.model(values)
    xs, ys, weights = [], [], []
    for query, slate in problem.slates(values):
        columns = judged_columns(slate)
        features = level_features(columns, combine(order_features(columns), model.order))
        xs.append(np.stack([*(features[name] for name in LEVEL), np.ones(len(slate))], axis=1))
        ys.append([float(query.fits(slate.memory(k).id)) for k in range(len(slate))])
        by_place = np.exp(-features["log_rank"])
        weights.append(by_place / by_place.sum())
    if not xs or not (chosen or intercept):
        return {}
    x, y, weight = np.concatenate(xs), np.concatenate(ys), np.concatenate(weights) / len(xs)
    prior = np.array([*(model.level.get(name, 0.0) for name in LEVEL), model.intercept])

    def loss(w: Floats) -> tuple[float, Floats]:
        s = np.einsum("ij,j->i", x, w)
        away = w - prior
        value = (weight * (np.logaddexp(0.0, s) - y * s)).sum() + LEVEL_PULL * (away * away).sum()
        slope = np.einsum("ij,i->j", x, weight * (1.0 / (1.0 + np.exp(-s)) - y))
        return float(value), slope + 2 * LEVEL_PULL * away

    limits = [_limits(chosen.get(name), prior[k]) for k, name in enumerate(LEVEL)]
    found = _minimum(loss, prior, [*limits, _limits(intercept, prior[-1])])
    level = {f"{LEVEL_PATH}{name}": rounded(found[k]) for k, name in enumerate(LEVEL) if name in chosen}
    return level | ({INTERCEPT: rounded(found[-1])} if intercept else {})


def chosen_pull(problem: Problem, free: Sequence[Parameter], values: Values) -> tuple[float | None, int]:
    """The pull that ranks left-out groups best, None where none beats the coefficients as they are; and how many
    settings were tried.
    """
    folds = inner_folds(problem.groups, FOLDS)
    if len(folds) < 2:
        return None, 0
    before = problem.measure([values])[0]
    best, gain, tried = None, 0.0, 1
    for pull in sorted(PULLS, reverse=True):
        after = np.full(len(before), np.nan)
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(before)), fold)
            fitted = fit_order(problem.part(rest.tolist()), free, values, pull)
            after[fold] = problem.measure([{**values, **fitted}])[0][fold]
            tried += 1
        mean = float(np.nanmean(after - before)) if not np.isnan(after - before).all() else 0.0
        if mean > gain:
            best, gain = pull, mean
    return best, tried


def inner_folds(groups: Sequence[str], count: int) -> list[Rows]:
    """Places of the queries in `count` parts of about equal size (fewer for fewer groups), no group in two of them."""
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    loads = [0] * min(count, len(sizes))
    part: dict[str, int] = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], name)):
        part[group] = loads.index(min(loads))
        loads[part[group]] += sizes[group]
    of = np.array([part[group] for group in groups], dtype=np.int64)
    return [np.flatnonzero(of == k) for k in range(len(loads))]


def _listed(problem: Problem, values: Values) -> _Listed | None:
    xs, ys, sizes = [], [], []
    for query, slate in problem.slates(values):
        y = np.array([float(slate.memory(k).id in query.relevant) for k in range(len(slate))])
        if y.any():
            xs.append(np.stack(list(order_features(judged_columns(slate)).values()), axis=1))
            ys.append(y / y.sum())
            sizes.append(len(y))
    if not xs:
        return None
    return _Listed(x=np.concatenate(xs), y=np.concatenate(ys), sizes=np.array(sizes, dtype=np.int64))


def _limits(parameter: Parameter | None, own: float) -> tuple[float, float]:
    """What is not free stays."""
    return (own, own) if parameter is None else (parameter.low, parameter.high)


def _minimum(loss: object, start: Floats, limits: Sequence[tuple[float, float]]) -> list[float]:
    library_version()
    from scipy.optimize import minimize

    found: list[float] = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x.tolist()
    return found
