"""Reads that are awaited: threads for those that wait for a model, and the end of what they ask when cancelled.

A thread cannot be cancelled; what it waits for can be ended.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

AT_ONCE = 64
"""Reads of one event loop that wait for a model at the same time; asyncio's own threads are a few more than cores."""


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

_ROOM: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` gives, from a thread of its own that ends with it. Raises what it raises."""
    loop = asyncio.get_running_loop()
    async with _ROOM.setdefault(loop, asyncio.Semaphore(AT_ONCE)):
        future: asyncio.Future[T] = loop.create_future()
        context = copy_context()

        def run() -> None:
            try:
                value = context.run(work)
            except BaseException as fault:  # noqa: BLE001 - carried to who awaits it
                tell(future.set_exception, fault)
            else:
                tell(future.set_result, value)

        def tell(how: Callable[..., None], outcome: object) -> None:
            with suppress(RuntimeError):  # the loop has been closed: nobody waits any more
                loop.call_soon_threadsafe(lambda: None if future.done() else how(outcome))

        threading.Thread(target=run, daemon=True, name="memrank-read").start()
        return await future
