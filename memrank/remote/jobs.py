"""Jobs that ask a model, a few at a time. What comes out does not depend on which answer arrived first."""

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import dspy
from dspy.utils.exceptions import AdapterParseError

from memrank.errors import LmError, LmRefused, LmTimeout

if TYPE_CHECKING:
    from memrank.remote.door import Reading

T = TypeVar("T")

GRACE = 0.05
"""Seconds beyond the deadline in which calls, which end by themselves, may say what became of them."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A job that has no answer, and why: `deadline`, or the code of the error without `lm_`."""

    reason: str
    error: LmError | None = None


class _Board(Generic[T]):
    """Which job is next, and what came of each."""

    def __init__(self, jobs: Sequence[Callable[[dspy.LM], T]]) -> None:
        self.jobs = jobs
        self.results: dict[int, T | Unanswered] = {}
        self.fatal: BaseException | None = None
        self.changed = threading.Condition()
        self._next = 0

    def take(self) -> int | None:
        """The next job's place; None when none is left, or all are to end."""
        with self.changed:
            if self.fatal is not None or self._next >= len(self.jobs):
                return None
            self._next += 1
            return self._next - 1

    def put(self, place: int, result: T | Unanswered) -> None:
        with self.changed:
            self.results[place] = result
            self.changed.notify()

    def fail(self, fault: BaseException) -> None:
        with self.changed:
            self.fatal = self.fatal or fault
            self.changed.notify()

    @property
    def is_done(self) -> bool:
        return self.fatal is not None or len(self.results) == len(self.jobs)

    def wait(self, seconds: float) -> None:
        """Until all is done, or for so long."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_done, seconds)

    def answers(self) -> list[T | Unanswered]:
        """In the order of the jobs. What comes later is not heard."""
        with self.changed:
            self._next = len(self.jobs)
            return [self.results.get(place, Unanswered("deadline")) for place in range(len(self.jobs))]


def run(reading: "Reading", jobs: Sequence[Callable[[dspy.LM], T]]) -> list[T | Unanswered]:
    """As `Reading.map`. Threads that do not end in time (a name that is being looked up) are left to end alone."""
    left = reading.calls_left
    started = jobs if left is None else jobs[:left]
    board = _Board(started)
    for _ in range(min(reading.remote.spec.concurrency, len(started))):
        work = copy_context().run  # dspy keeps its settings in the context: the caller's count in every thread
        threading.Thread(target=work, args=(_work, board, reading), daemon=True, name="memrank-lm").start()
    try:
        board.wait(reading.remaining)
        if not board.is_done:
            reading.cancel()
            board.wait(GRACE)
    except BaseException:  # Ctrl-C
        board.fail(KeyboardInterrupt())
        reading.cancel()
        raise
    if board.fatal is not None:
        reading.cancel()
        raise board.fatal
    unsent = len(jobs) - len(started)
    reading.refuse(unsent)
    return [*board.answers(), *[Unanswered("budget")] * unsent]


def _work(board: _Board[Any], reading: "Reading") -> None:
    while (place := board.take()) is not None:
        try:
            board.put(place, board.jobs[place](reading.lm))
        except LmRefused as fault:
            board.fail(fault)
        except LmError as fault:
            late = isinstance(fault, LmTimeout) and reading.is_over
            board.put(place, Unanswered("deadline" if late else fault.code.removeprefix("lm_"), fault))
        except AdapterParseError:
            board.put(place, Unanswered("broken"))
        except BaseException as fault:  # noqa: BLE001 - carried to the thread that asked, which raises it
            board.fail(fault)
