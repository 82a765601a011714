"""A table in memory, for a query over rows that are there for it alone. Nothing is kept."""

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None


def one_by_one(
    query: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], params: Mapping[str, Cell]
) -> Iterator[list[tuple[Cell, ...]]]:
    """What a query answers over a table of the first row alone, of the second alone, and so on.

    `exp` and `power` are there, however SQLite was built.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.create_function("exp", 1, math.exp, deterministic=True)
        connection.create_function("power", 2, math.pow, deterministic=True)
        names = [f'"{column}"' for column in columns]
        connection.execute(f'CREATE TABLE "{table}" ({", ".join(names)})')
        connection.execute(f'INSERT INTO "{table}" DEFAULT VALUES')
        put = f'UPDATE "{table}" SET {", ".join(f"{name} = ?" for name in names)}'  # noqa: S608 - names of the caller
        for row in rows:
            connection.execute(put, row)
            yield connection.execute(query, params).fetchall()
