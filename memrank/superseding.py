"""Linking a memory to what contradicts it, and taking the link back: what `memrank store contradictions` writes.

Nothing is deleted and nothing is lost: the older memory is given `superseded_by`, and its metadata says who set it. Its
importance is then the floor wherever it is read.
"""

from collections.abc import Callable
from dataclasses import replace

from memrank.contradictions import MARK, Contradiction, linked_by_memrank
from memrank.types import Memory


def linking(found: Contradiction, at: str) -> Callable[[Memory], Memory]:
    """The change that links the older memory to the newer one; none where it has a link by now."""

    def change(memory: Memory) -> Memory:
        if memory.superseded_by is not None:
            return memory
        mark = {"by": found.newer.id, "probability": round(found.probability, 6), "at": at}
        return replace(memory, superseded_by=found.newer.id, metadata={**memory.metadata, MARK: mark})

    return change


def is_linked(memory: Memory) -> bool:
    """Whether memrank has set the link that it has."""
    return linked_by_memrank(memory) is not None


def unlinking(memory: Memory) -> Memory:
    """The change that takes such a link back; none where memrank has set none, or somebody has changed it since."""
    if not is_linked(memory):
        return memory
    rest = {key: value for key, value in memory.metadata.items() if key != MARK}
    return replace(memory, superseded_by=None, metadata=rest)
