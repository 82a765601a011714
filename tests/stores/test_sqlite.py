"""SqliteStore: what is kept, what is read again, what happens when the file is not what it should be."""

import copy
import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import DataError, StoreError, UsageError
from memrank.indexing import Analysed, Analyzer
from memrank.records import read_record
from memrank.registry import store_kind
from memrank.score.bm25 import score
from memrank.stores import sqlite, sqlite_door, sqlite_file, sqlite_tenant
from memrank.stores.base import Uses
from memrank.stores.sqlite import SqliteStore
from memrank.tenant import Tenant
from memrank.types import Memory, Note

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)


class Recorder(Analyzer):
    """Remembers which texts it was asked to read."""

    def __init__(self) -> None:
        super().__init__("english", "none")
        self.texts: list[str] = []

    def analyse(self, texts: Sequence[str], *, remember: bool = False) -> list[Analysed]:
        self.texts.extend(texts)
        return super().analyse(texts, remember=remember)


ANALYZER = Analyzer("english", "none")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.create(path, ANALYZER) as made:
        yield made


def memory(identity: str, content: str = "some text", namespace: str | None = None) -> Memory:
    return Memory(id=identity, content=content, namespace=namespace)


def tenant(store: SqliteStore, namespace: str | None = None) -> Tenant:
    return store.snapshot(namespace, NOW, {}, 0.0).tenant


def contents(store: SqliteStore, namespace: str | None = None) -> dict[str, str]:
    return {m.id: m.content for m in tenant(store, namespace).memories}


def run_sql(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


# What is kept


def test_memories_come_back_as_they_were(store: SqliteStore, path: Path) -> None:
    raw = {
        "id": "x", "content": "zero \x00 byte, 天気, \U0001f600, 'quotes' \" \\", "created_at": "2026-03",
        "tags": ["a", "b"],
        "importance": 0.25, "embedding": [0.5, -1e-9], "big": 10**300, "deep": {"list": [1, None, {"k": 1.5}]},
        "namespace": "a/b", "speaker": "Zoë", "turn": 0, "role": "user", "pinned": True, "access_count": 7,
    }  # fmt: skip
    given, _ = read_record(raw, position=0)
    assert store.append([given]) == 1
    with SqliteStore(path, ANALYZER) as other:
        assert tenant(other, "a/b").memories == (given,)
        assert list(other.export()) == [given]


def test_ten_megabytes_of_content(store: SqliteStore) -> None:
    content = "x" * 10_000_000 + " needle"
    store.append([memory("big", content)])
    found = tenant(store)
    assert found.memories[0].content == content
    assert "needl" in found.vocabulary


def test_more_memories_than_a_batch(store: SqliteStore) -> None:
    given = [memory(f"m{i}", f"word{i % 97} text", f"n{i % 3}") for i in range(2 * sqlite.BATCH + 1)]
    assert store.append(given) == store.count() == len(given)
    assert [m.id for m in store.export()] == [m.id for m in given]
    assert [m.id for m in tenant(store, "n1").memories] == [m.id for m in given[1::3]]


def test_appended_memories_come_last_and_replaced_ones_keep_their_place(store: SqliteStore) -> None:
    store.append([replace(memory("a"), position=50), replace(memory("b"), position=3)])
    store.append([replace(memory("c"), position=0), memory("a", "changed")])
    assert [(m.id, m.position) for m in tenant(store).memories] == [("a", 0), ("b", 1), ("c", 2)]
    assert contents(store) == {"a": "changed", "b": "some text", "c": "some text"}


def test_one_id_in_two_namespaces_is_two_memories(store: SqliteStore) -> None:
    store.append([memory("a", "none"), memory("a", "one", "one"), memory("a", "two", "two")])
    store.append([memory("a", "none again"), memory("a", "two again", "two")])
    assert [m.content for m in store.export()] == ["none again", "one", "two again"]


def test_a_repeated_id_counts_once(store: SqliteStore) -> None:
    assert store.append([memory("a", "first"), memory("b"), memory("a", "last")]) == 2
    assert [(m.id, m.content) for m in store.export()] == [("b", "some text"), ("a", "last")]


def test_what_is_there_already_is_not_written_again(store: SqliteStore) -> None:
    given = [memory("a"), memory("b", namespace="n")]
    store.append(given)
    version = store.store_version()
    assert store.append(given) == 2
    assert store.append([]) == 0
    assert store.store_version() == version


def test_every_change_gives_another_version(store: SqliteStore) -> None:
    versions = [store.store_version()]
    writes: list[Callable[[], object]] = [
        lambda: store.append([memory("a")]),
        lambda: store.append([memory("a", "changed")]),
        lambda: len(store.record_use(None, ["a"], NOW).counted),
    ]
    for write in writes:
        assert write() in (1, Uses(counted=("a",), limited=(), unknown=()))
        versions.append(store.store_version())
    assert len(set(versions)) == 4
    assert store.snapshot(None, NOW, {}, 0.0).version == versions[-1]


def test_only_new_text_is_read(path: Path) -> None:
    analyzer = Recorder()
    with SqliteStore.create(path, analyzer) as store:
        store.append([memory("a", "alpha"), memory("b", "beta")])
        store.append([replace(memory("a", "alpha"), importance=0.5), memory("b", "new beta"), memory("c", "gamma")])
        store.append([replace(memory("c", "gamma"), speaker="Zoe")])
        store.record_use(None, ["a"], NOW)
        tenant(store)
    assert analyzer.texts == ["alpha", "beta", "new beta", "gamma", "Zoe\ngamma"]


@pytest.mark.parametrize(
    "bad", [memory("bad", "\ud800"), memory("bad\ud800"), replace(memory("bad"), importance=float("nan")), memory("")]
)
def test_a_memory_that_cannot_be_kept_stops_the_whole_write(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, bad: Memory
) -> None:
    monkeypatch.setattr(sqlite, "BATCH", 2)
    with pytest.raises(DataError, match="cannot be kept"):
        store.append([*(memory(f"m{i}") for i in range(5)), bad])
    assert store.count() == 0
    assert store.append([memory("m0")]) == 1


# Metadata


def test_keys_of_metadata_are_set_and_all_else_stays(store: SqliteStore, path: Path) -> None:
    rich = replace(memory("a", namespace="n"), metadata={"colour": "red", "deep": {"x": [1]}}, importance=0.25)
    store.append([rich, memory("a"), memory("b")])
    held = tenant(store, "n")
    given = [("n", "a", {"colour": "blue", "worth": 0.5}), (None, "b", {"worth": 1.0}), ("n", "missing", {"worth": 1})]
    assert store.set_metadata(given) == 2
    metadata = {"colour": "blue", "deep": {"x": [1]}, "worth": 0.5}
    found = tenant(store, "n")
    assert found.memories == (replace(rich, metadata=metadata),)
    assert held.memories == (rich,)
    assert [m.metadata for m in store.export()] == [metadata, {}, {"worth": 1.0}]
    np.testing.assert_array_equal(found.postings.lengths, held.postings.lengths)
    version = store.store_version()
    assert store.set_metadata(given) == 0
    assert store.set_metadata([]) == 0
    assert store.store_version() == version


def test_what_was_written_since_is_not_undone(store: SqliteStore) -> None:
    store.append([memory("a")])
    values = [(None, m.id, {"worth": 0.5}) for m in store.export()]
    store.record_use(None, ["a"], NOW)
    assert store.set_metadata(values) == 1
    assert [(m.access_count, m.metadata) for m in store.export()] == [(1, {"worth": 0.5})]


@pytest.mark.parametrize("key", ["importance", "ts"])
def test_the_name_of_a_field_stops_the_whole_write(store: SqliteStore, key: str) -> None:
    store.append([memory("a"), memory("b")])
    with pytest.raises(UsageError, match="names of fields"):
        store.set_metadata([(None, "a", {"x": 1}), (None, "b", {key: 1})])
    assert [m.metadata for m in store.export()] == [{}, {}]


# What is held in memory


def test_a_snapshot_never_changes(store: SqliteStore) -> None:
    store.append([memory("a", "alpha beta"), memory("b", "beta")])
    before = store.snapshot(None, NOW, {}, 0.0)
    terms = dict(before.tenant.vocabulary)
    store.append([memory("a", "other words"), memory("c", "more of them")])
    assert contents(store) == {"a": "other words", "b": "beta", "c": "more of them"}
    assert [m.content for m in before.tenant.memories] == ["alpha beta", "beta"]
    assert dict(before.tenant.vocabulary) == terms
    assert len(before.tenant.postings.lengths) == len(before.visible) == 2


def test_unchanged_tenants_are_shared_and_only_changed_rows_are_read(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([memory(f"m{i}", namespace="n") for i in range(5)])
    assert tenant(store, "n") is tenant(store, "n")
    seen: list[int] = []
    parse = sqlite_tenant.parse_record

    def watched(record: str, seq: int, path: Path) -> tuple[Memory, list[Note]]:
        seen.append(seq)
        return parse(record, seq, path)

    monkeypatch.setattr(sqlite_tenant, "parse_record", watched)
    with SqliteStore(store._path, ANALYZER) as other:  # another process would do the same
        other.append([memory("m3", "changed", "n"), memory("x", namespace="elsewhere")])
    assert contents(store, "n")["m3"] == "changed"
    assert seen == [4]


def test_a_write_of_another_tenant_leaves_what_is_held(store: SqliteStore) -> None:
    store.append([memory("a", namespace="n"), memory("b", namespace="m")])
    held = tenant(store, "n")
    store.append([memory("c", namespace="m")])
    assert tenant(store, "n") is held
    store.append([memory("d", namespace="n")])
    assert tenant(store, "n") is not held


def test_an_older_copy_that_was_put_back_in_place_is_read_anew(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    store.append([memory("a", "alpha")])
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(tmp_path / "copy.db")) as copied:
        now.backup(copied)
    store.append([memory("a", "beta")])
    assert contents(store) == {"a": "beta"}
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copied, closing(sqlite3.connect(path)) as now:
        copied.backup(now)
    assert contents(store) == {"a": "alpha"}


@pytest.mark.parametrize("ahead", [1, 5])
def test_a_copy_that_diverged_and_overtook_what_was_seen_is_read_anew(
    store: SqliteStore, path: Path, tmp_path: Path, ahead: int
) -> None:
    store.append([memory("a", "alpha"), memory("b", "beta")])
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(tmp_path / "copy.db")) as copied:
        now.backup(copied)
    store.append([memory("a", "changed")])
    store.append([memory("b", "changed")])
    assert contents(store) == {"a": "changed", "b": "changed"}
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copied, closing(sqlite3.connect(path)) as now:
        copied.backup(now)
    with SqliteStore(path, ANALYZER) as other:  # as many changes as were seen, and more
        for i in range(ahead):
            other.append([memory("a", f"other {i}")])
        other.append([memory("a", "other")])
    assert contents(store) == {"a": "other", "b": "beta"}


def test_a_reader_that_is_far_behind_reads_everything_again(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "REMEMBERED", 3)
    store.append([memory("a", "alpha")])
    assert contents(store) == {"a": "alpha"}
    for i in range(10):
        store.append([memory("a", f"text {i}")])
    assert contents(store) == {"a": "text 9"}
    with sqlite_file.door(path).transaction() as connection:
        kept = connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'version %'").fetchone()
    assert kept == (3,)


def test_the_namespaces_last_asked_stay_in_memory(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "HELD", 2)
    store.append([memory("m", namespace=name) for name in "abc"])
    a, b = tenant(store, "a"), tenant(store, "b")
    assert tenant(store, "a") is a
    tenant(store, "c")
    assert tenant(store, "a") is a
    assert tenant(store, "b") is not b
    assert len(store._namespaces) == 2


def test_removed_rows_are_noticed(store: SqliteStore, path: Path) -> None:
    store.append([memory("a", "alpha"), memory("b", "beta"), memory("c", "gamma")])
    assert len(contents(store)) == 3
    run_sql(path, "DELETE FROM memories WHERE id = 'b'", "UPDATE meta SET value = '2-ff' WHERE key = 'version'")
    assert contents(store) == {"a": "alpha", "c": "gamma"}
    assert "beta" not in tenant(store).vocabulary


def test_a_file_that_was_replaced_is_read_anew(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    store.append([memory("a")])
    assert set(contents(store)) == {"a"}
    with SqliteStore.create(tmp_path / "new.db", ANALYZER) as other:
        other.append([memory("z")])
    store._writer.close()
    (tmp_path / "new.db").replace(path)
    for leftover in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        leftover.unlink(missing_ok=True)
    assert set(contents(store)) == {"z"}


@st.composite
def histories(draw: st.DrawFn) -> list[list[Memory]]:
    word = st.sampled_from(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])
    words = st.lists(word, max_size=5).map(" ".join)
    one = st.builds(memory, st.sampled_from("abcde"), words, st.sampled_from([None, "n"]))
    return draw(st.lists(st.lists(one, max_size=4), min_size=1, max_size=5))


@given(history=histories())
@settings(max_examples=25, deadline=None)
def test_reading_step_by_step_equals_reading_at_once(
    history: list[list[Memory]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("history") / "s.db"
    with SqliteStore.create(file, ANALYZER) as steps, SqliteStore(file, ANALYZER) as fresh:
        steps.append([memory("first", "ant bee", "n"), memory("first", "ant bee")])
        for batch in history:
            tenant(steps, "n")
            steps.append(batch)
        one, other = tenant(steps, "n"), tenant(fresh, "n")
    assert one.memories == other.memories
    for query in (["ant", "bee", "cat"], ["hen", "fox", "ant", "gnu"]):
        scores = [
            score(t.postings, {t.vocabulary[w]: 1 for w in query if w in t.vocabulary}, k1=1.2, b=0.75)[0]
            for t in (one, other)
        ]
        np.testing.assert_array_equal(scores[0], scores[1])


def test_repairs_are_noted_for_the_tenant_until_they_are_gone(store: SqliteStore) -> None:
    odd = replace(memory("a", namespace="n"), metadata={"turn": "no number"})
    store.append([odd, memory("b", namespace="other")])
    assert [note.code for note in store.snapshot("n", NOW, {}, 0.0).notes] == ["value_unreadable"]
    assert store.snapshot("other", NOW, {}, 0.0).notes == ()
    store.append([memory("a", namespace="n")])
    assert store.snapshot("n", NOW, {}, 0.0).notes == ()


# Another analyzer


def test_another_analyzer_may_neither_read_nor_write_but_export(store: SqliteStore, path: Path) -> None:
    store.append([memory("a")])
    with SqliteStore(path, Analyzer("none", "none")) as other:
        for call in (lambda: tenant(other), lambda: other.append([memory("b")])):
            with pytest.raises(StoreError, match=r"terms-1/english/none.*terms-1/none/none") as raised:
                call()
            assert "index:" in str(raised.value.hint)
        assert [m.id for m in other.export()] == ["a"]


def test_an_empty_store_takes_the_first_analyzer_that_writes(store: SqliteStore, path: Path) -> None:
    with SqliteStore(path, Analyzer("none", "none")) as other:
        other.append([memory("a", "the words")])
        assert set(tenant(other).vocabulary) == {"the", "words"}
    with pytest.raises(StoreError):
        tenant(store)


# Files


def test_a_missing_store_is_not_created_by_using_it(path: Path) -> None:
    store = SqliteStore(path, ANALYZER)
    for call in (
        lambda: tenant(store),
        store.store_version,
        store.count,
        lambda: list(store.export()),
        lambda: store.append([memory("a")]),
        lambda: store.record_use(None, ["a"], NOW),
    ):
        with pytest.raises(StoreError, match="there is no such store") as raised:
            call()
        assert raised.value.hint == f"memrank store import FILE --to {path}"
    assert not path.exists()


def test_creating_a_store_twice_keeps_it(store: SqliteStore, path: Path) -> None:
    store.append([memory("a")])
    with SqliteStore.create(path, ANALYZER) as again:
        assert contents(again) == {"a": "some text"}


def test_an_empty_file_is_no_store_until_it_is_made_one(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="it is empty"):
        SqliteStore(path, ANALYZER).count()
    with SqliteStore.create(path, ANALYZER) as store:
        assert store.count() == 0


def test_a_creation_that_was_cut_short_is_finished(path: Path) -> None:
    run_sql(path, "PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match="without a schema"):
        SqliteStore(path, ANALYZER).count()
    with SqliteStore.create(path, ANALYZER) as store:
        assert store.append([memory("a")]) == 1


def test_a_store_is_told_by_its_first_bytes(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    assert store_kind(path) == "sqlite.v1"
    text = tmp_path / "memories.jsonl"
    text.write_text("SQLite format 3 is not this\n")
    others = (text, tmp_path, tmp_path / "missing", Path("nul\x00"))
    assert {store_kind(other) for other in others} == {"jsonl.v1"}


def text_file(path: Path) -> None:
    path.write_text('{"id": "a", "content": "b"}\n' * 100)


def foreign(path: Path) -> None:
    run_sql(path, "CREATE TABLE t (a)")


def foreign_id(path: Path) -> None:
    run_sql(path, "PRAGMA application_id = 7")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (text_file, "no SQLite database"),
        (foreign, "another application"),
        (foreign_id, "another application"),
        (Path.mkdir, "a folder"),
    ],
)
def test_what_is_no_store_is_refused_and_left_alone(path: Path, make: Callable[[Path], None], message: str) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    for call in (lambda: SqliteStore(path, ANALYZER).count(), lambda: SqliteStore.create(path, ANALYZER)):
        with pytest.raises(StoreError, match=message):
            call()
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path / "nul\x00", ANALYZER).count()
    with pytest.raises(StoreError, match="cannot be created"):
        SqliteStore.create(tmp_path / "missing" / "s.db", ANALYZER)


def test_a_newer_schema_is_refused(store: SqliteStore, path: Path) -> None:
    store.close()
    run_sql(path, "PRAGMA user_version = 99")
    for call in (store.count, lambda: store.append([memory("a")])):
        with pytest.raises(StoreError, match=r"newer memrank \(store schema 99") as raised:
            call()
        assert raised.value.hint == "upgrade memrank"


def test_migrations_run_in_one_transaction(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([memory("a")])
    store.close()
    known = sqlite_file.MIGRATIONS
    good = ("ALTER TABLE memories ADD COLUMN extra", "UPDATE memories SET extra = 'new'")
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", (*known, good, ("no SQL",)))
    with pytest.raises(StoreError, match="syntax error"):
        store.count()
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", (*known, good))
    assert contents(store) == {"a": "some text"}
    with sqlite_file.door(path).transaction() as connection:
        assert connection.execute("SELECT extra FROM memories").fetchall() == [("new",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(known) + 1,)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_store_that_was_cut_off_is_refused(store: SqliteStore, path: Path, share: float) -> None:
    store.append([memory(f"m{i}", f"text {i}") for i in range(500)])
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreError, match=r"damaged|SQLite"):
        tenant(store)


def test_a_damaged_page_is_no_traceback(store: SqliteStore, path: Path) -> None:
    store.append([memory(f"m{i}", f"text {i}") for i in range(500)])
    store.close()
    whole = bytearray(path.read_bytes())
    for page in range(4096, len(whole), 4096):
        whole[page : page + 64] = b"\xff" * 64
    path.write_bytes(whole)
    with pytest.raises(StoreError):
        tenant(store)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memories SET record = '{'",
        "UPDATE memories SET record = 'null'",
        "UPDATE memories SET record = 7",
        'UPDATE memories SET record = \'{"id": "other", "content": "x"}\'',
        'UPDATE memories SET record = \'{"id": "a", "content": "x", "namespace": "n"}\'',
        "UPDATE memories SET record = CAST(x'ff' AS TEXT)",
        "UPDATE memories SET terms = x'010203'",
        "UPDATE memories SET terms = 'text'",
        "UPDATE memories SET terms = x'ffffff7f'",
        "UPDATE memories SET vector = x'00'",
        "UPDATE memories SET vector = x'007c007c'",
        "UPDATE memories SET vector = zeroblob(id = 'a')",
        "UPDATE memories SET vector = zeroblob(2) WHERE id = 'a'",
        "DELETE FROM vocabulary",
        "DELETE FROM meta",
        "UPDATE meta SET value = 'soon'",
        "DROP TABLE vocabulary",
        "DROP TABLE meta",
    ],
)
def test_rows_that_are_not_what_was_written(store: SqliteStore, path: Path, statement: str) -> None:
    store.append([memory("a", "alpha"), memory("b", "beta")])
    store.close()
    run_sql(path, statement)
    with pytest.raises(StoreError):
        tenant(store)


def test_a_store_that_is_held_too_long(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_door, "BUSY_SECONDS", 0.05)
    with sqlite_file.door(path).transaction(write=True):
        assert contents(store) == {}
        with pytest.raises(StoreError, match="another process"):
            store.append([memory("a")])
    assert store.append([memory("a")]) == 1


def test_a_full_disk_keeps_nothing_of_the_write(store: SqliteStore) -> None:
    store.append([memory("a")])
    with store._writer.transaction() as connection:
        connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(StoreError, match="disk is full"):
        store.append([memory(f"m{i}", "x" * 1000) for i in range(200)])
    assert contents(store) == {"a": "some text"}
    store.close()
    assert store.append([memory("b")]) == 1


def test_every_write_reaches_the_disk(store: SqliteStore) -> None:
    with store._writer.transaction() as connection:
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert found == ["wal", 2]


def test_a_wrong_call_of_sqlite_is_not_hidden(store: SqliteStore) -> None:
    with pytest.raises(sqlite3.ProgrammingError), store._reader.transaction() as connection:
        connection.execute("SELECT ?", ())


# Life


def test_a_closed_store_opens_again_and_leaves_one_file(store: SqliteStore, path: Path) -> None:
    store.append([memory("a")])
    store.close()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert contents(store) == {"a": "some text"}


def test_a_store_that_is_forgotten_closes_its_file(path: Path) -> None:
    store = SqliteStore.create(path, ANALYZER)
    store.append([memory("a")])
    tenant(store)
    export = store.export()
    next(export)
    del store, export
    gc.collect()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_deep_copy_is_the_same_store(store: SqliteStore) -> None:
    assert copy.deepcopy(store) is store


def test_an_export_shows_one_moment(store: SqliteStore) -> None:
    store.append([memory(f"m{i}") for i in range(10)])
    export = store.export()
    first = next(export)
    store.append([memory("m5", "changed"), memory("new")])
    assert [(m.id, m.content) for m in (first, *export)] == [(f"m{i}", "some text") for i in range(10)]


def test_threads_share_a_store(store: SqliteStore) -> None:
    store.append([memory("m0", namespace="n")])
    stop, counts = threading.Event(), list[int]()
    faults: list[object] = []

    def read() -> None:
        try:
            while not stop.is_set():
                snapshot = store.snapshot("n", NOW, {}, 0.0)
                counts.append(len(snapshot.tenant.memories))
                if len(snapshot.visible) != counts[-1] or counts[-1] % 3 != 1:
                    faults.append(counts[-1])
        except BaseException as error:
            faults.append(error)
            raise

    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in readers:
        thread.start()
    for i in range(40):
        store.append([memory(f"m{i}.{k}", namespace="n") for k in range(3)])
    stop.set()
    for thread in readers:
        thread.join()
    assert not faults
    assert counts
    assert store.count() == 121
