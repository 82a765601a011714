"""What reviews say of the memories of a read, as labels: helps to answer, or does not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memrank.recorded import first_returned
from memrank.stores.readlog import Kept, ReadLog
from memrank.stores.readlog_review import JUDGED_FIRST, Item, items


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRead:
    """A read of which a person has judged some memories."""

    kept: Kept
    labels: Mapping[int, bool]
    """Place among the candidates to whether it helps to answer. What nobody judged is not there."""
    sampled: bool
    """Whether the read was drawn at random; what rules picked says little about the reads that they passed."""


def labelled_reads(log: ReadLog, since: float) -> Iterator[LabelledRead]:
    """The reads that were decided from `since` on (seconds since 1970), in the order of the queue.

    Accepted: the first JUDGED_FIRST results help. Edited: what is named relevant helps; what is named stale or not to
    come back, and the others of the first JUDGED_FIRST, do not. A memory that was left out helps where that was
    rejected, else not. A memory of which a check says that it no longer holds does not. A read that was rejected
    without labels says nothing of its memories.
    """
    reads: dict[str, list[Item]] = {}
    for item in items(log, undecided=False):
        if item.decision != "undecided" and item.decided_at is not None and item.decided_at >= since:
            reads.setdefault(item.read_id, []).append(item)
    for read_id, found in reads.items():
        kept = log.load(read_id)
        labels = _labels(kept, found)
        if labels:
            yield LabelledRead(kept=kept, labels=labels, sampled=any(item.kind == "sampled" for item in found))


def _labels(kept: Kept, found: Sequence[Item]) -> dict[int, bool]:
    ids = [candidate.id for candidate in kept.candidates]
    places = {name: place for place, name in enumerate(ids)}
    first = first_returned(kept.recorded, ids, JUDGED_FIRST)
    implied: dict[int, bool] = {}
    helps: set[str] = set()
    hurts: set[str] = set()
    for item in found:
        if item.labels is not None:
            implied |= dict.fromkeys(first, False)
            helps |= set(item.labels.relevant)
            hurts |= {*item.labels.stale, *item.labels.must_not}
        elif item.subject is not None:
            rejected = item.decision == "rejected"
            if item.kind == "check":
                hurts |= {item.subject} if rejected else set()
            else:
                (helps if rejected else hurts).add(item.subject)
        elif item.decision == "accepted":
            implied = {**dict.fromkeys(first, True), **implied}
    named = {places[name]: name not in hurts for name in (*helps, *hurts) if name in places}
    return {**implied, **named}
