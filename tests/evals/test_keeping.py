"""One moment measured: what stays, what is lost to what, what the simple rules keep in as many tokens."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import judged, plain_analyzer
from talking import talk, written

from memrank.counters import token_counter
from memrank.dialogue.prune import Limits, Pruned, prune_elements
from memrank.evals.conversations import Moment, Question, load_conversations
from memrank.evals.keeping import Pruning, answerable, at_share, measured, newest, oldest_dropped, stays

COUNTER = token_counter("estimate:0")
IDS = [f"e{k}" for k in range(1, 8)]


@pytest.fixture(scope="module")
def moment(tmp_path_factory: pytest.TempPathFactory) -> Moment:
    path: Path = tmp_path_factory.mktemp("talks") / "x.jsonl"
    return load_conversations(written(path, [talk()])).moments[0]


def scored(*decay: float, replaced: tuple[int | None, ...] | None = None) -> Pruning:
    """Prunes by given decays; the rules protect the promise of `e3` besides."""

    def pruning(moment: Moment, limits: Limits) -> Pruned:
        return prune_elements(
            moment.elements,
            moment.message,
            limits=limits,
            analyzer=plain_analyzer(),
            counter=COUNTER,
            scorer=lambda *_: judged(decay, replaced_by=replaced),
        )

    return pruning


FREE = Limits(max_tokens=10_000, keep_last_turns=0)


def test_everything_stays(moment: Moment) -> None:
    found = measured(moment, FREE, scored(*[0.1] * 7), COUNTER)
    assert found.lost == ()
    assert found.values["answerable"] == found.values["answerable_full"] == found.values["answerable_newest"] == 1.0
    assert found.values["tokens_saved"] == 0.0
    assert found.values["premature_drop"] == 0.0
    assert math.isnan(found.values["rank_correlation"])
    assert len(found.classes) == 7


def test_lost_to_the_threshold(moment: Moment) -> None:
    found = measured(moment, FREE, scored(0.1, 0.95, 0.1, 0.1, 0.1, 0.1, 0.1), COUNTER)
    assert (found.values["answerable"], found.values["answerable_full"]) == (0.0, 1.0)
    assert found.values["premature_drop"] == found.values["premature_drop_other"] == 1.0
    assert math.isnan(found.values["premature_drop_owed"])
    (lost,) = found.lost
    assert (lost.conversation, lost.after, lost.question) == ("t1", "e7", "What is the code of the door?")
    assert [(gone.id, gone.cause, gone.decay) for gone in lost.gone] == [("e2", "threshold", 0.95)]


def test_lost_to_the_budget(moment: Moment) -> None:
    limits = replace(FREE, max_tokens=70)
    (lost,) = measured(moment, limits, scored(0.1, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1), COUNTER).lost
    assert [gone.cause for gone in lost.gone] == ["budget"]


def test_lost_to_a_replacement(moment: Moment) -> None:
    replaced = (None, 3, *[None] * 5)
    (lost,) = measured(moment, FREE, scored(*[0.1] * 7, replaced=replaced), COUNTER).lost
    assert [gone.cause for gone in lost.gone] == ["replaced"]


def test_a_summary_counts_but_not_as_whole(moment: Moment) -> None:
    values = measured(moment, FREE, scored(0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1), COUNTER).values
    assert (values["answerable"], values["answerable_whole"]) == (1.0, 0.0)


def test_a_question_about_what_was_not_said_yet_is_lost_to_nobody(moment: Moment) -> None:
    later = replace(moment, later=(Question(text="?", evidence=frozenset({"e2", "e8"})),))
    found = measured(later, FREE, scored(*[0.95] * 7), COUNTER)
    assert found.values["answerable"] == found.values["answerable_full"] == 0.0
    assert found.lost == ()


def test_without_later_questions_nothing_is_told(moment: Moment) -> None:
    values = measured(replace(moment, later=()), FREE, scored(*[0.1] * 7), COUNTER).values
    assert all(math.isnan(value) for name, value in values.items() if name.startswith(("answerable", "premature")))


def test_what_is_owed(moment: Moment) -> None:
    values = measured(moment, FREE, scored(*[0.95] * 7), COUNTER).values
    assert values["owed_kept"] == values["owed_named"] == 1.0
    given = replace(moment, protected={"e1": "pending_action", "e3": "commitment"})
    values = measured(given, FREE, scored(*[0.95] * 7), COUNTER).values
    assert values["owed_kept"] == 1.0  # a request too is seen by the rules
    corrected = replace(given, corrected={"e1": "e4", "e3": "e4"})
    assert math.isnan(measured(corrected, FREE, scored(*[0.95] * 7), COUNTER).values["owed_kept"])
    assert math.isnan(measured(replace(moment, protected={}), FREE, scored(*[0.1] * 7), COUNTER).values["named_owed"])


def test_decay_in_the_order_of_the_classes(moment: Moment) -> None:
    values = measured(moment, FREE, scored(0.4, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9), COUNTER).values
    assert values["rank_correlation"] == pytest.approx(1.0)


def test_a_share_of_the_tokens(moment: Moment) -> None:
    values = at_share(moment, 0.5, FREE, scored(0.6, 0.1, 0.1, 0.6, 0.6, 0.6, 0.6), COUNTER)
    assert values["answerable@50%"] == 1.0
    assert values["answerable_newest@50%"] == 0.0
    assert values["tokens_used@50%"] <= 0.5


def tokens(moment: Moment, ids: set[str]) -> int:
    return sum(COUNTER(element.content) for element in moment.elements if element.id in ids)


@given(budget=st.integers(0, 300))
def test_the_simple_rules(moment: Moment, budget: int) -> None:
    kept = newest(moment, budget, COUNTER)
    assert kept == set(IDS[len(IDS) - len(kept) :])
    assert tokens(moment, kept) <= budget
    left = oldest_dropped(moment, budget, COUNTER)
    assert left == {"e1"} | set(IDS[len(IDS) - len(left) + 1 :])
    assert tokens(moment, left) <= budget or left == {"e1"}
    assert kept <= newest(moment, budget + 1, COUNTER)


def test_without_a_user_nothing_is_pinned(moment: Moment) -> None:
    silent = replace(moment, elements=tuple(replace(one, kind="document") for one in moment.elements))
    assert oldest_dropped(silent, 0, COUNTER) == set()


@given(budget=st.integers(1, 400))
def test_more_kept_is_no_less_answerable(moment: Moment, budget: int) -> None:
    pruned = scored(0.6, 0.2, 0.1, 0.6, 0.6, 0.6, 0.6)(moment, replace(FREE, max_tokens=budget))
    whole, kept = stays(pruned, whole=True), stays(pruned)
    assert whole <= kept
    assert answerable(moment, whole) <= answerable(moment, kept) <= answerable(moment, set(IDS))
