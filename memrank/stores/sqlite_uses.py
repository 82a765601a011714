"""Which uses were counted: at most one a memory, session and UTC day, so that what is found often is not found more
often for that.
"""

import sqlite3
from datetime import datetime

KEPT = 100_000
"""Marks that are kept at the least, the newest; older ones go, but none of the day that is being recorded."""

MIGRATION = (
    "CREATE TABLE uses (mark INTEGER PRIMARY KEY, memory INTEGER NOT NULL, day TEXT NOT NULL, session NOT NULL, "
    "UNIQUE (memory, day, session))",
    # Whatever removes a memory removes what is known of its uses; a number that is given out again starts anew.
    "CREATE TRIGGER uses_of_removed AFTER DELETE ON memories BEGIN DELETE FROM uses WHERE memory = OLD.seq; END",
)

# Marks are numbered in the order they are made: a wrong clock neither keeps old marks nor removes new ones.
_FORGET = "DELETE FROM uses WHERE mark <= (SELECT max(mark) FROM uses) - ? AND day <> ?"


def mark(connection: sqlite3.Connection, seq: int, session: str | None, at: datetime) -> bool:
    """Note a use of the memory of a row, within the caller's transaction; whether it is the first of its kind.

    `at` is aware; its day is that of UTC. No session is one session of its own.
    """
    named = b"" if session is None else session  # an empty blob equals no text
    insert = "INSERT OR IGNORE INTO uses (memory, day, session) VALUES (?, ?, ?)"
    return connection.execute(insert, (seq, at.date().isoformat(), named)).rowcount > 0


def forget(connection: sqlite3.Connection, at: datetime) -> None:
    """Remove the oldest marks beyond KEPT, but none of this day: its uses stay limited however many there are."""
    connection.execute(_FORGET, (KEPT, at.date().isoformat()))
