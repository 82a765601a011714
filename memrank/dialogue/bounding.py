"""What rules and code say about a model's judgement of a conversation: a bound, and the successors it cannot name."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memrank.dialogue.judge import Judgement, carried, leads_to


def bounded(judged: Judgement, embedded: Judgement) -> Judgement:
    """A scorer's judgement, with the protection of the rules.

    What tries to instruct its judge is worth no more than the embedded judge says, and what that judge finds replaced
    is replaced. What the scorer finds corrected is replaced by the element that the embedded judge finds to have
    corrected it, the likeliest later one where it is not sure; where it knows none, there is no successor.
    """
    n = len(embedded.decay)
    suspected = np.array(judged.suspected or (False,) * n, dtype=np.bool_)
    decay = np.where(suspected, np.maximum(judged.decay, embedded.decay), judged.decay)
    own = zip(judged.rationale, embedded.rationale, suspected.tolist(), strict=True)
    replaced = _successors(judged, embedded, suspected.tolist())
    both = zip(embedded.protection, judged.protection, strict=True)
    return replace(
        judged,
        decay=decay,
        replaced_by=replaced,
        protection=carried([rules or said for rules, said in both], replaced),
        rationale=tuple(
            f"its text tries to instruct the judge; {rules}" if bound else said for said, rules, bound in own
        ),
    )


def _successors(judged: Judgement, embedded: Judgement, suspected: Sequence[bool]) -> tuple[int | None, ...]:
    out = list(judged.replaced_by)
    likeliest = embedded.likeliest or embedded.replaced_by
    for i, corrected in enumerate(judged.corrected or (False,) * len(out)):
        if out[i] is not None or not (corrected or suspected[i]):
            continue
        place = embedded.replaced_by[i]
        if place is None and corrected and not suspected[i]:
            place = likeliest[i]
        if place is not None and not leads_to(out, place, i):
            out[i] = place
    return tuple(out)
