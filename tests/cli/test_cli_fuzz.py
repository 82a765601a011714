"""Whatever is given on the command line and whatever the files hold: an exit code that is listed, and no traceback."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from calling import MEMORIES, SPEC, Answer, call, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and modes of POSIX")
CODES = {0, 2, 3, 130}
QUERY = b'{"id": "q1", "query": "Dana", "query_time": "2026-03-20T09:00:00Z"}\n'
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def civil(answer: Answer) -> Answer:
    """An error that escapes `call` fails the test by itself; what is left to see is what was said."""
    assert answer.code in CODES
    assert "Traceback" not in answer.err
    assert answer.code == 0 or answer.err or answer.out.startswith("{")  # check --json
    return answer


# Arguments

TEXTS = st.text(max_size=20) | st.sampled_from(
    ["", "-", "--", ".", "..", "/", "\x1b[31m", "%PATH%", "~", "*", "a=b", "=", "1e9", "-1", "0",
     "9" * 30, "2026-03", "\udcff", "x" * 5000]
)  # fmt: skip
NAMES = ("desk.yaml", "memories.jsonl", "queries.jsonl", "memories.db", "garbage", "nope", ".", "desk.yaml/x")
VALUES = TEXTS.filter(lambda text: "\0" not in text) | st.sampled_from(NAMES)
FLAGS = {
    "--json",
    "--rank-only",
    "--include-excluded",
    "--explain",
    "--strict",
    "--no-lm",
    "-q",
    "-v",
    "--help",
    "--colour",
}
OPTIONS = {
    "run": (
        *(
            "--query",
            "--queries",
            "--as-of",
            "--store",
            "--namespace",
            "--filter",
            "--top-k",
            "--max-tokens",
            "--format",
        ),
        *sorted(FLAGS),
    ),
    "check": ("--json", "--help", "--strict"),
    "schema": ("--json", "--help"),
    "store import": ("--namespace", "--importance-scale", "--language", "--strict", "--json", "-q"),
    "store export": ("--namespace", "--strict", "-q"),
}


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    """A command with options that exist, and values that mostly do not fit."""
    command = draw(st.sampled_from(sorted(OPTIONS)))
    words = command.split()
    if draw(st.booleans()):
        words.append("desk.yaml" if command in ("run", "check") else "memories.jsonl")
    if command == "store import" and draw(st.booleans()):
        words += ["--to", draw(st.sampled_from(["new.db", "memories.db", "garbage", "."])), "--embedder", "none"]
    for option in draw(st.lists(st.sampled_from(OPTIONS[command]), max_size=4)):
        words.append(option)
        if option not in FLAGS:
            words.append(draw(VALUES))
    return words + draw(st.lists(VALUES, max_size=1))


@pytest.fixture
def here(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one file of each kind."""
    monkeypatch.chdir(desk.parent)
    Path("queries.jsonl").write_bytes(QUERY)
    Path("garbage").write_bytes(bytes(range(256)) * 4)
    assert call("store", "import", "memories.jsonl", "--to", "memories.db", "--embedder", "none").code == 0
    return desk.parent


@settings(QUICK, max_examples=250)
@given(words=calls())
def test_any_arguments(words: list[str], here: Path) -> None:
    civil(call(*words, stdin=QUERY))
    assert Path("desk.yaml").read_text() == SPEC
    assert len(Path("memories.jsonl").read_text().splitlines()) == len(MEMORIES)


# Files

Read = Callable[[Path], Answer]
READERS: dict[str, Read] = {
    "spec": lambda path: call("run", path),
    "check": lambda path: call("check", path),
    "store": lambda path: call("run", "desk.yaml", "--store", path),
    "store of a batch": lambda path: call("run", "desk.yaml", "--store", path, "--queries", "-", stdin=QUERY),
    "queries": lambda path: call("run", "desk.yaml", "--queries", path),
    "import": lambda path: call("store", "import", path, "--to", "new.db", "--embedder", "none"),
    "into": lambda path: call("store", "import", "memories.jsonl", "--to", path, "--embedder", "none"),
    "export": lambda path: call("store", "export", path),
}
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@each_reader
@settings(QUICK, max_examples=15)
@given(data=st.binary(max_size=200), suffix=st.sampled_from(["", ".jsonl", ".json", ".csv", ".yaml", ".db"]))
def test_binary_garbage(read: Read, data: bytes, suffix: str, here: Path) -> None:
    path = Path(f"bytes{suffix}")
    path.write_bytes(data)
    civil(read(path))


@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_a_damaged_store(data: st.DataObject, here: Path) -> None:
    whole = Path("memories.db").read_bytes()
    damaged = bytearray(whole[: data.draw(st.integers(1, len(whole)), label="length")])
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=20), label="places"):
        damaged[place] ^= data.draw(st.integers(1, 255), label="bits")
    for name in ("store", "store of a batch", "export", "import", "into"):
        path = Path("damaged.db")
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(damaged)
        civil(READERS[name](path))


def test_a_store_whose_schema_is_no_text(here: Path) -> None:
    damaged = Path("memories.db").read_bytes().replace(b"CREATE TABLE memories", b"CREATE T\xedBLE memories")
    Path("damaged.db").write_bytes(damaged)
    for name in ("store", "store of a batch", "export", "into"):
        answer = civil(READERS[name](Path("damaged.db")))
        assert (answer.code, "damaged" in answer.err) == (3, True)


@each_reader
def test_a_folder_a_missing_file_and_a_file_taken_for_a_folder(read: Read, here: Path) -> None:
    Path("folder").mkdir()
    for path in ("folder", "folder/", "missing/x", "desk.yaml/x", "x" * 300, "/dev/null" if os.name != "nt" else "NUL"):
        if read is READERS["queries"] and path == "/dev/null":
            continue  # no queries, which is no fault
        assert civil(read(Path(path))).code in (2, 3) or path in ("/dev/null", "NUL")
    assert list(Path("folder").iterdir()) == []


@posix
@each_reader
def test_links_that_lead_nowhere_or_in_a_circle(read: Read, here: Path) -> None:
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    assert civil(read(Path("a"))).code in (2, 3)
    Path("dangling").symlink_to("no/such/file")
    assert civil(read(Path("dangling"))).code in (2, 3)


@posix
@each_reader
def test_a_pipe_that_ends_at_once(read: Read, here: Path) -> None:
    os.mkfifo("pipe")
    done = threading.Event()

    def hang_up() -> None:
        """Open and close the writing end as soon as somebody reads."""
        while not done.wait(0.01):
            try:
                os.close(os.open("pipe", os.O_WRONLY | os.O_NONBLOCK))
            except OSError:  # nobody reads yet
                continue

    writer = threading.Thread(target=hang_up, daemon=True)
    writer.start()
    civil(read(Path("pipe")))
    done.set()
    writer.join(10)
    assert Path("pipe").is_fifo()


@posix
@pytest.mark.parametrize("name", [name for name in READERS if name != "into"])
def test_a_file_that_may_not_be_read(
    name: str, open_desk: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(open_desk.parent)
    write_lines(Path("closed"), MEMORIES).chmod(0)
    Path("closed-folder").mkdir(mode=0)
    request.getfixturevalue("ordinary_user")
    for path in ("closed", "closed-folder", "closed-folder/file"):
        answer = civil(READERS[name](Path(path)))
        assert (answer.code, answer.out) == (2 if name in ("spec", "check") else 3, "")
        assert path in answer.err
