"""Uses of a memory: counted once a session and UTC day, whoever repeats them, and what is remembered stays bounded."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import NamespaceError, StoreError
from memrank.indexing import Analyzer
from memrank.stores import sqlite_file, sqlite_uses
from memrank.stores.base import Uses
from memrank.stores.sqlite import SqliteStore
from memrank.text.dates import parse_moment
from memrank.types import Memory

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
ANALYZER = Analyzer("english", "none")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.create(path, ANALYZER) as made:
        made.append([memory("a"), memory("b")])
        yield made


def memory(identity: str, namespace: str | None = None) -> Memory:
    return Memory(id=identity, content="some text", namespace=namespace)


def uses(*, counted: str = "", limited: str = "", unknown: str = "") -> Uses:
    """Ids of one letter each."""
    return Uses(counted=tuple(counted), limited=tuple(limited), unknown=tuple(unknown))


def counts(store: SqliteStore) -> dict[str, int]:
    return {m.id: m.access_count for m in store.export()}


def marks(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT memory, day, session FROM uses ORDER BY mark").fetchall()


def test_uses_are_counted_and_the_last_one_is_kept(path: Path) -> None:
    with SqliteStore.create(path, ANALYZER) as store:
        store.append([memory("a", "n"), replace(memory("b", "n"), access_count=4)])
        assert store.record_use("n", ["a", "b", "a", "x"], NOW) == uses(counted="ab", unknown="x")
        assert store.record_use(None, ["a"], NOW.replace(year=2025)) == uses(counted="a")
        tenant = store.snapshot("n", NOW, {}, 0.0).tenant
    a, b = tenant.memories
    assert (a.access_count, b.access_count) == (2, 5)
    assert a.last_accessed_at == b.last_accessed_at == parse_moment(NOW).moment
    np.testing.assert_array_equal(tenant.access_count, [2.0, 5.0])


def test_once_a_session_and_day(store: SqliteStore) -> None:
    assert store.record_use(None, ["a"], NOW) == uses(counted="a")
    version = store.store_version()
    assert store.record_use(None, ["a"], NOW + timedelta(hours=1)) == uses(limited="a")
    assert store.store_version() == version
    assert store.record_use(None, ["a", "b"], NOW) == uses(counted="b", limited="a")
    assert store.record_use(None, ["a"], NOW, session="s") == uses(counted="a")
    assert store.record_use(None, ["a"], NOW, session="s") == uses(limited="a")
    assert store.record_use(None, ["a"], NOW, session="t") == uses(counted="a")
    assert store.record_use(None, ["a"], NOW + timedelta(days=1), session="s") == uses(counted="a")
    assert counts(store) == {"a": 4, "b": 1}


@pytest.mark.parametrize("session", ["", "None", "0", "\x00", "s" * 10_000, "会"])
def test_no_session_is_one_session_of_its_own(store: SqliteStore, session: str) -> None:
    assert store.record_use(None, ["a"], NOW).counted == ("a",)
    assert store.record_use(None, ["a"], NOW, session=session).counted == ("a",)
    assert store.record_use(None, ["a"], NOW, session=session).limited == ("a",)
    assert store.record_use(None, ["a"], NOW).limited == ("a",)


def test_the_day_is_that_of_utc(store: SqliteStore, path: Path) -> None:
    east = timezone(timedelta(hours=9))
    assert store.record_use(None, ["a"], datetime(2026, 3, 21, 8, tzinfo=east)).counted == ("a",)
    assert store.record_use(None, ["a"], datetime(2026, 3, 20, 12)).limited == ("a",)  # noqa: DTZ001 - without a zone: UTC
    assert store.record_use(None, ["a"], datetime(2026, 3, 21, 9, tzinfo=east)).counted == ("a",)
    assert [day for _, day, _ in marks(path)] == ["2026-03-20", "2026-03-21"]


def test_what_utf8_cannot_hold_is_no_traceback(store: SqliteStore) -> None:
    assert store.record_use(None, ["\ud800", "a"], NOW, session="\ud800") == Uses(
        counted=("a",), limited=(), unknown=("\ud800",)
    )
    assert store.record_use(None, ["a"], NOW, session="\ufffd").limited == ("a",)


def test_a_use_of_another_tenants_memory_is_not_counted(path: Path) -> None:
    with SqliteStore.create(path, ANALYZER) as store:
        store.append([memory("a", "one"), memory("b", "two"), memory("a", "two")])
        assert store.record_use("one", ["b"], NOW) == uses(unknown="b")
        for unknown in ("three", None):
            with pytest.raises(NamespaceError):
                store.record_use(unknown, ["a"], NOW)
        assert [m.access_count for m in store.export()] == [0, 0, 0]
        for namespace in ("one", "two"):
            assert store.record_use(namespace, ["a"], NOW).counted == ("a",)


def test_a_use_without_a_change_leaves_the_version(store: SqliteStore) -> None:
    version = store.store_version()
    assert store.record_use(None, ["x"], NOW) == uses(unknown="x")
    assert store.record_use(None, [], NOW) == uses()
    assert store.store_version() == version


def test_a_replaced_memory_keeps_its_marks_and_a_removed_one_loses_them(store: SqliteStore, path: Path) -> None:
    store.record_use(None, ["a", "b"], NOW)
    store.append([replace(memory("b"), content="other")])
    assert store.record_use(None, ["b"], NOW).limited == ("b",)
    with sqlite_file.door(path).transaction(write=True) as connection:
        connection.execute("DELETE FROM memories WHERE id = 'b'")
    assert [row for row, _, _ in marks(path)] == [1]
    store.append([memory("c")])  # is given the number that b had
    assert store.record_use(None, ["c"], NOW).counted == ("c",)


def test_what_is_remembered_is_bounded(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_uses, "KEPT", 3)
    for day in range(10):
        store.record_use(None, ["a"], NOW + timedelta(days=day))
    assert [day for _, day, _ in marks(path)] == ["2026-03-27", "2026-03-28", "2026-03-29"]
    assert store.record_use(None, ["a"], NOW + timedelta(days=8)).limited == ("a",)
    # However many uses a day has, each counts once on that day.
    for _ in range(2):
        for session in "stuvwxyz":
            store.record_use(None, ["b"], NOW + timedelta(days=10), session=session)
    assert counts(store) == {"a": 10, "b": 8}
    assert len(marks(path)) == 8
    store.record_use(None, ["b"], NOW + timedelta(days=11))
    assert len(marks(path)) == 3


def test_a_wrong_clock_does_no_lasting_harm(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_uses, "KEPT", 3)
    store.record_use(None, ["a"], datetime(9999, 12, 31, tzinfo=UTC))
    for day in range(5):
        at = NOW + timedelta(days=day)
        assert store.record_use(None, ["a"], at).counted == ("a",)
        assert store.record_use(None, ["a"], at).limited == ("a",)
    assert [day for _, day, _ in marks(path)] == ["2026-03-22", "2026-03-23", "2026-03-24"]


recorded = st.lists(
    st.tuples(st.lists(st.sampled_from("abx"), max_size=4), st.integers(0, 72), st.sampled_from([None, "", "s", "t"])),
    max_size=12,
)


@given(calls=recorded)
@settings(max_examples=40, deadline=None)
def test_the_count_is_that_of_distinct_days_and_sessions(
    calls: list[tuple[list[str], int, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with SqliteStore.create(tmp_path_factory.mktemp("uses") / "s.db", ANALYZER) as store:
        store.append([memory("a"), memory("b")])
        seen: set[tuple[str, str | None, object]] = set()
        for ids, hours, session in calls * 2:  # told again, they change nothing
            at = NOW + timedelta(hours=hours)
            found = store.record_use(None, ids, at, session=session)
            fresh = [i for i in dict.fromkeys(ids) if i != "x" and (i, session, at.date()) not in seen]
            assert list(found.counted) == fresh
            assert set(found.counted) | set(found.limited) | set(found.unknown) == set(ids)
            seen |= {(i, session, at.date()) for i in fresh}
        assert counts(store) == {name: sum(key[0] == name for key in seen) for name in "ab"}


# A store that was made before uses were limited

SCHEMA_1 = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE)",
    "CREATE TABLE memories (seq INTEGER PRIMARY KEY, namespace TEXT, id TEXT NOT NULL, record TEXT NOT NULL, "
    "terms BLOB NOT NULL, vector BLOB, changed INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX memories_identity ON memories (ifnull(namespace, x''), id)",
    "CREATE INDEX memories_changed ON memories (namespace, changed)",
    "INSERT INTO meta VALUES ('version', '1-0a1b2c3d'), ('version 1', '1-0a1b2c3d'), "
    "('analyzer', 'terms-1/english/none')",
    "INSERT INTO vocabulary VALUES (1, 'ferri')",
    """INSERT INTO memories VALUES (1, NULL, 'a', '{"access_count":2,"content":"ferry","id":"a"}',"""
    "x'01000000', NULL, 1)",
    "PRAGMA application_id = 1836215915",
    "PRAGMA user_version = 1",
    "PRAGMA journal_mode = WAL",
)


def old_store(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in SCHEMA_1:
            connection.execute(statement)


def test_an_old_store_is_brought_up_to_date(path: Path) -> None:
    old_store(path)
    with SqliteStore(path, ANALYZER) as store:
        assert store.snapshot(None, NOW, {}, 0.0).tenant.vocabulary == {"ferri": 0}
        assert store.store_version() == "1-0a1b2c3d"
        assert store.record_use(None, ["a"], NOW) == uses(counted="a")
        assert store.record_use(None, ["a"], NOW) == uses(limited="a")
        assert counts(store) == {"a": 3}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(sqlite_file.MIGRATIONS),)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("call", [SqliteStore.count, lambda store: store.record_use(None, ["a"], NOW)])
def test_an_old_store_that_cannot_be_changed_stays_as_it_was(
    path: Path, call: Callable[[SqliteStore], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    old_store(path)
    broken = (sqlite_file.MIGRATIONS[0], (*sqlite_uses.MIGRATION, "no SQL"))
    monkeypatch.setattr(sqlite_file, "MIGRATIONS", broken)
    with SqliteStore(path, ANALYZER) as store, pytest.raises(StoreError, match="syntax error"):
        call(store)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'uses%'").fetchone() == (0,)


# Several processes

RECORDER = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from memrank.indexing import Analyzer
from memrank.stores.sqlite import SqliteStore

store = SqliteStore(Path(sys.argv[1]), Analyzer("english", "none"))
print("ready", flush=True)
sys.stdin.readline()
counted = 0
for day in range(20):
    at = datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=day)
    for session in ("s", "t"):
        counted += len(store.record_use(None, ["a", "b"], at, session=session).counted)
        if len(sys.argv) > 2:
            print(counted, flush=True)
store.close()
print(counted)
"""


def start(path: Path, *extra: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RECORDER, str(path), *extra]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_tell_the_same_uses_count_them_once(store: SqliteStore, path: Path) -> None:
    recorders = [start(path) for _ in range(3)]
    for recorder in recorders:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
    found = []
    for recorder in recorders:
        assert recorder.stdin is not None
        recorder.stdin.write("go\n")
        recorder.stdin.flush()
    for recorder in recorders:
        out, _ = recorder.communicate(timeout=60)
        assert recorder.returncode == 0
        found.append(int(out))
    assert sum(found) == 20 * 2 * 2
    assert counts(store) == {"a": 40, "b": 40}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_recorder_leaves_counts_and_marks_that_agree(store: SqliteStore, path: Path) -> None:
    recorder = start(path, "tell")
    assert recorder.stdin is not None
    assert recorder.stdout is not None
    recorder.stdin.write("go\n")
    recorder.stdin.flush()
    told = [recorder.stdout.readline() for _ in range(8)]
    recorder.kill()
    told += recorder.stdout.readlines()
    recorder.wait()
    recorder.stdin.close()
    recorder.stdout.close()
    acknowledged = int(told[-1])
    found = counts(store)
    assert found["a"] == found["b"]
    assert sum(found.values()) == len(marks(path))
    assert sum(found.values()) in (acknowledged, acknowledged + 2)  # at most the call whose answer was cut off
    # Told again from the start, it all counts once.
    out, _ = start(path).communicate("go\n", timeout=60)
    assert int(out.splitlines()[-1]) == 80 - sum(found.values())
    assert counts(store) == {"a": 40, "b": 40}
