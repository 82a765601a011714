"""Asking a model about a list of things in batches: each answer is checked, what is wrong is asked once more.

Results depend neither on the order in which answers arrive nor on that in which things are given.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import dspy
from dspy.dsp.utils.settings import thread_local_overrides
from dspy.utils.exceptions import AdapterParseError

from memrank.errors import LmBroken, LmRefused, ServiceError
from memrank.lmadapter import LmAdapter
from memrank.lmanswers import AnswerError, Repairs, check
from memrank.slate import Reading
from memrank.speclm import LmSpec

T = TypeVar("T")
ADAPTER = LmAdapter(typed=False)
logger = logging.getLogger("memrank.lm")

TRIES = 2
"""How often a batch is asked: what was wrong with the first answer stands in the second prompt."""
UNREADABLE = "the answer was no JSON of the form asked for"
INVALID = "lm_invalid"
"""Code of an answer that was still wrong the second time."""

Inputs = Callable[[Sequence[str], Sequence[str]], dict[str, Any]]
"""The input fields for some of the ids of a batch, in this order, and the faults of the answer before."""
Read = Callable[[Mapping[str, object], Repairs], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers(Generic[T]):
    """What became of all that was asked about."""

    accepted: Mapping[str, T]
    failed: Mapping[str, str]
    """Id to the code of what went wrong: `lm_invalid`, or that of an error."""
    repairs: Counter[str] = field(default_factory=Counter)
    details: Mapping[str, str] = field(default_factory=dict)
    """Code of a failure to a sentence about the first one of it."""


PREPARED = 1000
"""Candidates that are prepared for a model, even where the calls of one read reach for fewer: some may be known."""


def prepared(spec: LmSpec) -> int:
    """Candidates of a read that are prepared at the most. No more could be asked about, and preparing takes time."""
    return max(PREPARED, spec.max_calls * spec.batch)


def shuffled(ids: Sequence[str], seed: str) -> list[str]:
    """The ids in an order that depends on the seed and on them only: by a digest of both."""
    return sorted(ids, key=lambda one: (hashlib.sha256(f"{seed}\n{one}".encode()).digest(), one))


def batches(ids: Sequence[str], size: int, seed: str) -> list[list[str]]:
    """Neighbours in the list given stand in one batch, shuffled there."""
    return [shuffled(ids[start : start + size], seed) for start in range(0, len(ids), size)]


def ask(
    predict: dspy.Predict, reading: Reading, groups: Sequence[Sequence[str]], inputs: Inputs, output: str, read: Read[T]
) -> Answers[T]:
    """Ask about every group of ids, several at a time; never raises for what a model or a server does wrong."""
    jobs = [partial(_asked, predict, reading, group, inputs, output, read) for group in groups]
    try:
        with dspy.context(adapter=ADAPTER):
            outcomes = reading.map(jobs)
    except ServiceError as fault:  # of a kind that further calls would only repeat
        everything = [identity for group in groups for identity in group]
        return Answers(accepted={}, failed=dict.fromkeys(everything, fault.code), details={fault.code: _said(fault)})
    accepted: dict[str, T] = {}
    failed: dict[str, str] = {}
    repairs: Counter[str] = Counter()
    details: dict[str, str] = {}
    for group, outcome in zip(groups, outcomes, strict=True):
        if not isinstance(outcome, Answers):  # the harness could not even start it
            missing = _unanswered(outcome)
            failed.update(dict.fromkeys(group, missing.code))
            details.setdefault(missing.code, missing.said)
            continue
        accepted.update(outcome.accepted)
        failed.update(outcome.failed)
        repairs.update(outcome.repairs)
        for code, said in outcome.details.items():
            details.setdefault(code, said)
    return Answers(accepted=accepted, failed=failed, repairs=repairs, details=details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What became of one question: a value, or the code of what went wrong and a sentence about it."""

    value: T | None
    code: str = ""
    said: str = ""


def ask_each(
    predict: dspy.Predict,
    reading: Reading,
    questions: Sequence[Mapping[str, Any]],
    read: Callable[[dspy.Prediction], T] | Sequence[Callable[[dspy.Prediction], T]],
) -> list[Answer[T]]:
    """Ask questions that have one answer each, several at a time. `read` (one for all, or one each) makes it of the
    output fields, or raises AnswerError; never raises for what a model or a server does wrong.
    """
    readers = read if isinstance(read, Sequence) else [read] * len(questions)
    both = zip(questions, readers, strict=True)
    jobs = [partial(_answered, predict, reading, inputs, reader) for inputs, reader in both]
    try:
        with dspy.context(adapter=ADAPTER):
            outcomes = reading.map(jobs)
    except ServiceError as fault:
        return [Answer(value=None, code=fault.code, said=str(fault))] * len(questions)
    return [one if isinstance(one, Answer) else _unanswered(one) for one in outcomes]


def _unanswered(outcome: Any) -> Answer[Any]:
    said = str(outcome.error or "the read's deadline passed before the model answered")
    return Answer(value=None, code=f"lm_{outcome.reason}", said=said)


def _answered(
    predict: dspy.Predict,
    reading: Reading,
    inputs: Mapping[str, Any],
    read: Callable[[dspy.Prediction], T],
    lm: dspy.LM,
) -> Answer[T]:
    faults: list[str] = []
    told = ""
    for _ in range(TRIES):
        try:
            prediction = call(predict, lm, **inputs, faults=faults)
        except AdapterParseError:
            faults = [UNREADABLE]
        except LmBroken as fault:
            faults, told = [fault.message], _said(fault)
            continue
        else:
            try:
                return Answer(value=read(prediction))
            except AnswerError as wrong:
                faults = [str(wrong)]
        told = faults[0]
        reading.invalid()
    return Answer(value=None, code=INVALID, said=f"the model's answers were invalid: {told}")


def call(predict: dspy.Predict, lm: dspy.LM, **inputs: Any) -> dspy.Prediction:
    """One call of a predictor: by the model of the spec, unless an optimizer brings its own.

    Raises AdapterParseError for an answer that has not the form of the signature, ServiceError for none at all.
    """
    overrides = thread_local_overrides.get()
    own = overrides.get("lm") if overrides.get("trace") is not None else None
    return predict(lm=predict.lm or own or lm, **inputs)


def _asked(
    predict: dspy.Predict,
    reading: Reading,
    ids: Sequence[str],
    inputs: Inputs,
    output: str,
    read: Read[T],
    lm: dspy.LM,
) -> Answers[T]:
    accepted: dict[str, T] = {}
    repairs: Counter[str] = Counter()
    wanted: list[str] = list(ids)
    faults: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    code, said = INVALID, ""
    for _ in range(TRIES):
        try:
            prediction = call(predict, lm, **inputs(wanted, faults))
        except (AdapterParseError, LmBroken) as fault:
            faults = (UNREADABLE if isinstance(fault, AdapterParseError) else fault.message,)
            told = (_said(fault),) if isinstance(fault, LmBroken) else faults
            if isinstance(fault, AdapterParseError):
                reading.invalid()  # the harness counts the others
            logger.debug("an invalid answer about %s: %r", wanted, getattr(fault, "lm_response", fault))
            continue
        except LmRefused:
            raise
        except ServiceError as fault:
            code, said = fault.code, _said(fault)
            break
        items = prediction[output]
        checked = check(wanted, items, read)
        accepted.update(checked.accepted)
        repairs.update(checked.repairs)
        faults, wanted = checked.faults, checked.missing(wanted)
        told = faults
        if not wanted:
            break
        reading.invalid()
        logger.debug("an invalid answer about %s: %r", wanted, items)
    said = said or f"the model's answers were invalid: {'; '.join(told[:3])}"
    ordered = {identity: accepted[identity] for identity in ids if identity in accepted}
    failed = {identity: code for identity in ids if identity not in accepted}
    return Answers(accepted=ordered, failed=failed, repairs=repairs, details={code: said} if failed else {})


def _said(fault: ServiceError) -> str:
    """The fault and its way out, on one line."""
    return f"{fault.message} ({fault.hint})" if fault.hint else fault.message
