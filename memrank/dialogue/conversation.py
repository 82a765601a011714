"""A conversation kept in a file as it grows, and pruned turn by turn; what each element was worth is kept with it."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from memrank.counters import ESTIMATE, Counter
from memrank.dialogue.elements import Element, has_id, listed, read_elements
from memrank.dialogue.prune import DEFAULTS, Limits, Pruned, Scorer, check_limits, prune_elements
from memrank.dialogue.rewriting import Summarizer
from memrank.errors import UsageError
from memrank.indexing import Analyzer
from memrank.plain import plain_json, plain_text
from memrank.records import write_record
from memrank.stores.conversation import ConversationFile, MomentRow, Point
from memrank.types import Note

JUMP = 0.4
"""Change of an element's decay from one pruning to the next that counts as a jump."""
RESET_SHARE = 0.5
"""Share of the elements that must jump upwards before a reset of the context is suggested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """An element whose decay changed by more than the threshold from one pruning to the next."""

    id: str
    moment: int
    before: float
    after: float


class Conversation:
    """One conversation in one SQLite file, made where it does not exist. Safe to share by threads and processes.

    Survives a kill at any moment: what `add` and `prune` have returned from is there. Raises StoreError for a file that
    is no conversation, is damaged, or cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        limits: Limits = DEFAULTS,
        counter: Counter = ESTIMATE,
        jump_threshold: float = JUMP,
    ) -> None:
        check_limits(limits)
        if not isinstance(jump_threshold, (int, float)) or not 0 < jump_threshold <= 1:
            raise UsageError(f"jump_threshold is {jump_threshold!r:.40}; it must be above 0 and at most 1")
        if "\0" in os.fspath(path):
            raise UsageError("the path of a conversation holds a null character")
        self._file = ConversationFile(Path(path))
        self._limits = limits
        self._counter = counter
        self._jump = jump_threshold
        self._analyzer = Analyzer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._file.count()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def add(self, elements: Iterable[Mapping[str, object]]) -> tuple[Note, ...]:
        """Append elements (records, see `read_elements`), in the order given; what had to be repaired.

        All or nothing. One without an id is named by its place in the conversation. One whose id is there already
        replaces it, in its place.
        """
        given = listed(elements)
        read, notes = read_elements(given)
        self._file.add(
            (element.id if has_id(given[element.memory.position]) else None, _kept(element)) for element in read
        )
        return notes

    def elements(self) -> tuple[Element, ...]:
        """Every element, in order."""
        return read_elements(self._file.records())[0]

    def prune(
        self,
        message: str,
        *,
        max_tokens: int | None = None,
        phase: str | None = None,
        at: str | None = None,
        scorer: Scorer | None = None,
        summarizer: Summarizer | None = None,
        vet: Callable[[Pruned], object] | None = None,
    ) -> Pruned:
        """What stays in the context, given the message that has just arrived; kept as the next point of every element.

        `at` is the time to keep with it, in any form. Elements whose decay jumped since the last pruning are named in a
        note; where most of them rise at once, the topic has changed, and a reset of the context is suggested.
        `vet` is shown the outcome before it is kept: where it raises, nothing is.
        """
        if at is not None and not isinstance(at, str):
            raise UsageError(f"at is a {type(at).__name__}; it must be a text")
        limits = self._limits if max_tokens is None else replace(self._limits, max_tokens=max_tokens)
        check_limits(limits)
        before = self._file.latest()
        elements, notes = read_elements(self._file.records())
        pruned = prune_elements(
            elements,
            message,
            limits=limits,
            phase=phase,
            counter=self._counter,
            scorer=scorer,
            summarizer=summarizer,
            analyzer=self._analyzer,
            notes=notes,
        )
        pruned = replace(pruned, notes=(*pruned.notes, *self._jumped(before, pruned)))
        if vet is not None:
            vet(pruned)
        points = [(d.id, d.decay, d.decay_class, d.action) for d in pruned.decisions]
        self._file.record(None if at is None else plain_text(at), asdict(pruned.monitors), points)
        return pruned

    def trajectory(self, identity: str) -> list[Point]:
        """What an element was worth at every pruning. Raises UsageError for an unknown id."""
        found = self._file.trajectories()
        if identity not in found:
            raise UsageError(f"the conversation holds no element {identity[:80]!r}")
        return found[identity]

    def trajectories(self) -> dict[str, list[Point]]:
        """The same, of every element."""
        return self._file.trajectories()

    def history(self) -> list[MomentRow]:
        """Every pruning, with its monitors: tokens, shares kept, summarized and dropped, average decay, correlation."""
        return self._file.moments()

    def jumps(self) -> list[Jump]:
        """Every change of an element's decay by more than the threshold, in order of the prunings."""
        found = [
            Jump(id=identity, moment=after.moment, before=before.decay, after=after.decay)
            for identity, points in self._file.trajectories().items()
            for before, after in pairwise(points)
            if abs(after.decay - before.decay) > self._jump
        ]
        return sorted(found, key=lambda jump: jump.moment)

    def forget(self, identity: str) -> bool:
        """Remove an element with all that is known of it; whether it was there."""
        return self._file.forget(plain_text(identity)) > 0

    def _jumped(self, before: Mapping[str, float], pruned: Pruned) -> list[Note]:
        moved = [(d.id, d.decay - before[d.id]) for d in pruned.decisions if d.id in before]
        jumped = [identity for identity, change in moved if abs(change) > self._jump]
        if not jumped:
            return []
        detail = f"{', '.join(jumped[:5])}{' and others' if len(jumped) > 5 else ''}"
        notes = [Note(level="info", stage="conversation", code="jump", detail=detail, count=len(jumped))]
        risen = sum(change > self._jump for _, change in moved)
        if risen >= RESET_SHARE * len(moved):
            text = "most elements lost their worth at once: the topic has changed; consider a fresh context"
            notes.append(Note(level="info", stage="conversation", code="context_reset", detail=text))
        return notes


def _kept(element: Element) -> Mapping[str, object]:
    kept = plain_json(write_record(element.memory))[0]
    return kept if isinstance(kept, dict) else {}
