"""Importing memrank does nothing but define names, and what need not wait for dspy does not load it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

QUIET = """
import logging, os, socket, sys, threading, warnings

def refuse(*arguments, **named):
    raise RuntimeError("the network was used")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
def state():
    return list(logging.root.handlers), logging.root.level, dict(os.environ), list(sys.path), warnings.filters[:]

before = state()
import memrank
assert state() == before
handlers = logging.getLogger("memrank").handlers
assert [type(handler).__name__ for handler in handlers] == ["NullHandler"], handlers
assert threading.active_count() == 1
heavy = {"dspy", "numpy", "pydantic", "yaml", "click", "rich", "sqlite3"} & set(sys.modules)
assert not heavy, heavy
"""

WHOLE = """
import logging, socket

def refuse(*arguments, **named):
    raise RuntimeError("the network was used")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import memrank
for name in memrank.__all__:
    getattr(memrank, name)
assert not logging.root.handlers, logging.root.handlers
"""

COMMAND = """
import sys
from memrank.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
heavy = {"dspy", "litellm", "memrank.tune", "mlflow", "scipy", "sqlite3", "wordllama"}
print("loaded:", *sorted(heavy & set(sys.modules)))
"""

MADE = """
import sys
from pathlib import Path
from memrank.artifact import Artifact, State, write
from memrank.checking import check_written
from memrank.compiled import bound_json, made_with
spec = check_written(sys.argv[1]).spec
state = {"parameters": State(values={"ranker.relevance_threshold": 0.01, "temporal.half_life.default": 86400.0})}
made = Artifact(
    name=spec.name, spec=bound_json(spec), versions=made_with(spec), seed=1, data={}, state=state, metrics={}
)
write(Path(sys.argv[2]), made)
"""


def _run(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In an empty folder that is also the home, so that whatever is written shows."""
    environment = {**os.environ, "HOME": str(folder), "USERPROFILE": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / ".cache")}
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_importing_has_no_side_effect(tmp_path: Path) -> None:
    done = _run(QUIET, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
    assert not list(tmp_path.rglob("*"))


def test_loading_everything_public_stays_off_the_network_and_the_root_logger(tmp_path: Path) -> None:
    done = _run(WHOLE, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["schema"], ["check", str(ROOT / "pipelines" / "finance.yaml")]])
def test_what_runs_nothing_loads_nothing(tmp_path: Path, arguments: list[str]) -> None:
    done = _run(COMMAND, tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_a_run_needs_no_foreign_client(tmp_path: Path) -> None:
    done = _run(COMMAND, tmp_path, "run", str(ROOT / "pipelines" / "finance.yaml"), "--format", "context")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: dspy"


def test_a_compiled_spec_is_checked_and_run_without_the_tuner(tmp_path: Path) -> None:
    spec = (ROOT / "pipelines" / "finance.yaml").read_text(encoding="utf-8").replace("../evalsets", f"{ROOT}/evalsets")
    (tmp_path / "plain.yaml").write_text(spec, encoding="utf-8")
    (tmp_path / "compiled.yaml").write_text(f"{spec}\ncompiled: a.json\n", encoding="utf-8")
    made = _run(MADE, tmp_path, "plain.yaml", "a.json")
    assert made.returncode == 0, made.stderr
    for arguments, loaded in ((["check"], "loaded:"), (["run", "--format", "context"], "loaded: dspy")):
        done = _run(COMMAND, tmp_path, *arguments, "compiled.yaml")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == loaded
