"""Pruning a conversation: what stays in the context, what is summarized, what goes; nothing that is owed is lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np

from memrank.counters import ESTIMATE, Counter
from memrank.dialogue.bounding import bounded
from memrank.dialogue.elements import Element, read_elements
from memrank.dialogue.judge import LAST, Judgement, judge
from memrank.dialogue.plan import SHORTEST, fitted, summaries
from memrank.dialogue.rewriting import Summaries, Summarizer, rewritten
from memrank.errors import ServiceError, UsageError, scoring
from memrank.indexing import Analyzer
from memrank.plain import plain_text
from memrank.score import pack
from memrank.score.dialogue import age_correlation
from memrank.slate import ACTIONS
from memrank.types import Bools, Floats, Note, Notes


class Scorer(Protocol):
    """Judges a conversation, given the message: a model, say, in the place of the embedded rules.

    It may protect more than the rules do, and what they protect stays, whatever it says. Where the model that it asks
    is away or late, it raises ServiceError: then the conservative policy holds.
    """

    def __call__(self, elements: Sequence[Element], message: str, /) -> Judgement:
        """One judgement over all the elements, in their order."""


RECOMMENDED = {"keep_full": "retain", "summarize": "compress", "drop": "drop", "overwrite": "overwrite"}
ALARM = 0.9
"""Correlation of age and decay from which the scorer has become a recency rule."""
NEWEST_DOCUMENTS = 3
"""Retrieved documents that the conservative policy keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a conversation is pruned by: thresholds of decay, turns that always stay, tokens."""

    max_tokens: int = 2_000
    keep_last_turns: int = 3
    keep_below: float = 0.3
    decay_threshold: float = 0.7
    drop_threshold: float = 0.9


DEFAULTS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens to one element."""

    id: str
    decay: float
    decay_class: int
    """1 critical, 2 high, 3 medium, 4 low, 5 corrected or superseded."""
    action: str
    """`keep_full`, `summarize`, `drop` or `overwrite`."""
    planned: str
    """What would happen without a budget."""
    protection: str | None
    """Why it must not be dropped."""
    replaced_by: str | None
    rationale: str
    tokens: int
    """What it takes in the context: 0 where it does not stay."""
    summary: str | None
    """Stands for it in the context."""
    summary_by: str | None = None
    """Whose words that is: `embedded` (its own sentences), `lm` or `failed` (its sentences, because what the model
    wrote did not hold); None where no model may write it."""

    @property
    def recommended_action(self) -> str:
        """`retain`, `compress`, `drop` or `overwrite`."""
        return RECOMMENDED[self.action]


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitors:
    """About a pruning as a whole."""

    tokens_before: int
    tokens_after: int
    mean_decay: float
    kept: float
    """Share of the elements that stay whole."""
    summarized: float
    dropped: float
    """Share of the elements that go, overwritten ones included."""
    age_decay_correlation: float | None
    topic_shift: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """A conversation once pruned: a decision for every element, in order, each exactly once."""

    elements: tuple[Element, ...]
    decisions: tuple[Decision, ...]
    monitors: Monitors
    notes: tuple[Note, ...]

    def texts(self) -> list[tuple[Element, str]]:
        """What stays, in order: each element with its content, or the summary that stands for it."""
        both = zip(self.elements, self.decisions, strict=True)
        return [
            (e, e.content if d.summary is None else d.summary)
            for e, d in both
            if d.action in ("keep_full", "summarize")
        ]

    def rows(self) -> list[dict[str, object]]:
        """Every decision, with the field names of the `elements` view."""
        return [
            {
                "element_id": decision.id,
                "decay": decision.decay,
                "decay_score": decision.decay_class,
                "recommended_action": decision.recommended_action,
                "recommended_retention": decision.action if decision.action != "overwrite" else "drop",
                "planned": decision.planned,
                "protection": decision.protection,
                "replaced_by": decision.replaced_by,
                "rationale": decision.rationale,
                "tokens": decision.tokens,
                **({} if decision.summary is None else {"summary": decision.summary}),
                **({} if decision.summary_by is None else {"summary_by": decision.summary_by}),
            }
            for decision in self.decisions
        ]

    def to_dict(self) -> dict[str, object]:
        """The JSON form, `memrank.conversation/1`."""
        return {
            "schema": "memrank.conversation/1",
            "scored_elements": self.rows(),
            "monitors": asdict(self.monitors),
            "notes": [asdict(note) for note in self.notes],
        }


def prune(
    elements: Iterable[Mapping[str, object]],
    message: str,
    *,
    limits: Limits = DEFAULTS,
    phase: str | None = None,
    counter: Counter = ESTIMATE,
    scorer: Scorer | None = None,
    summarizer: Summarizer | None = None,
    analyzer: Analyzer | None = None,
) -> Pruned:
    """What of a conversation stays in the context, given the user's message that has just arrived.

    `elements` are records (see `read_elements`), oldest first; the message is not among them. Tokens are those of
    `counter`. A `scorer` adds to what the rules protect, and never takes from it. One that raises ServiceError has
    failed: then the conservative policy holds, with a note. A `summarizer` writes the summaries, which are sentences
    of the elements without one.
    Raises UsageError and DataError for what cannot be read, limits that make no sense, and an answer of a scorer or a
    summarizer that does not fit the elements; ScorerError where the scorer raises what is no error of memrank's.
    """
    check_limits(limits)
    read, notes = read_elements(elements)
    return prune_elements(
        read,
        message,
        limits=limits,
        phase=phase,
        counter=counter,
        scorer=scorer,
        summarizer=summarizer,
        analyzer=analyzer or _analyzer(),
        notes=notes,
    )


@cache
def _analyzer() -> Analyzer:
    """Kept from call to call, and with it what it has read: a conversation comes again with every turn."""
    return Analyzer()


def prune_elements(
    elements: Sequence[Element],
    message: str,
    *,
    limits: Limits,
    analyzer: Analyzer,
    phase: str | None = None,
    counter: Counter = ESTIMATE,
    scorer: Scorer | None = None,
    summarizer: Summarizer | None = None,
    notes: Sequence[Note] = (),
) -> Pruned:
    """As `prune`, of elements that were read before."""
    said = Notes(notes)
    if not isinstance(message, str):
        raise UsageError(f"message is a {type(message).__name__}; it must be a text")
    if phase is not None and not isinstance(phase, str):
        raise UsageError(f"phase is a {type(phase).__name__}; it must be a text")
    message, phase = plain_text(message), None if phase is None else plain_text(phase)
    judged = _judged(elements, message, limits, phase, scorer, analyzer, said)
    full = np.array([_counted(counter, element) for element in elements], dtype=np.float64)
    protected = np.array([reason is not None for reason in judged.protection], dtype=np.bool_)
    replaced = np.array([place is not None for place in judged.replaced_by], dtype=np.bool_)
    classes = pack.decay_class(
        judged.decay,
        replaced | np.array(judged.corrected or (False,) * len(elements), dtype=np.bool_),
        keep_below=limits.keep_below,
        summarize_from=limits.decay_threshold,
        drop_from=limits.drop_threshold,
    )
    planned = pack.planned(classes, replaced, protected)
    planned = np.where((planned == pack.SUMMARIZE) & (full <= SHORTEST), pack.KEEP, planned)
    texts, short = summaries(elements, message, planned, full, counter)
    action = fitted(elements, judged, planned, full, short, protected, limits.max_tokens, said)
    texts = {i: text for i, text in texts.items() if action[i] == pack.SUMMARIZE}
    shortened = Summaries(texts=texts, tokens=short, by={})
    if summarizer is not None:
        taken = float(np.select([action == pack.KEEP, action == pack.SUMMARIZE], [full, short]).sum())
        room = limits.max_tokens - taken
        shortened = rewritten(elements, shortened, full, judged.decay, room, message, counter, summarizer, said)
    decisions = tuple(
        _decision(elements, judged, int(classes[i]), int(planned[i]), int(action[i]), full, shortened, i)
        for i in range(len(elements))
    )
    monitors = _monitors(judged, action, full, decisions)
    if monitors.age_decay_correlation is not None and monitors.age_decay_correlation > ALARM:
        said.add("info", "conversation", "recency_rule", "decay follows age alone; what is old goes, whatever it says")
    return Pruned(elements=tuple(elements), decisions=decisions, monitors=monitors, notes=said.as_tuple())


def check_limits(limits: Limits) -> None:
    """Raises UsageError for limits that make no sense."""
    if not isinstance(limits, Limits):
        raise UsageError(f"limits is a {type(limits).__name__}; it must be Limits(...)")
    for name in ("max_tokens", "keep_last_turns"):
        if not isinstance(getattr(limits, name), int):
            raise UsageError(f"{name} is {getattr(limits, name)!r:.40}; it must be a whole number")
    for name in ("keep_below", "decay_threshold", "drop_threshold"):
        if not isinstance(getattr(limits, name), (int, float)):
            raise UsageError(f"{name} is {getattr(limits, name)!r:.40}; it must be a number")
    if limits.max_tokens < 1:
        raise UsageError(f"max_tokens is {limits.max_tokens}; it must be at least 1")
    if limits.keep_last_turns < 0:
        raise UsageError(f"keep_last_turns is {limits.keep_last_turns}; it must be 0 or more")
    if not 0 <= limits.keep_below <= limits.decay_threshold <= limits.drop_threshold <= 1:
        raise UsageError("the thresholds must rise within 0 and 1: keep_below, decay_threshold, drop_threshold")


def _counted(counter: Counter, element: Element) -> int:
    """Tokens of an element. Raises UsageError for a counter that does not count."""
    tokens = counter(element.content)
    if not isinstance(tokens, int) or tokens < 0:
        raise UsageError(f"the counter of tokens gives {tokens!r:.40}; it must give whole numbers from 0 on")
    return tokens


def _judged(
    elements: Sequence[Element],
    message: str,
    limits: Limits,
    phase: str | None,
    scorer: Scorer | None,
    analyzer: Analyzer,
    notes: Notes,
) -> Judgement:
    embedded = judge(elements, message, analyzer, keep_last_turns=limits.keep_last_turns, phase=phase)
    if scorer is None:
        return embedded
    try:
        with scoring(scorer):
            judged = scorer(elements, message)
    except ServiceError as fault:
        code = "lm_conservative" if fault.code.startswith("lm") else "conservative"
        notes.add("failure", "conversation", code, f"the scorer failed ({fault.code}); little is kept")
        return _conservative(elements, embedded)
    judged = _checked(judged, len(elements))
    if any(judged.suspected):
        text = "texts that try to instruct the judge were cut, and are worth what the rules say at the most"
        notes.add("info", "conversation", "injection_suspected", text, sum(judged.suspected))
    return bounded(judged, embedded)


def _checked(judged: object, n: int) -> Judgement:
    """The answer of a scorer, its decay as an array. Raises UsageError where it does not fit n elements."""
    if not isinstance(judged, Judgement):
        raise UsageError(f"the scorer answered with a {type(judged).__name__}; it must be a memrank.Judgement")
    try:
        judged = replace(judged, decay=np.asarray(judged.decay, dtype=np.float64))
    except (TypeError, ValueError):
        raise UsageError("the scorer gave a decay that is no number from 0 to 1") from None
    lengths = {len(judged.decay), len(judged.protection), len(judged.replaced_by), len(judged.rationale)}
    lengths |= {len(said) for said in (judged.corrected, judged.suspected) if said}
    if lengths != {n}:
        raise UsageError(f"the scorer judged {sorted(lengths)} elements; there are {n}")
    if not np.all((judged.decay >= 0) & (judged.decay <= 1)):
        raise UsageError("the scorer gave a decay that is no number from 0 to 1")
    for i in range(n):
        place, steps = judged.replaced_by[i], 0
        while place is not None:
            steps += 1
            if not isinstance(place, (int, np.integer)) or not 0 <= place < n or steps > n:
                raise UsageError(
                    "the scorer gave a replaced_by that is no place of another element, or a circle of them"
                )
            place = judged.replaced_by[place]
    return judged


def _conservative(elements: Sequence[Element], embedded: Judgement) -> Judgement:
    """The last turns, the newest retrieved documents and everything protected stay; the rest goes."""
    documents = [i for i, element in enumerate(elements) if element.kind == "document"][-NEWEST_DOCUMENTS:]
    kept = np.array([reason is not None for reason in embedded.protection], dtype=np.bool_)
    kept[documents] = True
    protection = tuple(reason or (LAST if i in documents else None) for i, reason in enumerate(embedded.protection))
    return Judgement(
        decay=np.where(kept, 0.0, 1.0),
        protection=protection,
        replaced_by=(None,) * len(elements),
        topic_shift=False,
        rationale=tuple(
            "kept by the conservative policy" if keep else "dropped by the conservative policy" for keep in kept
        ),
    )


def _decision(
    elements: Sequence[Element],
    judged: Judgement,
    decay_class: int,
    planned: int,
    action: int,
    full: Floats,
    shortened: Summaries,
    i: int,
) -> Decision:
    newer = judged.replaced_by[i]
    taken = {pack.KEEP: full[i], pack.SUMMARIZE: shortened.tokens[i]}.get(action, 0.0)
    return Decision(
        id=elements[i].id,
        decay=float(judged.decay[i]),
        decay_class=decay_class,
        action=ACTIONS[action],
        planned=ACTIONS[planned],
        protection=judged.protection[i],
        replaced_by=None if newer is None else elements[newer].id,
        rationale=judged.rationale[i],
        tokens=int(taken),
        summary=shortened.texts.get(i),
        summary_by=shortened.by.get(i),
    )


def _monitors(judged: Judgement, action: pack.Ints, full: Floats, decisions: Sequence[Decision]) -> Monitors:
    n = len(action)
    age = np.arange(n, 0, -1, dtype=np.float64)
    return Monitors(
        tokens_before=int(full.sum()),
        tokens_after=sum(decision.tokens for decision in decisions),
        mean_decay=float(judged.decay.mean()) if n else 0.0,
        kept=_share(action == pack.KEEP),
        summarized=_share(action == pack.SUMMARIZE),
        dropped=_share(action >= pack.DROP),
        age_decay_correlation=age_correlation(age, judged.decay),
        topic_shift=judged.topic_shift,
    )


def _share(mask: Bools) -> float:
    return float(mask.mean()) if len(mask) else 0.0
