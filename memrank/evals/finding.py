"""What is wrong with a golden set, or worth a look."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["fault", "remark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault makes a set unfit to measure with; a remark is for its README."""

    level: Level
    code: str
    """A stable snake_case name."""
    where: str
    """A query, a file, or what a query belongs to."""
    detail: str
    """One sentence. Quotes ids, and never a text of a memory."""


def fault(code: str, where: str, detail: str) -> Finding:
    """A finding that fails the check."""
    return Finding(level="fault", code=code, where=where, detail=detail)


def remark(code: str, where: str, detail: str) -> Finding:
    """A finding that does not."""
    return Finding(level="remark", code=code, where=where, detail=detail)
