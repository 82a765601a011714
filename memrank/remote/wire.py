"""HTTP with a true deadline: every wait of a call ends when its time is up, however slowly a server drips.

dspy's transport bounds the wait for the next byte only. Here its sockets are wrapped: each wait is given what is left.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dspy._vendor.lm15.transports import ConnectError, ConnectTimeout, StdlibTransport

from memrank.remote.breaker import Breaker

LONGEST_ANSWER = 8 * 2**20
"""Bytes of one answer at the most."""
CONNECTIONS = 256
"""More than any concurrency: a call never waits for a free one."""


class TimeIsUpError(TimeoutError):
    """The deadline of the attempt has passed, or it was cancelled."""


class DownError(Exception):
    """While this call waited for the first connection, the server turned out to be down."""


class TooLongError(ValueError):
    """The answer has no end."""


class Attempt:
    """One call on its way: when it must be over, and how to end it from another thread."""

    def __init__(self, until: float, clock: Callable[[], float], breaker: Breaker, *, full: bool = True) -> None:
        self._until = until
        self.full = full
        """Whether it has all the time that a call may have: only then its being late says something of the server."""
        self._clock = clock
        self.breaker = breaker
        self.cancelled = False
        self.sent = False
        """Whether anything went out, a try to connect included."""
        self.received = 0
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def remaining(self) -> float:
        """Seconds that are left. Raises TimeIsUpError when none are."""
        left = self._until - self._clock()
        if left <= 0 or self.cancelled:
            raise TimeIsUpError("the time of the call is up")
        return left

    def using(self, inner: socket.socket) -> None:
        """The socket that the call waits for now."""
        with self._lock:
            self._socket = inner
            if self.cancelled:
                raise TimeIsUpError("the call was cancelled")

    def cancel(self) -> None:
        """End the call: what it waits for ends at once."""
        with self._lock:
            self.cancelled = True
            inner = self._socket
            if inner is None:
                return
            try:
                # By the base class: that of TLS sockets takes the session away under the thread that reads.
                socket.socket.shutdown(inner, socket.SHUT_RDWR)
            except OSError:
                return


CURRENT: ContextVar[Attempt] = ContextVar("memrank_attempt")


class TimedSocket:
    """A socket whose waits end at the deadline of the attempt that uses it; the time-outs it is told do not count."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner

    def settimeout(self, seconds: float | None) -> None:
        """The attempt's deadline counts instead."""

    def recv(self, size: int) -> bytes:
        attempt = CURRENT.get()
        attempt.using(self._inner)
        self._inner.settimeout(attempt.remaining())
        data = self._inner.recv(size)
        attempt.received += len(data)
        if attempt.received > LONGEST_ANSWER:
            raise TooLongError
        return data

    def sendall(self, data: bytes) -> None:
        attempt = CURRENT.get()
        attempt.using(self._inner)
        attempt.sent = True
        rest = memoryview(data)
        while rest:
            self._inner.settimeout(attempt.remaining())
            rest = rest[self._inner.send(rest) :]

    def fileno(self) -> int:
        return self._inner.fileno()

    def close(self) -> None:
        self._inner.close()


class TimedTransport(StdlibTransport):  # type: ignore[misc]
    """dspy's transport, with the deadline of `CURRENT` on every wait.

    Until a server has been reached once, one call alone connects: of a server that is down all others learn from it.
    """

    def __init__(self, *, trust_env: bool) -> None:
        super().__init__(max_connections=CONNECTIONS, pool_timeout=0.001, trust_env=trust_env, user_agent="memrank")
        self._reached: set[object] = set()
        self._first = threading.Lock()

    def _open(self, parsed: Any, *, proxy: Any, origin: Any, connect_timeout: float) -> Any:
        attempt = CURRENT.get()
        with self._alone_at_first(origin, attempt):
            attempt.sent = True
            try:
                connection = super()._open(parsed, proxy=proxy, origin=origin, connect_timeout=attempt.remaining())
            except ConnectError as fault:
                self._reached.discard(origin)
                if attempt.full or not isinstance(fault, ConnectTimeout):
                    attempt.breaker.down()
                raise
            self._reached.add(origin)
        connection.sock = TimedSocket(connection.sock)
        return connection

    @contextmanager
    def _alone_at_first(self, origin: object, attempt: Attempt) -> Iterator[None]:
        if origin in self._reached:
            yield
            return
        if not self._first.acquire(timeout=attempt.remaining()):
            raise TimeIsUpError("the time of the call is up")
        try:
            if origin not in self._reached and attempt.breaker.is_open:
                raise DownError
            yield
        finally:
            self._first.release()
