"""Answers kept for a while: bounded, with a lifetime, safe to share by threads. It never reads the time of day."""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """How a cache fared so far."""

    hits: int
    misses: int
    kept: int
    """Answers that it holds now, some of them perhaps too old."""

    @property
    def hit_rate(self) -> float:
        """Share of the reads that were answered from memory, 0 to 1; 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


GROUPS = 8
"""Groups of values that are kept, the newest: an answer holds on to the index of the store that it came from."""


class Cache(Generic[Value]):
    """At most `size` values, each for `lifetime` seconds; the one asked for longest ago goes first.

    Values belong to groups, which also go as a whole.
    """

    def __init__(self, size: int, lifetime: float) -> None:
        self._size = size
        self._lifetime = lifetime
        self._kept: OrderedDict[str, tuple[float, str, Value]] = OrderedDict()
        self._groups: OrderedDict[str, int] = OrderedDict()
        self._hits = self._misses = 0
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: object) -> "Cache[Value]":
        return self

    def get(self, key: str) -> Value | None:
        """What was kept under the key, unless it is too old."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and time.monotonic() - found[0] > self._lifetime:
                self._remove(key)
                found = None
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._kept.move_to_end(key)
            return found[2]

    def put(self, key: str, value: Value, group: str = "") -> None:
        """Keep a value."""
        with self._lock:
            if key in self._kept:
                self._remove(key)
            self._kept[key] = (time.monotonic(), group, value)
            self._groups[group] = self._groups.get(group, 0) + 1
            while len(self._kept) > self._size:
                self._remove(next(iter(self._kept)))
            if len(self._groups) > GROUPS:
                self._drop(next(iter(self._groups)))

    def drop(self, group: str) -> None:
        """Let every value of a group go."""
        with self._lock:
            self._drop(group)

    def _drop(self, group: str) -> None:
        for key in [key for key, (_, own, _) in self._kept.items() if own == group]:
            self._remove(key)

    def _remove(self, key: str) -> None:
        _, group, _ = self._kept.pop(key)
        self._groups[group] -= 1
        if not self._groups[group]:
            del self._groups[group]

    def info(self) -> CacheInfo:
        """How it fared."""
        with self._lock:
            return CacheInfo(hits=self._hits, misses=self._misses, kept=len(self._kept))
