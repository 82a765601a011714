"""The models of a tuning: student, teacher and writer behind one budget, every answer kept on disk.

All calls go through `memrank.remote`: deadlines, retries and counts are those of any read. What is spent ends the run
at once by `EndedError`, which no optimizer catches, so that a budget is hard however an optimizer treats errors.
"""

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import dspy
from dspy import lm15

from memrank.answercache import fingerprint
from memrank.errors import LmBroken, LmBudget, LmError, LmRefused, UsageError
from memrank.remote import Counts, Reading, Remote
from memrank.remote.counts import Held, Limits, Meter
from memrank.remote.engine import Engine, Model
from memrank.speclm import LmSpec
from memrank.tune.prompts.ledger import Kept, Ledger

Reason = Literal["done", "budget", "unreachable", "refused", "interrupted", "failed"]
Role = Literal["student", "teacher", "writer"]

FOREVER = 1e9
"""Seconds of a tuning: its budgets end it, not a deadline."""
MISSED = 5
"""Calls in a row without any answer (each tried several times) after which a server counts as away."""
RETRIES = 3
"""A tuning waits for nobody: a call that fails in passing is tried again this often at least."""
WRITERS_TEMPERATURE = 1.0
"""Proposals should differ."""


class EndedError(BaseException):
    """The run is over. No `Exception`: optimizers catch those and go on."""

    def __init__(self, reason: Reason, said: str) -> None:
        super().__init__(said)
        self.reason: Reason = reason
        self.said = said


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a tuning may use, retries included; None is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None

    def share(self, part: float) -> Limits:
        """The limits of a part of it."""
        calls, tokens = (None if n is None else int(n * part) for n in (self.max_calls, self.max_tokens))
        cost = None if self.max_cost_usd is None else self.max_cost_usd * part
        return Limits(calls=calls, tokens=tokens, cost_usd=cost)


class Purse:
    """What the whole run may use, and within it what the present phase may."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.total = Meter(budget.share(1.0))
        self.phase = self.total

    def begin(self, part: float) -> None:
        """A phase that may use up to this part of the whole, with what was used before it."""
        limits, used = self.budget.share(part), self.total.counts
        self.phase = Meter(
            Limits(
                calls=None if limits.calls is None else max(0, limits.calls - used.calls),
                tokens=None if limits.tokens is None else max(0, limits.tokens - used.tokens),
                cost_usd=None if limits.cost_usd is None else max(0.0, limits.cost_usd - used.cost_usd),
            )
        )

    def hold(self, held: Held) -> Meter:
        """Take one call; the phase that it is counted in. Raises LmBudget, and nothing is taken."""
        phase = self.phase
        spent = self.total.hold(held)
        if spent is None and phase is not self.total:
            spent = phase.hold(held)
            if spent is not None:
                self.total.settle(held, sent=False)
        if spent is not None:
            raise LmBudget(f"the {spent} of this tuning are spent", hint=f"raise compile.max_{_named(spent)}")
        return phase

    def settle(self, phase: Meter, held: Held, *, sent: bool, **used: float) -> None:
        """Give back what was held, and count what was used."""
        self.total.settle(held, sent=sent, **used)
        if phase is not self.total:
            phase.settle(held, sent=sent, **used)


def _named(spent: str) -> str:
    return "cost_usd" if spent == "cost" else spent


class Session(Reading):
    """One model's use by a tuning: no read's limits, the tuning's."""

    def __init__(self, remote: Remote, purse: Purse) -> None:
        super().__init__(remote, deadline=FOREVER, max_calls=sys.maxsize)
        self._purse = purse
        self._phases = threading.local()

    def hold(self, held: Held) -> None:
        """See `Reading`."""
        phase = self._purse.hold(held)
        try:
            super().hold(held)
        except LmBudget:
            self._purse.settle(phase, held, sent=False)
            raise
        self._phases.now = phase  # a call is held and settled by one thread

    def settle(self, held: Held, *, sent: bool, **used: float) -> None:
        """See `Reading`."""
        super().settle(held, sent=sent, **used)
        self._purse.settle(self._phases.now, held, sent=sent, **used)


class Desk:
    """The models of one tuning. Raises UsageError for a limit of cost where a price is not known."""

    def __init__(
        self,
        spec: LmSpec,
        teacher: LmSpec | None,
        *,
        budget: Budget,
        state_dir: Path | None,
        environ: Mapping[str, str],
    ) -> None:
        self.purse = Purse(budget)
        self.ledger = Ledger(state_dir)
        student = Remote(_patient(spec), environ=environ)
        other = student if teacher is None else Remote(_patient(teacher), environ=environ)
        self._remotes = (student,) if other is student else (student, other)
        if budget.max_cost_usd is not None:
            unpriced = [one.name for remote in self._remotes for one in remote.targets if one.cost(1, 1) is None]
            if unpriced:
                hint = "give its price, in USD per million tokens"
                raise UsageError(f"max_cost_usd: the price of {', '.join(unpriced)} is not known", hint=hint)
        self._missed = 0
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}

    def __deepcopy__(self, memo: object) -> "Desk":
        """dspy copies programs; connections and budgets stay one."""
        return self

    @property
    def counts(self) -> Counts:
        """What was used so far."""
        return self.purse.total.counts

    def open(self, part: float) -> "Phase":
        """A phase that may use up to this part of the whole budget, with what was used before it."""
        self.purse.begin(part)
        self._missed = 0
        return Phase(self, self._remotes[0], self._remotes[-1])

    def close(self) -> None:
        """Close connections and the ledger."""
        for remote in self._remotes:
            remote.close()
        self.ledger.close()

    def number(self, key: str) -> int:
        """How often this was asked in this run before."""
        with self._lock:
            self._seen[key] = self._seen.get(key, 0) + 1
            return self._seen[key] - 1

    def answered(self) -> None:
        """Somebody is there."""
        with self._lock:
            self._missed = 0

    def missed(self, fault: LmError) -> None:
        """Nobody answered. Raises EndedError where that happens all the time."""
        with self._lock:
            self._missed += 1
            missed = self._missed
        if missed >= MISSED:
            raise EndedError("unreachable", fault.message)


class Phase:
    """The models for as long as one optimizer works. Threads that it leaves behind find them closed."""

    def __init__(self, desk: Desk, student: Remote, other: Remote) -> None:
        self._busy = 0
        self._closed = False
        self._changed = threading.Condition()
        self._sessions: list[Session] = []
        roles: tuple[tuple[Role, Remote], ...] = (("student", student), ("teacher", other), ("writer", other))
        self.lms: dict[Role, dspy.LM] = {
            role: self._lm(desk, Session(remote, desk.purse), role) for role, remote in roles
        }

    def __deepcopy__(self, memo: object) -> "Phase":
        return self

    def _lm(self, desk: Desk, session: Session, role: Role) -> dspy.LM:
        self._sessions.append(session)
        spec = session.remote.spec
        warm = {"temperature": WRITERS_TEMPERATURE} if role == "writer" and spec.temperature is not None else {}
        engine = KeptEngine(desk, self, session, role)
        return Model(session.remote.targets[0].name, engine=engine, cache=False, num_retries=0, **warm)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around every call. Raises EndedError where the phase is over."""
        with self._changed:
            if self._closed:
                raise EndedError("done", "the phase is over")
            self._busy += 1
        try:
            yield
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def close(self, *, at_once: bool = False) -> None:
        """No call starts any more; wait for those on their way, whose answers are kept, or end them `at_once`."""
        with self._changed:
            self._closed = True
        if at_once:
            for session in self._sessions:
                session.cancel()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)


class KeptEngine:
    """The engine of one role: what was answered before is not asked again.

    A student and a teacher answer the same question once; a writer is asked anew each time, and a run that is resumed
    finds its answers in their order.
    """

    def __init__(self, desk: Desk, phase: Phase, session: Session, role: Role) -> None:
        self._desk = desk
        self._phase = phase
        self._inner = Engine(session)
        self._role: Role = role
        self._spec = session.remote.spec
        self.supports_function_calling = False
        self.supports_reasoning = False
        self.supports_response_schema = self._inner.supports_response_schema
        self.supported_params = self._inner.supported_params

    def __deepcopy__(self, memo: object) -> "KeptEngine":
        return self

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The answer. Raises LmError for one that failed in passing, EndedError where the run is over."""
        key = self._key(request)
        with self._phase.call(), self._desk.ledger.turn(key):
            kept = self._desk.ledger.get(key)
            if kept is None:
                return self._ask(key, request)
        if kept.text is None:
            raise LmBroken(kept.fault or "")
        message = lm15.Message.assistant(kept.text)
        return lm15.Response(id=None, model=request.model, message=message, finish_reason="stop", usage=lm15.Usage())

    def _ask(self, key: str, request: lm15.Request) -> lm15.Response:
        desk = self._desk
        try:
            response = self._inner.complete(request)
        except LmBudget as fault:
            raise EndedError("budget", fault.message) from None
        except LmRefused as fault:
            raise EndedError("refused", fault.message) from None
        except LmBroken as fault:
            desk.answered()
            desk.ledger.put(key, Kept(fault=fault.message))
            raise
        except LmError as fault:
            desk.missed(fault)
            raise
        desk.answered()
        desk.ledger.put(key, Kept(text=response.text))
        return response

    def _key(self, request: lm15.Request) -> str:
        config, spec = request.config, self._spec
        system = request.system if isinstance(request.system, str) else None
        asked: list[Any] = [
            spec.endpoint,
            spec.model,
            spec.model_dump(mode="json", include={"temperature", "max_tokens", "response_schema", "fallbacks"}),
            config.temperature,
            config.max_tokens,
            fingerprint(config.response_format),
            system,
            [[message.role, message.text] for message in request.messages],
        ]
        key = fingerprint(*asked)
        return fingerprint(key, self._desk.number(key)) if self._role == "writer" else key


def _patient(spec: LmSpec) -> LmSpec:
    return spec.model_copy(update={"retries": max(spec.retries, RETRIES)})
