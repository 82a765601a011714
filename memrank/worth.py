"""What memories are worth at a moment by a spec's importance section: for the ranker, and for whoever asks why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memrank.score import importance
from memrank.score.importance import SCALE, Worth
from memrank.score.temporal import MONTH
from memrank.spec import ImportanceSpec
from memrank.tenant import Times
from memrank.text.counted import counted
from memrank.text.inert import clip
from memrank.types import Bools, Floats, Memory

LABEL = 40
"""Characters of an id that are shown."""


def worth(params: ImportanceSpec, stated: Floats, age: Floats, uses: Floats, rates: Floats, superseded: Bools) -> Worth:
    """`score.importance.worth` with what the spec sets; `rates` are those of the memories' types."""
    return importance.worth(
        stated,
        age,
        uses,
        superseded,
        decay=params.decay,
        rate_per_month=rates,
        boost_per_use=params.boost_per_use if params.boost else 0.0,
        boost_cap=params.boost_cap,
        floor=params.floor,
        ceiling=params.ceiling,
    )


def age_of(created: Floats, as_of: datetime) -> Floats:
    """Seconds since each memory was recorded; 0 where that is unknown or lies in the future."""
    return np.where(np.isnan(created), 0.0, np.maximum(0.0, as_of.timestamp() - created))


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """Memories and what they are worth; every array has shape (n,), in their order."""

    memories: tuple[Memory, ...]
    params: ImportanceSpec
    as_of: datetime
    months: Floats
    """Age in months of 30 days; 0 for what has no date."""
    uses: Floats
    """Those that count under `count_means`."""
    rates: Floats
    """Share lost in a month."""
    superseded: Bools
    worth: Worth
    later: int
    """How many memories were left out because they were recorded after as_of."""

    def importance(self) -> Floats:
        """On the scale from 0 to 1, as a read has it."""
        return self.worth.points / SCALE

    def why(self, k: int) -> str:
        """How memory k came to what it is worth, to be followed by hand: `7 of 10 x 0.98^6.1 months + 1.5 for 3 uses`.

        It holds no text of memories but the id of a successor, made inert.
        """
        memory, params, worth = self.memories[k], self.params, self.worth
        if self.superseded[k]:
            return f"superseded by {clip(memory.superseded_by or '', LABEL)}: floor {params.floor:g}"
        decay, remarks = self._decay(k)
        if memory.importance is None:
            remarks = ["not stated", *remarks]
        parts = [f"{worth.stated[k]:.4g} of 10" + (f" ({'; '.join(remarks)})" if remarks else "") + decay]
        if worth.boost[k] > 0:
            count, most = int(self.uses[k]), self.params.boost_cap
            capped = f", {most:g} at most" if params.boost_per_use * count > most else ""
            parts.append(f"{worth.boost[k]:.4g} for {counted(count, 'use')}{capped}")
        whole = worth.stated[k] * worth.factor[k] + worth.boost[k]
        bound = ""
        if whole > params.ceiling:
            bound = f"; {params.ceiling:g} at most"
        elif whole < params.floor:
            bound = f"; {params.floor:g} at least"
        return " + ".join(parts) + bound

    def _decay(self, k: int) -> tuple[str, list[str]]:
        """What is left after so long, or why that is all."""
        rate = float(self.rates[k])
        if self.params.decay == "none" or rate == 0:
            return "", ["no decay"]
        if self.memories[k].created_at is None:
            return "", ["no date: age 0"]
        months = f"{self.months[k]:.1f} months"
        if self.params.decay == "linear":
            return f" x (1 - {rate:.6g} x {months})", []
        return f" x {1 - rate:.6g}^{months}", []


def value(memories: Sequence[Memory], params: ImportanceSpec, as_of: datetime, tolerance: float) -> Valued:
    """What each memory is worth at `as_of`, by the same rules as in a read.

    The memories are all those of their namespaces, in any order. Those recorded later than `as_of` plus `tolerance`
    seconds were not known yet: they are left out, and supersede nothing.
    """
    times = Times.of(memories)
    known = ~(times.created_start > as_of.timestamp() + tolerance)
    later = {(m.namespace, m.id) for m, here in zip(memories, known.tolist(), strict=True) if not here}
    rows = np.flatnonzero(known)
    kept = tuple(memories[row] for row in rows.tolist())
    age = age_of(times.created[rows], as_of)
    # A link counts when what it names was known, and when nobody here knows what it names.
    superseded = np.array(
        [m.superseded_by not in (None, m.id) and (m.namespace, m.superseded_by) not in later for m in kept],
        dtype=np.bool_,
    )
    counts = params.count_means == "retrieval"
    uses = np.array([m.access_count if counts or not m.counts_retrievals else 0 for m in kept], dtype=np.float64)
    rates = np.array([params.rate_per_month.of(m.memory_type) for m in kept], dtype=np.float64)
    stated = np.array([np.nan if m.importance is None else m.importance for m in kept], dtype=np.float64)
    return Valued(
        memories=kept,
        params=params,
        as_of=as_of,
        months=age / MONTH,
        uses=uses,
        rates=rates,
        superseded=superseded,
        worth=worth(params, stated, age, uses, rates, superseded),
        later=len(later),
    )
