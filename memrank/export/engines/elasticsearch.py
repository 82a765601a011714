"""Elasticsearch, as far as exports use it: what a search body comes to for one document, by its documentation."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from memrank.export.engines.painless import evaluate
from memrank.export.engines.point import Held, Point, double
from memrank.export.fields import Fields

Json: TypeAlias = Mapping[str, Any]

_COMBINED: dict[str, Callable[[float, float], float]] = {
    "multiply": lambda score, functions: score * functions,
    "sum": lambda score, functions: score + functions,
}
_ANCHORED = re.compile(r"(.+)\|\|-(\d+)s")


def searched(body: Json, point: Point, fields: Fields, held: Held = double) -> float | None:
    """The score of a document, None where it is not found. Its relevance is what the text query scores.

    Weights, thresholds and scores are held as `held` does. Raises ValueError for what no export writes.
    """
    return _Document(point, fields, held).search(body)


def _milliseconds(text: str) -> int:
    anchored = _ANCHORED.fullmatch(text)
    if anchored:
        return _milliseconds(anchored[1]) - int(anchored[2]) * 1000
    at = datetime.fromisoformat(text)
    return round((at - datetime.fromtimestamp(0, tz=at.tzinfo)).total_seconds() * 1000)


class _Document:
    def __init__(self, point: Point, fields: Fields, held: Held) -> None:
        self._held, self._relevance = held, point.relevance * fields.score_at_1
        self._values: dict[str, Any] = {
            fields.effective_at: None if point.effective_at is None else round(point.effective_at * 1000),
            fields.created_at: None if point.created_at is None else round(point.created_at * 1000),
            fields.memory_type: point.memory_type,
            fields.importance: point.importance,
            fields.uses: point.uses,
            fields.authority: point.authority,
        }

    def search(self, body: Json) -> float | None:
        score = self._query(body["query"])
        return None if score is None or score < self._held(body.get("min_score", 0.0)) else score

    def _query(self, query: Json) -> float | None:
        """None where it does not match."""
        ((kind, given),) = query.items()
        match kind:
            case "match":
                return self._held(self._relevance)
            case "bool":
                if any(self._matches(one) for one in given.get("must_not", ())):
                    return None
                scores = [self._query(one) for one in given["must"]]
                return None if None in scores else sum(score for score in scores if score is not None)
            case "script_score":
                score = self._query(given["query"])
                if score is None:
                    return None
                found = self._held(self._script(given["script"], score))
                return None if found < self._held(given.get("min_score", 0.0)) else found
            case "function_score":
                score = self._query(given["query"])
                return None if score is None else self._function_score(given, score)
        raise ValueError(f"no query of an export: {kind}")

    def _function_score(self, given: Json, score: float) -> float:
        if given["score_mode"] != "sum":
            raise ValueError(f"no score_mode of an export: {given['score_mode']}")
        matching = [one for one in given["functions"] if "filter" not in one or self._matches(one["filter"])]
        total = sum(self._function(one, score) for one in matching) if matching else 1.0
        found = self._held(_COMBINED[given["boost_mode"]](score, total))
        if found < 0:
            raise ValueError("a score below 0, which Elasticsearch refuses")
        return found

    def _function(self, given: Json, score: float) -> float:
        weight = self._held(given.get("weight", 1.0))
        rest = {name: body for name, body in given.items() if name not in ("filter", "weight")}
        if not rest:
            return weight
        ((kind, body),) = rest.items()
        match kind:
            case "script_score":
                return weight * self._script(body["script"], score)
            case "field_value_factor":
                value = self._values[body["field"]]
                return weight * float(body["missing"] if value is None else value)
            case "exp" | "gauss" | "linear":
                ((field, decay),) = body.items()
                return weight * self._decay(kind, self._values[field], decay)
        raise ValueError(f"no function of an export: {kind}")

    def _decay(self, kind: str, value: int | None, given: Json) -> float:
        if value is None:
            return 1.0
        scale, offset, decay = _length(given["scale"]), _length(given["offset"]), float(given["decay"])
        if scale <= 0 or not 0 < decay < 1:
            raise ValueError("a decay function with a scale or a decay that Elasticsearch refuses")
        far = max(0, abs(value - _milliseconds(given["origin"])) - offset)
        if kind == "exp":
            return math.exp(math.log(decay) / scale * far)
        if kind == "gauss":
            return math.exp(far * far / (scale * scale / math.log(decay)))
        whole = scale / (1.0 - decay)
        return max(0.0, (whole - far) / whole)

    def _script(self, script: Json, score: float) -> float:
        return evaluate(script["source"], score, script.get("params", {}), self._values)

    def _matches(self, query: Json) -> bool:
        ((kind, given),) = query.items()
        if kind == "bool":
            return all(map(self._matches, given.get("filter", ()))) and not any(
                map(self._matches, given.get("must_not", ()))
            )
        if kind == "exists":
            return self._values[given["field"]] is not None
        ((field, wanted),) = given.items()
        value = self._values[field]
        if value is None:
            return False
        match kind:
            case "term":
                return bool(value == wanted)
            case "terms":
                return value in wanted
            case "range":
                return all(_compared(name, value, _milliseconds(bound)) for name, bound in wanted.items())
        raise ValueError(f"no filter of an export: {kind}")


def _compared(name: str, value: int, bound: int) -> bool:
    return {"lt": value < bound, "lte": value <= bound, "gt": value > bound, "gte": value >= bound}[name]


def _length(text: str) -> int:
    return int(text.removesuffix("ms"))
