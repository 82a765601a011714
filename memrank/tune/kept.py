"""What was computed last, kept for the settings that need it again."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

Found = TypeVar("Found")


class Kept:
    """The last few results of a function. Safe to share between threads; what is missing is made once."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.RLock()
        self._kept: OrderedDict[Hashable, object] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Found]) -> Found:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: Found = self._kept[key]  # type: ignore[assignment]
            return found
