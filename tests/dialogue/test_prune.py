"""What stays in the context: every element decided once, within the budget, and nothing lost that is owed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speaking import SAID, Record, assistant, call, conversations, document, judged, output, plain_analyzer, user

from memrank.dialogue.elements import Element, read_elements
from memrank.dialogue.judge import Judgement, judge
from memrank.dialogue.prune import Decision, Limits, Pruned, Scorer, prune
from memrank.errors import DataError, ScorerError, ServiceError, UsageError
from memrank.tenant import count_tokens

LONG = (
    "The report was read by all of us. The rate is 4.25 percent. It was decided on Monday. Lunch was late again. " * 3
)
TURNS = [user("One."), assistant("Two."), user("Three."), assistant("Four."), user("Five."), assistant("Six.")]


def pruned(
    records: Sequence[Record],
    message: str = "Go on.",
    *,
    scorer: Scorer | None = None,
    counter: Callable[[str], int] = count_tokens,
    **limits: float,
) -> Pruned:
    found = Limits(**limits)  # type: ignore[arg-type]
    return prune(records, message, limits=found, scorer=scorer, counter=counter, analyzer=plain_analyzer())


def by(answer: Judgement) -> Scorer:
    return lambda elements, message: answer


def failing(elements: Sequence[Element], message: str) -> Judgement:
    raise ServiceError("the model is away")


def actions(found: Pruned) -> list[str]:
    return [decision.action for decision in found.decisions]


def codes(found: Pruned) -> list[tuple[str, str]]:
    return [(note.level, note.code) for note in found.notes]


def check_whole(found: Pruned, max_tokens: int, counter: Callable[[str], int] = count_tokens) -> None:
    """What must hold of every pruning."""
    assert [decision.id for decision in found.decisions] == [element.id for element in found.elements]
    units: dict[str, set[bool]] = {}
    protected_calls = {
        e.call_id
        for e, d in zip(found.elements, found.decisions, strict=True)
        if e.call_id and d.protection and e.kind in ("tool_call", "tool_output")
    }
    must = 0
    for element, decision in zip(found.elements, found.decisions, strict=True):
        stays = decision.action in ("keep_full", "summarize")
        tool = element.kind in ("tool_call", "tool_output") and element.call_id is not None
        if decision.protection is not None:
            assert decision.action == "keep_full"
        if decision.protection is not None or (tool and element.call_id in protected_calls):
            must += counter(element.content)
        if element.pinned:
            assert decision.protection is not None
        if tool:
            units.setdefault(str(element.call_id), set()).add(stays)
        if decision.action == "keep_full":
            assert (decision.tokens, decision.summary) == (counter(element.content), None)
        elif decision.action == "summarize":
            assert decision.summary
            assert decision.tokens == counter(decision.summary) < counter(element.content)
        else:
            assert (decision.tokens, decision.summary) == (0, None)
        assert (decision.action == "overwrite") <= (decision.replaced_by is not None)
        assert (decision.decay_class == 5) == (decision.replaced_by is not None)
        assert decision.rationale
    assert all(len(fates) == 1 for fates in units.values())
    total = sum(counter(text) for _, text in found.texts())
    assert total == found.monitors.tokens_after
    over = ("info", "protected_over_budget") in codes(found)
    assert over == (total > max_tokens) == (must > max_tokens)
    if over:
        assert total == must
    share = found.monitors.kept + found.monitors.summarized + found.monitors.dropped
    assert share == pytest.approx(1.0 if found.elements else 0.0)
    json.dumps(found.to_dict(), allow_nan=False)


@settings(max_examples=150, deadline=None)
@given(conversations(), st.sampled_from(SAID), st.integers(1, 400), st.integers(0, 4))
def test_any_conversation_within_any_budget(records: list[Record], message: str, budget: int, keep: int) -> None:
    found = pruned(records, message, max_tokens=budget, keep_last_turns=keep)
    check_whole(found, budget)
    assert [e.id for e in found.elements] == [e.id for e in read_elements(records)[0]]
    last = sorted({element.turn for element in found.elements})[-keep:] if keep else []
    for element, decision in zip(found.elements, found.decisions, strict=True):
        if element.turn in last:
            assert decision.action == "keep_full"
    assert pruned(records, message, max_tokens=budget, keep_last_turns=keep) == found


@settings(max_examples=80, deadline=None)
@given(conversations(), st.integers(1, 300), st.data())
def test_any_scorer_within_any_budget(records: list[Record], budget: int, data: st.DataObject) -> None:
    n = len(read_elements(records)[0])
    decay = data.draw(st.lists(st.sampled_from([0.0, 0.5, 0.8, 0.95, 1.0]), min_size=n, max_size=n))
    after = [data.draw(st.sampled_from([None, *range(i + 1, n)])) for i in range(n)]
    own = data.draw(st.lists(st.sampled_from([None, None, "commitment"]), min_size=n, max_size=n))
    scorer = by(judged(decay, protection=own, replaced_by=after))
    check_whole(pruned(records, max_tokens=budget, scorer=scorer), budget)


@settings(max_examples=40, deadline=None)
@given(conversations(), st.integers(1, 100))
def test_any_counter(records: list[Record], budget: int) -> None:
    def words(text: str) -> int:
        return len(text.split())

    check_whole(pruned(records, max_tokens=budget, counter=words), budget, words)


# Classes and actions


def test_classes_and_actions_follow_the_thresholds() -> None:
    records = [document(LONG) for _ in range(7)]
    decay = [0.0, 0.29, 0.3, 0.7, 0.89, 0.9, 1.0]
    found = pruned(records, scorer=by(judged(decay)), keep_last_turns=0, max_tokens=10_000)
    assert [d.decay_class for d in found.decisions] == [1, 1, 2, 3, 3, 4, 4]
    assert actions(found) == [*["keep_full"] * 3, *["summarize"] * 2, *["drop"] * 2]
    assert [d.recommended_action for d in found.decisions] == [*["retain"] * 3, *["compress"] * 2, *["drop"] * 2]
    scorer = by(judged(decay))
    moved = pruned(
        records, scorer=scorer, keep_last_turns=0, max_tokens=10_000, keep_below=0.0, decay_threshold=0.3,
        drop_threshold=0.7,
    )  # fmt: skip
    assert [d.decay_class for d in moved.decisions] == [2, 2, 3, 4, 4, 4, 4]


def test_what_is_short_is_kept_rather_than_summarized() -> None:
    found = pruned([document("Short."), document(LONG)], scorer=by(judged([0.8, 0.8])), keep_last_turns=0)
    assert actions(found) == ["keep_full", "summarize"]


def test_what_was_corrected_is_overwritten() -> None:
    first, second = "My budget for the hotel is 500 euros.", "Sorry, I was wrong: my budget for the hotel is 600 euros."
    records = [user(first), assistant("Noted."), user(second), *TURNS]
    decision = pruned(records).decisions[0]
    assert (decision.decay_class, decision.decay, decision.action) == (5, 1.0, "overwrite")
    assert (decision.recommended_action, decision.replaced_by) == ("overwrite", "#3")
    row = pruned(records).to_dict()["scored_elements"][0]  # type: ignore[index]
    assert (row["decay_score"], row["recommended_retention"]) == (5, "drop")


# Safety


def protected_ones() -> list[Record]:
    promise = "I can't see that today. I'll ask the warehouse and let you know tomorrow."
    return [
        user("pinned words", id="pinned", pinned=True),
        assistant(promise, id="promise"),
        user("Can you find out why the order is late?", id="question"),
        *(user(f"It is raining on day {i}.") for i in range(2)),
        user("One.", id="l1"), user("Two.", id="l2"), user("Three.", id="l3"),
    ]  # fmt: skip


@pytest.mark.parametrize("budget", [1, 10, 60, 10_000])
@pytest.mark.parametrize("scorer", [None, failing, lambda e, m: judged([1.0] * len(e))])
def test_what_is_protected_stays_at_any_budget_and_by_any_scorer(budget: int, scorer: Scorer | None) -> None:
    found = pruned(protected_ones(), "What colours are there?", max_tokens=budget, scorer=scorer)
    kept = {decision.id: decision for decision in found.decisions if decision.action == "keep_full"}
    assert {"pinned", "promise", "question", "l1", "l2", "l3"} <= set(kept)
    assert (kept["pinned"].protection, kept["promise"].protection) == ("pinned", "commitment")
    assert kept["question"].protection == "open_question"
    check_whole(found, budget)


def corrected(decision: Decision) -> tuple[str, int, str | None]:
    return decision.action, decision.decay_class, decision.replaced_by


def test_a_protected_element_that_was_corrected_stays_marked_with_its_successor() -> None:
    pinned = [user("alpha", pinned=True, superseded_by="#2"), user("beta"), *TURNS]
    found = pruned(pinned, max_tokens=1)
    assert corrected(found.decisions[0]) == ("keep_full", 5, "#2")
    assert found.decisions[0].recommended_action == "retain"
    # Its correction stays with it: otherwise only the old value would be left.
    assert (found.decisions[1].action, found.decisions[1].protection) == ("keep_full", "corrects_protected")
    last = pruned([*TURNS, user("alpha", id="a", superseded_by="b"), user("beta", id="b")], max_tokens=1)
    assert corrected(last.decisions[-2]) == ("keep_full", 5, "b")
    by_scorer = pruned(
        [user("a", pinned=True), user("b"), *TURNS], scorer=by(judged([0.5] * 8, replaced_by=[1, *[None] * 7]))
    )
    assert corrected(by_scorer.decisions[0]) == ("keep_full", 5, "#2")
    assert by_scorer.decisions[1].protection == "corrects_protected"


def test_a_call_and_its_result_share_one_fate() -> None:
    records = [call("find(x)", "1"), output(LONG, "1"), *TURNS]
    both = [0.1, 0.95, *[0.5] * 6]
    assert actions(pruned(records, scorer=by(judged(both))))[:2] == ["keep_full", "keep_full"]
    assert actions(pruned(records, scorer=by(judged(both)), max_tokens=12))[:2] == ["drop", "drop"]
    kept = [call("find(x)", "1", pinned=True), output(LONG, "1"), *TURNS]
    found = pruned(kept, scorer=by(judged([1.0] * 8)), max_tokens=12)
    assert actions(found)[:2] == ["keep_full", "keep_full"]
    check_whole(found, 12)


# A scorer that fails or answers nonsense


def test_the_conservative_policy() -> None:
    records = [document(f"document {i}") for i in range(5)] + [user("x", pinned=True), user("old"), *TURNS]
    found = pruned(records, scorer=failing)
    assert actions(found) == [
        *["drop"] * 2, *["keep_full"] * 3, "keep_full", "drop", *["drop"] * 3, *["keep_full"] * 3,
    ]  # fmt: skip
    assert codes(found)[0] == ("failure", "conservative")
    assert {d.rationale for d in found.decisions} == {
        "kept by the conservative policy",
        "dropped by the conservative policy",
    }
    assert not found.monitors.topic_shift
    assert pruned([], scorer=failing).decisions == ()


def test_another_fault_of_a_scorer_is_not_hidden() -> None:
    def broken(elements: Sequence[Element], message: str) -> Judgement:
        raise ZeroDivisionError(elements[0].content)

    with pytest.raises(ScorerError, match=r"the scorer .*broken raised ZeroDivisionError\n") as raised:
        pruned(TURNS, scorer=broken)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert str(TURNS[0]["content"]) not in str(raised.value)
    assert raised.value.exit_status == 4


def test_an_error_of_ours_from_a_scorer_stays_what_it_is() -> None:
    def nested(elements: Sequence[Element], message: str) -> Judgement:
        raise ScorerError("the scorer within raised KeyError")

    with pytest.raises(ScorerError, match=r"^the scorer within"):
        pruned(TURNS, scorer=nested)


def test_a_scorer_may_give_plain_lists_and_numbers_of_numpy() -> None:
    answer = replace(judged([0.5] * 6), decay=[0.5] * 6, replaced_by=(np.int64(1), *[None] * 5))  # type: ignore[arg-type]
    found = pruned(TURNS, scorer=by(answer))
    assert found.decisions[0].replaced_by == found.elements[1].id


@pytest.mark.parametrize(
    "answer",
    [None, {"decay": [0.5] * 6}, replace(judged([0.5] * 6), decay=["x"] * 6)],  # type: ignore[arg-type]
)
def test_what_is_no_judgement(answer: Any) -> None:
    with pytest.raises(UsageError, match="the scorer"):
        pruned(TURNS, scorer=lambda elements, message: answer)


@pytest.mark.parametrize(
    "answer",
    [
        judged([0.5]),
        judged([0.5] * 7),
        judged([0.5, 0.5, 0.5, 0.5, 0.5, float("nan")]),
        judged([0.5, 0.5, 0.5, 0.5, 0.5, 1.1]),
        judged([-0.1, 0.5, 0.5, 0.5, 0.5, 0.5]),
        judged([0.5] * 6, replaced_by=[6, *[None] * 5]),
        judged([0.5] * 6, replaced_by=[-1, *[None] * 5]),
        judged([0.5] * 6, replaced_by=[0, *[None] * 5]),
        judged([0.5] * 6, replaced_by=[1, 0, *[None] * 4]),
        judged([0.5] * 6, protection=["pinned"]),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer: Judgement) -> None:
    with pytest.raises(UsageError, match="the scorer"):
        pruned(TURNS, scorer=by(answer))


def test_a_scorer_sees_the_elements_and_the_message() -> None:
    seen: list[object] = []

    def scorer(elements: Sequence[Element], message: str) -> Judgement:
        seen.extend((len(elements), message))
        return judge(elements, message, plain_analyzer(), keep_last_turns=0)

    pruned(TURNS, "Hello \ud800.", scorer=scorer)
    assert seen == [6, "Hello \ufffd."]


# Input that is not as it should be


def test_an_empty_conversation() -> None:
    found = pruned([])
    assert (found.decisions, found.notes, found.texts()) == ((), (), [])
    assert (found.monitors.tokens_before, found.monitors.mean_decay, found.monitors.kept) == (0, 0.0, 0.0)
    assert found.monitors.age_decay_correlation is None


@pytest.mark.parametrize("message", ["", "\n", "\ud800 \udfff", "\x00\x1b[31m", "?" * 100_000])
def test_any_message(message: str) -> None:
    check_whole(pruned([*protected_ones()], message, max_tokens=50), 50)
    full = prune(TURNS, message, phase="\ud800")
    assert len(full.decisions) == 6


def test_a_message_that_is_no_text() -> None:
    with pytest.raises(UsageError, match="message is a NoneType"):
        prune(TURNS, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("piece", ["a", "a?", "1.", "f(", "\x00", "\u0130", "\n", "https://a/?", "A ", "\ud800"])
def test_hostile_text_of_100_kb(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    records = [user(text), call(text, "x"), output(text, "x"), document(text), *TURNS]
    check_whole(pruned(records, text, max_tokens=300), 300) if piece != "\ud800" else pruned(records, text)


def test_one_element_larger_than_the_budget() -> None:
    records = [user("small"), document("word " * 10_000), *TURNS]
    decay = by(judged([0.2, 0.1, *[0.5] * 6]))
    found = pruned(records, scorer=decay, max_tokens=100)
    assert (actions(found)[0], actions(found)[1]) == ("keep_full", "drop")
    assert found.decisions[1].planned == "keep_full"
    summarized = pruned(records, scorer=decay, max_tokens=6_000)
    assert actions(summarized)[1] == "summarize"
    check_whole(summarized, 6_000)


def test_all_elements_protected() -> None:
    records = [user("some words", pinned=True) for _ in range(5)]
    found = pruned(records, max_tokens=2)
    assert actions(found) == ["keep_full"] * 5
    assert ("info", "protected_over_budget") in codes(found)
    assert ("info", "protected_over_budget") not in codes(pruned(records, max_tokens=15))


def test_repairs_of_the_reading_are_in_the_notes() -> None:
    records = [user("a", id="x", created_at="2026-03-02", turn=2), user("b", id="x", created_at="2026-03-01", turn=1)]
    assert codes(pruned(records))[:1] == [("repair", "repeated_id")]
    records[1]["id"] = "y"
    assert {code for _, code in codes(pruned(records))} >= {"turns_backwards", "clock_backwards"}
    with pytest.raises(DataError, match=r"elements\[0\]"):
        pruned([{"role": "user"}])


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": 0}, {"keep_last_turns": -1}, {"keep_below": -0.1}, {"keep_below": 0.8}, {"drop_threshold": 1.1},
        {"drop_threshold": 0.5}, {"decay_threshold": float("nan")},
    ],
)  # fmt: skip
def test_limits_that_make_no_sense(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="must"):
        pruned(TURNS, **limits)


def test_as_many_turns_as_are_wanted_stay() -> None:
    scorer = by(judged([1.0] * 6))
    assert actions(pruned(TURNS, scorer=scorer, keep_last_turns=2)) == [*["drop"] * 4, *["keep_full"] * 2]
    assert actions(pruned(TURNS, scorer=scorer, keep_last_turns=0)) == ["drop"] * 6
    assert actions(pruned(TURNS, scorer=scorer, keep_last_turns=99)) == ["keep_full"] * 6


# Monitors


def test_a_scorer_that_is_a_recency_rule_is_named() -> None:
    found = pruned(TURNS, scorer=by(judged([0.6, 0.5, 0.4, 0.3, 0.2, 0.1])))
    assert found.monitors.age_decay_correlation == pytest.approx(1.0)
    assert ("info", "recency_rule") in codes(found)
    other = pruned(TURNS, scorer=by(judged([0.1, 0.5, 0.2, 0.3, 0.2, 0.1])))
    assert other.monitors.age_decay_correlation is not None
    assert ("info", "recency_rule") not in codes(other)
    assert pruned(TURNS, scorer=by(judged([0.5] * 6))).monitors.age_decay_correlation is None
    assert pruned(TURNS[:2], scorer=by(judged([0.5, 0.1]))).monitors.age_decay_correlation is None


def test_monitors_count() -> None:
    records = [document(LONG), document(LONG), user("Three."), user("Four.")]
    found = pruned(records, scorer=by(judged([0.8, 1.0, 0.1, 0.3], topic_shift=True)), keep_last_turns=0)
    m = found.monitors
    assert (m.kept, m.summarized, m.dropped, m.topic_shift) == (0.5, 0.25, 0.25, True)
    assert m.mean_decay == pytest.approx(0.55)
    assert m.tokens_before == sum(count_tokens(str(r["content"])) for r in records)


def test_the_texts_that_stay_in_order() -> None:
    scorer = by(judged([0.8, 1.0, 0.1]))
    found = pruned([document(LONG), user("x"), user("Three.")], scorer=scorer, keep_last_turns=0)
    assert [(e.id, text) for e, text in found.texts()] == [("#1", found.decisions[0].summary), ("#3", "Three.")]


def test_the_json_form() -> None:
    found = pruned(protected_ones(), max_tokens=30).to_dict()
    assert found["schema"] == "memrank.conversation/1"
    rows = found["scored_elements"]
    assert isinstance(rows, list)
    assert len(rows) == len(protected_ones())
    for row in rows:
        assert row["decay_score"] in range(1, 6)
        assert row["recommended_action"] in ("retain", "compress", "drop", "overwrite")
        assert row["recommended_retention"] in ("keep_full", "summarize", "drop")
        assert np.isfinite(row["decay"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": "5"},
        {"max_tokens": float("nan")},
        {"keep_last_turns": 1.5},
        {"keep_below": "a"},
        {"keep_below": float("nan")},
    ],
)
def test_limits_of_the_wrong_kind_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        prune([{"id": "a", "role": "user", "content": "x"}], "y", limits=Limits(**wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [None, -1, 1.5, float("nan"), "3"])
def test_a_counter_that_does_not_count_is_refused(count: object) -> None:
    with pytest.raises(UsageError, match="counter of tokens"):
        prune([{"id": "a", "role": "user", "content": "x"}], "y", counter=lambda text: count)  # type: ignore[arg-type,return-value]
