"""A conversation in a file: it grows, is pruned turn by turn, remembers what each element was worth."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from speaking import Record, assistant, call, document, judged, output, user

from memrank.dialogue.conversation import Conversation
from memrank.dialogue.elements import Element
from memrank.dialogue.judge import Judgement
from memrank.dialogue.prune import Limits, Pruned, Scorer, prune
from memrank.errors import DataError, ServiceError, StoreError, UsageError
from memrank.stores import sqlite_door

TURNS: list[Record] = [user("One."), assistant("Two."), user("Three."), assistant("Four."), user("Five.")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a talk.db"


@pytest.fixture
def talk(path: Path) -> Iterator[Conversation]:
    with Conversation(path) as made:
        yield made


def by(*decay: float) -> Scorer:
    return lambda elements, message: judged(decay)


def codes(notes: Sequence[object]) -> list[str]:
    return [note.code for note in notes]  # type: ignore[attr-defined]


# It grows


def test_what_is_refused_is_not_kept(talk: Conversation) -> None:
    talk.add(TURNS)
    seen = []

    def refuse(pruned: Pruned) -> None:
        seen.append(len(pruned.decisions))
        raise DataError("no")

    with pytest.raises(DataError):
        talk.prune("Hello.", vet=refuse)
    assert (seen, talk.history(), talk.jumps()) == ([5], [], [])
    talk.prune("Hello.", vet=lambda pruned: None)
    assert len(talk.history()) == 1


def test_what_was_added_is_there_after_it_is_opened_again(talk: Conversation, path: Path) -> None:
    records = [
        user("Zoë \x00 天気", id="a", turn=1, session_id="s", created_at="2026-03", pinned=True),
        call("f()", "x", turn=2),
        output("r", "x", turn=2),
        document("d", tags=["t"], colour="red"),
    ]
    assert talk.add(records) == ()
    talk.prune("Hello.", at="2026-03-20")
    with Conversation(path) as other:
        assert len(other) == 4
        assert other.elements() == talk.elements()
        first, made, result, last = other.elements()
        assert (first.id, first.content, first.pinned, first.memory.session_id) == ("a", "Zoë \x00 天気", True, "s")
        assert (made.call_id, result.call_id, last.kind) == ("x", "x", "document")
        assert last.memory.metadata["colour"] == "red"
        assert [e.id for e in other.elements()] == ["a", "#2", "#3", "#4"]
        assert other.trajectories() == talk.trajectories()
        assert [(m.number, m.at, m.elements) for m in other.history()] == [(1, "2026-03-20", 4)]


def test_one_that_is_there_is_replaced_in_its_place(talk: Conversation) -> None:
    talk.add([user("first", id="a"), user("b", id="b")])
    talk.prune("Hello.")
    talk.add([user("second", id="a"), user("c")])
    assert [(e.id, e.content) for e in talk.elements()] == [("a", "second"), ("b", "b"), ("#3", "c")]
    assert len(talk.trajectory("a")) == 1


def test_unnamed_elements_never_replace_another(talk: Conversation) -> None:
    talk.add([user("a", id="#2"), user("b")])
    talk.add([user("c")])
    talk.add([user("d", id="#6"), user("e"), user("f")])
    assert sorted(e.content for e in talk.elements()) == ["a", "b", "c", "d", "e", "f"]
    assert len({e.id for e in talk.elements()}) == 6


def test_all_or_nothing(talk: Conversation) -> None:
    with pytest.raises(DataError, match=r"elements\[1\]"):
        talk.add([user("a"), {"role": "user"}])
    assert len(talk) == 0
    assert talk.add([]) == ()


@pytest.mark.parametrize("records", ["text", {"content": "x"}, 5, None])
def test_no_list(talk: Conversation, records: object) -> None:
    with pytest.raises(UsageError, match="must be a list of records"):
        talk.add(records)  # type: ignore[arg-type]


def test_odd_values_are_kept(talk: Conversation) -> None:
    notes = talk.add([user("a \ud800", id="x\udfff", odd=float("nan"), deep={"k": [object]}), user("x" * 1_000_000)])
    assert codes(notes)
    assert [e.id for e in talk.elements()] == ["x\ufffd", "#2"]
    assert len(talk.trajectory("x\ufffd")) == 0
    assert talk.forget("x\udfff")


def test_repairs_are_said(talk: Conversation) -> None:
    assert codes(talk.add([user("a", id="x"), user("b", id="x")])) == ["repeated_id"]


def test_an_empty_conversation(talk: Conversation) -> None:
    found = talk.prune("Hello.")
    assert (found.decisions, len(talk), talk.elements(), talk.jumps()) == ((), 0, (), [])
    assert [m.elements for m in talk.history()] == [0]


# It is pruned


def test_it_is_pruned_as_its_records_are(talk: Conversation) -> None:
    talk.add(TURNS[:3])
    talk.add(TURNS[3:])
    assert talk.prune("Hello.", max_tokens=5, phase="end") == prune(
        TURNS, "Hello.", limits=Limits(max_tokens=5), phase="end"
    )


def test_limits_and_counters_of_its_own(path: Path) -> None:
    with Conversation(path, limits=Limits(max_tokens=3, keep_last_turns=1), counter=lambda text: 1) as talk:
        talk.add(TURNS)
        assert talk.prune("Hello.", scorer=by(*[0.1] * 5)).monitors.tokens_after == 3
        assert talk.prune("Hello.", scorer=by(*[0.1] * 5), max_tokens=4).monitors.tokens_after == 4
        with pytest.raises(UsageError, match="max_tokens"):
            talk.prune("Hello.", max_tokens=0)
        assert len(talk.history()) == 2


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1, float("nan")])
def test_a_threshold_that_makes_no_sense(path: Path, threshold: float) -> None:
    with pytest.raises(UsageError, match="jump_threshold"):
        Conversation(path, jump_threshold=threshold)
    with pytest.raises(UsageError, match="max_tokens"):
        Conversation(path, limits=Limits(max_tokens=0))
    assert not path.exists()


def test_times_that_go_backwards_over_two_adds_are_said(talk: Conversation) -> None:
    talk.add([user("a", created_at="2026-03-02", turn=2)])
    talk.add([user("b", created_at="2026-03-01", turn=1)])
    assert {"clock_backwards", "turns_backwards"} <= set(codes(talk.prune("Hello.").notes))


def test_a_time_that_is_no_text(talk: Conversation) -> None:
    with pytest.raises(UsageError, match="at is a int"):
        talk.prune("Hello.", at=5)  # type: ignore[arg-type]
    talk.prune("Hello.", at="\ud800")
    assert [m.at for m in talk.history()] == ["\ufffd"]


def test_the_trajectory_of_every_element(talk: Conversation) -> None:
    talk.add(TURNS[:4])
    talk.prune("a", scorer=by(0.1, 0.2, 0.3, 0.4), at="first")
    talk.add(TURNS[4:])
    talk.prune("b", scorer=by(0.95, 0.2, 0.3, 0.4, 0.5))
    points = talk.trajectory("#1")
    assert [(p.moment, p.decay, p.decay_class, p.action) for p in points] == [
        (1, 0.1, 1, "keep_full"),
        (2, 0.95, 4, "drop"),
    ]
    assert {name: len(found) for name, found in talk.trajectories().items()} == {
        "#1": 2, "#2": 2, "#3": 2, "#4": 2, "#5": 1,
    }  # fmt: skip
    assert [(m.number, m.at, m.elements) for m in talk.history()] == [(1, "first", 4), (2, None, 5)]
    assert talk.history()[0].monitors["mean_decay"] == pytest.approx(0.25)
    with pytest.raises(UsageError, match="holds no element"):
        talk.trajectory("elsewhere")


def test_jumps_and_a_reset(talk: Conversation) -> None:
    talk.add(TURNS)
    assert "jump" not in codes(talk.prune("a", scorer=by(*[0.1] * 5)).notes)
    few = talk.prune("b", scorer=by(0.9, 0.9, 0.5, 0.1, 0.1))
    assert [(n.code, n.count, n.detail) for n in few.notes if n.code == "jump"] == [("jump", 2, "#1, #2")]
    assert "context_reset" not in codes(few.notes)
    fallen = talk.prune("c", scorer=by(*[0.0] * 5))
    assert "context_reset" not in codes(fallen.notes)
    most = talk.prune("d", scorer=by(*[0.9] * 3, 0.1, 0.1))
    assert {"jump", "context_reset"} <= set(codes(most.notes))
    found = [(j.id, j.moment, j.before, j.after) for j in talk.jumps()]
    assert found[:2] == [("#1", 2, 0.1, 0.9), ("#2", 2, 0.1, 0.9)]
    assert [moment for _, moment, _, _ in found] == sorted(moment for _, moment, _, _ in found)
    assert len(found) == 2 + 3 + 3


def test_a_jump_is_more_than_the_threshold(path: Path) -> None:
    with Conversation(path, jump_threshold=0.25) as talk:
        talk.add(TURNS[:2])
        talk.prune("a", scorer=by(0.25, 0.25))
        talk.prune("b", scorer=by(0.5, 0.75))
        assert [j.id for j in talk.jumps()] == ["#2"]


def test_new_elements_do_not_jump(talk: Conversation) -> None:
    talk.add(TURNS[:2])
    talk.prune("a", scorer=by(0.1, 0.1))
    talk.add(TURNS[2:])
    assert "jump" not in codes(talk.prune("b", scorer=by(0.1, 0.1, 1.0, 1.0, 1.0)).notes)


def test_a_scorer_that_fails(talk: Conversation) -> None:
    def failing(elements: Sequence[Element], message: str) -> Judgement:
        raise ServiceError("away")

    talk.add(TURNS)
    found = talk.prune("a", scorer=failing)
    assert [d.action for d in found.decisions] == [*["drop"] * 2, *["keep_full"] * 3]
    assert next((n.level, n.code) for n in found.notes) == ("failure", "conservative")
    assert len(talk.history()) == 1


# It forgets


def test_what_is_forgotten_is_gone_from_the_files(talk: Conversation, path: Path) -> None:
    talk.add([user("SECRETWORDS here", id="s"), user("kept", id="k")])
    talk.prune("Hello.")
    with Conversation(path) as other:  # its connection keeps the log from being removed
        assert len(other) == 2
        assert talk.forget("s")
        assert not any(b"SECRETWORDS" in file.read_bytes() for file in path.parent.iterdir())
        assert [e.id for e in other.elements()] == ["k"]
    assert set(talk.trajectories()) == {"k"}
    assert not talk.forget("s")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM decays").fetchone() == (1,)
    connection.close()
    talk.add([user("again", id="s")])
    assert talk.trajectory("s") == []


# Threads, locks


def test_threads_share_a_conversation(talk: Conversation) -> None:
    faults: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for i in range(5):
                talk.add([user(f"{name} {i}"), assistant(f"{name} answers {i}")])
                talk.prune(f"{name}?")
        except BaseException as error:
            faults.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len({e.id for e in talk.elements()}) == len(talk) == 30
    assert [m.number for m in talk.history()] == list(range(1, 16))


def test_a_file_that_is_held_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_door, "BUSY_SECONDS", 0.05)
    with Conversation(path) as talk:
        talk.add(TURNS)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        for write in (
            lambda: talk.add([user("x")]),
            lambda: talk.prune("Hello."),
            lambda: talk.forget("#1"),
        ):
            with pytest.raises(StoreError, match="another process") as caught:
                write()
            assert caught.value.hint
        assert len(talk.elements()) == len(talk) == 5
        holder.execute("ROLLBACK")
        holder.close()
        talk.add([user("x")])
        assert (len(talk), len(talk.history())) == (6, 0)


def test_forgetting_while_another_reads_an_earlier_state(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_door, "BUSY_SECONDS", 0.05)
    with Conversation(path) as talk:
        talk.add([user("SECRETWORDS", id="s"), user("k", id="k")])
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM elements").fetchall()
        assert talk.forget("s")
        assert [e.id for e in talk.elements()] == ["k"]
        reader.execute("ROLLBACK")
        reader.close()
        assert not talk.forget("s")
        assert not any(b"SECRETWORDS" in file.read_bytes() for file in path.parent.iterdir())


def test_limits_are_values() -> None:
    assert replace(Limits(), max_tokens=1).keep_last_turns == 3
