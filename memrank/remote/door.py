"""The door to language models: a `Remote` is shared by all reads of a pipeline, a `Reading` is one read's use of it."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import dspy

from memrank.errors import LmBudget, LmTimeout, UsageError
from memrank.remote.counts import Call, Counts, Held, Limits, Meter
from memrank.remote.engine import Engine, Model
from memrank.remote.jobs import Unanswered, run
from memrank.remote.target import Target
from memrank.remote.wire import Attempt
from memrank.speclm import LmSpec
from memrank.types import Exchange

__all__ = ["Reading", "Remote", "Unanswered"]

T = TypeVar("T")


class Remote:
    """The models of a spec: connections, circuit breakers and the budget of the run. Safe to share between threads.

    Keys are read from `environ` alone, and nothing that memrank writes or says holds one. Raises UsageError for a
    model that no provider is known for, and for `max_cost_per_run` where a price is not known.
    """

    def __init__(
        self,
        spec: LmSpec,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
        transcribes: bool = False,
    ) -> None:
        """`transcribes`: readings keep the texts of their calls."""
        self.spec = spec
        self.clock = clock
        self.transcribes = transcribes
        self.targets = tuple(Target(model, environ, clock) for model in (spec, *spec.fallbacks))
        if spec.max_cost_per_run is not None:
            unpriced = [target.name for target in self.targets if target.cost(1, 1) is None]
            if unpriced:
                hint = "give lm.price, in USD per million tokens"
                raise UsageError(f"lm.max_cost_per_run: the price of {', '.join(unpriced)} is not known", hint=hint)
        self.meter = Meter(
            Limits(calls=spec.max_calls_per_run, tokens=spec.max_tokens_per_run, cost_usd=spec.max_cost_per_run)
        )

    def __deepcopy__(self, memo: object) -> "Remote":
        """dspy copies programs; connections and budgets stay one."""
        return self

    def __reduce__(self) -> str:
        raise TypeError("a Remote holds connections and a key: it cannot be pickled")

    def reading(self, *, deadline: float | None = None, max_calls: int | None = None) -> "Reading":
        """One read's use, which starts now: `deadline` in seconds and `max_calls` where they are not the spec's."""
        return Reading(self, deadline=deadline, max_calls=max_calls)

    @property
    def counts(self) -> Counts:
        """What all reads have used so far."""
        return self.meter.counts

    def hidden(self, text: str) -> str:
        """The text without the key of any model, should anybody have written one there."""
        for target in self.targets:
            text = target.hidden(text)
        return text

    def close(self) -> None:
        """Close all connections; none may be in use."""
        for target in self.targets:
            target.close()


class Reading:
    """The calls of one read, all of them under its deadline and its budget."""

    def __init__(self, remote: Remote, *, deadline: float | None = None, max_calls: int | None = None) -> None:
        self.remote = remote
        self.calls: list[Call] = []
        """Every call that was sent, in the order in which they ended."""
        self.exchanges: list[Exchange] = []
        """The same with their texts, where the remote transcribes."""
        self.meter = Meter(Limits(calls=remote.spec.max_calls if max_calls is None else max_calls))
        self._until = remote.clock() + (remote.spec.read_deadline if deadline is None else deadline)
        self._ended = threading.Event()
        self._under_way: set[Attempt] = set()
        self._lock = threading.Lock()
        self.lm: dspy.LM = Model(remote.targets[0].name, engine=Engine(self), cache=False, num_retries=0)
        """The model, for `predict(..., lm=reading.lm)`. Its calls raise LmError and nothing else of the outer world.

        Outside `map` the look-up of the server's name, which nothing can end, may take longer than the deadline.
        """

    @property
    def counts(self) -> Counts:
        """What this read has used so far."""
        return self.meter.counts

    @property
    def calls_left(self) -> int | None:
        """Calls that the budgets of the read and of the run still allow; None without a limit."""
        left = [n for n in (self.meter.calls_left, self.remote.meter.calls_left) if n is not None]
        return min(left, default=None)

    @property
    def remaining(self) -> float:
        """Seconds that the read has left; 0 when it is over."""
        return 0.0 if self._ended.is_set() else max(0.0, self._until - self.remote.clock())

    @property
    def is_over(self) -> bool:
        """Whether no call may start any more."""
        return self.remaining <= 0

    def map(self, jobs: Sequence[Callable[[dspy.LM], T]]) -> list[T | Unanswered]:
        """Run jobs that ask the model once each, at most `lm.concurrency` at a time; the answers in the jobs' order.

        A job that ends in LmError is Unanswered with its reason, and so is one that the deadline overtook. Where fewer
        calls are left than there are jobs, the first are run: what to ask again belongs in a second `map`, then which
        jobs are run never depends on which answer came first. LmRefused (the key, or the model, is not accepted) and
        Ctrl-C end all others and are raised, as is an error of any other kind.
        """
        return run(self, jobs)

    def invalid(self) -> None:
        """Count an answer that came, and that the judge could not use."""
        self._add(invalid=1)

    def refuse(self, times: int = 1) -> None:
        """Count calls that were not sent."""
        self._add(refused=times)

    def _add(self, **used: float) -> None:
        self.meter.add(**used)
        self.remote.meter.add(**used)

    def cancel(self) -> None:
        """End the read: calls on their way end now, and no other starts."""
        self._ended.set()
        with self._lock:
            under_way = list(self._under_way)
        for attempt in under_way:
            attempt.cancel()

    def hold(self, held: Held) -> None:
        """Take one call from the budgets of the read and of the run. Raises LmBudget, and nothing is taken."""
        spent = self.meter.hold(held)
        if spent is not None:
            raise LmBudget("the calls of this read are spent", hint="raise lm.max_calls")
        spent = self.remote.meter.hold(held)
        if spent is not None:
            self.meter.settle(held, sent=False)
            raise LmBudget(f"the {spent} of this run are spent", hint=f"raise lm.max_{spent}_per_run")

    def settle(self, held: Held, *, sent: bool, **used: float) -> None:
        """Give back what was held, and count what was used."""
        self.meter.settle(held, sent=sent, **used)
        self.remote.meter.settle(held, sent=sent, **used)

    def deadline_of_call(self) -> tuple[float, bool]:
        """When a call that starts now must be over, and whether that is all the time that a call may have."""
        whole = self.remote.clock() + self.remote.spec.deadline
        return min(whole, self._until), whole <= self._until

    def pause(self, seconds: float) -> None:
        """Wait before another try. Raises LmTimeout where the read ends meanwhile."""
        if self._ended.wait(seconds):
            raise LmTimeout("the read was ended")

    @contextmanager
    def under_way(self, attempt: Attempt) -> Iterator[None]:
        """While a call is on its way, `cancel` reaches it."""
        with self._lock:
            self._under_way.add(attempt)
        try:
            if self._ended.is_set():
                attempt.cancel()
            yield
        finally:
            with self._lock:
                self._under_way.discard(attempt)
