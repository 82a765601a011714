"""Conversations for tests: short ways to write their records, judgements of a scorer, and a strategy of random ones."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from hypothesis import strategies as st

from memrank.dialogue.elements import Element, read_elements
from memrank.dialogue.judge import Judgement
from memrank.indexing import Analyzer

Record = dict[str, object]

SAID = (
    "I need a flight to Rome on Friday.",
    "I will send you the invoice on Monday.",
    "Sorry, I was wrong: it is 600 euros, not 500.",
    "My budget for the hotel is 500 euros.",
    "Which hotels are near the station?",
    "I don't know yet, I'll ask the warehouse.",
    "Thanks!",
    "",
    "The report says that the rate is 4.25 percent. It was decided on Monday. Nobody objected. Lunch was late. " * 3,
    "Anyway, another matter: the garden chairs.",
    "status: open\nerror: denied\ntotal: 12\n" * 8,
    "\u4eca\u65e5\u306f\u5929\u6c17\u304c\u3044\u3044\u3002" * 10,
)


@cache
def plain_analyzer() -> Analyzer:
    """Without an embedder: quick."""
    return Analyzer("english", "none")


def user(content: str, **fields: object) -> Record:
    return {"role": "user", "content": content, **fields}


def assistant(content: str, **fields: object) -> Record:
    return {"role": "assistant", "content": content, **fields}


def document(content: str, **fields: object) -> Record:
    return {"memory_type": "document", "content": content, **fields}


def call(content: str, call_id: str | None = None, **fields: object) -> Record:
    return {"memory_type": "tool_call", "content": content, "call_id": call_id, **fields}


def output(content: str, call_id: str | None = None, **fields: object) -> Record:
    return {"memory_type": "tool_output", "content": content, "call_id": call_id, **fields}


def elements(*records: Record) -> tuple[Element, ...]:
    return read_elements(records)[0]


def judged(
    decay: Sequence[float],
    *,
    protection: Sequence[str | None] | None = None,
    replaced_by: Sequence[int | None] | None = None,
    topic_shift: bool = False,
) -> Judgement:
    """What a scorer may answer."""
    n = len(decay)
    return Judgement(
        decay=np.array(decay, dtype=np.float64),
        protection=tuple(protection or (None,) * n),
        replaced_by=tuple(replaced_by or (None,) * n),
        topic_shift=topic_shift,
        rationale=("by a scorer",) * n,
    )


@st.composite
def conversations(draw: st.DrawFn, *, most: int = 14) -> list[Record]:
    """Records of a conversation: turns, calls with their results, documents; some pinned, named, dated."""
    out: list[Record] = []
    for place in range(draw(st.integers(0, most))):
        content = draw(st.sampled_from(SAID))
        make = draw(st.sampled_from([user, assistant, document, None]))
        if make is None:
            name = draw(st.sampled_from(["x", "y", "z"]))
            made = [call(f"order(id={place})", name), output(content, name)]
        else:
            made = [make(content)]
        for record in made:
            if draw(st.integers(0, 5)) == 0:
                record["pinned"] = True
            if draw(st.integers(0, 5)) == 0:
                record["id"] = draw(st.sampled_from(["a", "b", "#2", "#3"]))
            if draw(st.integers(0, 3)) == 0:
                record["created_at"] = f"2026-03-{draw(st.integers(1, 28)):02}"
            if draw(st.integers(0, 5)) == 0:
                record["superseded_by"] = draw(st.sampled_from(["a", "b", "#2", "elsewhere"]))
        out.extend(made)
    return out
