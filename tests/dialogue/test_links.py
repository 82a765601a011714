"""Which later element may correct an earlier one, and what is read of such a pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from speaking import Record, assistant, call, conversations, elements, output, plain_analyzer, user

from memrank.dialogue.evidence import reruns
from memrank.dialogue.links import WINDOW, link_features, possible
from memrank.dialogue.relations import relations
from memrank.score.dialogue import shipped
from memrank.types import Floats

Pairs = list[tuple[int, int]]


def links(*records: Record) -> tuple[Pairs, dict[str, Floats]]:
    read = elements(*records)
    related = relations([*(e.content for e in read), "hello"], plain_analyzer())
    older, newer, found = link_features(read, related, plain_analyzer())
    return list(zip(older.tolist(), newer.tolist(), strict=True)), found


FIRST = "My budget for the hotel is 500 euros."
SECOND = "Sorry, I was wrong: my budget for the hotel is 600 euros."


@settings(max_examples=50)
@given(conversations())
def test_pairs_run_forward_and_have_every_feature(records: list[Record]) -> None:
    pairs, found = links(*records)
    assert all(older < newer for older, newer in pairs)
    assert len(set(pairs)) == len(pairs)
    assert set(shipped().coefficients["replaced"]) <= set(found)
    for name, values in found.items():
        assert values.shape == (len(pairs),), name
        assert np.all(np.isfinite(values)), name


def test_a_correction_by_the_user() -> None:
    pairs, found = links(user(FIRST), assistant("Noted."), user(SECOND))
    assert pairs == [(0, 2)]
    assert found["corrects"].tolist() == found["numbers"].tolist() == found["user_by_user"].tolist() == [1.0]
    assert found["contradicts"][0] > 0.5
    assert found["rerun"].tolist() == found["outputs"].tolist() == [0.0]


def test_within_a_turn_nothing_is_corrected() -> None:
    assert links(user(FIRST, turn=1), user(SECOND, turn=1))[0] == []


def test_only_near_ones_are_compared_but_a_call_made_again_at_any_distance() -> None:
    between = [user(f"word{i}", turn=i + 2) for i in range(WINDOW)]
    assert (0, WINDOW + 1) not in links(user(FIRST, turn=1), *between, user(SECOND, turn=99))[0]
    assert (0, WINDOW) in links(user(FIRST, turn=1), *between[1:], user(SECOND, turn=99))[0]
    pairs, found = links(call("f(id=1)", "x"), output("12", "x"), *between, call("f(id=1)", "y"), output("13", "y"))
    end = len(between) + 2
    assert {(0, end), (1, end + 1)} <= set(pairs)
    assert found["calls"][pairs.index((0, end))] == 1
    assert found["rerun"][pairs.index((0, end))] == pytest.approx(1.0)
    assert found["outputs"][pairs.index((1, end + 1))] == 1


def test_nothing_to_compare() -> None:
    for records in ([], [user("hotel")], [user("hotel"), user("garden")]):
        pairs, found = links(*records)
        assert pairs == []
        assert all(values.shape == (0,) for values in found.values())


def test_the_dates_of_elements_play_no_part() -> None:
    plain = links(user(FIRST), assistant("Noted."), user(SECOND))
    backwards = links(user(FIRST, created_at="2026-03-20"), assistant("Noted."), user(SECOND, created_at="2020-01-01"))
    assert plain[0] == backwards[0]
    for name, values in plain[1].items():
        np.testing.assert_array_equal(values, backwards[1][name])


def test_a_pair_of_the_same_words_is_possible() -> None:
    read = elements(user("hotel station"), assistant("x"), user("hotel station"))
    related = relations([*(e.content for e in read), "m"], plain_analyzer())
    older, newer = possible(read, related, reruns(read, related))
    assert (older.tolist(), newer.tolist()) == ([0], [2])
