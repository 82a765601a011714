"""Qdrant, as far as exports use it: what a formula query comes to for one point, by its documentation.

Times are seconds. A decay is the `midpoint` at `scale` from its target, 0 where none is given. What is no finite
number fails, as it does there.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from memrank.export.engines.point import Held, Point, double
from memrank.export.fields import Fields

Json: TypeAlias = Mapping[str, Any]


def queried(body: Json, point: Point, fields: Fields, held: Held = double) -> float | None:
    """The score of a point, None below the threshold. Its relevance is what the prefetch scores.

    Constants and the score are held as `held` does. Raises ValueError for what no export writes.
    """
    found = held(_Point(point, fields, body["query"]["defaults"], held).value(body["query"]["formula"]))
    return None if found < held(body.get("score_threshold", -math.inf)) else found


@lru_cache(maxsize=64)
def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class _Point:
    def __init__(self, point: Point, fields: Fields, defaults: Json, held: Held) -> None:
        self._held, self._score, self._defaults = held, point.relevance * fields.score_at_1, defaults
        self._payload = {
            fields.effective_at: point.effective_at,
            fields.created_at: point.created_at,
            fields.memory_type: point.memory_type,
            fields.importance: point.importance,
            fields.uses: point.uses,
            fields.authority: point.authority,
        }

    def value(self, expression: Any) -> float:
        if isinstance(expression, (int, float)):
            return self._held(expression)
        if isinstance(expression, str):
            return self._held(self._score) if expression == "$score" else float(self._known(expression))
        if "must_not" in expression or "key" in expression or "is_empty" in expression:
            return float(self._meets(expression))
        ((kind, given),) = expression.items()
        if kind in ("exp_decay", "gauss_decay", "lin_decay"):
            return self._decay(kind, given)
        return self._computed(kind, given)

    def _computed(self, kind: str, given: Any) -> float:
        match kind:
            case "sum":
                return sum(map(self.value, given))
            case "mult":
                return self._product(given)
            case "neg":
                return -self.value(given)
            case "abs":
                return abs(self.value(given))
            case "div":
                return self._over(given)
            case "pow":
                return _finite(lambda: math.pow(self.value(given["base"]), self.value(given["exponent"])))
            case "exp":
                return _finite(lambda: math.exp(self.value(given)))
            case "datetime":
                return _seconds(given)
            case "datetime_key":
                known = self._known(given)
                return _seconds(known) if isinstance(known, str) else float(known)
        raise ValueError(f"no expression of an export: {kind}")

    def _product(self, factors: Any) -> float:
        whole = 1.0
        for factor in factors:
            whole *= self.value(factor)
            if whole == 0:  # what follows is not looked at, so that a condition can spare it
                return 0.0
        return whole

    def _over(self, given: Json) -> float:
        left = self.value(given["left"])
        if left == 0:
            return 0.0
        right = self.value(given["right"])
        if right == 0 and "by_zero_default" in given:
            return self._held(given["by_zero_default"])
        return _finite(lambda: left / right)

    def _decay(self, kind: str, given: Json) -> float:
        far, scale, middle = abs(self.value(given["x"])), self._held(given["scale"]), self._held(given["midpoint"])
        if scale <= 0 or not 0 < middle < 1:
            raise ValueError("a decay with a scale or a midpoint that Qdrant refuses")
        if kind == "exp_decay":
            return math.exp(math.log(middle) / scale * far)
        if kind == "gauss_decay":
            return math.exp(math.log(middle) / scale**2 * far * far)
        return max(0.0, 1.0 - (1.0 - middle) / scale * far)

    def _known(self, key: str) -> Any:
        found = self._payload.get(key)
        if found is not None:
            return found
        if key not in self._defaults:
            raise ValueError(f"a point has no {key}, and there is no default")
        return self._defaults[key]

    def _meets(self, condition: Json) -> bool:
        if "must_not" in condition:
            return not any(map(self._meets, condition["must_not"]))
        if "is_empty" in condition:
            return self._payload.get(condition["is_empty"]["key"]) is None
        value, match = self._payload.get(condition["key"]), condition["match"]
        return value is not None and (value in match["any"] if "any" in match else value == match["value"])


def _finite(number: Any) -> float:
    try:
        found = float(number())
    except (OverflowError, ZeroDivisionError):
        found = math.inf
    if not math.isfinite(found):
        raise ValueError("an expression that comes to no finite number, which Qdrant refuses")
    return found
