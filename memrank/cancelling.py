"""Ends what a read asks of a model when the task that awaits it is cancelled: the thread that reads cannot be."""

import threading
from contextvars import ContextVar
from typing import Protocol


class Ending(Protocol):
    """What can be ended from another thread (`remote.Reading`)."""

    def cancel(self) -> None:
        """End it."""


class Calls:
    """The calls of one awaited read. Safe to share between the event loop and the thread that reads."""

    def __init__(self) -> None:
        self._reading: Ending | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def made_by(self, reading: Ending) -> None:
        """The read has begun to ask; it ends at once where it was cancelled before."""
        with self._lock:
            self._reading = reading
            cancelled = self._cancelled
        if cancelled:
            reading.cancel()

    def cancel(self) -> None:
        """Whatever is asked, or will be, ends now."""
        with self._lock:
            self._cancelled = True
            reading = self._reading
        if reading is not None:
            reading.cancel()


CALLS: ContextVar[Calls | None] = ContextVar("memrank_calls", default=None)
"""Of the read under way; None where nobody awaits it."""
