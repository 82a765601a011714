"""The bytes of --queries: a file, or stdin."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from memrank.errors import DataError
from memrank.queryrows import HINT

STDIN = "-"


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a query file, or of stdin. Raises DataError where it cannot be opened."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; a fault of reading is another one
    except (OSError, ValueError) as fault:
        raise DataError(f"{path}: {getattr(fault, 'strerror', None) or fault}", hint=HINT) from None
    with stream:
        yield stream
