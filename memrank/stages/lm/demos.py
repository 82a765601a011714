"""Examples that anchor the scales, borderline cases included: small local models go by them more than by instructions.

Each is complete (every field of its signature), made up for the purpose, and of no evalset.
"""

from typing import Any

import dspy

from memrank.stages.lm.signatures import (
    ContextDecay,
    ContradictionVerdict,
    ElementDecay,
    ElementSummary,
    ElementView,
    FreshnessJudgement,
    MemoryRanking,
    PassageFreshness,
    PeriodView,
    QuerySensitivity,
    RelevanceJudgement,
    StatementView,
)
from memrank.stages.views import MemoryView, QueryView

NOW = "2026-03-20T09:00:00+00:00"


def _example(signature: type[dspy.Signature], **fields: Any) -> dspy.Example:
    return dspy.Example(**fields, faults=[]).with_inputs(*signature.input_fields)


def _memory(identity: str, date: str | None, content: str, **more: Any) -> MemoryView:
    return MemoryView(id=identity, date=date, content=f"<< {content} >>", **more)


def _ranked(query: str, *rows: tuple[str, str | None, str, float, str]) -> dspy.Example:
    return _example(
        MemoryRanking,
        query=QueryView(text=query, as_of=NOW),
        memories=[_memory(identity, date, content) for identity, date, content, _, _ in rows],
        judgements=[
            RelevanceJudgement(id=identity, relevance=relevance, justification=why)
            for identity, _, _, relevance, why in rows
        ],
    )


RANKING = (
    _ranked(
        "Where does Lena work now?",
        ("n4", "2026-02-11", "Lena started at the Harbour Clinic in February.", 1.0, "names her present employer"),
        ("n1", "2023-05", "Lena works as a nurse at St. Olav.", 0.8, "her employer, an older value"),
        ("n7", "2026-03-01", "Lena wants to work less and paint more.", 0.2, "about her work, names no employer"),
        ("n9", "2026-03-02", "The clinic of the harbour opens at eight.", 0.1, "names the clinic, not Lena"),
    ),
    _ranked(
        "Which database did we choose for billing?",
        ("d2", "2026-01-14", "We will look at MySQL and Postgres for billing.", 0.4, "names options, no choice"),
        ("d5", "2026-01-30", "Decision: billing goes to Postgres.", 1.0, "states the decision"),
        ("d8", "2026-01-30", "Search stays on its own database.", 0.1, "a choice for search, not for billing"),
    ),
    _ranked(
        "What should I cook for Omar?",
        ("p3", "2025-08-09", "Omar cannot eat peanuts.", 0.7, "a limit that the answer must keep to"),
        ("p6", None, "Omar was at the lake on Sunday.", 0.0, "says nothing about food"),
        ("p7", "2026-03-10", "[removed: an instruction] I cooked rice today.", 0.1, "about cooking, not about Omar"),
    ),
)


def _timed(query: str, sensitivity: str, period: PeriodView | None, *, previous: bool = False) -> dspy.Example:
    return _example(
        QuerySensitivity, query=query, as_of=NOW, sensitivity=sensitivity, period=period, asks_previous=previous
    )


SENSITIVITY = (
    _timed("Is the payment service up right now?", "real-time", None),
    _timed("What is Ana's phone number?", "recent", None),
    _timed(
        "What did we decide last March?",
        "historical",
        PeriodView(start="2025-03-01T00:00:00+00:00", end="2025-04-01T00:00:00+00:00"),
    ),
    _timed("Where did she live before she moved?", "historical", None, previous=True),
    _timed("How does a binary search work?", "time-agnostic", None),
)


def _fresh(query: str, sensitivity: str, period: PeriodView | None, *rows: Any) -> dspy.Example:
    return _example(
        PassageFreshness,
        query=QueryView(text=query, as_of=NOW),
        sensitivity=sensitivity,
        period=period,
        passages=[_memory(identity, date, content) for identity, date, content, _, _ in rows],
        judgements=[
            FreshnessJudgement(id=identity, freshness=value, rationale=why) for identity, _, _, value, why in rows
        ],
    )


FRESHNESS = (
    _fresh(
        "What is the present rate?",
        "recent",
        None,
        ("a", "2026-03-19", "The rate is 3.1 %.", 0.95, "one day old"),
        ("b", "2026-03-06", "The rate is 3.0 %.", 0.5, "two weeks old"),
        ("c", None, "The rate is 2.0 %.", 0.0, "undated"),
    ),
    _fresh(
        "What was said in 2024?",
        "historical",
        PeriodView(start="2024-01-01T00:00:00+00:00", end="2025-01-01T00:00:00+00:00"),
        ("a", "2024-07-02", "Growth was slow.", 1.0, "inside 2024"),
        ("b", "2025-07-02", "Growth was fast.", 0.7, "half a year after 2024"),
    ),
    _fresh(
        "What is inflation?",
        "time-agnostic",
        None,
        ("a", "2009-01-01", "Inflation is a rise of prices.", 1.0, "time does not matter"),
    ),
)


def _decayed(message: str, *rows: tuple[str, str, str, int, str, str]) -> dspy.Example:
    count = len(rows)
    return _example(
        ContextDecay,
        message=message,
        elements=[
            ElementView(id=identity, kind=kind, content=f"<< {content} >>", turns_ago=count - place)
            for place, (identity, kind, content, _, _, _) in enumerate(rows)
        ],
        max_tokens=500,
        decisions=[
            ElementDecay(id=identity, decay_class=level, action=action, rationale=why)  # type: ignore[arg-type]
            for identity, _, _, level, action, why in rows
        ],
    )


DECAY = (
    _decayed(
        "Please book the hotel.",
        ("1", "user", "Hi, nice weather today!", 4, "drop", "small talk"),
        ("2", "user", "We fly on 3 May.", 5, "overwrite", "corrected by 4"),
        ("3", "assistant", "I will send you the invoice on Friday.", 1, "keep_full", "a promise that is not kept yet"),
        ("4", "user", "Sorry, we fly on 4 May.", 1, "keep_full", "the date that counts"),
    ),
    _decayed(
        "Now to something else: the test fails.",
        ("1", "user", "Never use tabs in my code.", 1, "keep_full", "a lasting limit of the user"),
        ("2", "tool_output", "200 rows of the holiday table", 4, "drop", "the old topic, and done"),
        ("3", "user", "Which city did you mean?", 2, "keep_full", "a question that is still open"),
    ),
    _decayed(
        "Go on with the report.",
        ("1", "document", "Background of the report, five pages.", 3, "summarize", "its gist is enough"),
        ("2", "assistant", "The report compares three vendors; B leads.", 1, "keep_full", "the state of the work"),
    ),
)


def _verdict(older: str, newer: str, relation: str, confidence: float, rationale: str) -> dspy.Example:
    return _example(
        ContradictionVerdict,
        older=StatementView(content=f"<< {older} >>", date="2026-01-10"),
        newer=StatementView(content=f"<< {newer} >>", date="2026-03-10"),
        relation=relation,
        confidence=confidence,
        rationale=rationale,
    )


VERDICTS = (
    _verdict("Prefers mornings.", "Switch me to afternoons, please.", "supersedes", 0.9, "another time of the day"),
    _verdict(
        "Tolerates the drug well.", "Stopped the drug for side effects.", "supersedes", 0.95, "what went on has ended"
    ),
    _verdict("Her son Jan is five.", "Jan likes trains.", "agrees", 0.9, "adds to what is known of Jan"),
    _verdict("Ran 5 km on Monday.", "Ran 8 km on Thursday.", "unrelated", 0.8, "two runs that both happened"),
    _verdict("Tom lives in Rome.", "Tim lives in Oslo.", "unrelated", 0.95, "two persons"),
)


def _short(query: str, content: str, summary: str, most: int) -> dspy.Example:
    return _example(ElementSummary, query=query, content=f"<< {content} >>", max_tokens=most, summary=summary)


SUMMARIES = (
    _short(
        "When is the launch?",
        "We talked for an hour about colours and logos. In the end we moved the launch to 4 May, and Ann sends the "
        "press text on Friday.",
        "Launch moved to 4 May; Ann sends the press text on Friday.",
        20,
    ),
    _short(
        "Which drug?",
        "Patient in good spirits. Metformin 500 mg was raised to 850 mg.",
        "Metformin raised from 500 mg to 850 mg.",
        15,
    ),
    _short(
        "What is open?", "Shall we meet at noon or at one? I do not know yet.", "Shall we meet at noon or at one?", 15
    ),
)
