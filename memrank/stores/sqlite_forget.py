"""Forgetting a memory in an SQLite store: its row, and the terms of the vocabulary that only it used."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memrank.stores import sqlite_file
from memrank.stores.forgetting import Gone, strings
from memrank.stores.sqlite_erase import erasing
from memrank.stores.sqlite_file import STORE
from memrank.stores.sqlite_tenant import parse_record, unpack_terms
from memrank.types import Memory

_BY_ID = "FROM memories WHERE ifnull(namespace, x'') = ifnull(?, x'') AND id = ?"


class StorePlace:
    """A store as a place that keeps text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._door = sqlite_file.door(path)

    def held(self, namespace: str | None, identity: str) -> list[Memory]:
        """See `Place`."""
        with self._door.transaction() as connection:
            rows = connection.execute(f"SELECT record, seq {_BY_ID}", (namespace, identity)).fetchall()
        return [parse_record(record, seq, self.path)[0] for record, seq in rows]

    def namespaces(self, identity: str) -> list[str | None]:
        """The namespaces that hold a memory of this id."""
        with self._door.transaction() as connection:
            return [row[0] for row in connection.execute("SELECT namespace FROM memories WHERE id = ?", (identity,))]

    def forget(self, gone: Gone) -> int:
        """See `Place`. Quotations in other memories stay: they are those memories' own."""
        self._door.close()
        with erasing(self.path, STORE) as connection:
            row = connection.execute(f"SELECT seq, terms {_BY_ID}", (gone.namespace, gone.id)).fetchone()
            if row is None:
                return 0
            connection.execute("DELETE FROM memories WHERE seq = ?", (row[0],))
            own = set(unpack_terms(row[1]).tolist())
            for (terms,) in connection.execute("SELECT terms FROM memories"):
                if not own:
                    break
                own.difference_update(np.unique(unpack_terms(terms)).tolist())
            connection.executemany("DELETE FROM vocabulary WHERE id = ?", [(term,) for term in own])
            number = sqlite_file.change_number(sqlite_file.read_version(connection)) + 1
            # Numbers of terms may be given out again: whoever holds an earlier version must read everything anew.
            connection.execute("DELETE FROM meta WHERE key LIKE 'version %'")
            sqlite_file.write_version(connection, number)
        return 1

    def living(self) -> Iterator[str]:
        """See `Place`."""
        with self._door.transaction() as connection:
            for (record,) in connection.execute("SELECT record FROM memories"):
                yield from strings(json.loads(record))
            for (term,) in connection.execute("SELECT term FROM vocabulary"):
                yield term
