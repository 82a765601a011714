"""The ranker and the curves of a spec on padded pools: what a setting makes of all queries at once.

The formulas are those of `stages.temporal` and `stages.ranker`, in their order, so that scores are the same to the last
bit. One thing is approximated: which candidates inferred supersession pairs, and how likely a pair is, is taken from
the reference setting (`Pairs`); whether a pair counts, and what it does to the scores, is computed anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memrank.halflives import BETA, POWER, field_factor, named_half_lives
from memrank.parameters import Number, weights_of
from memrank.score import temporal
from memrank.score.importance import SCALE
from memrank.score.supersede import DEMOTION, STEP, TINY
from memrank.spec import ImportanceSpec, RankerSpec, TemporalSpec
from memrank.tune.pools import Ints, Pools
from memrank.types import Bools, Floats
from memrank.worth import worth

OUT = -1.0
"""The score of what is excluded: below every other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Inferred successions of one setting, flat places: `new[i]` outdates `old[i]`, each old once."""

    old: Ints
    new: Ints
    likely: Floats
    size: int
    """Places there are."""

    def ends(self, threshold: float) -> tuple[Ints, Ints]:
        """(old, the last one of its chain), by rising new, of the pairs that are likely enough."""
        counts = self.likely >= threshold
        old, new = self.old[counts], self.new[counts]
        following = np.full(self.size, -1, dtype=np.int64)
        following[old] = new
        end = new
        while (further := following[end]).max(initial=-1) >= 0:
            end = np.where(further >= 0, further, end)
        order = np.argsort(end, kind="stable")
        return old[order], end[order]


NO_PAIRS = Pairs(old=np.zeros(0, np.int64), new=np.zeros(0, np.int64), likely=np.zeros(0), size=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Composites and what they are made of, each (queries, width); by `score` is ranked, OUT where excluded."""

    score: Floats
    relevance: Floats
    freshness: Floats


class Scoring:
    """Scores the pools of one prefilter under any setting of the rest."""

    def __init__(self, pools: Pools, temporal: TemporalSpec, ranker: RankerSpec) -> None:
        self.pools = pools
        self._temporal = temporal
        self._ranker = ranker
        self._kind_at = pools.kind.ravel()[pools.at]
        self._important = self._importance({})

    def parts(self, values: Mapping[str, Number], relevance: Floats, pairs: Pairs | None) -> Parts:
        """What a setting makes of relevance (calibrated, and inherited along successions). `pairs`: None leaves
        inferred supersession out.
        """
        freshness = self._freshness(values)
        raw = self._composite(values, relevance, freshness)
        score, flat = raw, self._sunk(raw)
        if flat is not None:
            score = flat
        keep = self._kept(values, relevance, raw)
        score = score * keep
        score -= 1.0 - keep
        if pairs is not None and self._ranker.supersession.infer:
            self._swap(score, *pairs.ends(self._number(values, "supersession.threshold")))
        return Parts(score=score, relevance=relevance, freshness=freshness)

    def _number(self, values: Mapping[str, Number], name: str) -> float:
        given = values.get(f"ranker.{name}")
        if given is not None:
            return float(given)
        return self._ranker.supersession.threshold if "." in name else float(getattr(self._ranker, name))

    def _freshness(self, values: Mapping[str, Number]) -> Floats:
        """As the stage has it: what a curve decides, and the rest."""
        pools, params = self.pools, self._temporal
        own = {path.removeprefix("temporal."): value for path, value in values.items() if path.startswith("temporal.")}
        kernel = str(own.get("kernel", params.kernel))
        age = pools.age
        k = np.ones_like(age)
        if kernel == "exponential" and params.rate_per_hour is not None and not own:
            k = temporal.exponential(age, temporal.half_life_of_rate(params.rate_per_hour))
        elif kernel != "none":
            lives, factor = named_half_lives(params, own), field_factor(kernel, params.p)
            by_type = np.array([lives.get(name or "", lives["default"]) * factor for name in pools.types])
            k = _curve(kernel, age, by_type[self._kind_at], params)
        fresh = pools.fresh.copy()
        fresh.ravel()[pools.at] = temporal.floored(k, params.floor)
        return fresh

    def _composite(self, values: Mapping[str, Number], relevance: Floats, freshness: Floats) -> Floats:
        ranker = self._ranker
        bounded = ranker.combine == "bounded" and ranker.alphas is not None
        if bounded:
            shares = {name: float(values.get(f"ranker.alphas.{name}", own)) for name, own in ranker.alphas or ()}
        else:
            shares = weights_of(ranker.weights, values)
        total: Floats | None = relevance if bounded else None
        for name, share in shares.items():
            if not share:
                continue
            part = {"relevance": relevance, "freshness": freshness, "authority": self.pools.authority}.get(name)
            if part is None:
                changed = any(path.startswith("ranker.importance.") for path in values)
                part = self._importance(values) if changed else self._important
            if bounded and total is not None:
                total = total * (1.0 + share * (part - 0.5))
            else:
                total = share * part if total is None else total + share * part
        if total is None:
            return np.zeros_like(relevance)
        return np.clip(total, 0.0, 1.0)

    def _importance(self, values: Mapping[str, Number]) -> Floats:
        pools, params = self.pools, self._ranker.importance
        prefix = "ranker.importance."
        own = {path.removeprefix(prefix): float(v) for path, v in values.items() if path.startswith(prefix)}
        changed = {name: value for name, value in own.items() if not name.startswith("rate_per_month.")}
        given = params.model_copy(update=changed) if changed else params
        rates = _rates(params, own, pools.types)[pools.kind]
        valued = worth(given, pools.stated, pools.recorded, pools.uses, rates, pools.superseded)
        return np.asarray(valued.points / SCALE)

    def _sunk(self, raw: Floats) -> Floats | None:
        """Composites with the factors of explicit successions; None where there are none."""
        chains = self.pools.chains
        if not chains.sink and not len(chains.demoted):
            return None
        plain = raw.ravel()
        factor = np.ones_like(plain)
        factor[chains.demoted] = DEMOTION
        for old, new in chains.sink:
            ceiling = STEP * plain[new] * factor[new]
            above = plain[old]
            factor[old] = np.minimum(DEMOTION, ceiling / np.where(above > 0, above, np.inf))
            factor[old[above <= 0]] = DEMOTION
        return (plain * factor).reshape(raw.shape)

    def _kept(self, values: Mapping[str, Number], relevance: Floats, raw: Floats) -> Floats:
        """1 for what is not excluded, else 0."""
        out: Bools = self.pools.dead | (relevance < self._number(values, "relevance_threshold"))
        least = self._number(values, "min_score")
        if least > 0:
            out |= raw < least
        stale = values.get("ranker.stale_after", self._ranker.stale_after)
        if stale is not None:
            out |= self.pools.aged > float(stale)
        return (~out).astype(np.float64)

    @staticmethod
    def _swap(score: Floats, old: Ints, end: Ints) -> None:
        """`supersede.swaps`, in place; `end` rises."""
        if not len(old):
            return
        flat = score.ravel()
        above, below = np.maximum(flat[old], 0.0), flat[end]
        starts = np.flatnonzero(np.r_[True, end[1:] != end[:-1]])
        highest = np.repeat(np.maximum.reduceat(above, starts), np.diff(np.r_[starts, len(end)]))
        counts = below > TINY
        lift = np.where(counts & (highest > below), highest / np.where(counts, below, 1.0), 1.0)
        ceiling = STEP * below * lift
        sinks = counts & (above > ceiling)
        flat[end] = np.where(counts, below * lift, below)
        flat[old[sinks]] = above[sinks] * (ceiling[sinks] / above[sinks])


def inherited(pools: Pools, relevance: Floats) -> Floats:
    """Relevance with what each memory takes over from those that it replaces, as the ranker has it."""
    if not pools.chains.inherit:
        return relevance
    flat = relevance.ravel().copy()
    for old, new in pools.chains.inherit:
        np.maximum.at(flat, new, flat[old])
    return flat.reshape(relevance.shape)


def _curve(kernel: str, age: Floats, field: Floats, params: TemporalSpec) -> Floats:
    match kernel:
        case "linear":
            return temporal.linear(age, field)
        case "gaussian":
            return temporal.gaussian(age, field)
        case "power":
            return temporal.power(age, field, params.p or POWER)
        case "weibull":
            return temporal.weibull(age, field, params.beta or BETA)
        case "cliff":
            return temporal.cliff(age, field)
    return temporal.exponential(age, field)


def _rates(params: ImportanceSpec, own: Mapping[str, float], types: tuple[str | None, ...]) -> Floats:
    rates = params.rate_per_month
    default = own.get("rate_per_month.default", rates.default)
    named = rates.__pydantic_extra__ or {}
    return np.array([own.get(f"rate_per_month.{name}", named.get(name or "", default)) for name in types])
