"""The read log and processes: several that write, one that is killed, one that forks, one that just ends."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from reading import pipeline, read, record

from memrank.stores.readlog import ReadLog
from memrank.stores.readlog_list import lines

READER = """
import sys
from pathlib import Path
from memrank.registry import build
from memrank.spec import Spec

path, name, count, ack = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "ack"
stages = [{"kind": kind} for kind in ("prefilter.hybrid.v1", "temporal.v1", "ranker.v1")]
spec = {"memrank": 1, "name": "x", "index": {"embedder": "none"}, "stages": stages, "reads": {"log": path}}
of = build(Spec.model_validate(spec), Path(), "0" * 64)
for k in range(count):
    memories = [{"id": f"{name}-{k}-{j}", "content": f"The fee of {name} {k} {j} " + "x" * 500} for j in range(5)]
    ranking = of(f"fee {name} {k}", as_of="2026-03-20T09:00:00Z", memories=memories)
    if ack:
        assert of.flush() is None
        print(ranking.meta.read_id, flush=True)
"""


def start(path: Path, name: str, count: int, ack: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-W", "error", "-c", READER, str(path), name, str(count), ack]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def check_whole(path: Path) -> set[str]:
    """The file is sound, and every read in it can be loaded; their ids."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    log = ReadLog(path)
    ids = {line.read_id for line in lines(log, since=0.0, text=None, needs_review=False, limit=None)}
    for read_id in ids:
        assert all(candidate.memory is not None for candidate in log.load(read_id).candidates)
    log.close()
    return ids


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_process_leaves_what_was_flushed_and_a_sound_file(tmp_path: Path) -> None:
    path, acknowledged = tmp_path / "log.db", set[str]()
    for turn, count in enumerate((1, 7, 20)):
        process = start(path, str(turn), 100_000, "ack")
        assert process.stdout is not None
        acknowledged |= {process.stdout.readline().strip() for _ in range(count)}
        process.send_signal(signal.SIGKILL)
        acknowledged |= {line.strip() for line in process.stdout if len(line) == 33}
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        assert check_whole(path) >= acknowledged


def test_processes_write_one_log_at_once_and_their_end_writes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    processes = [start(path, name, 150, "silent") for name in "abc"]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 0
    assert len(check_whole(path)) == 3 * 150


def test_processes_that_make_the_log_at_once(tmp_path: Path) -> None:
    processes = [start(tmp_path / "log.db", str(k), 1, "ack") for k in range(8)]
    for process in processes:
        assert process.stdout is not None
        assert len(process.stdout.read()) == 33
        process.stdout.close()
        assert process.wait() == 0
    assert len(check_whole(tmp_path / "log.db")) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_a_queue_of_its_own(tmp_path: Path) -> None:
    of = pipeline(reads={"log": str(tmp_path / "log.db")})
    memories = [record("a", "The rate.")]
    read(of, memories, "before")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            read(of, memories, "in the child")
            code = 0 if of.flush() is None else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    read(of, memories, "after")
    assert of.flush() is None
    found = lines(ReadLog(tmp_path / "log.db"), since=0.0, text=None, needs_review=False, limit=None)
    assert sorted(line.query or "" for line in found) == ["after", "before", "in the child"]


UNWRITABLE = """
import os, sqlite3, sys
import urllib.request  # Python 3.13 imports it late, from where another user may not read
import memrank.stores.readlog_writer
from pathlib import Path
from memrank.registry import build
from memrank.spec import Spec
stages = [{"kind": kind} for kind in ("prefilter.hybrid.v1", "temporal.v1", "ranker.v1")]
spec = {"memrank": 1, "name": "x", "index": {"embedder": "none"}, "stages": stages}
asked = {"query": "fee", "as_of": "2026-03-20T09:00:00Z", "memories": [{"id": "a", "content": "The fee."}]}
# Once with a log that can be written: it loads what another user may not read, wherever the checkout lies.
warm = build(Spec.model_validate({**spec, "reads": {"log": sys.argv[2]}}), Path(), "0" * 64)
warm(**asked)
warm.close()
of = build(Spec.model_validate({**spec, "reads": {"log": sys.argv[1]}}), Path(), "0" * 64)
if os.geteuid() == 0:
    os.seteuid(65534)  # the superuser may write everywhere
ranking = of(**asked)
print(len(ranking.results), of.flush().code)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be made read-only so on Windows")
@pytest.mark.parametrize("there", [True, False])
def test_a_log_that_must_not_be_written(there: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("read-only")
    path = folder / "log.db"
    warm = tmp_path_factory.mktemp("warm") / "log.db"
    if there:
        of = pipeline(reads={"log": str(path)})
        read(of, [record("a", "The rate.")])
        assert of.flush() is None
        path.chmod(0o444)
    above = [folder.parent, folder.parent.parent]
    modes = [place.stat().st_mode for place in above]
    try:
        for place in above:
            place.chmod(0o755)
        folder.chmod(0o555)
        run = subprocess.run([sys.executable, "-c", UNWRITABLE, str(path), str(warm)], capture_output=True, text=True)
    finally:
        folder.chmod(0o755)
        for place, mode in zip(above, modes, strict=True):
            place.chmod(mode)
    assert (run.stderr, run.stdout) == ("", "1 log_unwritten\n")
