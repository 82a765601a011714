"""An axis of a drawing, in plain characters or in SVG: what it spans, where values lie on it, its round numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Numbers from `low` to `high`, `low` below `high`."""

    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float], given: tuple[float, float] | None = None) -> "Axis":
        """The given (low, high), else what the values span (at least one); a single value stands in the middle."""
        low, high = given or (min(values), max(values))
        least = 1e-9 * max(abs(low), abs(high), 1e-200)
        if high - low < least:
            half = 0.5 * max(1.0, abs(low))
            low, high = low - half, high + half
        return cls(low=low, high=high)

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis."""
        return self.low <= value <= self.high

    def share(self, value: float) -> float:
        """How far along the axis a value lies, from 0 to 1; at an end where it lies beyond."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self, most: int) -> list[float]:
        """Round numbers on the axis: as many as there may be, at most so many (from 2 on)."""
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
        for step in (m * power for m in (1, 2, 5, 10, 20, 50)):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if last - first < most:
                return [k * step for k in range(first, last + 1)]
        return []
