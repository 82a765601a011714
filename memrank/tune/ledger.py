"""How often each part that compilations are reported on was read, in a small file beside their artifacts.

What is looked at again and again becomes something that is chosen by. The file is not part of the artifact: the same
compilation writes the same artifact, however often it was done.
"""

import json
from pathlib import Path

from memrank.errors import DataError
from memrank.fileio import write_atomic

SCHEMA = "memrank.reportreads/1"
HINT = "it says how often each report part was read; delete it to begin anew"


def ledger_of(artifact: Path) -> Path:
    """Where readings are counted, for all artifacts of a folder."""
    return artifact.with_name("report-reads.json")


def times_read(path: Path, key: str) -> int:
    """How often a part was read so far. Raises DataError for a file that is no such count."""
    return _reads(path).get(key, 0)


def count(path: Path, key: str) -> int:
    """Count one more reading, before it happens; how often it is then. Raises DataError where it cannot be written."""
    reads = _reads(path)
    reads[key] = reads.get(key, 0) + 1
    write_atomic(path, json.dumps({"schema": SCHEMA, "reads": dict(sorted(reads.items()))}, indent=2) + "\n")
    return reads[key]


def _reads(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    try:
        body = json.loads(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is no JSON"
        raise DataError(f"{path}: cannot be read: {reason}", hint=HINT) from fault
    reads = body.get("reads") if isinstance(body, dict) and body.get("schema") == SCHEMA else None
    if not isinstance(reads, dict) or not all(type(times) is int and times >= 0 for times in reads.values()):
        raise DataError(f"{path}: it is there and is no count of readings", hint=HINT)
    return dict(reads)
