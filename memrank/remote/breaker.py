"""A circuit breaker: a server that is down is not asked again until a while has passed, and then by one call only."""

import threading
from collections.abc import Callable

WINDOW = 30.0
"""Seconds that a server that failed is left alone."""
FAILURES = 10
"""Failures in a row that open it; a connection that is refused does so at once. A server of whose calls three in ten
fail at random is still of use, and five of those in a row are no rare thing."""


class Breaker:
    """Open: nothing is sent. After `window` seconds one call may try, and what becomes of it decides."""

    def __init__(self, clock: Callable[[], float], *, window: float = WINDOW, failures: int = FAILURES) -> None:
        self._clock = clock
        self._window = window
        self._limit = failures
        self._failures = 0
        self._until: float | None = None
        self._trying = False
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """Whether a call may be sent now. Every call that is admitted must end in one of the four below."""
        with self._lock:
            if self._until is None:
                return True
            if self._trying or self._clock() < self._until:
                return False
            self._trying = True
            return True

    @property
    def is_open(self) -> bool:
        """Whether the server counts as down, also while one call tries it."""
        with self._lock:
            return self._until is not None and not self._trying

    def succeeded(self) -> None:
        """The server answered, with whatever."""
        with self._lock:
            self._failures, self._until, self._trying = 0, None, False

    def failed(self) -> None:
        """The server failed, or took too long."""
        with self._lock:
            self._failures += 1
            if self._trying or self._failures >= self._limit:
                self._open()

    def down(self) -> None:
        """There was no connection to the server."""
        with self._lock:
            self._open()

    def said_nothing(self) -> None:
        """The call ended without telling anything about the server."""
        with self._lock:
            self._trying = False

    def _open(self) -> None:
        self._until, self._trying, self._failures = self._clock() + self._window, False, 0
