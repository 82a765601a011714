"""What each element of a conversation is still worth, as numbers: who said it, when, what it does, what refers to it.

Every feature is an array of shape (n,), one value an element, in the order of the conversation.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from memrank.dialogue.elements import Element
from memrank.dialogue.relations import Relations, relations
from memrank.dialogue.threads import threads
from memrank.indexing import Analyzer
from memrank.tenant import count_tokens
from memrank.text.acts import asks
from memrank.text.claims import read_claim
from memrank.text.smalltalk import smalltalk
from memrank.text.talk import called, cues_of, ends_in_question, questions
from memrank.types import Bools, Floats

RECENT = 4
"""Elements at the end that stand for what is being talked about."""
TOUCHES = 0.2
"""Share of an element's words that another must hold to count as speaking of it."""


def features(elements: Sequence[Element], message: str, analyzer: Analyzer) -> dict[str, Floats]:
    """Features of every element, given the message that has just arrived."""
    return features_of(elements, relations([*(element.content for element in elements), message], analyzer))


def features_of(elements: Sequence[Element], related: Relations) -> dict[str, Floats]:
    """The same, where the relations are known."""
    n = len(elements)
    kinds = {kind: _mark(element.kind == kind for element in elements) for kind in ("user", "assistant", "document")}
    calls = _mark(element.kind == "tool_call" for element in elements)
    outputs = _mark(element.kind == "tool_output" for element in elements)
    turns = np.array([element.turn for element in elements], dtype=np.float64)
    back = (turns[-1] - turns) if n else turns
    place = np.arange(n, dtype=np.float64)
    tokens = np.array([count_tokens(element.content) for element in elements], dtype=np.float64)
    cues = [cues_of(element.content) for element in elements]
    spoken = kinds["user"] + kinds["assistant"]
    out: dict[str, Floats] = {
        **{f"is_{name}": mark for name, mark in kinds.items()},
        "is_call": calls,
        "is_output": outputs,
        "back": np.log1p(back),
        "newest": 1.0 / (1.0 + back),
        "last": (n - place <= 2).astype(np.float64),
        "opening": (place == _first_user(elements)).astype(np.float64),
        "length": np.log1p(tokens),
        **{f"cue_{name}": _mark(name in found for found in cues) * spoken for name in ("request", "later")},
        "asks": _mark(asks(element.content) for element in elements) * spoken,
        "asks_twice": _mark(questions(element.content) > 1 for element in elements) * spoken,
        "asks_last": _mark(ends_in_question(element.content) for element in elements) * spoken,
        **_facts(elements),
        **_reach(elements, related),
        **threads(elements, related, cues),
        **_reruns(reruns(elements, related), elements, related),
    }
    out["user_lasting"] = kinds["user"] * _mark("lasting" in found for found in cues)
    out["old_call"] = (calls + outputs) * out["back"]
    return out


def idle(elements: Sequence[Element]) -> Bools:
    """What only passes the time, shape (n,). The reply to a question does not: "fine" may settle it."""
    out = np.zeros(len(elements), dtype=np.bool_)
    asked = False
    for i, element in enumerate(elements):
        if element.kind in ("user", "assistant"):
            out[i] = smalltalk(element.content) and not asked
            asked = asks(element.content)
    return out


def _mark(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def _first_user(elements: Sequence[Element]) -> int:
    return next((i for i, element in enumerate(elements) if element.kind == "user"), -1)


def _facts(elements: Sequence[Element]) -> dict[str, Floats]:
    claims = [read_claim(element.content) for element in elements]
    return {
        "numbers": np.log1p(_mark(len(claim.numbers) for claim in claims)),
        "names": np.log1p(_mark(len(claim.names) for claim in claims)),
        "dates": np.log1p(_mark(len(claim.periods) for claim in claims)),
    }


def _reach(elements: Sequence[Element], related: Relations) -> dict[str, Floats]:
    """What an element shares with the message, with what is being talked about, and with all that came after it."""
    n = len(elements)
    held, cosine = related.held[:n], related.cosine[:n]
    later = np.triu(np.ones((n, n)), 1)
    # What belongs to the same turn repeats it, and does not refer to it.
    turn = np.array([element.turn for element in elements])
    apart = later * (turn[:, None] != turn[None, :])
    recent = slice(max(0, n - RECENT), n)
    own = np.zeros((n, n), dtype=np.bool_)
    own[np.arange(n), np.arange(n)] = True
    around_words = np.where(own, 0.0, held[:, :n])[:, recent].max(axis=1, initial=0.0)
    around = np.where(own, 0.0, cosine[:, :n])[:, recent].max(axis=1, initial=0.0)
    from_message = related.shared[n, :n] / (related.shared[n, n] + 1e-9)
    return {
        "message_words": from_message,
        "message_held": held[:, n],
        "message_meaning": cosine[:, n],
        "around_words": around_words,
        "around": around,
        "referred": np.log1p((apart * (held[:, :n] > TOUCHES)).sum(axis=1)),
        "retold": (later * held[:, :n]).max(axis=1, initial=0.0),
        "retold_apart": (apart * held[:, :n]).max(axis=1, initial=0.0),
    }


def _reruns(again: Floats, elements: Sequence[Element], related: Relations) -> dict[str, Floats]:
    """Whether the same call was made again later, so that its result is newer; how much of a result was told since."""
    told = np.zeros(len(elements))
    held = related.held
    speech = -1
    for i in range(len(elements) - 1, -1, -1):
        if elements[i].kind in ("tool_call", "tool_output") and speech >= 0:
            told[i] = held[speech, i]
        if elements[i].kind == "assistant":
            speech = i
    return {"rerun": again.max(axis=1, initial=0.0), "told": told}


def reruns(elements: Sequence[Element], related: Relations) -> Floats:
    """(n, n): how far the column is the row's call, or its result, made once more, in [0, 1]."""
    n = len(elements)
    out = np.zeros((n, n))
    made = {element.call_id: i for i, element in enumerate(elements) if element.kind == "tool_call" and element.call_id}
    own = [
        i if element.kind == "tool_call" else made.get(element.call_id or "") if element.kind == "tool_output" else None
        for i, element in enumerate(elements)
    ]
    names = [None if i is None else called(elements[i].content) for i in own]
    tools = [i for i in range(n) if names[i] is not None]
    held = related.held
    for place, i in enumerate(tools):
        for j in tools[place + 1 :]:
            one, two = own[i], own[j]
            if names[i] == names[j] and elements[i].kind == elements[j].kind and one is not None and two is not None:
                out[i, j] = held[one, two]
    return out


def last_turns(elements: Sequence[Element], keep_last: int) -> Bools:
    """Which elements belong to the last `keep_last` turns, shape (n,)."""
    last = sorted({element.turn for element in elements})[-keep_last:] if keep_last else []
    return np.array([element.turn in last for element in elements], dtype=np.bool_)
