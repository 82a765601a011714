"""Which memories of a tenant contradict each other: pairs, each with a probability, its evidence and a sentence.

Links that the data state (`superseded_by`) are reported as they are; all else is judged from the texts. A contradiction
is reported as the newer memory against the older one; nothing is changed here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from memrank.blocking import proposals
from memrank.claimpairs import Comparer, Pair, in_order
from memrank.score.contradiction import probability, shipped
from memrank.tenant import Rows, Tenant
from memrank.text.claims import Claim
from memrank.text.inert import clip
from memrank.types import Memory
from memrank.updates import UPDATES, updates

THRESHOLD = 0.5
"""Probability from which a pair is reported, chosen on golden pairs (`benchmarks/contradictions.py`)."""
MARK = "superseded_by_memrank"
"""Key of the metadata of a memory whose link memrank has set: what it was linked to, how likely, and when."""
BATCH = 2_000
"""Pairs that are compared between two reports of progress."""
SAID = {
    "stopped": "what went on has stopped",
    "preference": "it asks for another value of the same kind",
    "moved": "it names another home or employer",
}
"""What the plain cases of `memrank/updates.py` say in a sentence."""
SHOWN = 60
"""Characters of a value in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """The newer memory states another value for what the older one states."""

    older: Memory
    newer: Memory
    probability: float
    """In [0, 1]; 1 for what the data state."""
    evidence: tuple[str, ...]
    """What speaks for it: `stated`, `linked`, `stopped`, `preference`, `moved`, `correction`, `ended`, `denial`,
    `number`, `name`, `change`, `words`."""
    sentence: str


def contradictions(
    tenant: Tenant, *, threshold: float = THRESHOLD, progress: Callable[[int, int], None] | None = None
) -> list[Contradiction]:
    """Every contradiction found among a tenant's memories, likeliest first; ties by the ids of newer and older.

    Memories of two types, where both have one, are not compared. Superseded memories are reported with what supersedes
    them and are compared with nothing else. `progress` is told pairs compared and pairs in all. Takes n^1.5 of time.
    """
    found = list(_stated(tenant))
    older, newer = in_order(tenant, *proposals(tenant, among=~tenant.linked))
    alike = _comparable(tenant, older, newer)
    older, newer = older[alike], newer[alike]
    comparer = Comparer(tenant)
    for start in range(0, len(older), BATCH):
        if progress is not None:
            progress(start, len(older))
        found += _judged(comparer, older[start : start + BATCH], newer[start : start + BATCH], threshold)
    if progress is not None:
        progress(len(older), len(older))
    return sorted(found, key=lambda one: (-one.probability, one.newer.id, one.older.id))


def _comparable(tenant: Tenant, older: Rows, newer: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    typed = np.array([name is not None for name in tenant.types], dtype=np.bool_)
    one, two = tenant.type_code[older], tenant.type_code[newer]
    alike: np.ndarray[tuple[int], np.dtype[np.bool_]] = (one == two) | ~(typed[one] & typed[two])
    return alike


def _stated(tenant: Tenant) -> Iterator[Contradiction]:
    """Each link; where two memories are said to replace each other, the one of the older to the newer."""
    old = np.flatnonzero(tenant.successor >= 0)
    new = tenant.successor[old]
    mutual = tenant.successor[new] == old
    first, _ = in_order(tenant, old, new)
    for k in np.flatnonzero(~mutual | (first == old)).tolist():
        older, newer = tenant.memories[int(old[k])], tenant.memories[int(new[k])]
        likely = linked_by_memrank(older)
        said = "the data say so" if likely is None else f"linked by memrank, probability {likely:.3f}"
        said += ", and the reverse, too" if mutual[k] else ""
        yield Contradiction(
            older=older,
            newer=newer,
            probability=1.0 if likely is None else likely,
            evidence=("stated" if likely is None else "linked",),
            sentence=f"{_named(newer)} replaces {_named(older)}: {said}",
        )


def linked_by_memrank(memory: Memory) -> float | None:
    """How likely it was when memrank set the link that a memory has; None where the link is another's, or none."""
    mark = memory.metadata.get(MARK)
    if not isinstance(mark, Mapping) or memory.superseded_by is None or mark.get("by") != memory.superseded_by:
        return None
    likely = mark.get("probability")
    return float(likely) if isinstance(likely, (int, float)) and 0 <= likely <= 1 else None


def _judged(comparer: Comparer, older: Rows, newer: Rows, threshold: float) -> Iterator[Contradiction]:
    likely = probability(shipped(), comparer.features(older, newer))
    for k in np.flatnonzero(likely >= threshold).tolist():
        pair = comparer.pair(int(older[k]), int(newer[k]))
        reasons = explain(pair)
        yield Contradiction(
            older=pair.older,
            newer=pair.newer,
            probability=float(likely[k]),
            evidence=tuple(name for name, _ in reasons),
            sentence=f"{_named(pair.newer)} against {_named(pair.older)}: {'; '.join(text for _, text in reasons)}",
        )


def explain(pair: Pair) -> list[tuple[str, str]]:
    """What speaks for a contradiction, as (name, words); words are named as the two texts write them."""
    old, new = pair.old, pair.new
    shown = updates(pair.older.content, old, pair.newer.content, new)
    said = [(name, SAID[name]) for name in UPDATES if name in shown]
    if "correction" in new.cues:
        said.append(("correction", "its words correct something"))
    if "ended" in new.cues and "ended" not in old.cues:
        said.append(("ended", "it says that something ended"))
    if ("denial" in new.cues) != ("denial" in old.cues):
        said.append(("denial", f"only the {'newer' if 'denial' in new.cues else 'older'} denies"))
    numbers = sorted(new.numbers - old.numbers), sorted(old.numbers - new.numbers)
    if all(numbers):
        said.append(("number", f"{_list(numbers[0], new)} instead of {_list(numbers[1], old)}"))
    names = sorted((new.names | new.heads) - set(old.words)), sorted((old.names | old.heads) - set(new.words))
    if all(names):
        said.append(("name", f"{_list(names[0], new)} instead of {_list(names[1], old)}"))
    if "change" in new.cues:
        said.append(("change", "its words speak of a change"))
    known = set(old.words)
    shared = [word for word in dict.fromkeys(new.words) if word in known]
    said.append(("words", f"both speak of {_list(shared, new)}" if shared else "they share no word"))
    return said


def _list(words: list[str], claim: Claim) -> str:
    """At most three of a claim's words, as its text writes them."""
    written = dict.fromkeys(claim.written[word] for word in words)
    return ", ".join(f"“{clip(word, SHOWN)}”" for word in list(written)[:3])


def _named(memory: Memory) -> str:
    date = memory.event_date or memory.created_at
    return f"{clip(memory.id, SHOWN)} ({date.text if date else 'undated'})"
