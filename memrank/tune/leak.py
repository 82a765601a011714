"""Does something give the labels away? A search would find it, and be proud of what no real store holds.

Looked at are all candidates of the queries that are searched on or chosen by. What is of the record alone (its id, its
place in the file, its length, what its fields and metadata say) must not know the labels of questions that it was
written before. A sign of a match (a column of the judge) may be that good on an easy set, and is only told of.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memrank.evals.labels import Labelled
from memrank.slate import Slate
from memrank.stages.ranker import judged_columns
from memrank.types import Bools, Floats, Memory

PERFECT = 0.999
"""Area under the curve from which a feature is said to know the labels."""
FEWEST = 20
"""Candidates of each kind without which nothing is said."""
SHARED = 5
"""Queries in which a value is met at the least: one of its own for every record tells nothing."""
FIELDS = ("memory_type", "source_kind", "role", "speaker", "agent_id", "session_id", "task_type", "superseded_by")
NUMBERS = ("importance", "confidence", "authority", "access_count", "turn")
_PREFIX, _SUFFIX = re.compile(r"^[^\d\W_]+"), re.compile(r"[^-_:/.]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A feature that separates what is relevant from all else."""

    feature: str
    auc: float
    record: bool
    """Whether it is of the record alone."""

    def __str__(self) -> str:
        return f"{self.feature} alone tells relevant candidates from the others (AUC {self.auc:.4f})"


def leaks(pools: Sequence[tuple[Labelled, Slate]]) -> tuple[Leak, ...]:
    """Those of the records first."""
    kept = [(query, slate) for query, slate in pools if query.relevant]
    if not kept:
        return ()
    memories = [[slate.memory(k) for k in range(len(slate))] for _, slate in kept]
    true: Bools = np.array(
        [memory.id in query.relevant for (query, _), pool in zip(kept, memories, strict=True) for memory in pool],
        dtype=np.bool_,
    )
    if min(int(true.sum()), int((~true).sum())) < FEWEST:
        return ()
    of = np.repeat(np.arange(len(kept)), [len(pool) for pool in memories])
    found = [Leak(feature=name, auc=auc(values, true), record=True) for name, values in _numbers(memories)]
    plain = [memory for pool in memories for memory in pool]
    found += [Leak(feature=name, auc=_of_values(values, true, of), record=True) for name, values in _labels(plain)]
    columns = [judged_columns(slate) for _, slate in kept]
    found += [
        Leak(feature=f"the column {name}", auc=auc(np.concatenate([one[name] for one in columns]), true), record=False)
        for name in columns[0]
    ]
    return tuple(sorted((one for one in found if one.auc > PERFECT), key=lambda one: (not one.record, one.feature)))


def auc(values: Floats, true: Bools) -> float:
    """Area under the ROC curve, the better way round, ties counting half; 0.5 where either kind is missing."""
    yes, no = int(true.sum()), int((~true).sum())
    if not yes or not no:
        return 0.5
    _, level, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[level]
    area = float((ranks[true].sum() - yes * (yes + 1) / 2) / (yes * no))
    return max(area, 1 - area)


def _numbers(memories: Sequence[Sequence[Memory]]) -> Iterator[tuple[str, Floats]]:
    """Within each pool: places, from 0 to 1, of what is only comparable there."""
    by_position = [[m.id for m in sorted(pool, key=lambda m: m.position)] for pool in memories]
    yield "the order of ids", _places([sorted({memory.id for memory in pool}) for pool in memories], memories)
    yield "the place in the file", _places(by_position, memories)
    yield "the length of the text", np.array([float(len(m.content)) for pool in memories for m in pool])
    for name in NUMBERS:
        given = [getattr(memory, name) for pool in memories for memory in pool]
        if any(value is not None for value in given):
            yield name, np.array([-1.0 if value is None else float(value) for value in given])


def _places(orders: Sequence[Sequence[str]], memories: Sequence[Sequence[Memory]]) -> Floats:
    found = []
    for order, pool in zip(orders, memories, strict=True):
        place = {name: at / max(1, len(order) - 1) for at, name in enumerate(order)}
        found += [place[memory.id] for memory in pool]
    return np.array(found, dtype=np.float64)


def _labels(memories: Sequence[Memory]) -> Iterator[tuple[str, list[str]]]:
    yield "how the id begins", [_match(_PREFIX, memory.id) for memory in memories]
    yield "how the id ends", [_match(_SUFFIX, memory.id) for memory in memories]
    yield "the tags", [" ".join(sorted(memory.tags)) for memory in memories]
    for name in FIELDS:
        yield name, [str(getattr(memory, name)) for memory in memories]
    for key in sorted({key for memory in memories for key in memory.metadata}):
        yield f"metadata.{key[:40]}", [str(memory.metadata.get(key)) for memory in memories]


def _match(pattern: re.Pattern[str], name: str) -> str:
    found = pattern.search(name)
    return found.group() if found else ""


def _of_values(values: Sequence[str], true: Bools, of: NDArray[np.int64]) -> float:
    """As `auc`, of whether a candidate has one of the values that mostly relevant ones have."""
    _, level = np.unique(np.array(values), return_inverse=True)
    relevant = np.bincount(level, weights=true)
    total = np.bincount(level)
    pairs = np.unique(np.stack([level, of]), axis=1)
    queries = np.bincount(pairs[0], minlength=len(total))
    telling = (relevant > total / 2) & (queries >= SHARED)
    if not telling.any():
        return 0.5
    return auc(telling[level].astype(np.float64), true)
