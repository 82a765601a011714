"""What the read log and the cache cost and save: medians over 1,000 different reads on warm pipelines.

    python benchmarks/reads.py [--reads N] [--repeat N] [--json]

The store is the finance golden set. Reads with a log and reads without one take turns in blocks, so that a busy moment
strikes both. The cost of the log is the difference of the medians, and of the means, which hold all that its thread
takes from the reads.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, median

from memrank import Pipeline, load

ROOT = Path(__file__).resolve().parents[1]
AS_OF = datetime(2026, 3, 20, 9, tzinfo=UTC)
LIMIT_MS = 0.5
KINDS = {
    "no log": "",
    "log": "reads: {log: log.db, cache: null}\n",
    "hashed log": "reads: {log: hashed.db, text: hashed, cache: null}\n",
    "durable log": "reads: {log: durable.db, durable: true, cache: null}\n",
    "cache": "reads: {}\n",
}


def pipelines(folder: Path) -> dict[str, Pipeline]:
    """The finance spec without a log, and with each kind of one."""
    text = (ROOT / "pipelines" / "finance.yaml").read_text(encoding="utf-8")
    text = text.replace("../evalsets", (ROOT / "evalsets").as_posix())
    found = {}
    for name, section in KINDS.items():
        path = folder / f"{name.replace(' ', '-')}.yaml"
        path.write_text(text + section, encoding="utf-8")
        found[name] = load(path)
    return found


def taken(pipe: Pipeline, queries: Sequence[str], start: int, count: int, *, same: bool) -> list[float]:
    """Milliseconds of each read; a different moment makes each another read, unless `same`."""
    found = []
    for k in range(start, start + count):
        moment = AS_OF if same else AS_OF + timedelta(seconds=k)
        began = time.perf_counter()
        pipe(queries[k % len(queries)], as_of=moment)
        found.append((time.perf_counter() - began) * 1e3)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the log costs no more than LIMIT_MS, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--reads", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    lines = (ROOT / "evalsets" / "finance" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = [str(json.loads(line)["query"]) for line in lines]
    block = 100
    with tempfile.TemporaryDirectory() as name:
        pipes = pipelines(Path(name))
        for pipe in pipes.values():
            taken(pipe, queries, 0, len(queries), same=True)
            pipe.flush()
        spent: dict[str, list[float]] = {kind: [] for kind in pipes}
        for start in range(0, options.reads * options.repeat, block):
            for kind, pipe in pipes.items():
                spent[kind] += taken(pipe, queries, 1 + start, block, same=kind == "cache")
                pipe.flush()  # so that its thread is at rest while others are measured
        size = (Path(name) / "log.db").stat().st_size / (options.reads * options.repeat)
    plain = spent["no log"]
    rows = {
        kind: {
            "median_ms": round(median(values), 3),
            "mean_ms": round(mean(values), 3),
            "more_median_ms": round(median(values) - median(plain), 3),
            "more_mean_ms": round(mean(values) - mean(plain), 3),
        }
        for kind, values in spent.items()
    }
    if options.json:
        print(json.dumps({"reads": options.reads * options.repeat, "bytes_per_read": round(size), **rows}, indent=2))
    else:
        for kind, figures in rows.items():
            print(f"{kind:<12} " + "  ".join(f"{key} {value:>7.3f}" for key, value in figures.items()))
        print(f"the log holds {size / 1024:.0f} KiB a read")
    return 0 if rows["log"]["more_median_ms"] <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
