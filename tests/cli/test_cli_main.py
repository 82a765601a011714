"""What holds for every command: help, version, completion, streams, and what a call imports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calling import COMMAND, call, read_terminal, spawn

import memrank
from memrank.cli.main import COMMANDS

posix = pytest.mark.skipif(sys.platform == "win32", reason="devices and shells of POSIX")
ROOT = Path(__file__).resolve().parents[2]


def test_help_names_every_command_and_exit_code() -> None:
    for option in ("--help", "-h"):
        answer = call(option)
        assert (answer.code, answer.err) == (0, "")
        for name in (*COMMANDS, "Exit codes", "130", "_MEMRANK_COMPLETE"):
            assert name in answer.out
    for command in (*([name] for name in COMMANDS), ["store", "import"], ["store", "export"]):
        assert call(*command, "--help").code == 0


def test_version() -> None:
    answer = call("--version")
    assert (answer.code, answer.out) == (0, f"memrank {memrank.__version__}\n")


@pytest.mark.parametrize(
    "arguments", [[], ["rank"], ["--colour"], ["store"], ["store", "drop"], ["run"], ["check"], ["init"]]
)
def test_a_call_that_is_none_is_2_and_leaves_stdout_empty(arguments: list[str]) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "Usage: memrank" in answer.err


REST = ("artifact", "conversation", "store", "evalset", "reads")


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        ("memrank ", {"run", "init", "check", "schema", "eval", "compile", *REST}),
        ("memrank artifact ", {"show", "diff"}),
        ("memrank store ", {"import", "export", "decay", "contradictions", "forget"}),
        ("memrank run --form", {"--format"}),
        ("memrank run x.yaml --format passage", {"passages", "passage-list"}),
        ("memrank run pip", {"file"}),
        ("memrank run x.yaml --store me", {"file"}),
    ],
)
def test_completion(words: str, offers: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MEMRANK_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    answer = call()
    kind_and_value = [line.split(",", 1) for line in answer.out.split()]
    assert {kind if kind == "file" else value for kind, value in kind_and_value} == offers


@posix
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("its version decides what the script holds")
    monkeypatch.setenv("_MEMRANK_COMPLETE", f"{shell}_source")
    answer = call()
    assert answer.code == 0
    assert "_MEMRANK_COMPLETE" in answer.out


IMPORTS = """
import sys
from memrank.cli.main import _run
code = _run(sys.argv[1:])
heavy = ("dspy", "mlflow", "litellm", "wordllama", "rich", "numpy")
print(code, *(name for name in heavy if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "never"),
    [
        (["--help"], {"dspy", "mlflow", "litellm", "wordllama", "rich", "numpy"}),
        (["run", "--help"], {"dspy", "mlflow", "litellm", "wordllama", "rich", "numpy"}),
        (["check", "pipelines/finance.yaml"], {"dspy", "mlflow", "litellm", "wordllama", "rich"}),
        (["schema"], {"dspy", "mlflow", "litellm", "wordllama", "rich"}),
        (["run", "pipelines/finance.yaml"], {"mlflow", "litellm", "wordllama"}),
        (
            ["run", "pipelines/finance.yaml", "--queries", "evalsets/finance/queries.jsonl"],
            {"mlflow", "litellm", "wordllama", "rich"},
        ),
    ],
)
def test_a_call_imports_nothing_heavy_that_it_can_do_without(arguments: list[str], never: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    code, *imported = done.stderr.splitlines()[-1].split()
    assert code == "0"
    assert not set(imported) & never


# Streams


@posix
def test_a_full_disk_is_an_error_and_no_traceback(desk: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    for arguments in (["--help"], ["run", desk], ["run", desk, "--out", "/dev/full"]):
        with Path("/dev/full").open("wb") as full:
            answer = spawn(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert answer.returncode == 3
        assert answer.stderr.startswith(b"error: ")
        assert b"No space left" in answer.stderr
        assert b"Traceback" not in answer.stderr
        assert b"Exception" not in answer.stderr


@posix
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_are_no_error(closed: str, desk: Path) -> None:
    words = [*COMMAND, "run", str(desk)]
    command = " ".join(f"'{word}'" for word in words) + f" {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == b""
    assert bool(done.stdout) == ("1>" not in closed)


@posix
def test_a_reader_of_notes_that_has_gone_does_not_stop_the_work(desk: Path) -> None:
    with desk.with_name("memories.jsonl").open("a") as stream:
        stream.write("no json\n")
    near, far = os.pipe()
    os.close(near)
    answer = spawn("run", desk, "--json", capture_output=False, stdout=subprocess.PIPE, stderr=far)
    os.close(far)
    assert answer.returncode == 0
    assert answer.stdout.startswith(b"{")


@posix
@pytest.mark.parametrize(
    ("environment", "colour"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(environment: dict[str, str], colour: bool, desk: Path) -> None:
    import pty

    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    near, far = pty.openpty()
    process = subprocess.Popen([*COMMAND, "run", str(desk)], stdout=far, stderr=far, env={**inherited, **environment})
    os.close(far)
    shown = read_terminal(near)
    assert process.wait(timeout=30) == 0
    assert b"Dana" in shown
    assert (b"\x1b[" in shown) == colour
    forced = {**environment, "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}
    assert b"\x1b[" not in spawn("run", desk, env=forced).stdout


COLLECTING = """
import gc, sys
from memrank.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    print(stop.code, gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr)
"""


def test_commands_that_work_through_memories_collect_garbage(desk: Path) -> None:
    store, memories = desk.with_name("kept.db"), desk.with_name("memories.jsonl")
    taking_in = ["store", "import", memories, "--to", store, "--embedder", "none"]
    for arguments in (["run", desk], taking_in, ["store", "export", store]):
        command = [sys.executable, "-c", COLLECTING, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stderr.split() == ["0", "True", "True"]


def test_the_package_runs_as_the_script_does() -> None:
    ran = subprocess.run([sys.executable, "-m", "memrank", "--help"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Usage: ")
    assert "run" in ran.stdout
