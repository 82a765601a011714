"""Judging a conversation: what each element is worth now, what protects it, what has replaced it, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memrank.dialogue.elements import Element
from memrank.dialogue.evidence import features_of, idle, last_turns
from memrank.dialogue.links import link_features
from memrank.dialogue.relations import Relations, relations
from memrank.dialogue.relevance import relevance_to
from memrank.dialogue.topic import off_topic, shifted
from memrank.indexing import Analyzer
from memrank.score.dialogue import faded, shipped, with_relevance
from memrank.text.acts import asks, commits, remains, requests
from memrank.text.counted import counted, verb
from memrank.text.talk import cues_of
from memrank.types import Bools, Floats

PROTECTED_FROM = 0.1
"""Probability from which an element counts as owing something: rather one too many."""
UNKEPT = 0.7
"""How little of a promise, or of what was left to be done, may be told as done, so that it is still owed."""
SHORT = 100
"""Elements up to which these signs are sure: in a longer one, what settles a matter may share no word with it."""
REPLACED_FROM = 0.35
"""Probability from which a later element counts as what corrects or replaces an earlier one."""
PERHAPS_FROM = 0.1
"""Probability from which a later element may be what corrects an earlier one, where a model finds that it is."""
IDLE = 0.95
"""Decay at least of what only passes the time."""
PUSH = 0.15
"""How far a topic shift pushes what was talked about last, of what is left to worthless."""

COMMITMENT, QUESTION, ACTION, PINNED, LAST, CORRECTS = (
    "commitment",
    "open_question",
    "pending_action",
    "pinned",
    "last_turns",
    "corrects_protected",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Of n elements, in their order."""

    decay: Floats
    """0 essential to 1 worthless; 1 for what was corrected."""
    protection: tuple[str | None, ...]
    """Why each must not be dropped: `commitment`, `open_question`, `pending_action`, `pinned`, `last_turns`,
    `corrects_protected`.
    """
    replaced_by: tuple[int | None, ...]
    """Place of the element that corrects or replaces it. One that is protected stays nevertheless."""
    topic_shift: bool
    """Whether the message starts another topic than that of the last turns."""
    rationale: tuple[str, ...]
    corrected: tuple[bool, ...] = ()
    """What is corrected or superseded, whoever did that; empty: those with a `replaced_by`."""
    suspected: tuple[bool, ...] = ()
    """Whose text tries to instruct the judge: the embedded judge's word bounds what it is worth. Empty: nobody's."""
    likeliest: tuple[int | None, ...] = ()
    """Of the embedded judge: the later element that most likely corrects each, sure or not; empty where not asked."""


def judge(
    elements: Sequence[Element], message: str, analyzer: Analyzer, *, keep_last_turns: int, phase: str | None = None
) -> Judgement:
    """What every element is worth, given the message that has just arrived (and the phase of the task, where known)."""
    n = len(elements)
    if not n:
        empty: tuple[None, ...] = ()
        return Judgement(decay=np.zeros(0), protection=empty, replaced_by=empty, topic_shift=False, rationale=())
    asked = message if phase is None else f"{message}\n{phase}"
    related = relations([*(element.content for element in elements), asked], analyzer)
    found = features_of(elements, related)
    worth = shipped().worth(found)
    relevance = relevance_to(elements, asked, analyzer)
    decay = with_relevance(worth.decay, relevance)
    shift = shifted(elements, related, message, analyzer)
    if shift:
        decay = faded(decay, off_topic(elements, related), PUSH)
    replaced, likeliest = _replaced(elements, related, analyzer)
    gone = np.array([place is not None for place in replaced], dtype=np.bool_)
    passing = idle(elements)
    decay = np.where(gone, 1.0, np.where(passing, np.maximum(decay, IDLE), decay))
    owing = (worth.protected >= PROTECTED_FROM) | (_surely_owing(found) & (n <= SHORT))
    protection = carried(_protection(elements, owing, last_turns(elements, keep_last_turns)), replaced)
    return Judgement(
        decay=decay,
        protection=protection,
        replaced_by=replaced,
        topic_shift=shift,
        rationale=tuple(_why(elements, found, passing, protection, replaced, relevance, i) for i in range(n)),
        likeliest=likeliest,
    )


def _surely_owing(found: dict[str, Floats]) -> Bools:
    """What nobody has replied to, or only put off, is open without a doubt, however long ago it was asked; and so is
    what was promised or left to be done, and nothing shows to be done.
    """
    waiting = [found[name] > 0 for name in ("unanswered", "deferred", "request_waits")]
    undone = [found[name] >= UNKEPT for name in ("promised_later", "committed", "remaining")]
    surely: Bools = np.logical_or.reduce([*waiting, *undone])
    return surely


def _protection(elements: Sequence[Element], owing: Bools, last: Bools) -> tuple[str | None, ...]:
    out: list[str | None] = []
    for i, element in enumerate(elements):
        kind = _owed(element) if element.kind in ("user", "assistant") else None
        if element.pinned:
            out.append(PINNED)
        elif kind is not None and owing[i]:
            out.append(kind)
        else:
            out.append(LAST if last[i] else None)
    return tuple(out)


def carried(protection: Sequence[str | None], replaced: Sequence[int | None]) -> tuple[str | None, ...]:
    """Protection, also of what corrects or replaces a protected element: else the old value would stay without it."""
    out = list(protection)
    for i, reason in enumerate(protection):
        at = replaced[i]
        while reason is not None and at is not None:
            out[at] = out[at] or CORRECTS
            at = replaced[at]
    return tuple(out)


def _owed(element: Element) -> str | None:
    """What a turn may leave open, by its words."""
    said = element.content
    if commits(said):
        return COMMITMENT
    if asks(said):
        return QUESTION
    if remains(said) or requests(said):
        return ACTION
    cues = cues_of(said)
    if "promise" in cues and (element.kind == "assistant" or "later" in cues or "request" not in cues):
        return COMMITMENT
    return ACTION if cues & {"request", "later"} else None


def _replaced(
    elements: Sequence[Element], related: Relations, analyzer: Analyzer
) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
    """For each element what it says itself that supersedes it, or the likeliest later one that corrects or replaces it;
    the later one, where two are alike. And the likeliest later one that may do so, which is less sure.
    """
    older, newer, links = link_features(elements, related, analyzer)
    likely = shipped().replaced(links, len(elements))
    best: dict[int, tuple[float, int]] = {}
    for i, j, chance in zip(older.tolist(), newer.tolist(), likely.tolist(), strict=True):
        if chance >= PERHAPS_FROM:
            best[i] = max(best.get(i, (0.0, -1)), (chance, j))
    place = {element.id: i for i, element in enumerate(elements)}
    stated = {i: place[by] for i, element in enumerate(elements) if (by := element.memory.superseded_by) in place}
    out: list[int | None] = [None] * len(elements)
    sure = ((i, j) for i, (chance, j) in best.items() if chance >= REPLACED_FROM)
    for i, j in (*stated.items(), *sure):
        if out[i] is None and not leads_to(out, j, i):
            out[i] = j
    perhaps = {i: j for i, (_, j) in best.items() if j > i} | stated
    return tuple(out), tuple(perhaps.get(i) for i in range(len(elements)))


def leads_to(successors: Sequence[int | None], start: int, end: int) -> bool:
    """Whether what replaces `start` is in the end replaced by `end`: two that replace each other would both be lost."""
    at: int | None = start
    while at is not None and at != end:
        at = successors[at]
    return at == end


def _why(
    elements: Sequence[Element],
    found: dict[str, Floats],
    passing: Bools,
    protection: Sequence[str | None],
    replaced: Sequence[int | None],
    relevance: Floats,
    i: int,
) -> str:
    """One sentence that names only what was found."""
    newer = replaced[i]
    said = []
    if newer is not None:
        said.append(f"replaced by {elements[newer].id}")
    if protection[i] is not None:
        said.append(_SAID[protection[i] or ""])
    if relevance[i] >= 0.3:
        said.append(f"speaks of what the message asks (relevance {relevance[i]:.2f})")
    if found["opening"][i]:
        said.append("opens the conversation")
    if found["promise_kept"][i] > 0.3:
        said.append("what it promises seems done since")
    if found["told"][i] > 0.3:
        said.append("its result was told since")
    if passing[i]:
        said.append("small talk")
    if found["user_lasting"][i]:
        said.append("states a lasting wish or limit of the user")
    if found["referred"][i] > 0:
        later = _count(found["referred"][i])
        said.append(f"{counted(later, 'later element')} {verb(later, 'speaks', 'speak')} of it")
    ago = counted(_count(found["back"][i]), "turn")
    return "; ".join(said) or f"{elements[i].kind} of {ago} ago, referred to by none"


def _count(logged: float) -> int:
    return round(float(np.expm1(logged)))


_SAID = {
    COMMITMENT: "a promise that nothing shows to be kept",
    QUESTION: "a question that nothing shows to be answered",
    ACTION: "an action that nothing shows to be done",
    PINNED: "pinned",
    LAST: "one of the last turns",
    CORRECTS: "corrects what is protected",
}
