"""How good memrank's ranking is, beside plain search and other systems: all golden sets, all systems, one table.

    python benchmarks/quality.py FOLDER ... [--systems a,b] [--sets x,y] [--json FILE] [--markdown FILE]

Each FOLDER holds golden sets (folders with memories.jsonl and queries.jsonl), at any depth. memrank ranks every set by
one spec, pipelines/agent-memory.yaml; `memrank-timeless` is the same with time switched off, the control that no
recency enters where a query is timeless, and `memrank-as-stated` the same without inferred supersession. A figure is a
mean over queries with its 95 % percentile bootstrap interval; groups of related queries are drawn together where there
are enough. Sets that memrank's coefficients were fitted on are marked: memrank's figures on them are in-sample
(`folds.py` ranks each by coefficients fitted without it).
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import goldens
import metrics
import peers
import ranking
import tables

from memrank.score.intervals import Estimate

SYSTEMS: dict[str, Callable[[goldens.GoldenSet], list[list[str]]]] = {
    "memrank": ranking.memrank,
    "memrank-timeless": ranking.memrank_timeless,
    "memrank-as-stated": ranking.memrank_as_stated,
    **{name: peer.run for name, peer in peers.PEERS.items()},
}
PACKAGES = ("memrank", "numpy", "bm25s", "wordllama", "langchain-classic", "llama-index-core")
EVERY = "mean of sets"
RESAMPLES = 1000

Estimates = dict[str, Estimate]


@dataclass(frozen=True)
class SetResult:
    """What was measured on one set: the estimates of each system, its seconds, and what was drawn."""

    systems: dict[str, Estimates]
    seconds: dict[str, float]
    drawn: str
    queries: int


def fitted_on() -> dict[str, list[str]]:
    """The sets that each of memrank's shipped models was fitted on."""
    found = {}
    for model in ("relevance", "conflict"):
        raw = json.loads(files("memrank.data").joinpath(f"{model}.json").read_text(encoding="utf-8"))
        found[model] = sorted(raw["fitted_on"])
    return found


def measure(golden: goldens.GoldenSet, systems: Sequence[str], resamples: int, missing: dict[str, str]) -> SetResult:
    """Every system on one set. One whose package is not installed goes to `missing`, with the reason."""
    bootstrap = metrics.Bootstrap(golden.rows, golden.name, resamples)
    found, seconds = {}, {}
    for name in systems:
        if name in missing:
            continue
        tell(f"{golden.name}: {name}")
        began = time.perf_counter()
        try:
            run = SYSTEMS[name](golden)
        except ImportError as fault:
            missing[name] = str(fault)
            continue
        seconds[name] = time.perf_counter() - began
        values = [metrics.judge(row, results) for row, results in zip(golden.rows, run, strict=True)]
        found[name] = bootstrap.estimates(values)
    return SetResult(found, seconds, f"{bootstrap.units} x {bootstrap.unit}", len(golden.rows))


def differences(systems: Mapping[str, Estimates], ours: str = "memrank") -> dict[str, tuple[Estimate, str]]:
    """memrank minus the best untrained baseline, chosen anew for each measure, and its name."""
    plain = {name: systems[name] for name in peers.BASELINES if name in systems}
    found = {}
    for measure_name, own in systems.get(ours, {}).items():
        rival = metrics.best(plain, measure_name)
        if rival is not None:
            found[measure_name] = own.minus(plain[rival][measure_name]), rival
    return found


def rows(results: Mapping[str, Mapping[str, Estimates]], marked: Sequence[str]) -> tables.Cells:
    """The lines of the table: for each set its systems, and the difference."""
    out = []
    for name, systems in results.items():
        lines = []
        for system, label in peers.labels(systems).items():
            found = systems[system]
            lines.append([label, *(tables.figure(found.get(shown)) for shown in tables.SHOWN)])
        if changes := differences(systems):
            cells = []
            for shown in tables.SHOWN:
                change, rival = changes.get(shown, (None, ""))
                cells.append(tables.figure(change, signed=True, name=rival))
            lines.append(["memrank - best untrained", *cells])
        title = f"{name} *" if name in marked else name
        out += [[title if place == 0 else "", *line] for place, line in enumerate(lines)]
    return out


def notes(results: Mapping[str, SetResult], missing: Mapping[str, str]) -> list[str]:
    """What must be known to read the table."""
    fitted = fitted_on()
    lower = " and ".join(sorted(metrics.LOWER_IS_BETTER))
    said = [
        f"Mean [95 % bootstrap interval]; {lower}: lower is better. Best untrained: of {', '.join(peers.BASELINES)}, "
        "chosen for each measure.",
        f"* memrank's coefficients were fitted on this set: its figures there are in-sample. Relevance: "
        f"{', '.join(fitted['relevance'])}. Outdated values: {', '.join(fitted['conflict'])}.",
        "Drawn together: " + ", ".join(f"{name} {result.drawn}" for name, result in results.items()) + ".",
    ]
    said += [f"Not run: {name}: {reason}" for name, reason in missing.items()]
    return said


def body(results: Mapping[str, SetResult], missing: Mapping[str, str], resamples: int) -> dict[str, Any]:
    """Everything as plain values for --json."""
    sets = {}
    for name, result in results.items():
        changes = differences(result.systems)
        sets[name] = {
            "queries": result.queries,
            "drawn": result.drawn,
            "seconds": {system: round(taken, 2) for system, taken in result.seconds.items()},
            "systems": {
                system: {shown: plain(estimate) for shown, estimate in found.items()}
                for system, found in result.systems.items()
            },
            "memrank_minus_best_untrained": {
                shown: {"of": rival, **plain(change)} for shown, (change, rival) in changes.items()
            },
        }
    return {
        "versions": versions(),
        "resamples": resamples,
        "fitted_on": fitted_on(),
        "not_run": dict(missing),
        "sets": sets,
    }


def plain(estimate: Estimate) -> dict[str, float | int | None]:
    """An estimate as plain values; an interval that cannot be told is null."""
    low, high = (None if bound != bound else round(bound, 4) for bound in (estimate.low, estimate.high))
    return {"mean": round(estimate.mean, 4), "low": low, "high": high, "queries": estimate.n}


def versions() -> dict[str, str]:
    """Of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def tell(text: str) -> None:
    """How far it is, where somebody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


def chosen(text: str | None, allowed: Sequence[str], what: str) -> list[str]:
    """The names of a comma-separated list. Raises SystemExit for one that there is not."""
    if text is None:
        return list(allowed)
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(names) - set(allowed))
    if unknown:
        raise SystemExit(f"no {what} {', '.join(unknown)}; there are: {', '.join(allowed)}")
    return [name for name in allowed if name in names]


def main() -> None:
    """Measure, print the table, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--systems", help=f"only these: {', '.join(SYSTEMS)}")
    parser.add_argument("--sets", help="only these sets, by the names of their folders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all measures, differences, seconds and versions")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table as Markdown")
    parser.add_argument("--resamples", type=int, default=RESAMPLES, help=f"bootstrap resamples ({RESAMPLES})")
    arguments = parser.parse_args()
    if arguments.resamples < 1:
        parser.error("--resamples must be 1 or more")
    systems = chosen(arguments.systems, list(SYSTEMS), "system")
    found = goldens.find(arguments.folders)
    names = chosen(arguments.sets, [folder.name for folder in found], "set")
    missing: dict[str, str] = {}
    results = {
        folder.name: measure(goldens.GoldenSet(folder), systems, arguments.resamples, missing)
        for folder in found
        if folder.name in names
    }
    tell("")
    estimates = {name: result.systems for name, result in results.items()}
    if len(results) > 1:
        ran = [name for name in systems if name not in missing]
        estimates[EVERY] = {name: metrics.across([one.systems[name] for one in results.values()]) for name in ran}
    table = rows(estimates, fitted_on()["relevance"])
    head = ["set", "system", *tables.SHOWN]
    said = notes(results, missing)
    sys.stdout.write("\n".join([tables.aligned(head, table), "", *said, ""]))
    if arguments.markdown:
        text = "\n".join([tables.markdown(head, table), "", *(f"{line}\n" for line in said)])
        arguments.markdown.write_text(text, encoding="utf-8")
    if arguments.json:
        text = json.dumps(body(results, missing, arguments.resamples), indent=2) + "\n"
        arguments.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
