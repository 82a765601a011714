"""The formula as the body of an Elasticsearch search: function_score queries, one within another.

Decay functions do what they can say (`decay` is the value at `scale` beyond `offset`); scripts do the rest. A decay
function falls on both sides of its origin and is 1 where the field is missing, and functions of which none matches
count as 1: so filters part the dated, the future and the rest, and a function of weight 0 always matches.
"""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

from memrank.errors import UsageError
from memrank.export.fields import MILLISECOND, QUERY, Fields, moment_text
from memrank.export.formula import Curve, Formula, Worth
from memrank.export.sql import AUTHORITY
from memrank.score.importance import DEFAULT, SCALE
from memrank.score.temporal import MONTH

Json: TypeAlias = dict[str, Any]

HINT = "--as-of TIME puts the moment into the query; or whole seconds in the spec"


def elasticsearch_of(formula: Formula, fields: Fields | None = None, as_of: datetime | None = None) -> Json:
    """The body of a search. Where `as_of` is left out, `{{as_of}}` stands for it, as in a search template.

    Raises UsageError for what Elasticsearch cannot say exactly.
    """
    return _Writer(formula, fields or Fields(), as_of).body()


class _Writer:
    def __init__(self, formula: Formula, names: Fields, as_of: datetime | None) -> None:
        self._formula, self._names, self._as_of = formula, names, as_of
        self._now = moment_text(as_of)

    def body(self) -> Json:
        formula, names = self._formula, self._names
        query = self._composite(self._relevance())
        if formula.capped:
            query = _scripted(query, "Math.min(1.0, _score)", {})
        ties = [{names.effective_at: {"order": "desc", "missing": "_last"}}, {names.id: "asc"}]
        body: Json = {"query": query, "sort": ["_score", *ties], "track_scores": True}
        if formula.min_score > 0:
            body["min_score"] = formula.min_score
        if formula.top_k is not None:
            body["size"] = formula.top_k
        return body

    def _relevance(self) -> Json:
        """The engine's own score, from 0 to 1."""
        formula, names = self._formula, self._names
        query: Json = {"match": {names.content: QUERY}}
        if formula.stale_after is not None:
            stale = {"range": {names.effective_at: {"lt": self._before(formula.stale_after, "stale_after")}}}
            query = {"bool": {"must": [query], "must_not": [stale]}}
        params = {"score_at_1": names.score_at_1}
        scripted = _scripted(query, "Math.min(1.0, Math.max(0.0, _score / params.score_at_1))", params)
        if formula.relevance_threshold > 0:
            scripted["script_score"]["min_score"] = formula.relevance_threshold
        return scripted

    def _composite(self, relevance: Json) -> Json:
        formula = self._formula
        if formula.combine == "bounded":
            query = relevance
            for name, alpha in formula.factors.items():
                query = _scored(query, [{"weight": 1.0 - alpha / 2.0}, *self._part(name, alpha)], by="multiply")
            return query
        query = _scored(relevance, [{"weight": formula.factors.get("relevance", 0.0)}], by="multiply")
        rest = [
            one for name, weight in formula.factors.items() if name != "relevance" for one in self._part(name, weight)
        ]
        return _scored(query, [*rest, {"weight": 0.0}], by="sum") if rest else query

    def _part(self, name: str, weight: float) -> list[Json]:
        """Functions whose sum is weight x part."""
        if name == "freshness":
            return list(self._freshness(weight))
        if name == "authority":
            field = {"field": self._names.authority, "missing": AUTHORITY}
            return [{"field_value_factor": field, "weight": weight}]
        return [] if self._formula.worth is None else [self._worth(self._formula.worth, weight)]

    def _freshness(self, weight: float) -> Iterable[Json]:
        curve, date = self._formula.curve, self._names.effective_at
        dated = {"exists": {"field": date}}
        if self._formula.undated > 0:
            yield {"filter": {"bool": {"must_not": [dated]}}, "weight": weight * self._formula.undated}
        if curve.shape == "none":
            yield {"filter": dated, "weight": weight}
            return
        if curve.floor > 0:
            yield {"filter": dated, "weight": weight * curve.floor}
        if curve.floor == 1:
            return
        share = weight * (1.0 - curve.floor)
        yield {"filter": {"range": {date: {"gt": self._now}}}, "weight": share}
        named = curve.size.named
        for name, size in named.items():
            yield self._decaying(curve, size, share, {"term": {self._names.memory_type: name}})
        others = {"bool": {"must_not": [{"terms": {self._names.memory_type: list(named)}}]}} if named else None
        yield self._decaying(curve, curve.size.default, share, others)

    def _decaying(self, curve: Curve, size: float, weight: float, of_type: Json | None) -> Json:
        date = self._names.effective_at
        past: Json = {"lte": self._now}
        if curve.cutoff is not None:
            past["gte"] = self._before(curve.cutoff, "real_time_window")
        if curve.shape == "cliff":
            past["gte"] = self._before(curve.offset + size, "window")
        until: Json = {"range": {date: past}}
        function: Json = {"filter": until if of_type is None else {"bool": {"filter": [until, of_type]}}}
        match curve.shape:
            case "exponential" | "gaussian" | "linear":
                name = {"exponential": "exp", "gaussian": "gauss", "linear": "linear"}[curve.shape]
                offset = _whole(curve.offset * 1000.0)
                if offset is None:
                    raise UsageError(
                        "temporal.v1: offset: Elasticsearch knows no time finer than a millisecond",
                        hint="an offset in whole milliseconds",
                    )
                scale, decay = _scale(curve, size)
                decaying = {"origin": self._now, "offset": f"{offset}ms", "scale": f"{scale}ms", "decay": decay}
                function[name] = {date: decaying}
            case "power" | "weibull":
                function["script_score"] = {"script": self._script(curve, size)}
        return {**function, "weight": weight}

    def _script(self, curve: Curve, size: float) -> Json:
        age = f"Math.max(0.0, {self._seconds_since(self._names.effective_at)} - params.offset)"
        params = {"as_of": self._now, "offset": curve.offset, "size": size, "power": curve.power}
        if curve.shape == "power":
            return {"source": f"Math.pow(1.0 + {age} / params.size, -params.power)", "params": params}
        exponent = f"Math.pow({age} / params.size, params.power)"
        return {"source": f"Math.exp(params.slope * {exponent})", "params": {**params, "slope": -math.log(2.0)}}

    def _seconds_since(self, field: str) -> str:
        now = "ZonedDateTime.parse(params.as_of).toInstant().toEpochMilli()"
        return f"({now} - doc['{field}'].value.toInstant().toEpochMilli()) / 1000.0"

    def _worth(self, worth: Worth, weight: float) -> Json:
        names = self._names
        params: Json = {
            "floor": worth.floor,
            "ceiling": worth.ceiling,
            "boost_per_use": worth.boost_per_use,
            "boost_cap": worth.boost_cap,
            "scale": SCALE,
        }
        stated = f"(doc['{names.importance}'].size() == 0 ? {DEFAULT} : doc['{names.importance}'].value)"
        uses = f"(doc['{names.uses}'].size() == 0 ? 0 : doc['{names.uses}'].value)"
        left = ""
        if worth.decay != "none":
            since = self._seconds_since(names.created_at)
            months = f"(doc['{names.created_at}'].size() == 0 ? 0.0 : Math.max(0.0, {since} / params.month))"
            rate = "params.rate"
            params |= {"as_of": self._now, "month": MONTH, "rate": worth.rate.default}
            if worth.rate.named:
                kind = f"doc['{names.memory_type}']"
                rate = f"({kind}.size() == 0 ? params.rate : params.rates.getOrDefault({kind}.value, params.rate))"
                params["rates"] = dict(worth.rate.named)
            share = f"Math.max(0.0, 1.0 - {rate} * {months})"
            left = f" * {f'Math.pow(1.0 - {rate}, {months})' if worth.decay == 'exponential' else share}"
        boost = f"Math.min(params.boost_per_use * {uses}, params.boost_cap)"
        points = f"Math.max(params.floor, params.scale * {stated}{left} + {boost})"
        source = f"Math.min(params.ceiling, {points}) / params.scale"
        return {"script_score": {"script": {"source": source, "params": params}}, "weight": weight}

    def _before(self, seconds: float, named: str) -> str:
        """The first moment, to the millisecond, that is no more than so many seconds before as_of."""
        if self._as_of is None:
            whole = _whole(seconds)
            if whole is None:
                raise UsageError(
                    f"{named}: {seconds:g}s is no whole number of seconds, which date math needs", hint=HINT
                )
            return f"{self._now}||-{whole}s"
        try:
            return moment_text(self._as_of - math.floor(seconds * 1000.0) * MILLISECOND)
        except OverflowError:  # before the year 1: nothing is older
            return moment_text(datetime.min.replace(tzinfo=self._as_of.tzinfo))


def _scale(curve: Curve, size: float) -> tuple[int, float]:
    """Whole milliseconds, and the value of the curve there: exact, however finely the half-life was fitted."""
    half = size / 2.0 if curve.shape == "linear" else size
    scale = max(1, round(half * 1000.0))
    at = scale / 1000.0 / size
    match curve.shape:
        case "linear":
            decay = 1.0 - at
        case "gaussian":
            decay = 2.0 ** -(at * at)
        case _:
            decay = 2.0**-at
    if not 0.0 < decay < 1.0:
        raise UsageError(f"temporal.v1: {size:g}s is too short for Elasticsearch, which knows whole milliseconds")
    return scale, decay


def _whole(number: float) -> int | None:
    return int(number) if number == int(number) else None


def _scored(query: Json, functions: list[Json], *, by: str) -> Json:
    """A query whose score is added to, or multiplied by, the sum of functions."""
    return {"function_score": {"query": query, "functions": functions, "score_mode": "sum", "boost_mode": by}}


def _scripted(query: Json, source: str, params: Json) -> Json:
    return {
        "script_score": {
            "query": query,
            "script": {"source": source, "params": params} if params else {"source": source},
        }
    }
