"""How far what was found can be trusted: how flat the optimum is, which values matter, what more labels would bring."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memrank.tune.parameters import Number, Parameter
from memrank.tune.problem import Problem, Values
from memrank.tune.search import Found, along, paired
from memrank.types import Floats

POINTS = 9
"""Values looked at on each side of the one that was found."""
SHARES = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """One value of a setting that was found."""

    path: str
    value: Number
    low: Number
    high: Number
    """The range around it in which the objective stays within one standard error of the best; both the value itself
    for a text."""
    importance: float
    """What the mean objective loses when it goes back to where the search started."""
    error: float
    """The standard error of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a search on some of the groups is worth on queries that it never saw."""

    share: float
    groups: int
    queries: int
    fitted: float
    """Mean objective on what it was fitted on."""
    held_out: float


def sensitivity(
    problem: Problem, parameters: Sequence[Parameter], best: Values, start: Values
) -> tuple[Sensitivity, ...]:
    """How sensitive the objective is to each value, the most important first."""
    problem = problem.refer(best)
    (top,) = problem.measure([best])
    found = []
    for parameter in parameters:
        value = best[parameter.path]
        (back,) = problem.measure([{**best, parameter.path: start[parameter.path]}])
        importance, error = paired(top - back, problem.groups)
        low, high = value, value
        if not parameter.choices:
            below, above = along(parameter, float(value), POINTS)
            low, high = (_last(problem, parameter.path, best, top, side) for side in (below, above))
        found.append(
            Sensitivity(path=parameter.path, value=value, low=low, high=high, importance=importance, error=error)
        )
    return tuple(sorted(found, key=lambda one: (-one.importance, one.path)))


def _last(problem: Problem, path: str, best: Values, top: Floats, side: Sequence[float]) -> Number:
    """The furthest value on one side up to which nothing is lost beyond a standard error."""
    reached = best[path]
    for value in side:
        (there,) = problem.measure([{**best, path: value}])
        loss, error = paired(top - there, problem.groups)
        if loss > error:
            break
        reached = value
    return reached


def learning_curve(
    problem: Problem,
    held_out: Problem,
    find: Callable[[Problem], Found],
    *,
    seed: int = 0,
    shares: Sequence[float] = SHARES,
) -> tuple[Learned, ...]:
    """Searches (`find`) on growing shares of the groups, smaller ones inside larger ones, measured on other queries."""
    names = sorted(set(problem.groups))
    drawn = [names[k] for k in np.random.default_rng(seed).permutation(len(names))]
    found = []
    for share in shares:
        chosen = set(drawn[: max(1, round(share * len(drawn)))])
        part = problem.part([row for row, group in enumerate(problem.groups) if group in chosen])
        best = find(part).best
        found.append(
            Learned(
                share=share,
                groups=len(chosen),
                queries=len(part.queries),
                fitted=best.objective,
                held_out=float(np.nanmean(held_out.exact(best.values))),
            )
        )
    return tuple(found)
