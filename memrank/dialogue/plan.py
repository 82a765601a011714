"""Fitting a conversation into a budget: summaries where they are wanted, tool calls together with their results."""

from collections.abc import Sequence

import numpy as np

from memrank.counters import Counter
from memrank.dialogue.elements import Element
from memrank.dialogue.judge import Judgement
from memrank.score import pack
from memrank.tenant import BYTES_PER_TOKEN
from memrank.text.summary import extract
from memrank.text.tokens import tokenizer_of
from memrank.types import Bools, Floats, Notes

SUMMARY_SHARE = 0.35
"""Share of an element's tokens that its summary may take."""
SHORTEST = 24
"""Tokens up to which an element is kept whole rather than summarized."""


def summaries(
    elements: Sequence[Element], message: str, planned: pack.Ints, full: Floats, counter: Counter
) -> tuple[dict[int, str], Floats]:
    """Summaries of what is to be summarized or may have to be, and their tokens (those of the whole where none is)."""
    terms = tokenizer_of("english").terms
    asked = dict.fromkeys(terms(message), 1.0)
    texts: dict[int, str] = {}
    short = full.copy()
    for i in np.flatnonzero((planned <= pack.SUMMARIZE) & (full > SHORTEST)).tolist():
        room = room_of(float(full[i])) * BYTES_PER_TOKEN
        text = extract(elements[i].content, asked, terms, room)
        tokens = counter(text)
        if text and tokens < full[i]:
            texts[i], short[i] = text, tokens
    return texts, short


def room_of(full: float) -> int:
    """Tokens that the summary of an element of so many may take."""
    return max(1, int(full * SUMMARY_SHARE))


def fitted(
    elements: Sequence[Element],
    judged: Judgement,
    planned: pack.Ints,
    full: Floats,
    short: Floats,
    protected: Bools,
    max_tokens: int,
    notes: Notes,
) -> pack.Ints:
    """Actions within the budget. A tool call and its result are one: both stay, or both go."""
    units = _units(elements)
    count = int(units.max()) + 1 if len(units) else 0
    first = np.array([np.flatnonzero(units == unit)[0] for unit in range(count)], dtype=np.int64)

    def each(values: Floats, fold: np.ufunc, start: float) -> Floats:
        out = np.full(count, start)
        fold.at(out, units, values)
        return out

    together = each(planned.astype(np.float64), np.minimum, float(pack.OVERWRITE)).astype(np.int64)
    decay = each(judged.decay, np.minimum, 1.0)
    whole, brief = each(full, np.add, 0.0), each(short, np.add, 0.0)
    safe = each(protected.astype(np.float64), np.maximum, 0.0) > 0
    together[safe] = pack.KEEP
    # `pack.fit` drops the highest decay first, and among equals what stands last: the oldest here.
    order = np.lexsort((-first, decay))
    fitted, fits = pack.fit(
        together[order], decay[order], whole[order], brief[order], safe[order], max_tokens=float(max_tokens)
    )
    if not fits:
        text = "protected elements alone exceed max_tokens; all are kept"
        notes.add("info", "conversation", "protected_over_budget", text)
    out = np.empty(count, dtype=np.int64)
    out[order] = fitted
    action = out[units]
    # Within a pair that stays, what is too short to be summarized stays whole.
    action = np.where((action == pack.SUMMARIZE) & (short >= full), pack.KEEP, action)
    # One that was replaced is overwritten also where its partner is merely dropped.
    return np.where((action == pack.DROP) & (planned == pack.OVERWRITE), pack.OVERWRITE, action)


def _units(elements: Sequence[Element]) -> pack.Ints:
    """Number of the unit that each element belongs to, shape (n,): a tool call with its results, or one alone."""
    calls: dict[str, int] = {}
    out: list[int] = []
    count = 0
    for element in elements:
        if element.call_id is not None and element.kind in ("tool_call", "tool_output"):
            if element.call_id not in calls:
                calls[element.call_id] = count
                count += 1
            out.append(calls[element.call_id])
        else:
            out.append(count)
            count += 1
    return np.array(out, dtype=np.int64)
