"""Fitting into a budget: summaries, and tool calls that share the fate of their results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import Record, call, elements, judged, output, user

from memrank.dialogue.plan import SHORTEST, SUMMARY_SHARE, fitted, summaries
from memrank.score.pack import DROP, KEEP, OVERWRITE, SUMMARIZE
from memrank.tenant import BYTES_PER_TOKEN, count_tokens
from memrank.types import Notes

LONG = (
    "The report was read by all of us. The rate is 4.25 percent. It was decided on Monday. Lunch was late again. " * 3
)


def fit(
    records: list[Record],
    planned: list[int],
    decay: list[float],
    tokens: list[int],
    *,
    short: list[int] | None = None,
    protected: tuple[int, ...] = (),
    budget: int = 100,
) -> tuple[list[int], list[str]]:
    notes = Notes()
    safe = np.array([i in protected for i in range(len(records))], dtype=np.bool_)
    full = np.array(tokens, dtype=np.float64)
    brief = full if short is None else np.array(short, dtype=np.float64)
    actions = np.array(planned, dtype=np.int64)
    out = fitted(elements(*records), judged(decay), actions, full, brief, safe, budget, notes)
    return out.tolist(), [note.code for note in notes.as_tuple()]


PAIR = [call("f()", "x"), output("result", "x"), user("z")]


def test_a_call_and_its_result_share_the_better_fate() -> None:
    assert fit(PAIR, [DROP, KEEP, DROP], [0.95, 0.1, 0.95], [10] * 3) == ([KEEP, KEEP, DROP], [])
    assert fit(PAIR, [KEEP, OVERWRITE, KEEP], [0.1, 1.0, 0.1], [10] * 3) == ([KEEP, KEEP, KEEP], [])
    assert fit(PAIR, [DROP, OVERWRITE, KEEP], [0.95, 1.0, 0.1], [10] * 3) == ([DROP, OVERWRITE, KEEP], [])
    assert fit(PAIR, [OVERWRITE, OVERWRITE, KEEP], [1.0, 1.0, 0.1], [10] * 3) == ([OVERWRITE, OVERWRITE, KEEP], [])


def test_a_budget_takes_a_pair_as_one() -> None:
    assert fit(PAIR, [KEEP] * 3, [0.5, 0.4, 0.3], [10, 60, 40], budget=100) == ([DROP, DROP, KEEP], [])
    short = [10, 20, 40]
    assert fit(PAIR, [KEEP] * 3, [0.5, 0.4, 0.3], [10, 60, 40], short=short) == ([KEEP, SUMMARIZE, KEEP], [])


def test_a_protected_half_saves_the_other() -> None:
    assert fit(PAIR, [DROP, KEEP, KEEP], [1.0, 1.0, 0.0], [10, 60, 40], protected=(1,), budget=80) == (
        [KEEP, KEEP, DROP],
        [],
    )


def test_halves_that_never_meet_stand_alone() -> None:
    records = [call("f()", "x"), output("result", "y"), call("g()"), output("result")]
    assert fit(records, [KEEP, DROP, DROP, KEEP], [0.1, 0.95, 0.95, 0.1], [10] * 4)[0] == [KEEP, DROP, DROP, KEEP]
    # What only a tool has binds: a turn that happens to carry the same mark is not part of the call.
    records = [call("f()", "x"), user("said", call_id="x")]
    assert fit(records, [KEEP, DROP], [0.1, 0.95], [10] * 2)[0] == [KEEP, DROP]


def test_among_equals_the_oldest_goes_first() -> None:
    assert fit([user("a"), user("b"), user("c")], [KEEP] * 3, [0.5] * 3, [50] * 3)[0] == [DROP, KEEP, KEEP]


def test_protected_alone_over_the_budget_stay_with_a_note() -> None:
    out = fit([user("a"), user("b")], [KEEP] * 2, [0.0, 0.0], [80, 30], protected=(0, 1))
    assert out == ([KEEP, KEEP], ["protected_over_budget"])
    assert fit([user("a"), user("b")], [KEEP] * 2, [0.0, 0.0], [80, 20], protected=(0, 1))[1] == []
    assert fit([user("a"), user("b")], [KEEP] * 2, [0.0, 0.0], [101, 1], protected=(0,)) == (
        [KEEP, DROP],
        ["protected_over_budget"],
    )


def test_nothing_to_fit() -> None:
    assert fit([], [], [], []) == ([], [])


def made(text: str, planned: int, message: str = "", tokens: int | None = None) -> tuple[dict[int, str], float]:
    full = np.array([count_tokens(text) if tokens is None else tokens], dtype=np.float64)
    texts, short = summaries(elements(user(text)), message, np.array([planned]), full, count_tokens)
    return texts, float(short[0])


def test_a_summary_is_shorter_and_its_tokens_are_counted() -> None:
    texts, short = made(LONG, SUMMARIZE)
    assert "4.25" in texts[0]
    assert short == count_tokens(texts[0])
    assert len(texts[0].encode()) <= int(count_tokens(LONG) * SUMMARY_SHARE) * BYTES_PER_TOKEN


def test_what_is_asked_enters_the_summary() -> None:
    assert "Lunch" in made(LONG, KEEP, "When was lunch served again?")[0][0]


@pytest.mark.parametrize(("text", "planned"), [("x" * 4 * SHORTEST, SUMMARIZE), (LONG, DROP), (LONG, OVERWRITE)])
def test_no_summary_where_none_is_needed(text: str, planned: int) -> None:
    assert made(text, planned) == ({}, count_tokens(text))


def test_a_summary_that_saves_nothing_is_none() -> None:
    """A custom counter may find the extract as long as the whole."""
    full = np.array([30.0])
    texts, short = summaries(elements(user(LONG)), "", np.array([SUMMARIZE]), full, lambda _: 30)
    assert (texts, short.tolist()) == ({}, [30.0])


@settings(max_examples=100)
@given(st.data())
def test_the_budget_holds_and_pairs_stay_together(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(["user", "x", "y"]), max_size=10))
    records: list[Record] = []
    for kind in kinds:
        records.extend([user("a")] if kind == "user" else [call("f()", kind), output("r", kind)])
    n = len(records)
    tokens = data.draw(st.lists(st.integers(0, 60), min_size=n, max_size=n))
    short = [data.draw(st.integers(0, count)) for count in tokens]
    safe = tuple(i for i in range(n) if data.draw(st.integers(0, 4)) == 0)
    planned = [KEEP if i in safe else data.draw(st.sampled_from([KEEP, SUMMARIZE, DROP, OVERWRITE])) for i in range(n)]
    decay = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n))
    budget = data.draw(st.integers(1, 200))
    out, codes = fit(records, planned, decay, tokens, short=short, protected=safe, budget=budget)
    spent = sum({KEEP: tokens[i], SUMMARIZE: short[i]}.get(out[i], 0) for i in range(n))
    assert (spent <= budget) == (codes == [])
    calls = {i: r["call_id"] for i, r in enumerate(records) if "call_id" in r}
    kept = {out[i] in (KEEP, SUMMARIZE) for i in safe}
    assert kept <= {True}
    for i, name in calls.items():
        for j, other in calls.items():
            if name == other:
                assert (out[i] in (KEEP, SUMMARIZE)) == (out[j] in (KEEP, SUMMARIZE))
