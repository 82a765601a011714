"""Deleting so that the bytes are gone: free pages are overwritten, and the file is written anew without them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memrank.stores import sqlite_door
from memrank.stores.sqlite_door import Kind


@contextmanager
def erasing(path: Path, kind: Kind) -> Iterator[sqlite3.Connection]:
    """A writing transaction after whose end nothing of what it deleted is left in the file or in SQLite's logs.

    Unless another process is reading all the while: then it goes when that process ends, and a search of the bytes
    finds it till then. Raises StoreError.
    """
    connection = sqlite_door.connect(path, kind)
    try:
        with sqlite_door.translated(path, kind):
            connection.execute("PRAGMA secure_delete = ON")
            with sqlite_door.transaction(connection, write=True):
                yield connection
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
