"""What calls have used, and whether one more may be made: of one read, and of all reads of a run together."""

import threading
from dataclasses import dataclass, replace

BYTES_PER_TOKEN = 4
"""How tokens are counted where no server has counted them: before a call, and after one that reports no usage."""


def tokens_of(text_bytes: int) -> int:
    """Tokens of a text of this many bytes of UTF-8, about."""
    return -(-text_bytes // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was used. Calls are those that were sent, retries included."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose cost is not known: `cost_usd` is without them."""
    timeouts: int = 0
    failures: int = 0
    """Calls that failed otherwise: unreachable, limited, refused, a server error."""
    invalid: int = 0
    """Answers that came and could not be used."""
    refused: int = 0
    """Calls that were not sent: the budget was spent, the time was up, or the server was down."""

    @property
    def tokens(self) -> int:
        """Sent and answered."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that was sent. It holds no text."""

    model: str
    attempt: int
    """1 for the first try."""
    outcome: str
    """`answered`, or the code of the error."""
    seconds: float
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that may be used; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What a call that is being made may use at the most; held back until it is known what it did use."""

    tokens: int
    cost_usd: float


class Meter:
    """Counts under limits, shared by threads. What is in use is held back, so that limits hold for parallel calls."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._counts = Counts()
        self._held_tokens = 0
        self._held_cost = 0.0
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counts:
        """What was used so far."""
        with self._lock:
            return self._counts

    @property
    def calls_left(self) -> int | None:
        """Calls that may still be made; None without a limit."""
        with self._lock:
            return None if self._limits.calls is None else max(0, self._limits.calls - self._counts.calls)

    def hold(self, held: Held) -> str | None:
        """Count a call that is about to be sent; or the name of the limit that forbids it, and nothing is counted."""
        with self._lock:
            limits, counts = self._limits, self._counts
            if limits.calls is not None and counts.calls >= limits.calls:
                return "calls"
            if limits.tokens is not None and counts.tokens + self._held_tokens + held.tokens > limits.tokens:
                return "tokens"
            if limits.cost_usd is not None and counts.cost_usd + self._held_cost + held.cost_usd > limits.cost_usd:
                return "cost"
            self._counts = replace(counts, calls=counts.calls + 1)
            self._held_tokens += held.tokens
            self._held_cost += held.cost_usd
            return None

    def settle(self, held: Held, *, sent: bool = True, **used: float) -> None:
        """The call is over: give back what was held, and add what it used. `sent` false: it was not made after all."""
        with self._lock:
            self._held_tokens -= held.tokens
            self._held_cost -= held.cost_usd
            if not sent:
                self._counts = replace(self._counts, calls=self._counts.calls - 1)
            self._add(used)

    def add(self, **used: float) -> None:
        """Add to counts by name."""
        with self._lock:
            self._add(used)

    def _add(self, used: dict[str, float]) -> None:
        summed = {name: getattr(self._counts, name) + more for name, more in used.items()}
        self._counts = replace(self._counts, **summed)
