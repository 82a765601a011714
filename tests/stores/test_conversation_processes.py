"""A conversation and other processes: writers that take turns or are killed, files that cannot be written."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from memrank.dialogue.conversation import Conversation

WRITER = """
import sys
from memrank.dialogue.conversation import Conversation

name, turns, pruned = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "prune"
talk = Conversation(sys.argv[1])
for turn in range(turns):
    both = (("user", "asks"), ("assistant", "says"))
    talk.add([{"role": role, "content": f"{name} {verb} {turn}"} for role, verb in both])
    if pruned:
        talk.prune(f"{name} goes on")
    print(turn, flush=True)
talk.close()
"""


def start(path: Path, name: str, turns: int, what: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(turns), what]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE)


def contents(path: Path) -> list[str]:
    with Conversation(path) as talk:
        assert len({e.id for e in talk.elements()}) == len(talk)
        return [e.content for e in talk.elements()]


def check_whole(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_two_processes_add_and_prune_at_once(tmp_path: Path) -> None:
    path, turns = tmp_path / "talk.db", 12
    writers = [start(path, name, turns, "prune") for name in ("one", "two")]  # both may find that they have to make it
    for writer in writers:
        assert writer.stdout is not None
        assert len(writer.stdout.readlines()) == turns
        writer.stdout.close()
        assert writer.wait() == 0
    found = contents(path)
    for name in ("one", "two"):
        own = [text for text in found if text.startswith(name)]
        assert own == [f"{name} {verb} {turn}" for turn in range(turns) for verb in ("asks", "says")]
    assert len(found) == 4 * turns
    # What one process adds at once stands together.
    assert all(a.split()[0] == b.split()[0] for a, b in zip(found[::2], found[1::2], strict=True))
    with Conversation(path) as talk:
        assert [m.number for m in talk.history()] == list(range(1, 2 * turns + 1))
        assert sum(len(points) for points in talk.trajectories().values()) == sum(m.elements for m in talk.history())
    check_whole(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("what", ["add", "prune"])
def test_a_killed_writer_leaves_everything_that_was_acknowledged(tmp_path: Path, what: str) -> None:
    path, acknowledged = tmp_path / "talk.db", 0
    for turn in range(3):
        writer = start(path, str(turn), 100_000, what)
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(3 + 2 * turn)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
        assert writer.wait() == -signal.SIGKILL
        writer.stdout.close()
        done = [int(line) for line in lines if line.endswith(b"\n")]
        found = contents(path)
        assert {f"{turn} {verb} {k}" for k in done for verb in ("asks", "says")} <= set(found)
        acknowledged += 2 * len(done)
        assert len(found) % 2 == 0
        assert 0 <= len(found) - acknowledged <= 2 * (turn + 1)  # at most the add whose answer was cut off
        check_whole(path)
    with Conversation(path) as talk:
        talk.add([{"role": "user", "content": "more"}])
        assert len(talk) == len(found) + 1


READ_ONLY = """
import os, sys
from memrank.dialogue.conversation import Conversation
from memrank.errors import StoreError

talk = Conversation(sys.argv[1])  # what is imported late is read before the user changes
talk.prune("Hello.")
talk.close()
os.chmod(sys.argv[1], 0o444)
os.chmod(os.path.dirname(sys.argv[1]), 0o555)
if os.geteuid() == 0:
    os.seteuid(65534)  # the superuser may write everywhere
for attempt in (
    lambda: talk.add([{"role": "user", "content": "x"}]),
    lambda: talk.prune("Hello."),
    lambda: talk.forget("#1"),
    lambda: Conversation(os.path.join(os.path.dirname(sys.argv[1]), "new.db")),
):
    try:
        attempt()
    except StoreError as error:
        print(error.hint)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be made read-only so on Windows")
def test_a_folder_that_cannot_be_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("read-only")
    path = folder / "talk.db"
    with Conversation(path) as talk:
        talk.add([{"role": "user", "content": "kept"}])
    above = [folder.parent, folder.parent.parent]
    modes = [place.stat().st_mode for place in above]
    try:
        for place in above:
            place.chmod(0o755)
        run = subprocess.run([sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True)
    finally:
        folder.chmod(0o755)
        path.chmod(0o644)
        for place, mode in zip(above, modes, strict=True):
            place.chmod(mode)
    assert run.stderr == ""
    assert [line.partition(",")[0] for line in run.stdout.splitlines()] == [
        "the file and its folder must be writable"
    ] * 4
    assert contents(path) == ["kept"]
