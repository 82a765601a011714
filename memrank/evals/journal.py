"""What an evaluation has done so far, in a file of JSON lines: one that was killed goes on where it stopped.

The first line names what the outcomes depend on; a file of anything else is begun anew. A line that cannot be read, as
the last one of a killed process, counts as not there.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from memrank.errors import DataError
from memrank.evals.outcome import Failed, Floats, Judged, Outcome, Scored, Unscored
from memrank.fileio import canonical_json, sha256_hex

SCHEMA = "memrank.journal/2"
BINARY = getattr(os, "O_BINARY", 0)
COLUMNS = ("relevance", "freshness", "score", "age_days")
KINDS: Mapping[str, type[Failed] | type[Unscored]] = {"failed": Failed, "unscored": Unscored}


def key_of(*parts: object) -> str:
    """Names what outcomes depend on, whatever JSON can hold; another value of any part is another key."""
    return sha256_hex(canonical_json([SCHEMA, *parts]))


class Journal:
    """An open journal. One thread writes; what is written survives a kill of the process."""

    def __init__(self, path: Path, key: str) -> None:
        """Raises DataError where the file can be neither read nor written."""
        self.path = path
        self.done: dict[str, Outcome] = {}
        """Query id to what became of it, of an earlier run."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes() if path.exists() else b""
            first, _, rest = data.partition(b"\n")
            head = canonical_json({"schema": SCHEMA, "key": key})
            known = first == head.encode()
            # It quotes memories where it says why one ranked: for the user's eyes alone.
            number = os.open(path, os.O_WRONLY | os.O_CREAT | BINARY | (os.O_APPEND if known else os.O_TRUNC), 0o600)
            self._stream = os.fdopen(number, "ab" if known else "wb")
            if known:
                self.done = _read(rest)
                # A line that was cut off ends here, so that it takes nothing of the next one with it.
                self._write(b"" if data.endswith(b"\n") else b"\n")
            else:
                self._write(head.encode() + b"\n")
        except OSError as fault:
            raise _fault(path, fault) from None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome. Raises DataError where it cannot be written."""
        line = json.dumps(to_row(outcome), ensure_ascii=True, allow_nan=False) + "\n"
        try:
            self._write(line.encode("ascii"))
        except OSError as fault:
            raise _fault(self.path, fault) from None

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()


def _fault(path: Path, fault: OSError) -> DataError:
    return DataError(f"{path}: the journal cannot be kept: {fault.strerror or fault}", hint="--no-resume keeps none")


def _read(data: bytes) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for line in data.split(b"\n"):
        try:
            outcome = from_row(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        found[outcome.query_id] = outcome
    return found


def to_row(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain values that JSON can hold; every number comes back as it was."""
    match outcome:
        case Scored(judged=judged):
            return {
                "kind": "scored",
                "query_id": outcome.query_id,
                "values": dict(outcome.values),
                "judged": {
                    "ids": list(judged.ids),
                    **{name: _plain(getattr(judged, name)) for name in COLUMNS},
                    "relevant": judged.relevant.tolist(),
                    "fits": judged.true.tolist(),
                    "returned": judged.returned,
                },
                "latency_ms": outcome.latency_ms,
                "lm_calls": outcome.lm_calls,
                "lm_tokens": outcome.lm_tokens,
                "lm_cost_usd": outcome.lm_cost_usd,
                **({"lm_figures": dict(outcome.lm_figures)} if outcome.lm_figures else {}),
                "top": [list(one) for one in outcome.top],
            }
        case Failed():
            return {
                "kind": "failed",
                "query_id": outcome.query_id,
                "values": dict(outcome.values),
                "code": outcome.code,
                "message": outcome.message,
            }
        case Unscored():
            return {"kind": "unscored", "query_id": outcome.query_id, "why": outcome.why}


def from_row(row: Mapping[str, Any]) -> Outcome:
    """The outcome of a row. Raises ValueError, KeyError, TypeError or AttributeError for what `to_row` did not make."""
    given = {name: value for name, value in row.items() if name not in ("kind", "judged")}
    if not isinstance(given["query_id"], str):
        raise TypeError("query_id is no text")
    if "values" in row:
        given["values"] = {str(name): float(value) for name, value in row["values"].items()}
    if row["kind"] != "scored":
        return KINDS[row["kind"]](**given)
    kept = row["judged"]
    columns = {name: _array(kept[name]) for name in COLUMNS}
    relevant, fits = (np.array(kept[name], dtype=np.bool_) for name in ("relevant", "fits"))
    if any(len(column) != len(kept["ids"]) for column in (*columns.values(), relevant, fits)):
        raise ValueError("columns of another length")
    judged = Judged(ids=tuple(kept["ids"]), relevant=relevant, fits=fits, returned=int(kept["returned"]), **columns)
    top = tuple((str(name), float(score), str(why)) for name, score, why in given["top"])
    return Scored(
        query_id=given["query_id"],
        values=given["values"],
        judged=judged,
        latency_ms=float(given["latency_ms"]),
        lm_calls=int(given["lm_calls"]),
        lm_tokens=int(given["lm_tokens"]),
        lm_cost_usd=float(given["lm_cost_usd"]),
        lm_figures={str(name): float(value) for name, value in given.get("lm_figures", {}).items()},
        top=top,
    )


def _plain(column: Floats) -> list[float | None]:
    """JSON has no NaN."""
    return [None if math.isnan(value) else value for value in column.tolist()]


def _array(values: list[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
