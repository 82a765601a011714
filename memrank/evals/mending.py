"""Which threshold or budget makes a failed pruning hold: a search on a grid, the smallest change first."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from memrank.dialogue.prune import Limits

STEP = 0.02
"""Between two values of `drop_threshold` that are tried."""
EARLIER = 0.05
"""Between two values of `decay_threshold`: summarizing earlier makes room for more."""
GROWTH = 1.15
"""From one budget that is tried to the next."""


def mends(
    limits: Limits, *, causes: Mapping[str, int], most_tokens: int, holds: Callable[[Limits], bool]
) -> Iterator[Limits]:
    """Of each limit that mends it alone, the value nearest to the present one; without any, the nearest two together.

    `causes` says what went for what (`keeping.CAUSES`): a limit that took nothing is not tried alone. `most_tokens`,
    those of the longest conversation, are the largest budget that makes a difference. Nothing where even that budget
    with nothing dropped for its decay does not hold: then what is lost was taken for replaced.
    """
    most = max(most_tokens, limits.max_tokens)
    if not holds(replace(limits, drop_threshold=1.0, max_tokens=most)):
        return
    later = [replace(limits, drop_threshold=value) for value in _rising(limits.drop_threshold)]
    larger = [replace(limits, max_tokens=value) for value in _growing(limits.max_tokens, most)]
    earlier = [replace(limits, decay_threshold=value) for value in _falling(limits.decay_threshold, limits.keep_below)]
    ladders = [later] if causes["threshold"] else []
    ladders += [larger, earlier] if causes["budget"] else []
    alone = [next(filter(holds, ladder), None) for ladder in ladders]
    if any(alone):
        yield from filter(None, alone)
        return
    # Both together, by the steps that they take.
    thresholds, budgets = [limits, *later], [limits, *larger]
    places = sorted(((i, j) for i in range(len(thresholds)) for j in range(len(budgets))), key=sum)[1:]
    both = (replace(thresholds[i], max_tokens=budgets[j].max_tokens) for i, j in places)
    yield from (found for found in (next(filter(holds, both), None),) if found is not None)


def changes(before: Limits, after: Limits) -> dict[str, float]:
    """Name of each limit that differs to its new value."""
    names = ("max_tokens", "decay_threshold", "drop_threshold")
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}


def _rising(value: float) -> Iterator[float]:
    """Up to 1, in whole steps."""
    place = math.floor(value / STEP + 1e-9) + 1
    while place * STEP < 1:
        yield round(place * STEP, 4)
        place += 1
    if value < 1:
        yield 1.0


def _falling(value: float, lowest: float) -> Iterator[float]:
    place = math.ceil(value / EARLIER - 1e-9) - 1
    while place * EARLIER > lowest:
        yield round(place * EARLIER, 4)
        place -= 1
    if value > lowest:
        yield lowest


def _growing(value: int, most: int) -> Iterator[int]:
    """Whole tens, up to the most."""
    grown = 10 * math.ceil(value * GROWTH / 10)
    while grown < most:
        yield grown
        grown = 10 * math.ceil(grown * GROWTH / 10)
    if value < most:
        yield most
