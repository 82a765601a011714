"""FileStore among threads: a tenant is indexed once, and nobody else waits for it."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memrank.indexing import Analysed, Analyzer
from memrank.stores.jsonl import FileStore
from memrank.tenant import Tenant

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)


class Slow(Analyzer):
    """Reads texts that name a ferry only when it is told to."""

    def __init__(self) -> None:
        super().__init__("english", "none")
        self.reached, self.go, self.read = threading.Event(), threading.Event(), 0

    def analyse(self, texts: Sequence[str], *, remember: bool = False) -> list[Analysed]:
        if any("ferry" in text for text in texts):
            self.read += 1
            self.reached.set()
            assert self.go.wait(30)
        return super().analyse(texts, remember=remember)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"id": "1", "content": "The ferry.", "namespace": "ana"}, {"id": "2", "content": "Tea.", "namespace": "bo"}]
    file = tmp_path / "memories.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_nobody_waits_for_the_index_of_another_tenant(path: Path) -> None:
    slow = Slow()
    store = FileStore(path, slow)

    def tenant(name: str) -> Tenant:
        return store.snapshot(name, NOW, {}, 0.0).tenant

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(tenant, "ana")
        assert slow.reached.wait(30)
        second = threads.submit(tenant, "ana")
        try:
            assert threads.submit(tenant, "bo").result(timeout=20).memories[0].id == "2"
            assert not first.done()
        finally:
            slow.go.set()
        assert first.result(timeout=20) is second.result(timeout=20)
    assert slow.read == 1


def test_a_snapshot_and_its_version_are_of_one_file(path: Path) -> None:
    slow = Slow()
    store = FileStore(path, slow)
    before = store.store_version()
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(store.snapshot, "ana", NOW, {}, 0.0)
        assert slow.reached.wait(30)
        path.write_text(json.dumps({"id": "3", "content": "The tram.", "namespace": "ana"}) + "\n", encoding="utf-8")
        after = store.store_version()
        slow.go.set()
        old = reading.result(timeout=20)
    assert before != after
    assert (old.version, [m.id for m in old.tenant.memories]) == (before, ["1"])
    new = store.snapshot("ana", NOW, {}, 0.0)
    assert (new.version, [m.id for m in new.tenant.memories]) == (after, ["3"])
