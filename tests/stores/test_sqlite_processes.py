"""SqliteStore and other processes: writers that take turns or are killed, forks, files that cannot be written."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memrank.errors import StoreError
from memrank.indexing import Analyzer
from memrank.stores.sqlite import SqliteStore
from memrank.types import Memory

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
ANALYZER = Analyzer("english", "none")
BATCH = 7

WRITER = f"""
import sys
from pathlib import Path
from memrank.indexing import Analyzer
from memrank.stores.sqlite import SqliteStore
from memrank.types import Memory

path, name, batches = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = SqliteStore.create(path, Analyzer("english", "none"))
for batch in range(batches):
    ids = [f"{{name}}/{{batch}}/{{k}}" for k in range({BATCH})]
    store.append([Memory(id=i, content="text of " + i * 20, namespace="n") for i in ids])
    print(batch, flush=True)
store.close()
"""


def start(path: Path, name: str, batches: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(batches)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE)


def ids_of(path: Path) -> set[str]:
    with SqliteStore(path, ANALYZER) as store:
        return {m.id for m in store.export()}


class NotYetError(Exception):
    """The store is not made yet."""


def count_of(store: SqliteStore) -> int:
    try:
        return len(store.snapshot(None, NOW, {}, 0.0).tenant.memories)
    except StoreError as error:
        if "no such store" in error.message or "not a memrank store" in error.message:
            raise NotYetError from error
        raise


def check_whole(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_writer_leaves_every_acknowledged_batch_and_no_part_of_another(tmp_path: Path) -> None:
    path, chance, acknowledged, killed = tmp_path / "s.db", random.Random(7), set[str](), 0
    for turn in range(6):
        writer = start(path, str(turn), 100_000)
        assert writer.stdout is not None
        lines = [writer.stdout.readline()]
        time.sleep(chance.uniform(0, 0.15))
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
        killed += writer.wait() == -signal.SIGKILL
        writer.stdout.close()
        done = [line for line in lines if line.endswith(b"\n")]
        acknowledged |= {f"{turn}/{int(line)}/{k}" for line in done for k in range(BATCH)}
        found = ids_of(path)
        assert acknowledged <= found
        assert len(found) % BATCH == 0
        assert len(found) - len(acknowledged) <= BATCH * (turn + 1)  # at most the batch whose answer was cut off
        check_whole(path)
    assert killed == 6
    with SqliteStore(path, ANALYZER) as store:
        assert len(store.snapshot("n", NOW, {}, 0.0).tenant.memories) == len(found)


def test_two_writers_take_turns_and_a_reader_sees_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    writers = [start(path, name, 40) for name in ("one", "two")]  # both may find that they have to create it
    seen = [0]
    while any(writer.poll() is None for writer in writers):
        with suppress(NotYetError), SqliteStore(path, ANALYZER) as store:
            seen.extend(count_of(store) for _ in range(20))
    assert len(seen) > 20
    for writer in writers:
        assert writer.stdout is not None
        assert len(writer.stdout.readlines()) == 40
        writer.stdout.close()
        assert writer.wait() == 0
    assert all(count % BATCH == 0 for count in seen)
    assert seen == sorted(seen)
    assert len(ids_of(path)) == 2 * 40 * BATCH
    check_whole(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_opens_the_file_for_itself(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "s.db", ANALYZER)
    store.append([Memory(id="a", content="x")])
    store.snapshot(None, NOW, {}, 0.0)
    child = os.fork()
    if child == 0:
        found = 99
        try:
            store.append([Memory(id="b", content="y")])
            store.close()
            found = count_of(store)
        finally:
            os._exit(found)  # without the exit handlers of the parent
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    store.append([Memory(id="c", content="z")])
    assert [m.id for m in store.snapshot(None, NOW, {}, 0.0).tenant.memories] == ["a", "b", "c"]
    store.close()
    check_whole(tmp_path / "s.db")


READ_ONLY = """
import os, sys
import urllib.request  # Python 3.13 imports it late, from where another user may not read
from datetime import UTC, datetime
from pathlib import Path
from memrank.errors import StoreError
from memrank.indexing import Analyzer
from memrank.stores.sqlite import SqliteStore
from memrank.types import Memory

path = Path(sys.argv[1])
if os.geteuid() == 0:
    os.seteuid(65534)  # the superuser may write everywhere
store = SqliteStore(path, Analyzer("english", "none"))
for call in (
    lambda: store.append([Memory(id="b", content="y")]),
    lambda: store.record_use(None, ["a"], datetime.now(UTC)),
    lambda: SqliteStore.create(path.with_name("new.db"), Analyzer("english", "none")),
):
    try:
        call()
    except StoreError as error:
        print(error.hint)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be made read-only so on Windows")
def test_a_store_that_cannot_be_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("read-only")
    path = folder / "s.db"
    with SqliteStore.create(path, ANALYZER) as store:
        store.append([Memory(id="a", content="x")])
    above = [folder.parent, folder.parent.parent]
    modes = [place.stat().st_mode for place in above]
    try:
        for place in above:
            place.chmod(0o755)
        path.chmod(0o444)
        folder.chmod(0o555)
        run = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True)
    finally:
        folder.chmod(0o755)
        for place, mode in zip(above, modes, strict=True):
            place.chmod(mode)
    assert run.stderr == ""
    assert [line.partition(",")[0] for line in run.stdout.splitlines()] == [
        "the file and its folder must be writable"
    ] * 3
    assert ids_of(path) == {"a"}
