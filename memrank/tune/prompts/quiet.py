"""Silence for optimizers, which print, log and draw bars on their own: stdout of a command is data only."""

import gc
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

_MUTED: ContextVar[bool] = ContextVar("memrank_muted", default=False)
LOGGERS = ("dspy", "optuna", "gepa")


class _Muted(io.TextIOBase):
    """A stream that drops what the muted thread writes, and passes on what any other one does.

    Bars draw themselves once more when they are given up, whenever that is: they are dropped for good.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if _MUTED.get() or text.startswith("\r") else self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


@contextmanager
def muted() -> Iterator[None]:
    """What this thread prints, and what libraries of optimizers log or warn of, is dropped meanwhile."""
    streams = sys.stdout, sys.stderr
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    token = _MUTED.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.stdout, sys.stderr = _Muted(streams[0]), _Muted(streams[1])
            for name in LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            yield
    finally:
        gc.collect()  # bars of an optimizer that was ended, which end their line when they go
        sys.stdout, sys.stderr = streams
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        _MUTED.reset(token)


@contextmanager
def aloud() -> Iterator[None]:
    """Inside of `muted`: what this thread prints is heard."""
    token = _MUTED.set(False)
    try:
        yield
    finally:
        _MUTED.reset(token)
