"""What of one moment survives: which later questions stay answerable, what was lost to what, at how many tokens.

A later question counts as answerable where all its evidence is in the context, whole or as a summary (`_whole`: whole
only). The two simple rules are given as many tokens as the pruning used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from memrank.counters import Counter
from memrank.dialogue.prune import Decision, Limits, Pruned
from memrank.evals.conversations import OWED, Moment
from memrank.score.agreement import spearman

NAN = float("nan")
Pruning = Callable[[Moment, Limits], Pruned]
CAUSES = ("threshold", "budget", "replaced")
"""Why an element goes: its decay reaches `drop_threshold`; there is no room; it was taken for corrected or replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """An element that a question needs and that did not stay."""

    id: str
    cause: str
    """One of CAUSES."""
    decay: float
    rationale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A later question that the full context answers and the pruned one does not."""

    conversation: str
    after: str
    question: str
    gone: tuple[Gone, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One moment."""

    values: dict[str, float]
    """Name of a figure to its value, NaN where it does not apply."""
    classes: tuple[tuple[int, int], ...]
    """Of each element that has an annotated class: that, and ours."""
    lost: tuple[Lost, ...]


def measured(moment: Moment, limits: Limits, pruning: Pruning, counter: Counter) -> Measured:
    """Every figure of one moment under some limits."""
    pruned = pruning(moment, limits)
    kept, used = stays(pruned), pruned.monitors.tokens_after
    values = {
        "answerable": answerable(moment, kept),
        "answerable_full": answerable(moment, {element.id for element in moment.elements}),
        **_others(moment, pruned, used, counter),
        "tokens_saved": saved(pruned),
        **_labels(moment, pruned, kept),
    }
    ours = {decision.id: decision.decay_class for decision in pruned.decisions}
    pairs = tuple((given, ours[one]) for one, given in moment.classes.items())
    return Measured(values=values, classes=pairs, lost=tuple(_lost(moment, pruned, kept)))


def at_share(moment: Moment, share: float, limits: Limits, pruning: Pruning, counter: Counter) -> dict[str, float]:
    """What stays answerable when a share of the conversation's tokens is the budget, by each way of pruning."""
    total = sum(counter(element.content) for element in moment.elements)
    pruned = pruning(moment, replace(limits, max_tokens=max(1, int(share * total))))
    used = pruned.monitors.tokens_after
    found = {
        "answerable": answerable(moment, stays(pruned)),
        **_others(moment, pruned, used, counter),
        "tokens_used": used / total if total else NAN,
    }
    return {f"{name}@{share:.0%}": value for name, value in found.items()}


def saved(pruned: Pruned) -> float:
    """Share of the tokens that pruning saves; NaN where there are none."""
    before, after = pruned.monitors.tokens_before, pruned.monitors.tokens_after
    return 1.0 - after / before if before else NAN


def stays(pruned: Pruned, *, whole: bool = False) -> set[str]:
    """Ids that stay in the context, whole or (unless `whole`) as a summary."""
    allowed = ("keep_full",) if whole else ("keep_full", "summarize")
    return {decision.id for decision in pruned.decisions if decision.action in allowed}


def answerable(moment: Moment, kept: set[str]) -> float:
    """Share of the later questions whose evidence is all kept; NaN without any."""
    return float(np.mean([question.evidence <= kept for question in moment.later])) if moment.later else NAN


def newest(moment: Moment, budget: int, counter: Counter) -> set[str]:
    """Keep-last-N: from the newest back, as long as everything fits."""
    kept: set[str] = set()
    for element in reversed(moment.elements):
        budget -= counter(element.content)
        if budget < 0:
            break
        kept.add(element.id)
    return kept


def oldest_dropped(moment: Moment, budget: int, counter: Counter) -> set[str]:
    """The oldest goes until the rest fits, but for the first user message, which such systems usually pin."""
    first = next((element for element in moment.elements if element.kind == "user"), None)
    tokens = {element.id: counter(element.content) for element in moment.elements}
    for element in moment.elements:
        if sum(tokens.values()) <= budget:
            break
        if element is not first:
            del tokens[element.id]
    return set(tokens)


def _others(moment: Moment, pruned: Pruned, used: int, counter: Counter) -> dict[str, float]:
    return {
        "answerable_whole": answerable(moment, stays(pruned, whole=True)),
        "answerable_newest": answerable(moment, newest(moment, used, counter)),
        "answerable_oldest_dropped": answerable(moment, oldest_dropped(moment, used, counter)),
    }


def _lost(moment: Moment, pruned: Pruned, kept: set[str]) -> Iterator[Lost]:
    """The questions that pruning loses, each with what it lacks and why."""
    decisions = {decision.id: decision for decision in pruned.decisions}
    for question in moment.later:
        if question.evidence <= set(decisions) and not question.evidence <= kept:
            yield Lost(
                conversation=moment.conversation,
                after=moment.after,
                question=question.text,
                gone=tuple(_gone(decisions[one]) for one in sorted(question.evidence - kept)),
            )


def _gone(decision: Decision) -> Gone:
    planned_away = decision.planned in ("drop", "overwrite")
    cause = "replaced" if decision.replaced_by is not None else "threshold" if planned_away else "budget"
    return Gone(id=decision.id, cause=cause, decay=decision.decay, rationale=decision.rationale)


def _labels(moment: Moment, pruned: Pruned, kept: set[str]) -> dict[str, float]:
    """Against the annotations: rank correlation with the classes, what is owed, what went before it was needed."""
    ours = {decision.id: decision for decision in pruned.decisions}
    classed = list(moment.classes)
    owed = set(moment.protected) - set(moment.corrected)
    named = {one for one in ours if ours[one].protection in OWED}
    needed = moment.needed
    return {
        "rank_correlation": spearman(
            np.array([moment.classes[one] for one in classed], dtype=np.float64),
            np.array([ours[one].decay for one in classed], dtype=np.float64),
        ),
        "owed_kept": _share(owed & kept, owed),
        "owed_named": _share(owed & named, owed),
        "named_owed": _share(owed & named, named) if moment.protected else NAN,
        "premature_drop": _share(needed - kept, needed),
        "premature_drop_owed": _share((needed & owed) - kept, needed & owed),
        "premature_drop_other": _share(needed - owed - kept, needed - owed),
    }


def _share(part: set[str], of: set[str]) -> float:
    return len(part) / len(of) if of else NAN
