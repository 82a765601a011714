"""A table in memory, for a query over rows that are there for it alone. Nothing is kept."""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None


def queried(
    query: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], params: Mapping[str, Cell]
) -> list[tuple[Cell, ...]]:
    """What a query answers over a table of these rows. `exp` and `power` are there, however SQLite was built."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("exp", 1, math.exp, deterministic=True)
        connection.create_function("power", 2, math.pow, deterministic=True)
        named = ", ".join(f'"{column}"' for column in columns)
        connection.execute(f'CREATE TABLE "{table}" ({named})')
        marks = ", ".join("?" * len(columns))
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)
        return connection.execute(query, params).fetchall()
