"""The search for the setting that is worth most on a problem: feasible first, then best. Seeded, bounded, stoppable.

In rounds, while the objective rises: the judge's coefficients by gradient (`tune.judge`), how words and vectors are
fused by stepping from value to value (each costs a new reading of the pools), all others by differential evolution
(Storn and Price 1997) and then one by one. At the end what brings nothing goes back to where it started. Settings are
evaluated in blocks of one size whatever the number of workers: the same seed gives the same answer.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from memrank.parameters import Number, Parameter, rounded
from memrank.tune.judge import chosen_pull, fit_level, fit_order, library_version
from memrank.tune.problem import Problem, Values
from memrank.types import Floats

BLOCK = 16
"""Settings that a worker evaluates at a time."""
ROUNDS = 3
LEAST_GAIN = 1e-4
"""A round that brings less is the last one."""
WORTHLESS = 0.5
"""Standard errors of a value's gain below which the value goes back to where it started."""
KEPT = 8
INFEASIBLE = 1e3
"""Stands before what constraints are missed by: worse than any objective."""
JUDGE_STEPS = (0.03, 0.01)
"""The same of coefficients, whose range is wide."""
STEPS = (0.25, 0.1, 0.04, 0.015)
"""Shares of a parameter's range by which it is moved alone, from coarse to fine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A setting and what it is worth on the problem."""

    values: Values
    objective: float
    violation: float
    """By how much the constraints are missed in all; 0: they are kept."""

    @property
    def rank(self) -> tuple[float, float]:
        """Lower is better: feasible first, then best."""
        return self.violation, -self.objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The best so far, at some point of the search."""

    evaluations: int
    what: str
    """What found it: start, judge, fusion, evolution, refinement, simpler."""
    objective: float
    violation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of a search. All but `seconds` is the same for the same seed."""

    best: Candidate
    candidates: tuple[Candidate, ...]
    """The best, then those of every part of the search and the start: what to choose from on other queries."""
    history: tuple[Step, ...]
    evaluations: int
    """Settings evaluated."""
    stopped: bool
    """Whether it was stopped early."""
    seconds: float = field(compare=False)


class _StoppedError(Exception):
    """Somebody asked to stop, or the evaluations are spent."""


def search(
    problem: Problem,
    parameters: Sequence[Parameter],
    start: Values,
    *,
    seed: int = 0,
    workers: int = 1,
    evaluations: int = 6000,
    progress: Callable[[Step], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Found:
    """Search from `start`. `evaluations` bounds the settings that are tried, `workers` are threads.

    `progress` is told of the best so far after every block of settings. Ctrl-C, and `stop` once it says so, end the
    search with the best so far. Raises DependencyError without scipy.
    """
    library_version()
    began = time.perf_counter()
    run = _Run(problem, tuple(parameters), dict(start), seed, evaluations, progress, stop)
    with run.working(workers):
        stopped = run.all()
    best = run.best
    others = {_key(one.values): one for one in run.kept if _key(one.values) != _key(best.values)}
    ranked = [best, *sorted(others.values(), key=lambda one: one.rank)][:KEPT]
    return Found(
        best=best,
        candidates=tuple(ranked),
        history=tuple(run.history),
        evaluations=run.spent,
        stopped=stopped,
        seconds=time.perf_counter() - began,
    )


class _Run:
    """One search."""

    def __init__(
        self,
        problem: Problem,
        parameters: tuple[Parameter, ...],
        start: dict[str, Number],
        seed: int,
        evaluations: int,
        progress: Callable[[Step], None] | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.problem = problem.refer(start)
        self.start = start
        self.judge = tuple(one for one in parameters if one.path.startswith("ranker.coefficients."))
        self.fusion = tuple(one for one in parameters if one.path.startswith("prefilter."))
        others = (one for one in parameters if one not in self.judge and one not in self.fusion)
        self.plain = tuple(one for one in others if len(one.choices) != 1 and (one.choices or one.low < one.high))
        self.seed, self.left = seed, evaluations
        self.spent = 0
        self.kept: list[Candidate] = []
        self.history: list[Step] = []
        self._progress, self._stop = progress, stop
        self._pool: ThreadPoolExecutor | None = None
        self.best = Candidate(values=start, objective=-np.inf, violation=np.inf)

    @contextmanager
    def working(self, workers: int) -> Iterator[None]:
        """With this many threads."""
        if workers <= 1:
            yield
            return
        with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memrank-tune") as self._pool:
            yield

    def all(self) -> bool:
        """Every round; whether it was stopped early."""
        try:
            self._take([self.start], "start")
            self.kept.append(self.best)
            for turn in range(ROUNDS):
                before = self.best
                self._round(turn)
                # What inferred supersession does, as the new setting has it: the old worth may not hold.
                self.problem = self.problem.refer(self.best.values)
                self._again(before)
                risen = self.best.violation < before.violation or self.best.objective - before.objective >= LEAST_GAIN
                if not risen or (turn == 0 and not self.judge and not self.fusion and self.spent >= self.left):
                    break
            self._simplify()
        except (_StoppedError, KeyboardInterrupt):
            self.kept.append(self.best)
            return self.spent < self.left
        return False

    def _round(self, turn: int) -> None:
        steps = (
            (self.judge, self._fit_judge),
            (self.fusion if turn == 0 else (), self._step_fusion),  # each value costs a new reading
            (self.judge, lambda: self._refine(self.judge, JUDGE_STEPS, "judge")),
            (self.plain, lambda: self._evolve(turn)),
            (self.plain, lambda: self._refine(self.plain, STEPS, "refinement")),
        )
        for parameters, step in steps:
            if parameters:
                step()
                self.kept.append(self.best)

    def _again(self, before: Candidate) -> None:
        """Both bests under the new reference; the better one stays."""
        now, then = self.best, before
        self.best = Candidate(values=then.values, objective=-np.inf, violation=np.inf)
        self._take([then.values, now.values], "again")

    def _take(self, settings: Sequence[dict[str, Number] | Values], what: str) -> list[Candidate]:
        """Evaluate settings, keep the best. Raises _StoppedError when there is no more to spend."""
        found: list[Candidate] = []
        room = self.left - self.spent
        for low in range(0, min(len(settings), room), BLOCK * 4):
            if self._stop is not None and self._stop():
                raise _StoppedError
            some = settings[low : min(low + BLOCK * 4, room)]
            blocks = [some[k : k + BLOCK] for k in range(0, len(some), BLOCK)]
            worth = list(map(self._worth, blocks) if self._pool is None else self._pool.map(self._worth, blocks))
            for candidate in (one for block in worth for one in block):
                found.append(candidate)
                if candidate.rank < self.best.rank:
                    self.best = candidate
            self.spent += len(some)
            self._tell(what)
        if len(found) < len(settings):
            raise _StoppedError
        return found

    def _worth(self, settings: Sequence[Values]) -> list[Candidate]:
        found = []
        for values in settings:
            violation, objective = self.problem.worth(values)
            found.append(Candidate(values=dict(values), objective=objective, violation=violation))
        return found

    def _tell(self, what: str) -> None:
        step = Step(evaluations=self.spent, what=what, objective=self.best.objective, violation=self.best.violation)
        last = self.history[-1] if self.history else None
        if last is None or (last.what, last.objective, last.violation) != (what, step.objective, step.violation):
            self.history.append(step)
        if self._progress is not None:
            self._progress(step)

    def _fit_judge(self) -> None:
        """Coefficients that rank left-out groups better, then the level that suits them."""
        base = self.best.values
        pull, tried = chosen_pull(self.problem, self.judge, base)
        self.spent = min(self.left, self.spent + tried)
        if pull is not None:
            base = {**base, **fit_order(self.problem, self.judge, base, pull)}
        level = {**base, **fit_level(self.problem, self.judge, base)}
        self._take([base, level], "judge")

    def _step_fusion(self) -> None:
        self._refine(self.fusion, STEPS[:2], "fusion")

    def _refine(self, parameters: Sequence[Parameter], steps: Sequence[float], what: str) -> None:
        """Each parameter alone up and down, by smaller and smaller shares of its range, as long as that helps."""
        for share in steps:
            for parameter in parameters:
                for _ in range(4):
                    before = self.best
                    moved = [{**before.values, parameter.path: to} for to in _beside(parameter, before.values, share)]
                    self._take(moved, what)
                    if self.best.rank >= before.rank or parameter.choices:
                        break

    def _evolve(self, turn: int) -> None:
        """Differential evolution over all that needs no new reading, from the best so far."""
        from scipy.optimize import differential_evolution

        base = self.best.values
        size = max(24, 6 * len(self.plain))
        room = (self.left - self.spent) * 2 // 3
        generations = min(room // size - 1, 60 if turn == 0 else 20)
        if generations < 1:
            return

        def cost(points: Floats) -> Floats:
            settings = [{**base, **self._at(point)} for point in points.T]
            return np.array([_cost(one) for one in self._take(settings, "evolution")])

        differential_evolution(
            cost,
            [_span(one) for one in self.plain],
            integrality=[bool(one.choices) for one in self.plain],
            maxiter=generations,
            popsize=size,
            init=self._population(size, base),
            mutation=(0.4, 0.9),
            recombination=0.8,
            tol=1e-6,
            polish=False,
            updating="deferred",
            vectorized=True,
            rng=np.random.default_rng([self.seed, turn]),
        )

    def _inside(self, base: Values) -> Floats:
        """Where the search starts from, a hair within the bounds: scaled, a value on a bound may come out beyond it."""
        spans = np.array([_span(one) for one in self.plain])
        hair = 1e-9 * (spans[:, 1] - spans[:, 0])
        places = np.array([_place(one, base.get(one.path)) for one in self.plain])
        return np.asarray(np.clip(places, spans[:, 0] + hair, spans[:, 1] - hair), dtype=np.float64)

    def _population(self, size: int, base: Values) -> Floats:
        """The best so far, a third close to it, the rest anywhere within the bounds."""
        rng = np.random.default_rng([self.seed, size])
        spans = np.array([_span(one) for one in self.plain])
        width = spans[:, 1] - spans[:, 0]
        centre = np.array([_place(one, base.get(one.path)) for one in self.plain])
        points: Floats = spans[:, 0] + rng.random((size, len(spans))) * width
        near = size // 3
        points[:near] = np.clip(centre + rng.normal(0.0, 0.08, (near, len(spans))) * width, spans[:, 0], spans[:, 1])
        points[0] = centre
        return points

    def _at(self, point: Floats) -> dict[str, Number]:
        return {one.path: _value(one, float(x)) for one, x in zip(self.plain, point, strict=True)}

    def _simplify(self) -> None:
        """What gains less than half its standard error, or nothing, goes back to where it started."""
        for parameter in (*self.plain, *self.fusion):
            values = self.best.values
            own = self.start.get(parameter.path)
            if own is None or values.get(parameter.path) == own:
                continue
            back = {**values, parameter.path: own}
            now, then = self.problem.measure([values, back])
            self.spent = min(self.left, self.spent + 1)
            (candidate,) = self._worth([back])
            gain, error = paired(now - then, self.problem.groups)
            if candidate.violation <= self.best.violation and gain <= WORTHLESS * error:
                self.best = candidate
                self._tell("simpler")


def paired(difference: Floats, groups: Sequence[str]) -> tuple[float, float]:
    """Mean of the differences of queries and its standard error, queries of one group together; NaN is left out."""
    known = ~np.isnan(difference)
    if not known.any():
        return 0.0, 0.0
    names, of = np.unique(np.array(groups)[known], return_inverse=True)
    values = difference[known]
    mean = float(values.mean())
    sums = np.bincount(of, values - mean)
    count = len(names)
    error = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1))) / len(values)
    return mean, error


def _cost(one: Candidate) -> float:
    return INFEASIBLE + one.violation if one.violation > 0 else -one.objective


def _key(values: Values) -> tuple[tuple[str, Number], ...]:
    return tuple(sorted(values.items()))


def _span(parameter: Parameter) -> tuple[float, float]:
    """Its range, as steps are measured."""
    if parameter.choices:
        return 0.0, float(len(parameter.choices) - 1)
    low, high = parameter.low, parameter.high
    return (float(np.log(low)), float(np.log(high))) if parameter.scale == "log" else (low, high)


def _place(parameter: Parameter, value: Number | None) -> float:
    low, high = _span(parameter)
    if value is None:
        return low
    if parameter.choices:
        return float(parameter.choices.index(str(value)))
    place = float(np.log(float(value))) if parameter.scale == "log" else float(value)
    return min(max(place, low), high)


def _value(parameter: Parameter, place: float) -> Number:
    """The value at a place, as it is written down, within the bounds."""
    if parameter.choices:
        return parameter.choices[round(place)]
    plain = float(np.exp(place)) if parameter.scale == "log" else place
    return min(max(float(rounded(plain)), parameter.low), parameter.high)


def _beside(parameter: Parameter, values: Mapping[str, Number], share: float) -> list[Number]:
    """The values next to the one it has; all others of a choice."""
    own = values.get(parameter.path)
    if parameter.choices:
        return [name for name in parameter.choices if name != own]
    low, high = _span(parameter)
    place = _place(parameter, own)
    tried = (_value(parameter, min(max(place + way * share * (high - low), low), high)) for way in (-1, 1))
    return [value for value in dict.fromkeys(tried) if value != own]


def along(parameter: Parameter, value: float, points: int) -> tuple[list[float], list[float]]:
    """Values below and above one, each the further away the later, up to the bounds."""
    low, high = _span(parameter)
    place = _place(parameter, value)
    ways = (low - place, high - place)
    sides = ([float(_value(parameter, place + far * (k / points) ** 2)) for k in range(1, points + 1)] for far in ways)
    below, above = ([one for one in dict.fromkeys(side) if one != value] for side in sides)
    return below, above
