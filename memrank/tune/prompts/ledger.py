"""Answers of models kept on disk, so that a run that was broken off asks nothing twice. JSON lines, no pickle."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memrank.errors import DataError
from memrank.fileio import canonical_json

FILE = "answers.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a model said: a text, or that the answer was none and why."""

    text: str | None = None
    fault: str | None = None


class Ledger:
    """Answers by the hash of all that they depend on. Each line is written whole, by one write; a torn last line (the
    machine stopped) is passed over. Safe to share by threads; without a folder, kept in memory only.

    Raises DataError where the folder cannot be used.
    """

    def __init__(self, folder: Path | None) -> None:
        self._kept: dict[str, Kept] = {}
        self._file: int | None = None
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        if folder is None:
            return
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            data = path.read_bytes()
        except OSError as fault:
            raise DataError(f"{path}: cannot be used: {fault.strerror or fault}") from fault
        for line in data.split(b"\n"):
            self._take(line)
        if data and not data.endswith(b"\n"):
            os.write(self._file, b"\n")

    def __deepcopy__(self, memo: object) -> "Ledger":
        """dspy copies programs; what they know stays one."""
        return self

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Kept | None:
        """The answer under the key."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: str, answer: Kept) -> None:
        """Keep an answer, on disk before this returns. Raises DataError where it cannot be written."""
        row = {"key": key, "text": answer.text, "fault": answer.fault}
        line = (canonical_json(row) + "\n").encode("utf-8", "replace")
        with self._lock:
            self._kept[key] = answer
            if self._file is None:
                return
            try:
                if os.write(self._file, line) != len(line):
                    raise OSError("the disk is full")
                os.fsync(self._file)
            except OSError as fault:
                raise DataError(f"{FILE}: cannot be written: {fault.strerror or fault}") from fault

    @contextmanager
    def turn(self, key: str) -> Iterator[None]:
        """One at a time for each key: who comes second finds the answer of the first."""
        with self._lock:
            lock = self._asking.setdefault(key, threading.Lock())
        with lock:
            yield

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line)
            key, text, fault = row["key"], row["text"], row["fault"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return
        told = (isinstance(text, str) and fault is None) or (isinstance(fault, str) and text is None)
        if isinstance(key, str) and told:
            self._kept[key] = Kept(text=text, fault=fault)
