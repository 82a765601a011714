"""A memory as an engine holds it: what a formula is evaluated on."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Held: TypeAlias = Callable[[float], float]
"""How an engine holds a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Times are epoch seconds, whole milliseconds of them; None is what is missing."""

    relevance: float
    effective_at: float | None = None
    created_at: float | None = None
    memory_type: str | None = None
    importance: float | None = None
    uses: int | None = None
    authority: float | None = None


def double(number: float) -> float:
    """As it is."""
    return float(number)


def single(number: float) -> float:
    """In single precision, as the scores of search engines are."""
    return float(struct.unpack("f", struct.pack("f", number))[0])
