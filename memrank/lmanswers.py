"""What a language model answered, checked: exactly the ids that were given, each with values in range, or faults.

Pure: nothing is asked here. What is safe to read (`"0.8"`, `"80 %"`, another order) is repaired and counted; all else
is a fault, in words that a model can act upon. No answer raises: any value gives accepted judgements and faults.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memrank.text.inert import clip

T = TypeVar("T")

JUSTIFICATION = 300
"""Characters of a justification that are kept."""
SLACK = 0.05
"""How far a combined score may lie above the larger of its parts."""
SHOWN = 40
"""Characters of an id that a fault shows."""

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?\d{1,12}(?:\.\d{1,20})?)\s*(%?)")
_COMBINED = ("combined_score", "composite_score", "combined", "composite")
_FRESHNESS = ("freshness", "recency_score", "temporal_freshness", "freshness_score", "time_decay_factor")


class AnswerError(ValueError):
    """A value that no judgement can have; the message says what it may have, and quotes no memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How much one memory helps, as a model has it."""

    relevance: float
    """In [0, 1]."""
    justification: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Generic[T]):
    """An answer once read: what can be used of it, and what is wrong with the rest."""

    accepted: Mapping[str, T]
    """By the ids given, in their order; ids without a valid value are missing."""
    faults: tuple[str, ...]
    repairs: Mapping[str, int]
    """Code of each repair to how often it was made."""

    def missing(self, ids: Sequence[str]) -> list[str]:
        """The ids that still lack a judgement, in their order."""
        return [identity for identity in ids if identity not in self.accepted]


class Repairs(Counter[str]):
    """Counts what was repaired, by code: `number_as_text`, `percent`, `spelling`, `order`, `unknown_id`, `double_id`,
    `thinking`.
    """


def check(
    ids: Sequence[str], items: object, read: Callable[[Mapping[str, object], Repairs], T], *, key: str = "id"
) -> Checked[T]:
    """The judgements of an answer, by id. `read` makes one of an entry's fields, or raises AnswerError.

    An id given and answered twice counts where both answers agree. Ids never given are left out, with a repair and a
    fault; they make nothing else invalid.
    """
    repairs = Repairs()
    if not isinstance(items, (list, tuple)):
        return Checked(accepted={}, faults=("the answer holds no list of judgements",), repairs=repairs)
    known, found, wrong, faults, order = set(ids), {}, set(), [], []
    for entry in items:
        fields = entry if isinstance(entry, Mapping) else None
        identity = None if fields is None else _identity(fields.get(key))
        if fields is None or identity is None:
            faults.append("an entry is no object with an id")
            continue
        if identity not in known:
            repairs["unknown_id"] += 1
            faults.append(f"{clip(identity, SHOWN)!r} is none of the ids given")
            continue
        try:
            value = read(fields, repairs)
        except AnswerError as fault:
            wrong.add(identity)
            faults.append(f"{clip(identity, SHOWN)}: {fault}")
            continue
        if identity not in found:
            found[identity] = value
            order.append(identity)
        elif found[identity] == value:
            repairs["double_id"] += 1
        else:
            wrong.add(identity)
            faults.append(f"{clip(identity, SHOWN)} is judged twice, and differently")
    accepted = {identity: found[identity] for identity in ids if identity in found and identity not in wrong}
    faults += [f"{clip(identity, SHOWN)} is missing" for identity in ids if identity not in {*found, *wrong}]
    if order != [identity for identity in ids if identity in found]:
        repairs["order"] += 1
    return Checked(accepted=accepted, faults=tuple(faults), repairs=repairs)


def judgement(fields: Mapping[str, object], repairs: Repairs) -> Judgement:
    """`relevance` and `justification` of one memory. Raises AnswerError.

    What only code computes may be reported beside them, and is not used: but a combined score above both its parts,
    or a memory that is excluded and has a score, shows that the numbers were not meant.
    """
    relevance = share(fields.get("relevance"), "relevance", repairs)
    parts = [relevance, *(share(fields[name], name, repairs) for name in _FRESHNESS if fields.get(name) is not None)]
    combined = [share(fields[name], name, repairs) for name in _COMBINED if fields.get(name) is not None]
    if any(value > max(parts) + SLACK for value in combined):
        raise AnswerError("its combined score lies above both its parts")
    if fields.get("excluded") is True and max([relevance, *combined]) > 0:
        raise AnswerError("it is excluded and has a score above 0")
    return Judgement(relevance=relevance, justification=text(fields.get("justification"), "justification", repairs))


def share(value: object, name: str, repairs: Repairs) -> float:
    """A number from 0 to 1. `"0.8"` and `"80 %"` are read; a bare 80, NaN and true are not. Raises AnswerError."""
    number = value
    if isinstance(value, str):
        written = _NUMBER.fullmatch(value.strip())
        if written is None:
            raise AnswerError(f"{name} is no number; it must be a number from 0 to 1")
        number = float(written[1]) / (100.0 if written[2] else 1.0)
        repairs["percent" if written[2] else "number_as_text"] += 1
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise AnswerError(f"{name} is missing or no number; it must be a number from 0 to 1")
    if not 0 <= number <= 1:  # NaN, too
        what = f"{number:g}" if isinstance(number, float) and math.isfinite(number) else "out of range"
        what = f"{number}" if isinstance(number, int) and abs(number) < 10**6 else what
        raise AnswerError(f"{name} is {what}; it must be a number from 0 to 1")
    return float(number)


def text(value: object, name: str, repairs: Repairs, *, longest: int = JUSTIFICATION) -> str:
    """A sentence on one line, without what a model thought aloud. Raises AnswerError for none."""
    if not isinstance(value, str):
        raise AnswerError(f"{name} is missing; it must be a sentence")
    said = _THINKING.sub("", value)
    if said != value:
        repairs["thinking"] += 1
    short = clip(said, longest)
    if not short:
        raise AnswerError(f"{name} is empty; it must be a sentence")
    return short


def choice(value: object, name: str, allowed: Sequence[str], repairs: Repairs) -> str:
    """One of the words allowed, in any case, `_` for `-`. Raises AnswerError."""
    said = value.strip() if isinstance(value, str) else ""
    for word in allowed:
        if said == word:
            return word
        if said.lower().replace("_", "-").replace(" ", "-") == word.replace("_", "-"):
            repairs["spelling"] += 1
            return word
    raise AnswerError(f"{name} is none of {', '.join(allowed)}")


def whole(value: object, name: str, least: int, most: int, repairs: Repairs) -> int:
    """A whole number within bounds; `"3"` and 3.0 are read. Raises AnswerError."""
    number = value
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= 6:
        number = int(value.strip())
        repairs["number_as_text"] += 1
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise AnswerError(f"{name} must be a whole number from {least} to {most}")
    return number


def _identity(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    try:
        return str(value).strip()
    except ValueError:  # an integer of thousands of digits
        return None
