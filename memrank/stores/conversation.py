"""The state of one conversation in an SQLite file: its elements, and what each was worth at every pruning.

Every write is one transaction: it survives a kill once it has returned, and writers of several processes take turns.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memrank.errors import DataError
from memrank.fileio import canonical_json
from memrank.stores import sqlite_door
from memrank.stores.sqlite_door import Door, Kind
from memrank.stores.sqlite_erase import erasing

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE elements (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL)",
        "CREATE TABLE moments (number INTEGER PRIMARY KEY, at TEXT, elements INTEGER NOT NULL, monitors TEXT NOT NULL)",
        "CREATE TABLE decays (moment INTEGER NOT NULL, seq INTEGER NOT NULL, decay REAL NOT NULL, "
        "class INTEGER NOT NULL, action TEXT NOT NULL, PRIMARY KEY (moment, seq)) WITHOUT ROWID",
        "CREATE INDEX decays_of ON decays (seq, moment)",
    ),
    (
        # The last number that names an element without an id: none is given out again, whatever is forgotten.
        "CREATE TABLE named (last INTEGER NOT NULL)",
        "INSERT INTO named SELECT max(ifnull(max(seq), 0), ifnull(max(CASE WHEN id GLOB '#[0-9]*' AND "
        "substr(id, 2) NOT GLOB '*[^0-9]*' AND length(id) < 12 THEN CAST(substr(id, 2) AS INTEGER) END), 0)) "
        "FROM elements",
    ),
)

CONVERSATION = Kind(
    noun="conversation",
    application_id=0x6D726E63,  # `mrnc`
    migrations=lambda: MIGRATIONS,
    make='memrank.Conversation("{path}")',
)


_UPSERT = "INSERT INTO elements (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one element was worth at one pruning."""

    moment: int
    """Number of the pruning, from 1."""
    decay: float
    decay_class: int
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRow:
    """One pruning: its number, the time given for it, how many elements there were, and its monitors."""

    number: int
    at: str | None
    elements: int
    monitors: Mapping[str, object]


class ConversationFile:
    """Reads and writes the file; made where it does not exist. Safe to share by threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        sqlite_door.create(path, CONVERSATION)
        self._door = Door(path, CONVERSATION)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._door.close()

    def add(self, elements: Iterable[tuple[str | None, Mapping[str, object]]]) -> int:
        """Append elements (id, record), or replace the record of those that are there; how many are new.

        Without an id, an element is named by its place: `#7`, or a later number where that name is or was another's.
        Raises DataError for what cannot be kept as JSON.
        """
        given = list(elements)
        with self._door.transaction(write=True) as connection:
            before = _count(connection)
            for identity, record in given:
                name = _free_name(connection) if identity is None else identity
                connection.execute(_UPSERT, (name, _text({**record, "id": name})))
            return _count(connection) - before

    def records(self) -> list[Mapping[str, object]]:
        """Every element's record, in order."""
        with self._door.transaction() as connection:
            rows = connection.execute("SELECT seq, id, record FROM elements ORDER BY seq").fetchall()
        return [self._record(*row) for row in rows]

    def count(self) -> int:
        """How many elements there are."""
        with self._door.transaction() as connection:
            return _count(connection)

    def record(
        self, at: str | None, monitors: Mapping[str, object], points: Sequence[tuple[str, float, int, str]]
    ) -> int:
        """Keep a pruning: (id, decay, class, action) of every element that it saw; its number."""
        with self._door.transaction(write=True) as connection:
            (last,) = connection.execute("SELECT ifnull(max(number), 0) FROM moments").fetchone()
            number = int(last) + 1
            connection.execute(
                "INSERT INTO moments VALUES (?, ?, ?, ?)", (number, at, len(points), canonical_json(monitors))
            )
            connection.executemany(
                "INSERT INTO decays SELECT ?, seq, ?, ?, ? FROM elements WHERE id = ?",
                [(number, decay, kind, action, identity) for identity, decay, kind, action in points],
            )
            return number

    def moments(self) -> list[MomentRow]:
        """Every pruning, in order."""
        with self._door.transaction() as connection:
            rows = connection.execute("SELECT number, at, elements, monitors FROM moments ORDER BY number").fetchall()
        return [
            MomentRow(number=n, at=at, elements=count, monitors=self._object(text, f"pruning {n} has no monitors"))
            for n, at, count, text in rows
        ]

    def trajectories(self) -> dict[str, list[Point]]:
        """Each element's points over all prunings, in order; elements that were never pruned have none."""
        with self._door.transaction() as connection:
            out: dict[str, list[Point]] = {
                identity: [] for (identity,) in connection.execute("SELECT id FROM elements ORDER BY seq")
            }
            for identity, moment, decay, kind, action in connection.execute(
                "SELECT e.id, d.moment, d.decay, d.class, d.action FROM decays d JOIN elements e USING (seq) "
                "ORDER BY d.seq, d.moment"
            ):
                out[identity].append(Point(moment=moment, decay=decay, decay_class=kind, action=action))
        return out

    def latest(self) -> dict[str, float]:
        """Each element's decay at the last pruning."""
        with self._door.transaction() as connection:
            return dict(
                connection.execute(
                    "SELECT e.id, d.decay FROM decays d JOIN elements e USING (seq) "
                    "WHERE d.moment = (SELECT max(number) FROM moments)"
                ).fetchall()
            )

    def forget(self, identity: str) -> int:
        """Remove an element and its trajectory, and whatever the file still holds of it; how many were removed."""
        with erasing(self.path, CONVERSATION) as connection:
            return remove(connection, identity)

    def _record(self, seq: int, identity: str, text: str) -> Mapping[str, object]:
        what = f"row {seq} holds no element"
        found = self._object(text, what)
        if found.get("id") != identity or not isinstance(found.get("content"), str):
            raise sqlite_door.damaged(self.path, CONVERSATION.noun, what)
        return found

    def _object(self, text: str, what: str) -> Mapping[str, object]:
        try:
            found = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise sqlite_door.damaged(self.path, CONVERSATION.noun, what) from error
        if not isinstance(found, dict):
            raise sqlite_door.damaged(self.path, CONVERSATION.noun, what)
        return found


def remove(connection: sqlite3.Connection, identity: str) -> int:
    """Delete an element and its trajectory; how many elements that were."""
    connection.execute("DELETE FROM decays WHERE seq IN (SELECT seq FROM elements WHERE id = ?)", (identity,))
    return connection.execute("DELETE FROM elements WHERE id = ?", (identity,)).rowcount


def _free_name(connection: sqlite3.Connection) -> str:
    """The name of the next place that no element has, and none without an id ever had."""
    (place,) = connection.execute(
        "SELECT max(ifnull(max(seq), 0), ifnull((SELECT last FROM named), 0)) + 1 FROM elements"
    ).fetchone()
    while connection.execute("SELECT 1 FROM elements WHERE id = ?", (f"#{place}",)).fetchone():
        place += 1
    connection.execute("UPDATE named SET last = ?", (place,))
    return f"#{place}"


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM elements").fetchone()[0])


def _text(record: Mapping[str, object]) -> str:
    try:
        return canonical_json(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"an element cannot be kept as JSON: {error}") from None
