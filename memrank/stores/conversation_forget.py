"""Forgetting a memory in the file of a conversation: its element goes, and where others quote it, the quotation."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memrank.errors import DataError
from memrank.fileio import canonical_json
from memrank.records import read_record
from memrank.stores.conversation import CONVERSATION, remove
from memrank.stores.forgetting import Gone, strings, unquoted
from memrank.stores.sqlite_door import Door, damaged
from memrank.stores.sqlite_erase import erasing
from memrank.types import Memory


class ConversationPlace:
    """A conversation as a place that keeps text. Its elements have no namespace of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._door = Door(path, CONVERSATION)

    def held(self, namespace: str | None, identity: str) -> list[Memory]:
        """See `Place`."""
        with self._door.transaction() as connection:
            rows = connection.execute("SELECT record FROM elements WHERE id = ?", (identity,)).fetchall()
        try:
            found = [read_record(json.loads(row[0]), position=0)[0] for row in rows]
        except (ValueError, DataError) as error:
            raise damaged(self.path, CONVERSATION.noun, "an element cannot be read") from error
        return [replace(memory, namespace=namespace) for memory in found]

    def forget(self, gone: Gone) -> int:
        """See `Place`."""
        self._door.close()
        with erasing(self.path, CONVERSATION) as connection:
            changed = remove(connection, gone.id)
            for seq, record in connection.execute("SELECT seq, record FROM elements").fetchall():
                cleaned = canonical_json(unquoted(json.loads(record), gone.texts))
                if cleaned != record:
                    connection.execute("UPDATE elements SET record = ? WHERE seq = ?", (cleaned, seq))
                    changed += 1
        return changed

    def living(self) -> Iterator[str]:
        """See `Place`."""
        with self._door.transaction() as connection:
            for (record,) in connection.execute("SELECT record FROM elements"):
                yield from strings(json.loads(record))
            for (at,) in connection.execute("SELECT at FROM moments WHERE at IS NOT NULL"):
                yield at
