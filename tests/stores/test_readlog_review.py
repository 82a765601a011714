"""The review queue: what gets into it, what decisions do, and the labels that come of them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from reading import pipeline, read, record

from memrank.errors import DataError, UsageError
from memrank.pipeline import Pipeline, Ranking
from memrank.stores import readlog_review as review
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_list import Line, lines
from memrank.stores.readlog_review import Item, Labels

AT = datetime(2026, 4, 1, tzinfo=UTC)
NEVER = {"top_score_below": 0.0, "ambiguity_margin": 0.0}
FOUR = [record(name, f"The rate of {name} is four percent.", days=k + 1) for k, name in enumerate("abcd")]
SAID = {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3}


def logged(folder: Path, **more: Any) -> Pipeline:
    given = {"review": NEVER, "relevance": SAID, "ranker": {"weights": {"relevance": 1.0}}, **more}
    return pipeline(reads={"log": str(folder / "log.db")}, **given)


def log_of(of: Pipeline, folder: Path) -> ReadLog:
    assert of.flush() is None
    return ReadLog(folder / "log.db")


def queue(log: ReadLog, *, undecided: bool = False) -> tuple[Item, ...]:
    return review.items(log, undecided=undecided)


def calls(log: ReadLog) -> tuple[Line, ...]:
    return lines(log, since=0.0, text=None, needs_review=True, limit=None)


def decide(log: ReadLog, name: str, decision: Any, labels: Labels | None = None) -> None:
    review.decide(log, review.find(log, name), decision, at=AT, who="Dana", comment="seen", labels=labels)


def test_what_asks_for_nobody_is_not_queued(tmp_path: Path) -> None:
    of = logged(tmp_path)
    ranking = read(of, FOUR)
    assert not ranking.meta.needs_review
    assert of.decided(ranking.meta.read_id) == "not_queued"
    assert queue(log_of(of, tmp_path)) == ()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"review": {**NEVER, "top_score_below": 0.95}}, "low_top_score"),
        ({"review": {**NEVER, "ambiguity_margin": 0.3}}, "ambiguous_top"),
        ({"high_stakes": True}, "high_stakes"),
    ],
)
def test_what_triggers_is_queued_once(more: dict[str, Any], reason: str, tmp_path: Path) -> None:
    of = logged(tmp_path, **more)
    ranking = read(of, FOUR)
    read(of, FOUR)
    found = queue(log_of(of, tmp_path))
    assert [(item.read_id, item.kind, item.reasons) for item in found] == [
        (ranking.meta.read_id, "triggered", ranking.meta.review_reasons)
    ]
    assert reason in found[0].reasons
    assert ranking.meta.needs_review
    assert of.decided(ranking.meta.read_id) == "undecided"


def test_an_old_memory_that_scored_high_is_checked_once(tmp_path: Path) -> None:
    of = logged(tmp_path, review={**NEVER, "check_older_than": "30d"})
    old = [record("a", days=31), record("b", days=29), record("c", days=900)]
    first = read(of, old)
    read(of, old, "rates")
    log = log_of(of, tmp_path)
    assert [(item.kind, item.subject, item.read_id) for item in queue(log)] == [("check", "a", first.meta.read_id)]
    # A check says nothing about the read.
    assert of.decided(first.meta.read_id) == "not_queued"
    decide(log, "1", "rejected")
    assert [row and row["metadata"]["stale"] for row in review.labelled(log)] == [["a"]]


def high_stakes(folder: Path) -> tuple[Pipeline, Ranking, ReadLog]:
    of = logged(folder, high_stakes=True)
    ranking = read(of, FOUR)
    return of, ranking, log_of(of, folder)


@pytest.mark.parametrize("decision", ["accepted", "rejected", "edited"])
def test_decisions(decision: Any, tmp_path: Path) -> None:
    of, ranking, log = high_stakes(tmp_path)
    decide(log, ranking.meta.read_id[:8], decision)
    assert of.decided(ranking.meta.read_id) == decision
    (item,) = queue(log)
    assert (item.decision, item.who, item.comment, item.decided_at) == (decision, "Dana", "seen", AT.timestamp())
    assert queue(log, undecided=True) == ()


def test_accepted_labels_the_first_three(tmp_path: Path) -> None:
    _, ranking, log = high_stakes(tmp_path)
    decide(log, "1", "accepted")
    (row,) = review.labelled(log)
    assert row is not None
    assert row["relevant"] == [item.id for item in ranking.results[:3]] == ["a", "b", "c"]
    assert (row["id"], row["query"], row["query_time"]) == (ranking.meta.read_id, "rate", "2026-03-20T09:00:00Z")


def test_edited_labels_as_said(tmp_path: Path) -> None:
    _, _, log = high_stakes(tmp_path)
    decide(log, "1", "edited", Labels(relevant=("d", "a"), stale=("a",), must_not=("b",)))
    (row,) = review.labelled(log)
    assert row is not None
    assert (row["relevant"], row["metadata"]["stale"], row["metadata"]["must_not"]) == (["d"], ["a"], ["b"])
    with pytest.raises(DataError, match="judged no memory 'zz'"):
        decide(log, "1", "edited", Labels(relevant=("zz",)))
    assert queue(log)[0].labels == Labels(relevant=("d", "a"), stale=("a",), must_not=("b",))


def test_rejected_without_labels_says_nothing(tmp_path: Path) -> None:
    _, _, log = high_stakes(tmp_path)
    decide(log, "1", "rejected")
    assert list(review.labelled(log)) == []


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    drawn = []
    for turn in range(2):
        folder = tmp_path / str(turn)
        folder.mkdir()
        of = logged(folder)
        for k in range(12):
            read(of, FOUR, f"rate {k}")
        log = log_of(of, folder)
        assert review.sample(log, 4, seed=1, at=AT) == 4
        drawn.append({item.read_id for item in queue(log)})
        assert {item.kind for item in queue(log)} == {"sampled"}
        assert review.sample(log, 100, seed=2, at=AT) == 8
        assert review.sample(log, 1, seed=2, at=AT) == 0
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 4
    with pytest.raises(UsageError, match="at least one"):
        review.sample(log, 0, seed=1, at=AT)


def test_a_decision_without_the_query_is_told_apart(tmp_path: Path) -> None:
    of = pipeline(review={"top_score_below": 1.0}, reads={"log": str(tmp_path / "log.db"), "text": "hashed"})
    ranking = read(of, FOUR)
    log = log_of(of, tmp_path)
    decide(log, ranking.meta.read_id, "accepted")
    assert list(review.labelled(log)) == [None]


@pytest.mark.parametrize("name", ["99", "00000000", "12345678"])
def test_what_is_not_in_the_queue(name: str, tmp_path: Path) -> None:
    _, _, log = high_stakes(tmp_path)
    with pytest.raises(DataError, match=r"in the review queue|holds no read"):
        review.find(log, name)


# Under high stakes, everything that is left out waits for a person, too

LEFT_OUT = [
    record("good", "The rate is four percent."),
    record("weak", "The rate is five percent."),
    record("past", "The rate was three percent.", expires_at="2026-01-01"),
    record("ancient", "The rate was two percent.", days=700),
    record("replaced", "The rate was one percent.", superseded_by="good"),
    record("turn", "The rate, said the user.", session_id="s", role="user", turn=1),
]
JUDGED = {"good": 0.9, "weak": 0.05, "past": 0.8, "ancient": 0.8, "replaced": 0.8, "turn": 0.15}
CUT = {"relevance_threshold": 0.1, "stale_after": "365d", "weights": {"relevance": 1.0}}
DROPS = {"keep_last_turns": 0, "decay_threshold": 0.5, "drop_threshold": 0.8, "max_tokens": 1000}
QUIET = {**NEVER, "stale_score_above": 1.0}
WAITING = [
    ("triggered", None, ("high_stakes",)),
    ("drop", "ancient", ("stale",)),
    ("drop", "past", ("expired",)),
    ("drop", "replaced", ("superseded",)),
    ("drop", "turn", ("turn_dropped",)),
    ("excluded", "weak", ("below_relevance",)),
]


def left_out(folder: Path, **more: Any) -> tuple[Pipeline, Ranking, ReadLog]:
    of = logged(
        folder, **{"high_stakes": True, "relevance": JUDGED, "ranker": CUT, "pruner": DROPS, "review": QUIET, **more}
    )
    ranking = read(of, LEFT_OUT)
    return of, ranking, log_of(of, folder)


def test_every_memory_that_is_left_out_waits_by_itself(tmp_path: Path) -> None:
    of, ranking, _ = left_out(tmp_path)
    assert [item.id for item in ranking.results] == ["good"]
    read(of, LEFT_OUT)
    found = queue(log_of(of, tmp_path))
    assert sorted(((i.kind, i.subject, i.reasons) for i in found), key=lambda row: row[1] or "") == WAITING
    assert {item.read_id for item in found} == {ranking.meta.read_id}


def test_without_high_stakes_what_is_left_out_waits_for_nobody(tmp_path: Path) -> None:
    _, _, log = left_out(tmp_path, high_stakes=False)
    assert queue(log) == ()


def test_a_read_is_decided_when_all_of_it_is(tmp_path: Path) -> None:
    of, ranking, log = left_out(tmp_path)
    for item in queue(log):
        assert of.decided(ranking.meta.read_id) == "undecided"
        assert [line.decision for line in calls(log)] == ["undecided"]
        decide(log, str(item.number), "accepted")
    assert of.decided(ranking.meta.read_id) == "accepted"
    # Accepting that something is left out says nothing about what is relevant.
    assert [row and (row["relevant"], row["metadata"]["stale"]) for row in review.labelled(log)] == [(["good"], [])]
    weak = next(item for item in queue(log) if item.subject == "weak")
    decide(log, str(weak.number), "rejected")
    decide(log, "1", "accepted")
    assert of.decided(ranking.meta.read_id) == "rejected"
    assert [line.decision for line in calls(log)] == ["rejected"]
    assert [row and row["relevant"] for row in review.labelled(log)] == [["good", "weak"]]


def test_a_whole_read_is_decided_by_its_id(tmp_path: Path) -> None:
    of, ranking, log = left_out(tmp_path)
    decide(log, ranking.meta.read_id, "edited", Labels(relevant=("good",)))
    assert of.decided(ranking.meta.read_id) == "edited"
    assert queue(log, undecided=True) == ()


@pytest.mark.parametrize("reads", [None, {"cache": {"size": 5}}])
def test_without_a_log_every_answer_says_that_nothing_can_wait(reads: Any) -> None:
    of = pipeline(high_stakes=True, **({} if reads is None else {"reads": reads}))
    for _ in range(2):
        ranking = read(of, FOUR)
        assert [(note.level, note.code) for note in ranking.notes] == [("failure", "no_review_queue")]
        assert ranking.meta.cached in (False, reads is not None)
    assert read(pipeline(), FOUR).notes == ()
