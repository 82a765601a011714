"""What stays in a context: decay classes, and fitting what is kept into a token budget."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KEEP, SUMMARIZE, DROP, OVERWRITE = range(4)
"""Actions, in the order of `slate.ACTIONS`."""


def decay_class(
    decay: Floats, overwritten: Bools, *, keep_below: float, summarize_from: float, drop_from: float
) -> Ints:
    """1 critical, 2 high, 3 medium, 4 low by decay (0 essential to 1 worthless); 5 for what was overwritten."""
    classes = 1 + (decay >= keep_below).astype(np.int64) + (decay >= summarize_from) + (decay >= drop_from)
    return np.where(overwritten, 5, classes).astype(np.int64)


def planned(classes: Ints, has_successor: Bools, protected: Bools) -> Ints:
    """The action of each class: 1-2 keep, 3 summarize, 4 drop, 5 overwrite or drop. What is protected is kept."""
    action = np.select([classes <= 2, classes == 3, classes == 4], [KEEP, SUMMARIZE, DROP], DROP)
    action = np.where((classes == 5) & has_successor, OVERWRITE, action)
    return np.where(protected, KEEP, action).astype(np.int64)


def fit(
    action: Ints, decay: Floats, full: Floats, summary: Floats, protected: Bools, *, max_tokens: float
) -> tuple[Ints, bool]:
    """Actions that keep the tokens within `max_tokens`, and whether that was possible. Elements stand in rank order.

    What alone exceeds the room that the protected elements leave is summarized, or dropped where its summary is too
    long as well, so that one giant does not push everything else out first. While the rest is still too much, the
    element with the highest decay (the lowest ranked, among equals) becomes a summary if that is enough, and is dropped
    if not. Protected elements are never touched: where they alone exceed the budget they stay, and the answer is (what
    is left, False).
    """
    action = action.copy()
    free = ~protected
    room = max(0.0, max_tokens - float(full[protected & (action == KEEP)].sum()))
    action[free & (action == KEEP) & (full > room)] = SUMMARIZE
    action[free & (action == SUMMARIZE) & (summary > room)] = DROP
    cost = np.select([action == KEEP, action == SUMMARIZE], [full, summary], 0.0)
    total = float(cost.sum())
    for k in np.lexsort((-np.arange(len(action)), -decay)):
        if total <= max_tokens:
            break
        if protected[k] or cost[k] == 0:
            continue
        enough = action[k] == KEEP and total - cost[k] + summary[k] <= max_tokens
        action[k] = SUMMARIZE if enough else DROP
        total += (summary[k] if enough else 0.0) - cost[k]
    return action, total <= max_tokens


def affordable(old: Floats, new: Floats, room: float) -> Bools:
    """Which of some summaries can be exchanged for others, taken in order, when `room` tokens are left over."""
    out = np.zeros(len(old), dtype=np.bool_)
    for k in range(len(old)):
        more = float(new[k] - old[k])
        if more <= max(0.0, room):
            out[k] = True
            room -= more
    return out
