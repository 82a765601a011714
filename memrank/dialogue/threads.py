"""Which threads of a conversation are still open: questions not answered, promises not kept, things still to do."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memrank.dialogue.elements import Element
from memrank.dialogue.relations import Relations
from memrank.text.acts import asks, commits, remains, requests
from memrank.text.replies import puts_off, reply_to_question
from memrank.text.talk import CUES
from memrank.types import Bools, Floats

LONELY = 40
"""Elements up to which one voice alone is taken to wait for a reply."""
SETTLES = 0.2
"""Share of words, or meaning, that a late answer has in common with the question that was put off."""

NEAR = 2
"""Elements after a request within which a call of a tool is taken to work on it."""


def threads(elements: Sequence[Element], related: Relations, cues: Sequence[frozenset[str]]) -> dict[str, Floats]:
    """Whether what an element asks, promises or leaves to be done was answered or done since; each of shape (n,)."""
    n = len(elements)
    held, cosine = related.held[:n, :n], related.cosine[:n, :n]
    user = np.array([element.kind == "user" for element in elements], dtype=np.bool_)
    said = user | np.array([element.kind == "assistant" for element in elements], dtype=np.bool_)
    cue = {name: said * np.array([name in found for found in cues], dtype=np.float64) for name in CUES}
    mutual = np.maximum(held, held.T)
    voices = [element.memory.speaker or element.kind for element in elements]
    reply = _replies(voices, said)
    # Where one voice is heard for so long, the replies were not recorded: nothing is known of them.
    heard = {voice for voice, spoken in zip(voices, said, strict=True) if spoken}
    known = len(heard) > 1 or n <= LONELY
    silent = ((reply < 0) & said & known).astype(np.float64)
    asking = said * _each(asks, elements)
    close = np.maximum(mutual, cosine)
    overlap = np.where(reply >= 0, close[np.arange(n), np.maximum(reply, 0)], 0.0)
    later = np.triu(np.ones((n, n)), 1)
    kept = (later * mutual * cue["done"][None, :]).max(axis=1, initial=0.0)
    open_still = 1.0 - kept
    put_off = _put_off(elements, voices, said, close) * (reply >= 0)
    replied = (reply >= 0) * (1.0 - put_off) * said
    wanted = np.array([float(requests(element.content)) for element in elements])
    settled = (later * close * cue["done"][None, :]).max(axis=1, initial=0.0)
    return {
        "unanswered": asking * silent,
        "deferred": asking * put_off,
        "answered": asking * replied * overlap,
        "promise_kept": cue["promise"] * kept,
        "promised_later": cue["promise"] * cue["later"] * open_still,
        "settled": settled * said,
        "committed": said * _each(commits, elements) * open_still,
        "remaining": said * _each(remains, elements) * open_still,
        "request_waits": wanted * user * _unworked(elements) * np.maximum(silent, put_off),
        "last_request": _last(wanted * user),
        "reply_puts_off": np.maximum(asking, wanted) * said * _of(reply, _each(puts_off, elements)),
    }


def _each(read: Callable[[str], bool], elements: Sequence[Element]) -> Floats:
    return np.array([float(read(element.content)) for element in elements], dtype=np.float64)


def _unworked(elements: Sequence[Element]) -> Floats:
    """1 for what no call of a tool follows at once."""
    calls = [i for i, element in enumerate(elements) if element.kind == "tool_call"]
    return np.array([float(not any(i < k <= i + NEAR for k in calls)) for i in range(len(elements))], dtype=np.float64)


def _of(place: NDArray[np.int64], values: Floats) -> Floats:
    """The value at each place, 0 where the place is -1."""
    return np.where(place >= 0, np.append(values, 0.0)[place], 0.0)


def _last(marks: Floats) -> Floats:
    """The last of the marks alone."""
    out = np.zeros(len(marks))
    marked = np.flatnonzero(marks)
    out[marked[-1:]] = 1.0
    return out


def _put_off(elements: Sequence[Element], voices: Sequence[str], said: Bools, close: Floats) -> Floats:
    """1 where all that other voices have said since only waits with what an element asks, or defers it: shape (n,).

    After a moment's wait, the next thing that is told answers it, unless its speaker has asked for something else by
    then; what was deferred is answered by what has something in common with it.
    """
    n = len(elements)
    replies = [reply_to_question(element.content) if said[i] else None for i, element in enumerate(elements)]
    out = np.zeros(n)
    for i in range(n):
        if not said[i]:
            continue
        loose = True
        open_still = 1.0
        for j in range(i + 1, n):
            if not said[j]:
                continue
            if voices[j] == voices[i]:
                loose = loose and not asks(elements[j].content) and not requests(elements[j].content)
            elif replies[j] == "answers" and (loose or close[i, j] >= SETTLES):
                open_still = 0.0
                break
            elif replies[j] == "defers":
                loose = False
        out[i] = open_still
    return out


def _replies(voices: Sequence[str], said: Bools) -> NDArray[np.int64]:
    """The next thing that another voice says after each element, -1 where there is none: shape (n,)."""
    reply = np.full(len(voices), -1, dtype=np.int64)
    following: dict[str, int] = {}
    for i in range(len(voices) - 1, -1, -1):
        others = [at for voice, at in following.items() if voice != voices[i]]
        reply[i] = min(others, default=-1)
        if said[i]:
            following[voices[i]] = i
    return reply
