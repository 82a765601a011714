"""What every store owes: the same memories, the same isolation, the same arrays for the same records."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memrank.errors import NamespaceError, UsageError
from memrank.indexing import Analyzer
from memrank.stores.base import Snapshot, Store
from memrank.stores.given import Given
from memrank.stores.jsonl import FileStore
from memrank.stores.readers import read_memories
from memrank.stores.sqlite import SqliteStore
from memrank.tenant import Tenant

Records = Sequence[Mapping[str, object]]
Make = Callable[[Records, Analyzer, Path], Store]

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)

RECORDS: Records = (
    {"id": "b", "content": "The ferry to Hvar leaves at 08:30.", "namespace": "ana",
     "created_at": "2026-03-01T10:00:00Z",
     "tags": ["travel", "sea"], "importance": 0.9, "source_kind": "primary", "superseded_by": "a"},
    {"id": "z", "content": "Bo likes black coffee.", "namespace": "bo", "created_at": "2026-03-02", "authority": 0.7},
    {"id": "a", "content": "Ferries to Hvar leave at 09:15 now.", "namespace": "ana",
     "created_at": "2026-03-19T10:00:00Z",
     "tags": ["travel"], "project": "trip", "access_count": 3, "last_accessed_at": "2026-03-19T12:00:00Z"},
    {"id": "t1", "content": "Shall we go?", "namespace": "ana", "session_id": "s", "turn": 2, "role": "user"},
    {"id": "t0", "content": "Hello, hello Ana", "namespace": "ana", "session_id": "s", "turn": 1, "role": "assistant",
     "speaker": "Bo", "pinned": True, "aliases": ["greeting"]},
    {"id": "later", "content": "Ünïcode 天気 report", "namespace": "ana", "created_at": "2026-04-01T00:00:00Z",
     "expires_at": "2026-05", "valid_at": "2026", "event_date": "2026-03", "memory_type": "note", "n": 10**30},
    {"id": "empty", "content": "", "namespace": "bo"},
)  # fmt: skip


def make_file(records: Records, analyzer: Analyzer, folder: Path) -> Store:
    return FileStore(write(records, folder), analyzer)


def make_given(records: Records, analyzer: Analyzer, folder: Path) -> Store:
    return Given(analyzer).store(records)


def make_sqlite(records: Records, analyzer: Analyzer, folder: Path) -> Store:
    store = SqliteStore.create(folder / "memories.db", analyzer)
    store.append(read_memories(write(records, folder)).memories)
    return store


def make_sqlite_step_by_step(records: Records, analyzer: Analyzer, folder: Path) -> Store:
    """One memory at a time, read after each: its arrays come from what changed, not from reading all."""
    store = SqliteStore.create(folder / "steps.db", analyzer)
    for memory in read_memories(write(records, folder)).memories:
        store.append([memory])
        if memory.namespace is not None:
            store.snapshot(memory.namespace, NOW, {}, 0.0)
    return store


MAKERS: dict[str, Make] = {
    "jsonl": make_file,
    "given": make_given,
    "sqlite": make_sqlite,
    "sqlite-steps": make_sqlite_step_by_step,
}


def write(records: Records, folder: Path) -> Path:
    path = folder / "memories.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def analyzer() -> Analyzer:
    return Analyzer("english", "none")


@pytest.fixture(params=list(MAKERS.values()), ids=list(MAKERS))
def make(request: pytest.FixtureRequest, analyzer: Analyzer, tmp_path: Path) -> Callable[[Records], Store]:
    maker: Make = request.param
    return lambda records: maker(records, analyzer, tmp_path)


def seen(snapshot: Snapshot) -> list[str]:
    return [m.id for m, shown in zip(snapshot.tenant.memories, snapshot.visible, strict=True) if shown]


def assert_same(one: Tenant, other: Tenant) -> None:
    assert_equal_fields(one.postings, other.postings)
    assert_equal_fields(one.times, other.times)
    assert dict(one.vocabulary) == dict(other.vocabulary)
    assert_equal_fields(one, other, but={"postings", "times", "vocabulary", "words", "_codes"})


def assert_equal_fields(one: object, other: object, but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    for field in fields(one):  # type: ignore[arg-type]
        if field.name in but:
            continue
        mine, yours = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == yours.dtype, field.name
            np.testing.assert_array_equal(mine, yours, err_msg=field.name)
        else:
            assert mine == yours, field.name


def test_is_a_store(make: Callable[[Records], Store]) -> None:
    assert isinstance(make(RECORDS), Store)


def test_memories_in_their_order(make: Callable[[Records], Store]) -> None:
    snapshot = make(RECORDS).snapshot("ana", NOW, {}, 0.0)
    assert [m.id for m in snapshot.tenant.memories] == ["b", "a", "t1", "t0", "later"]
    assert [m.position for m in snapshot.tenant.memories] == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("namespace", ["ana", "bo"])
def test_same_arrays_as_a_file(
    make: Callable[[Records], Store], analyzer: Analyzer, tmp_path: Path, namespace: str
) -> None:
    expected = make_file(RECORDS, analyzer, tmp_path).snapshot(namespace, NOW, {}, 0.0)
    found = make(RECORDS).snapshot(namespace, NOW, {}, 0.0)
    assert_same(found.tenant, expected.tenant)
    np.testing.assert_array_equal(found.visible, expected.visible)
    assert found.tenant.vectors is None


@pytest.mark.parametrize("maker", [make_given, make_sqlite, make_sqlite_step_by_step])
def test_same_vectors_as_a_file(maker: Make, tmp_path: Path) -> None:
    analyzer = Analyzer("english", "wordllama")
    expected = make_file(RECORDS, analyzer, tmp_path).snapshot("ana", NOW, {}, 0.0).tenant
    found = maker(RECORDS, analyzer, tmp_path).snapshot("ana", NOW, {}, 0.0).tenant
    assert found.vectors is not None
    assert found.vectors.dtype == np.float32
    assert_same(found, expected)


def test_a_read_without_a_namespace_fails_where_there_are_several(make: Callable[[Records], Store]) -> None:
    with pytest.raises(NamespaceError, match="2 namespaces"):
        make(RECORDS).snapshot(None, NOW, {}, 0.0)


def test_no_namespace_is_a_namespace_of_its_own(make: Callable[[Records], Store]) -> None:
    store = make([*RECORDS, {"id": "free", "content": "in no namespace"}])
    with pytest.raises(NamespaceError, match="3 namespaces"):
        store.snapshot(None, NOW, {}, 0.0)
    assert "free" not in seen(store.snapshot("ana", NOW, {}, 0.0))


@pytest.mark.parametrize("asked", ["", "an", "ana ", "ANA", "%", "\x00", "\ud800"])
def test_an_unknown_namespace_fails(make: Callable[[Records], Store], asked: str) -> None:
    with pytest.raises(NamespaceError):
        make(RECORDS).snapshot(asked, NOW, {}, 0.0)


@pytest.mark.parametrize("namespace", ["only", None])
def test_the_only_namespace_need_not_be_named(make: Callable[[Records], Store], namespace: str | None) -> None:
    store = make([{"id": "1", "content": "x", "namespace": namespace}])
    assert store.snapshot(None, NOW, {}, 0.0).tenant.namespace == namespace


def test_nothing_of_another_tenant_is_there(make: Callable[[Records], Store]) -> None:
    store = make(RECORDS)
    store.snapshot("ana", NOW, {}, 0.0)
    tenant = store.snapshot("bo", NOW, {}, 0.0).tenant
    assert {m.id for m in tenant.memories} == {"z", "empty"}
    assert not {"ferri", "hvar"} & set(tenant.vocabulary)
    assert {"coffe", "black"} <= set(tenant.vocabulary)


def test_what_was_recorded_after_as_of_is_hidden(make: Callable[[Records], Store]) -> None:
    store = make(RECORDS)
    assert seen(store.snapshot("ana", NOW, {}, 0.0)) == ["b", "a", "t1", "t0"]
    early = datetime(2026, 3, 19, 9, 59, 59, tzinfo=UTC)
    assert seen(store.snapshot("ana", early, {}, 0.0)) == ["b", "t1", "t0"]
    assert seen(store.snapshot("ana", early, {}, 1.0)) == ["b", "a", "t1", "t0"]
    assert seen(store.snapshot("bo", datetime(2026, 3, 2, tzinfo=UTC), {}, 0.0)) == ["z", "empty"]


def test_filters(make: Callable[[Records], Store]) -> None:
    store = make(RECORDS)
    assert seen(store.snapshot("ana", NOW, {"tags": ["travel"]}, 0.0)) == ["b", "a"]
    assert seen(store.snapshot("ana", NOW, {"tags": ["travel"], "metadata.project": ["trip"]}, 0.0)) == ["a"]
    assert seen(store.snapshot("ana", NOW, {"role": ["user", "assistant"]}, 0.0)) == ["t1", "t0"]
    assert seen(store.snapshot("ana", NOW, {"tags": ["none"]}, 0.0)) == []
    with pytest.raises(UsageError, match="unknown filter"):
        store.snapshot("ana", NOW, {"namespace": ["bo"]}, 0.0)


def test_an_empty_store_is_empty_for_everybody(make: Callable[[Records], Store]) -> None:
    store = make([])
    for namespace in (None, "ana"):
        snapshot = store.snapshot(namespace, NOW, {}, 0.0)
        assert (len(snapshot.tenant.memories), len(snapshot.visible)) == (0, 0)


def test_the_version_of_a_snapshot_is_that_of_the_store(make: Callable[[Records], Store]) -> None:
    store = make(RECORDS)
    assert store.snapshot("ana", NOW, {}, 0.0).version == store.store_version()


def test_a_repeated_id_counts_once_with_its_last_record(make: Callable[[Records], Store]) -> None:
    snapshot = make([*RECORDS, {**RECORDS[0], "content": "The ferry is cancelled."}]).snapshot("ana", NOW, {}, 0.0)
    contents = [m.content for m in snapshot.tenant.memories if m.id == "b"]
    assert contents == ["The ferry is cancelled."]
