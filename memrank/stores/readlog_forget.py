"""Forgetting a memory in a read log: its texts go, the numbers of the reads stay."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from memrank.errors import DataError
from memrank.records import read_record
from memrank.stores import readlog_exchanges, readlog_file
from memrank.stores.forgetting import Gone, strings, unquoted, without
from memrank.stores.readlog_entry import without_summaries
from memrank.stores.readlog_file import READLOG, damaged, named, salted
from memrank.stores.sqlite_erase import erasing
from memrank.types import Memory


class LogPlace:
    """A read log as a place that keeps text."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._door = readlog_file.door(path)

    def held(self, namespace: str | None, identity: str) -> list[Memory]:
        """See `Place`."""
        select = "SELECT record FROM texts WHERE id = ? AND namespace IS ? AND record IS NOT NULL"
        with self._door.transaction() as connection:
            rows = connection.execute(select, (identity, namespace)).fetchall()
        try:
            return [read_record(json.loads(row[0]), position=0)[0] for row in rows]
        except (ValueError, DataError) as error:
            raise damaged(self.path, "a judged memory cannot be read") from error

    def forget(self, gone: Gone) -> int:
        """See `Place`. A row stays for its id, so that a record on its way does not bring the text back."""
        self._door.close()
        with erasing(self.path, READLOG) as connection:
            keys = _forgotten_keys(connection, gone)
            changed = _unquoted_reads(connection, gone, keys)
            comments = connection.execute("SELECT number, comment FROM review WHERE comment IS NOT NULL").fetchall()
            told = [(without(comment, gone.texts), number) for number, comment in comments]
            told = [new for new, (_, old) in zip(told, comments, strict=True) if new[0] != old]
            connection.executemany("UPDATE review SET comment = ? WHERE number = ?", told)
            readlog_file.next_generation(connection)
        return len(keys) + changed + len(told)

    def living(self) -> Iterator[str]:
        """See `Place`."""
        with self._door.transaction() as connection:
            for select in (
                "SELECT record FROM texts WHERE record IS NOT NULL",
                "SELECT asked FROM records WHERE asked IS NOT NULL",
                "SELECT summaries FROM records WHERE summaries IS NOT NULL",
                "SELECT said FROM records WHERE said IS NOT NULL",
                "SELECT time FROM records",
                "SELECT body FROM specs",
                "SELECT comment FROM review WHERE comment IS NOT NULL",
            ):
                for (text,) in connection.execute(select):
                    yield from _strings(text)
            for text in readlog_exchanges.living(connection):
                yield from _strings(text)


def _forgotten_keys(connection: sqlite3.Connection, gone: Gone) -> set[int]:
    """Take the text from every row of the memory; their keys. Where there is none, one is made that says so."""
    rows = connection.execute("SELECT key FROM texts WHERE id = ? AND namespace IS ?", (gone.id, gone.namespace))
    keys = {int(row[0]) for row in rows.fetchall()}
    update = "UPDATE texts SET record = NULL, redacted = 0, forgotten = 1 WHERE key = ?"
    connection.executemany(update, [(key,) for key in keys])
    if not keys:
        known_by = salted(readlog_file.read_salt(connection), named(gone.namespace, gone.id))
        insert = "INSERT INTO texts (hash, namespace, id, redacted, forgotten) VALUES (?, ?, ?, 0, 1)"
        connection.execute(insert, (known_by, gone.namespace, gone.id))
    return keys


def _unquoted_reads(connection: sqlite3.Connection, gone: Gone, keys: set[int]) -> int:
    """Remove summaries of the memory, quotations of it from queries, and what a model was shown of it or said about it;
    in how many places.
    """
    changed, judging = [], set()
    for row in connection.execute("SELECT read_id, candidates, asked, summaries, time, said FROM records").fetchall():
        asked, summaries = _without(row[2], gone.texts), _unsummarized(row[3], row[1], keys)
        if not keys.isdisjoint(np.frombuffer(row[1], dtype="<i8").tolist()):
            judging.add(row[0])
        # What it said of other memories may quote this one.
        said = None if row[0] in judging else _without(row[5], gone.texts)
        if (asked, summaries, said) != (row[2], row[3], row[5]):
            time = _wordless(row[4]) if asked != row[2] else row[4]
            changed.append((asked, summaries, said, time, asked != row[2], row[0]))
    update = (
        "UPDATE records SET asked = ?, summaries = ?, said = ?, time = ?, redacted = redacted OR ? WHERE read_id = ?"
    )
    connection.executemany(update, changed)
    return len(changed) + readlog_exchanges.forget(connection, judging, gone.texts)


def _strings(text: str) -> Iterator[str]:
    """The texts in a JSON value, or the text itself where it is no JSON."""
    yield text
    with suppress(ValueError):
        yield from strings(json.loads(text))


def _without(packed: str | None, texts: Sequence[str]) -> str | None:
    """The JSON of what was asked with quoted texts replaced; the same text where nothing is quoted."""
    if packed is None:
        return None
    asked = json.loads(packed)
    cleaned = unquoted(asked, texts)
    return packed if cleaned == asked else json.dumps(cleaned)


def _unsummarized(packed: str | None, candidates: bytes, keys: set[int]) -> str | None:
    """Summaries without those of the memories with these keys."""
    if packed is None:
        return None
    judged = np.frombuffer(candidates, dtype="<i8").tolist()
    return without_summaries(packed, {k for k, key in enumerate(judged) if key in keys})


def _wordless(packed: str) -> str:
    """The time of a query without the words that it was read from."""
    time = json.loads(packed)
    time["evidence"] = ""
    if time["period"]:
        time["period"]["text"] = ""
    return json.dumps(time)
