"""The formula as a Qdrant query: candidates that are fetched first, scored again by a formula over their payload.

Formulas have neither conditions with two branches nor a least of two: a condition is 1 or 0, to be multiplied by;
absolute values and `lin_decay`, which stops at 0, do the rest. What is left out scores -1 and falls below
`score_threshold`.
"""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from memrank.export.fields import QUERY, Fields, moment_text
from memrank.export.formula import ByType, Curve, Formula, Worth
from memrank.export.sql import AUTHORITY
from memrank.score.importance import DEFAULT, SCALE
from memrank.score.temporal import MONTH

Json: TypeAlias = dict[str, Any]
Expression: TypeAlias = float | str | Json

SCORE = "$score"
SHOWN = 10
"""Results that Qdrant gives where the spec sets no number."""

STEEP = 25.0
"""A shape from which on a power of age may exceed what a double holds."""
VANISHED = 1100.0
"""2 to the minus this is exactly 0."""


def qdrant_of(formula: Formula, fields: Fields | None = None, as_of: datetime | None = None) -> Json:
    """The body of `POST /collections/NAME/points/query`. Where `as_of` is left out, `{{as_of}}` stands for it."""
    return _Writer(formula, fields or Fields(), moment_text(as_of)).body()


class _Writer:
    def __init__(self, formula: Formula, names: Fields, now: str) -> None:
        self._formula, self._names, self._now = formula, names, now
        self._defaults: Json = {}

    def body(self) -> Json:
        formula = self._formula
        score = self._score()
        body: Json = {
            "prefetch": {"query": QUERY, "limit": formula.pool},
            "query": {"formula": score, "defaults": self._defaults},
            "limit": formula.top_k or SHOWN,
            "with_payload": True,
        }
        if formula.min_score > 0 or score.get("sum", [])[-1:] == [-1.0]:
            body["score_threshold"] = formula.min_score
        return body

    def _score(self) -> Json:
        """The composite, -1 where a threshold excludes it."""
        formula = self._formula
        own = SCORE if self._names.score_at_1 == 1.0 else {"div": {"left": SCORE, "right": self._names.score_at_1}}
        passed = []
        if formula.relevance_threshold > 0:
            passed.append(_at_least(_sum(own, -formula.relevance_threshold)))
        if formula.stale_after is not None:
            passed.append(_at_least(_sum(formula.stale_after, _negative(self._since(self._names.effective_at)))))
        whole = self._composite(_least(_positive(own), 1.0))
        return _sum(_product(*passed, _sum(whole, 1.0)), -1.0) if passed else whole

    def _composite(self, relevance: Expression) -> Json:
        formula = self._formula
        if formula.combine == "weighted":
            whole = _sum(*(_product(weight, self._part(name, relevance)) for name, weight in formula.factors.items()))
        else:
            boosts = (
                _sum(1.0 - alpha / 2.0, _product(alpha, self._part(name, relevance)))
                for name, alpha in formula.factors.items()
            )
            whole = _product(relevance, *boosts)
        return _least(whole, 1.0) if formula.capped else whole

    def _part(self, name: str, relevance: Expression) -> Expression:
        match name:
            case "relevance":
                return relevance
            case "freshness":
                return self._freshness()
            case "authority":
                self._defaults[self._names.authority] = AUTHORITY
                return self._names.authority
        return 0.0 if self._formula.worth is None else self._worth(self._formula.worth)

    def _freshness(self) -> Json:
        formula, curve = self._formula, self._formula.curve
        undated = {"is_empty": {"key": self._names.effective_at}}
        dated = {"must_not": [undated]}
        fresh: Expression = 1.0
        if curve.shape != "none":
            since = self._since(self._names.effective_at)
            graced = since if curve.offset == 0 else _sum(since, -curve.offset)
            k = self._by_type(curve.size, lambda size: _kernel(curve, size, graced))
            fresh = k if curve.floor == 0 else _sum(curve.floor, _product(1.0 - curve.floor, k))
            if curve.cutoff is not None:
                fresh = _product(_at_least(_sum(curve.cutoff, _negative(since))), fresh)
        known = _product(dated, fresh)
        return known if formula.undated == 0 else _sum(known, _product(formula.undated, undated))

    def _since(self, field: str) -> Json:
        """Seconds since a time, below 0 for the future; 0 for what has none."""
        self._defaults[field] = self._now
        return _sum({"datetime": self._now}, _negative({"datetime_key": field}))

    def _by_type(self, values: ByType, of: Callable[[float], Expression]) -> Expression:
        if not values.named:
            return of(values.default)
        key = self._names.memory_type
        others = {"must_not": [{"key": key, "match": {"any": list(values.named)}}]}
        each = [_product({"key": key, "match": {"value": name}}, of(value)) for name, value in values.named.items()]
        return _sum(*each, _product(others, of(values.default)))

    def _worth(self, worth: Worth) -> Json:
        names = self._names
        self._defaults |= {names.importance: DEFAULT, names.uses: 0}
        base = _product(SCALE, names.importance)
        if worth.decay != "none":
            since = self._since(names.created_at)
            base = _product(base, self._by_type(worth.rate, lambda rate: _left(worth, rate, since)))
        points = _sum(base, _least(_product(worth.boost_per_use, names.uses), worth.boost_cap))
        # Below the ceiling by so much; above the floor by what is left of the distance between the two.
        below, room = _short_of(points, worth.ceiling), worth.ceiling - worth.floor
        return _product(1.0 / SCALE, _sum(worth.floor, _short_of(below, room)))


def _kernel(curve: Curve, size: float, graced: Json) -> Expression:
    """k of an age less its grace, which may be below 0."""
    age = _positive(graced)
    match curve.shape:
        case "none":
            return 1.0
        case "cliff":
            return _at_least(_sum(size, _negative(graced)))
        case "linear":
            return {"lin_decay": {"x": age, "scale": size / 2.0, "midpoint": 0.5}}
        case "exponential":
            return {"exp_decay": {"x": age, "scale": size, "midpoint": 0.5}}
        case "gaussian":
            return {"gauss_decay": {"x": age, "scale": size, "midpoint": 0.5}}
        case "power":
            return {"pow": {"base": _sum(1.0, _over(age, size)), "exponent": -curve.power}}
    of_size: Json = _over(age, size)
    if curve.power > STEEP:  # what is no finite number makes the whole query fail
        of_size = _least(of_size, VANISHED ** (1.0 / curve.power))
    return {"exp": _product(-math.log(2.0), {"pow": {"base": of_size, "exponent": curve.power}})}


def _left(worth: Worth, rate: float, since: Json) -> Expression:
    """What age leaves of importance."""
    if rate == 0:
        return 1.0
    if rate == 1 and worth.decay == "exponential":
        return _at_least(_negative(since))
    age = _positive(since)
    if worth.decay == "linear":
        return {"lin_decay": {"x": age, "scale": MONTH / rate / 2.0, "midpoint": 0.5}}
    half_life = MONTH * math.log(2.0) / -math.log1p(-rate)
    return {"exp_decay": {"x": age, "scale": half_life, "midpoint": 0.5}}


def _sum(*terms: Expression) -> Json:
    return {"sum": list(terms)}


def _product(*factors: Expression) -> Json:
    return {"mult": list(factors)}


def _negative(x: Expression) -> Json:
    return {"neg": x}


def _over(x: Expression, number: float) -> Json:
    return {"div": {"left": x, "right": number}}


def _positive(x: Expression) -> Json:
    """max(0, x) = (x + |x|) / 2, without rounding."""
    return _product(0.5, _sum(x, {"abs": x}))


def _short_of(x: Expression, most: float) -> Json:
    """max(0, most - x) of an x that is 0 or more."""
    return _product(most, {"lin_decay": {"x": x, "scale": most / 2.0, "midpoint": 0.5}} if most > 0 else 0.0)


def _least(x: Expression, most: float) -> Json:
    """min(x, most) of an x that is 0 or more."""
    return _sum(most, _negative(_short_of(x, most)))


def _at_least(x: Expression) -> Json:
    """1 where x >= 0, else 0: with s the sign of x, 1 - s (s - 1) / 2, so that 0 counts whether s is 0 there or 1."""
    sign = {"div": {"left": x, "right": {"abs": x}, "by_zero_default": 1.0}}
    return _sum(1.0, _product(-0.5, sign, _sum(sign, -1.0)))
