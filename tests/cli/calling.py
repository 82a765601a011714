"""Calls of the command line: within this process where possible, as a process of its own where that is the point."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memrank.cli.main import _run

# A shell that starts the tests in the background has its children ignore interrupts; these must not.
LISTENING = "from signal import *; signal(SIGINT, default_int_handler)"
COMMAND = (sys.executable, "-c", f"{LISTENING}; from memrank.cli.main import main; main()")

SPEC = """\
memrank: 1
name: desk
store: {kind: jsonl.v1, path: memories.jsonl}
example: {query: "When does Dana want her appointments?", as_of: 2026-03-20T09:00:00Z}
index: {embedder: none}
stages:
  - {kind: prefilter.hybrid.v1}
  - {kind: temporal.v1}
  - {kind: ranker.v1, relevance_threshold: 0.0}
  - {kind: pruner.v1, drop_threshold: 1.0, max_tokens: 1000}
"""

MEMORIES: tuple[dict[str, object], ...] = (
    {"id": "m1", "content": "Dana wants appointments early in the morning.", "created_at": "2025-11-04T08:30:00Z"},
    {"id": "m2", "content": "Dana wants her appointments late in the afternoon.", "created_at": "2026-03-11T16:05:00Z"},
    {"id": "m3", "content": "The practice closes on Wednesdays.", "created_at": "2026-02-01T10:00:00Z"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[Any]:
        """stdout as JSON Lines."""
        return [json.loads(line) for line in self.out.removesuffix("\n").split("\n") if line]

    @property
    def json(self) -> Any:
        """stdout as one JSON value."""
        return json.loads(self.out)


def call(*arguments: object, stdin: bytes = b"") -> Answer:
    """A call within this process."""
    with pytest.MonkeyPatch.context() as patch:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", newline="") for _ in range(2))
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = _run([str(argument) for argument in arguments])
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read())
    return Answer(code=code, out=texts[0], err=texts[1])


def spawn(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A call as a process of its own; `env` is added to the environment."""
    environment = {**os.environ, **options.pop("env", {})}
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, **{"capture_output": True, "timeout": 60, "env": environment, **options})


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """A process that goes on running."""
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **options)


def read_terminal(near: int) -> bytes:
    """Everything that a terminal was shown, from its near end, which is closed."""
    shown = b""
    try:
        while chunk := os.read(near, 4096):
            shown += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(near)
    return shown


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """JSON Lines; what is text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return path
