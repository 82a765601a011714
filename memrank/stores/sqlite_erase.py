"""Deleting so that the bytes are gone: free pages are overwritten, and the file is written anew without them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memrank.errors import StoreError
from memrank.stores import sqlite_door
from memrank.stores.sqlite_door import Kind


@contextmanager
def erasing(path: Path, kind: Kind) -> Iterator[sqlite3.Connection]:
    """A writing transaction after whose end nothing of what it deleted is left in the file or in SQLite's logs.

    Raises StoreError, also where another process keeps the logs from being emptied; what was deleted stays deleted
    then.
    """
    connection = sqlite_door.connect(path, kind)
    try:
        with sqlite_door.translated(path, kind):
            connection.execute("PRAGMA secure_delete = ON")
            with sqlite_door.transaction(connection, write=True):
                yield connection
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.close()
    if busy:
        raise StoreError(
            f"{path}: it was deleted, but another process keeps the {kind.noun}'s log from being emptied",
            hint="close the other process and run the command again",
        )
