"""A pipeline and its reads: the cache, the log, feedback, and what is left when the log cannot be written."""

import copy
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from reading import NOW, canonical, pipeline, read, record
from strategies import AS_OF

import memrank
from memrank.errors import DataError, UsageError
from memrank.indexing import Analyzer
from memrank.pipeline import Pipeline
from memrank.records import read_record
from memrank.stores import readlog_file, readlog_writer, sqlite_door
from memrank.stores.base import Uses
from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_list import Line, lines
from memrank.stores.sqlite import SqliteStore
from memrank.types import Memory

MEMORIES = [record("a", "The rate is four percent.", days=1), record("b", "The rate was three percent.", days=40)]
NO_CACHE: dict[str, Any] = {"cache": None}


def logged(folder: Path, **reads: object) -> Pipeline:
    return pipeline(reads={"log": str(folder / "log.db"), **reads})


def calls(folder: Path) -> tuple[Line, ...]:
    return lines(ReadLog(folder / "log.db"), since=0.0, text=None, needs_review=False, limit=None)


def store_of(path: Path) -> SqliteStore:
    store = SqliteStore.create(path, Analyzer("english", "none"))
    store.append([read_record(row, position=i)[0] for i, row in enumerate(MEMORIES)])
    return store


def test_neither_log_nor_cache_where_the_spec_has_none() -> None:
    plain = pipeline()
    assert read(plain, MEMORIES).meta.cached is False
    assert (plain.flush(), plain.cache_info()) == (None, None)
    for call in (lambda: plain.used("0" * 32, ["a"]), lambda: plain.decided("0" * 32)):
        with pytest.raises(UsageError, match="no read log"):
            call()


def test_a_log_changes_no_answer(tmp_path: Path) -> None:
    with_log, without = read(logged(tmp_path), MEMORIES), read(pipeline(), MEMORIES)
    assert canonical(with_log) == canonical(without)


def test_identical_reads_are_answered_from_memory_and_say_so(tmp_path: Path) -> None:
    of = logged(tmp_path)
    first, second = read(of, MEMORIES, query_id="x"), read(of, MEMORIES, query_id="y")
    assert (first.meta.cached, second.meta.cached) == (False, True)
    assert "cached" not in first.to_dict()["meta"]
    assert second.to_dict()["meta"]["cached"] is True
    assert second.to_dict()["query"]["id"] == "y"
    one, other = first.to_dict(), second.to_dict()
    for body in (one, other):
        body["meta"].pop("latency_ms")
        body["meta"].pop("cached", None)
        body["query"].pop("id")
    assert one == other
    info = of.cache_info()
    assert info is not None
    assert (info.hits, info.misses, info.hit_rate) == (1, 1, 0.5)
    assert of.flush() is None
    assert [(line.cached, line.seen) for line in calls(tmp_path)] == [(True, 2), (False, 2)]


@pytest.mark.parametrize(
    "other",
    [
        {"as_of": "2026-03-20T09:01:00Z"},
        {"query": "rates"},
        {"top_k": 1},
        {"max_tokens": 5},
        {"rank_only": True},
        {"filters": {"role": "user"}},
        {"domain": "d"},
        {"phase": "p"},
        {"observations": ["o"]},
        {"constraints": ["c"]},
        {"memories": MEMORIES[:1]},
    ],
    ids=lambda other: next(iter(other)),
)
def test_whatever_enters_an_answer_makes_it_another_read(other: dict[str, Any]) -> None:
    of = pipeline(reads={"cache": {}})
    read(of, MEMORIES)
    memories = other.pop("memories", MEMORIES)
    assert read(of, memories, **other).meta.cached is False


def test_as_of_is_that_of_the_first_read_within_the_granularity() -> None:
    of = pipeline(reads={"cache": {"granularity": "1m"}})
    first = read(of, MEMORIES, as_of="2026-03-20T09:00:05Z")
    later = read(of, MEMORIES, as_of="2026-03-20T09:00:59Z")
    assert later.meta.cached
    assert later.result.query.as_of == first.result.query.as_of == AS_OF + timedelta(seconds=5)
    assert later.meta.read_id == first.meta.read_id
    exact = pipeline(reads={"cache": {"granularity": "0s"}})
    read(exact, MEMORIES, as_of="2026-03-20T09:00:05Z")
    assert not read(exact, MEMORIES, as_of="2026-03-20T09:00:06Z").meta.cached
    assert read(exact, MEMORIES, as_of="2026-03-20T09:00:05Z").meta.cached


def test_a_changed_store_answers_anew(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db")
    of = pipeline(store=tmp_path / "s.db", reads={"cache": {}})
    read(of)
    assert read(of).meta.cached
    store.append([Memory(id="c", content="The rate is five percent.")])
    after = read(of)
    assert not after.meta.cached
    assert "c" in {item.id for item in after.results}


def test_what_was_kept_of_an_earlier_store_goes(tmp_path: Path) -> None:
    """An answer holds on to the index that it came from: a store that often changes must not pile them up."""
    store = store_of(tmp_path / "s.db")
    of = pipeline(store=tmp_path / "s.db", reads={"cache": {}})
    for k in range(5):
        read(of)
        read(of, query="four")
        store.append([Memory(id="c", content=f"The rate is {k} percent.")])
    info = of.cache_info()
    assert info is not None
    assert info.kept == 2


def test_copies_share_the_log_and_threads_write_to_it(tmp_path: Path) -> None:
    of = logged(tmp_path, **NO_CACHE)
    copies = [of, copy.deepcopy(of), of.deepcopy()]

    def work(own: Pipeline, start: int) -> None:
        for k in range(20):
            read(own, MEMORIES, as_of=(AS_OF + timedelta(seconds=start + k)).isoformat())

    threads = [threading.Thread(target=work, args=(own, 100 * i)) for i, own in enumerate(copies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert of.flush() is None
    assert len(calls(tmp_path)) == 60


def test_used_is_kept_with_the_read_and_counted_in_the_store(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db")
    of = pipeline(store=tmp_path / "s.db", reads={"log": str(tmp_path / "log.db")})
    ranking = read(of)
    found = of.used(ranking.meta.read_id[:8], ["a"], session="s", at=NOW)
    assert found == Uses(counted=("a",), limited=(), unknown=())
    counted = {memory.id: memory.access_count for memory in store.export()}
    assert counted == {"a": 1, "b": 0}
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        rows = connection.execute("SELECT read_id, ids, session, at FROM used").fetchall()
    assert rows == [(ranking.meta.read_id, '["a"]', "s", AS_OF.timestamp())]
    with pytest.raises(DataError, match="judged no memory 'zz'"):
        of.used(ranking.meta.read_id, ["zz"])
    with pytest.raises(DataError, match="holds no read"):
        of.used("0" * 32, ["a"])
    with pytest.raises(UsageError, match="too short"):
        of.used(ranking.meta.read_id[:7], ["a"])


def test_used_without_a_store_that_can_be_written(tmp_path: Path) -> None:
    of = logged(tmp_path)
    assert of.used(read(of, MEMORIES).meta.read_id, ["a"]) is None


def test_used_of_memories_that_were_given_is_unknown_to_the_store(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s.db", Analyzer("english", "none"))
    store.append([Memory(id="x", content="rate", namespace=name) for name in ("n", "m")])
    of = pipeline(store=tmp_path / "s.db", reads={"log": str(tmp_path / "log.db")})
    found = of.used(read(of, MEMORIES).meta.read_id, ["a", "a"])
    assert found == Uses(counted=(), limited=(), unknown=("a",))


# What is left when the log cannot be written: every read, and a note.


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readlog_file, "READLOG", replace(readlog_file.READLOG, patience=0.01))


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process writes, and does not end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_a_locked_log_loses_nothing(tmp_path: Path, impatient: None) -> None:
    of = logged(tmp_path)
    first = read(of, MEMORIES)
    assert of.flush() is None
    with held(tmp_path / "log.db"):
        second = read(of, MEMORIES, "percent")
        note = of.flush()
        assert note is not None
        assert (note.level, note.stage, note.code) == ("failure", "reads", "log_unwritten")
        assert "another process has held" in note.detail
        assert "waiting: 1" in note.detail
        third = read(of, MEMORIES, "four")
        assert third.notes[-1].code == "log_unwritten"
        assert third.results
    assert of.flush() is None
    assert [line.read_id for line in calls(tmp_path)] == [r.meta.read_id for r in (third, second, first)]
    assert "log_unwritten" not in {note.code for note in read(of, MEMORIES, "five").notes}


def test_a_durable_log_is_written_before_the_answer_or_says_so(tmp_path: Path, impatient: None) -> None:
    of = logged(tmp_path, durable=True)
    read(of, MEMORIES)
    assert len(calls(tmp_path)) == 1
    with held(tmp_path / "log.db"):
        assert read(of, MEMORIES, "percent").notes[-1].code == "log_unwritten"
    assert not any(note.level == "failure" for note in read(of, MEMORIES, "three").notes)
    assert len(calls(tmp_path)) == 3


def test_an_answer_with_a_note_on_the_log_is_kept_without_it(tmp_path: Path, impatient: None) -> None:
    of = logged(tmp_path, durable=True)
    read(of, MEMORIES)
    with held(tmp_path / "log.db"):
        read(of, MEMORIES, "percent")
    again = read(of, MEMORIES, "percent")
    assert (again.meta.cached, again.notes) == (True, ())


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = sqlite_door._SETTINGS
    of = logged(tmp_path, **NO_CACHE)
    read(of, MEMORIES)
    assert of.flush() is None
    monkeypatch.setattr(sqlite_door, "_SETTINGS", (*settings, "max_page_count = 1"))
    full = logged(tmp_path, **NO_CACHE)
    ranking = read(full, [record(f"m{k}", "A long text about the rate. " * 200) for k in range(9)])
    note = full.flush()
    assert note is not None
    assert "the disk is full" in note.detail
    assert len(ranking.results) == 9
    assert len(calls(tmp_path)) == 1


@pytest.mark.parametrize("damage", ["garbage", "other", "folder", "no folder"])
def test_what_is_no_log(damage: str, tmp_path: Path) -> None:
    target = tmp_path / "log.db"
    match damage:
        case "garbage":
            target.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 40)
        case "other":
            with closing(sqlite3.connect(target)) as connection:
                connection.execute("CREATE TABLE x (y)")
        case "folder":
            target.mkdir()
        case _:
            target = tmp_path / "no" / "log.db"
    before = target.read_bytes() if target.is_file() else None
    of = pipeline(reads={"log": str(target)})
    assert read(of, MEMORIES).results
    note = of.flush()
    assert note is not None
    assert note.code == "log_unwritten"
    assert read(of, MEMORIES, "four").notes[-1].code == "log_unwritten"
    assert (target.read_bytes() if target.is_file() else None) == before


def test_a_log_that_is_deleted_is_begun_anew(tmp_path: Path) -> None:
    of = logged(tmp_path)
    read(of, MEMORIES)
    assert of.flush() is None
    for file in tmp_path.glob("log.db*"):
        file.unlink()
    read(of, MEMORIES, "four")
    assert of.flush() is None
    log = ReadLog(tmp_path / "log.db")
    found = [log.load(line.read_id) for line in calls(tmp_path)]
    assert [all(c.memory is not None for c in one.candidates) for one in found] == [True]


def test_closing_writes_what_waits_and_the_next_read_opens_it_again(tmp_path: Path, impatient: None) -> None:
    of = logged(tmp_path)
    assert pipeline().close() is None
    for query in ("one", "two"):
        read(of, MEMORIES, query)
        assert of.close() is None
    assert not (tmp_path / "log.db-wal").exists()  # the last connection is closed
    assert len(calls(tmp_path)) == 2
    with held(tmp_path / "log.db"):
        read(of, MEMORIES, "three")
        note = of.close()
        assert note is not None
        assert note.code == "log_unwritten"
    read(of, MEMORIES, "four")
    assert of.close() is None
    assert [line.query for line in calls(tmp_path)] == ["four", "two", "one"]


def test_more_than_can_wait_is_lost_and_told_once(
    tmp_path: Path, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = logged(tmp_path, **NO_CACHE)
    read(of, MEMORIES)
    assert of.flush() is None
    monkeypatch.setattr(readlog_writer, "WAITING", 2)
    with held(tmp_path / "log.db"):
        details = [read(of, MEMORIES, query).notes[-1:] for query in ("one", "two", "three", "four")]
        assert "not recorded: 1" in details[-1][0].detail
    assert of.flush() is None
    assert len(calls(tmp_path)) == 3


def test_old_reads_are_deleted_with_what_only_they_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memrank import pipeline as module

    moments = iter([AS_OF - timedelta(days=100), AS_OF, AS_OF + timedelta(days=1)])
    real = module.moment
    monkeypatch.setattr(module, "moment", lambda at: next(moments) if at is None else real(at))
    monkeypatch.setattr("memrank.stores.readlog_write.PRUNED_EVERY", 2)
    of = logged(tmp_path, **NO_CACHE, keep="90d")
    old = read(of, [record("only-old", "The rate is old."), *MEMORIES])
    assert of.flush() is None
    read(of, MEMORIES, "four")
    new = read(of, MEMORIES, "three")
    assert of.flush() is None
    assert old.meta.read_id not in {line.read_id for line in calls(tmp_path)}
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
        assert {row[0] for row in connection.execute("SELECT id FROM texts")} == {"a", "b"}
    # Keys that the writer knew are looked up again.
    found = ReadLog(tmp_path / "log.db").load(new.meta.read_id)
    assert {candidate.id for candidate in found.candidates} == {"a", "b"}


def test_a_shipped_spec_takes_a_log(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[1] / "pipelines" / "news.yaml").read_text(encoding="utf-8")
    text = text.replace("../evalsets", (Path(__file__).resolve().parents[1] / "evalsets").as_posix())
    (tmp_path / "news.yaml").write_text(f"{text}reads: {{log: log.db}}\n", encoding="utf-8")
    of = memrank.load(tmp_path / "news.yaml")
    of("Is the Kestrel Bridge open?", as_of=NOW)
    assert of.flush() is None
    assert len(calls(tmp_path)) == 1
