"""Takes records of reads without making the reads wait, and writes them to the log from a thread of its own."""

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memrank.errors import StoreError
from memrank.stores.readlog_entry import Digests, Entry, Origin, Reading, TextPolicy, encode
from memrank.stores.readlog_write import Recorder
from memrank.text.redact import Redactor
from memrank.types import Note

WAITING = 1_000
"""Records that wait for the log at the most; a read that comes when it is full is not recorded, and says so."""
AT_ONCE = 100
"""So many records wait for no others."""
LATEST = 0.5
"""Seconds that a record waits for others to be written with."""

_LOGGER = logging.getLogger("memrank")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and how reads are recorded."""

    path: Path
    origin: Callable[[], Origin]
    """Asked once, when the first record is written: it may load a model."""
    policy: TextPolicy
    redact: tuple[str, ...]
    keep: float
    """Seconds."""
    durable: bool
    """Whether a read waits until its record is on the disk."""


class Writer:
    """The way of a pipeline to its log. Safe to share by threads; after a fork the child has one of its own.

    What waits is written within a second, at `flush`, when the writer is no longer held, and when the process ends. A
    kill loses it and nothing else.
    """

    def __init__(self, settings: Settings) -> None:
        self.path = settings.path
        self._settings = settings
        self._pid = 0
        self._queue, self._finish = self._anew()

    def __deepcopy__(self, memo: object) -> "Writer":
        return self

    def put(self, reading: Reading) -> Note | None:
        """Take a record; a note where it, or records before it, could not be written so far."""
        return self._own().put(reading)

    def flush(self) -> Note | None:
        """Write everything that waits; a note where that failed. What could not be written goes on waiting."""
        queue = self._own()
        queue.drain()
        return queue.trouble()

    def close(self) -> Note | None:
        """As `flush`, and close the file; the next record opens it again. What could not be written is lost."""
        note = self.flush()
        self._finish()
        self._queue, self._finish = self._anew()
        return note

    def _own(self) -> "_Queue":
        if os.getpid() != self._pid:
            self._finish.detach()
            self._queue, self._finish = self._anew()
        return self._queue

    def _anew(self) -> tuple["_Queue", "weakref.finalize[[], Writer]"]:
        self._pid = os.getpid()
        queue = _Queue(self._settings)
        return queue, weakref.finalize(self, queue.finish)


class _Queue:
    """Records that wait, and the thread that writes them; it lives as long as the process, or until `finish`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pid = os.getpid()
        self._redactor = Redactor(settings.redact)
        self._log = Recorder(settings.path, settings.policy, self._redactor, settings.keep)
        self._wake = threading.Condition()
        self._waiting: deque[Entry] = deque()
        self._ending = self._ended = False
        self._thread: threading.Thread | None = None
        self._lost = 0
        self._failure: StoreError | None = None
        self._writing = threading.Lock()
        self._taken: list[Entry] = []
        """What the one who writes has at hand."""
        self._digests = Digests()
        self._origin: Origin | None = None

    def put(self, reading: Reading) -> Note | None:
        # Encoded here: a reading holds on to the index of its tenant, and a second thread that computes would make
        # this one wait for longer than that takes.
        settings = self._settings
        entry = encode(reading, self._known_origin(), settings.policy, self._redactor, self._digests)
        with self._wake:
            if self._ending or len(self._waiting) + len(self._taken) >= WAITING:
                self._lost += 1
            else:
                self._waiting.append(entry)
            if not settings.durable and not self._ending:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="memrank read log", daemon=True)
                    self._thread.start()
                if len(self._waiting) in (1, AT_ONCE):
                    self._wake.notify()
        if settings.durable:
            self.drain()
        return self.trouble() if self._failure is not None or self._lost else None

    def drain(self) -> None:
        """Write what waits. What fails goes on waiting, for the next time."""
        with self._writing:
            if not self._ended:  # the file is closed, and must stay so: the process may be at its end
                self._write()

    def _write(self) -> None:
        while True:
            with self._wake:
                self._taken += self._waiting
                self._waiting.clear()
            if not self._taken:
                self._failure = None
                return
            try:
                self._log.write(self._taken, self._known_origin())
            except StoreError as failure:
                self._failure = failure
                return
            self._taken = []

    def trouble(self) -> Note | None:
        """A note where records could not be written; those that were lost are told once."""
        with self._wake:
            failure, lost, waiting = self._failure, self._lost, len(self._waiting) + len(self._taken)
            self._lost = 0
        if failure is None and not lost:
            return None
        why = (
            failure.message if failure is not None else f"{self._settings.path}: more reads came than could be written"
        )
        detail = f"{why}; reads not recorded: {lost}, waiting: {waiting if failure is not None else 0}"
        return Note(level="failure", stage="reads", code="log_unwritten", detail=detail)

    def finish(self) -> None:
        """Write what waits, stop the thread, close the file."""
        if os.getpid() != self._pid:  # carried over a fork: what waits is the parent's
            return
        with self._wake:
            self._ending = True
            self._wake.notify()
        with self._writing:
            self._write()
            self._ended = True
            self._log.close()
        if self._failure is not None:
            _LOGGER.warning("%s; reads not recorded: %d", self._failure.message, len(self._taken))

    def _run(self) -> None:
        while not self._ending:
            with self._wake:
                self._wake.wait_for(lambda: self._ending or self._waiting or self._taken)
                self._wake.wait_for(self._is_due, LATEST)
            self.drain()

    def _is_due(self) -> bool:
        """Whether nothing more is waited for; what failed is tried again after a while."""
        return self._ending or (len(self._waiting) >= AT_ONCE and self._failure is None)

    def _known_origin(self) -> Origin:
        if self._origin is None:
            self._origin = self._settings.origin()
        return self._origin
