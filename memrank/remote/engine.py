"""The engine behind a reading's `dspy.LM`: every call passes the breaker and the budgets, on time, and is counted."""

import hashlib
import math
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy
from dspy import lm15
from dspy.utils.exceptions import LMError

from memrank.errors import LmBroken, LmBudget, LmError, LmLimited, LmServerError, LmTimeout, LmUnreachable
from memrank.remote.counts import Call, Held, tokens_of
from memrank.remote.faults import FOREIGN, timeout, translated
from memrank.remote.target import Target
from memrank.remote.wire import CURRENT, Attempt, DownError
from memrank.types import Exchange

if TYPE_CHECKING:
    from memrank.remote.door import Reading

PASSING = (LmTimeout, LmUnreachable, LmLimited, LmServerError)
"""What another try, or another model, may mend."""
UNFIT = {"length": "the token limit cut the answer", "content_filter": "the server held the answer back"}
"""Reasons for which an answer ends that make it none."""


class Model(dspy.LM):  # type: ignore[misc]
    """A `dspy.LM` that raises memrank's errors as they are: dspy wraps what an engine raises."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except LMError as wrapped:
            if isinstance(wrapped.__cause__, LmError):
                raise wrapped.__cause__ from None
            raise


class Engine:
    """Answers requests for one reading. What it supports, adapters read from its attributes."""

    supports_function_calling = False
    supports_reasoning = False

    def __init__(self, reading: "Reading") -> None:
        self._reading = reading
        self._spec = reading.remote.spec
        self.supports_response_schema = reading.remote.targets[0].response_schema
        formats = {"response_format"} if self.supports_response_schema else set()
        self.supported_params = frozenset({"temperature", "max_tokens", *formats})

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The answer, of the first model that gives one. Raises LmError."""
        config = request.config
        if config.max_tokens is None:
            config = replace(config, max_tokens=self._spec.max_tokens)
        if config.temperature is None:
            config = replace(config, temperature=self._spec.temperature)
        request = replace(request, config=config)
        *others, last = self._reading.remote.targets
        for target in others:
            try:
                return self._try(target, request)
            except PASSING:
                if self._reading.is_over:
                    raise
        return self._try(last, request)

    def _try(self, target: Target, request: lm15.Request) -> lm15.Response:
        """Ask one model, again where that may help."""
        tries = 1 + self._spec.retries
        for number in range(1, tries):
            try:
                return self._once(target, request, number)
            except PASSING as fault:
                wait = self._wait(fault, request, number)
                if target.breaker.is_open or wait >= self._reading.remaining:
                    raise
                self._reading.pause(wait)
        return self._once(target, request, tries)

    def _wait(self, fault: LmError, request: lm15.Request, number: int) -> float:
        """Seconds before the next try: what the server asks for, else doubled each time, less up to a half.

        The share that is taken away comes from the request, so that parallel calls do not all come back at once and
        the same read waits the same.
        """
        asked = getattr(fault, "retry_after", None)
        if asked is not None:
            return float(asked)
        mark = hashlib.sha256(repr(request.messages).encode("utf-8", "replace")).digest()[0] / 255
        return self._spec.retry_wait * 2.0 ** (number - 1) * (1 - mark / 2)

    def _once(self, target: Target, request: lm15.Request, number: int) -> lm15.Response:
        """One call on the wire, counted; the breaker learns what became of it."""
        reading = self._reading
        if reading.is_over:
            reading.refuse()
            raise timeout(target.name)
        if not target.breaker.admits():
            reading.refuse()
            raise LmUnreachable(f"{target.name}: the server failed just now, and is left alone for a while")
        held = _held(target, request, self._spec.max_tokens)
        try:
            reading.hold(held)
        except LmBudget:
            target.breaker.said_nothing()
            reading.refuse()
            raise
        until, full = reading.deadline_of_call()
        attempt = Attempt(until, reading.remote.clock, target.breaker, full=full)
        started = reading.remote.clock()
        outcome, used = "cancelled", _Used()
        said: str | None = None
        try:
            with reading.under_way(attempt):
                response = _sent(target, request, attempt)
            said = response.text
            used = _used(target, request, response)
            _check(target, response)
            outcome = "answered"
            return response
        except LmError as fault:
            outcome = fault.code
            if isinstance(fault, LmTimeout) and attempt.sent:  # what was sent is paid for, as far as anybody knows
                used = _Used(_tokens_in(request), 0, target.cost(_tokens_in(request), 0))
            raise
        finally:
            _tell(target, outcome, attempt)
            reading.settle(held, sent=attempt.sent, **used.counts(), **_failure(outcome, attempt))
            if attempt.sent and reading.remote.transcribes:
                reading.exchanges.append(_exchange(target, request, number, outcome, said, reading.remote.hidden))
            if attempt.sent:
                seconds = reading.remote.clock() - started
                reading.calls.append(
                    Call(
                        model=target.name,
                        attempt=number,
                        outcome=outcome,
                        seconds=seconds,
                        tokens_in=used.tokens_in,
                        tokens_out=used.tokens_out,
                    )
                )


def _sent(target: Target, request: lm15.Request, attempt: Attempt) -> lm15.Response:
    def send() -> lm15.Response:
        CURRENT.set(attempt)
        return target.complete(request)

    try:
        return copy_context().run(send)
    except DownError:
        raise LmUnreachable(f"{target.name}: no connection to the server") from None
    except FOREIGN as fault:
        if attempt.cancelled:  # what it raised came of that
            raise timeout(target.name) from None
        error = translated(fault, target.name, target.variable)
        asked = getattr(fault, "retry_after", None)
        if isinstance(error, PASSING) and isinstance(asked, (int, float)) and math.isfinite(asked) and asked >= 0:
            error.retry_after = float(asked)
        raise error from None


def _check(target: Target, response: lm15.Response) -> None:
    """Raises LmBroken for what is no whole answer."""
    unfit = UNFIT.get(response.finish_reason)
    if unfit is not None:
        hint = "raise lm.max_tokens, or lower lm.batch" if response.finish_reason == "length" else None
        raise LmBroken(f"{target.name}: {unfit}", hint=hint)
    if not (response.text or "").strip():
        raise LmBroken(f"{target.name}: the answer is empty")


def _exchange(
    target: Target,
    request: lm15.Request,
    number: int,
    outcome: str,
    said: str | None,
    hidden: Callable[[str], str],
) -> Exchange:
    """The call with its texts."""
    messages = [(message.role, hidden(message.text or "")) for message in request.messages]
    if isinstance(request.system, str):
        messages.insert(0, ("system", hidden(request.system)))
    answer = None if said is None else hidden(said)
    return Exchange(model=target.name, attempt=number, outcome=outcome, messages=tuple(messages), answer=answer)


class _Used:
    """What one call used."""

    def __init__(self, tokens_in: int = 0, tokens_out: int = 0, cost_usd: float | None = 0.0) -> None:
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.cost_usd = cost_usd

    def counts(self) -> dict[str, float]:
        priced = {"cost_usd": self.cost_usd} if self.cost_usd is not None else {"unpriced": 1}
        return {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, **priced}


def _used(target: Target, request: lm15.Request, response: lm15.Response) -> _Used:
    """As the server counts; by the length of the texts where it does not."""
    usage = response.usage
    tokens_in = usage.input_tokens if usage.input_tokens is not None else _tokens_in(request)
    tokens_out = usage.output_tokens
    if tokens_out is None:
        tokens_out = tokens_of(len((response.text or "").encode("utf-8", "replace")))
    return _Used(tokens_in, tokens_out, target.cost(tokens_in, tokens_out))


def _held(target: Target, request: lm15.Request, max_tokens: int) -> Held:
    tokens_in, tokens_out = _tokens_in(request), request.config.max_tokens or max_tokens
    return Held(tokens=tokens_in + tokens_out, cost_usd=target.cost(tokens_in, tokens_out) or 0.0)


def _tokens_in(request: lm15.Request) -> int:
    texts = [request.system if isinstance(request.system, str) else "", *(m.text or "" for m in request.messages)]
    return tokens_of(sum(len(text.encode("utf-8", "replace")) for text in texts))


def _failure(outcome: str, attempt: Attempt) -> dict[str, int]:
    if outcome in ("answered", "cancelled"):
        return {}
    if not attempt.sent:
        return {"refused": 1}
    return {{"lm_timeout": "timeouts", "lm_broken": "invalid"}.get(outcome, "failures"): 1}


def _tell(target: Target, outcome: str, attempt: Attempt) -> None:
    """What a call says of its server. One that had less than the deadline of a call says nothing by being too late."""
    breaker = target.breaker
    if not attempt.sent or attempt.cancelled or outcome == "cancelled":
        breaker.said_nothing()
    elif outcome in ("lm_timeout", "lm_unreachable"):
        breaker.failed() if attempt.full else breaker.said_nothing()
    elif outcome == "lm_server":
        breaker.failed()
    else:
        breaker.succeeded()
