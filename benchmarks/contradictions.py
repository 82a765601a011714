"""How well contradictions are found: golden pairs, random pairs of real stores, and the time of a scan.

    python benchmarks/contradictions.py PAIRS.jsonl [--random FOLDER ...] [--scan N] [--json FILE]

PAIRS is evalsets/contradictions/report.jsonl (`fit.jsonl` served to fit, `choose.jsonl` to choose the threshold).
Precision and recall at the default threshold, each with a 95 % percentile bootstrap interval, groups drawn together.
Half of the pairs are hard negatives, so precision here is that among pairs which look like contradictions. Each FOLDER
is a golden set: 500 random pairs of memories of one tenant each are judged; those that its queries know as stale and
current are left out. What is flagged is a false alarm, but for pairs that really conflict and nobody has labelled.
--scan times a scan of a store of N synthetic memories, and of N / 2.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from fit_contradiction import set_tenants
from numpy.typing import NDArray
from pairsets import read_pairs, tenant_of
from synthetic import records

from memrank.claimpairs import Comparer, in_order
from memrank.contradictions import THRESHOLD, contradictions
from memrank.records import read_record
from memrank.score.contradiction import probability, shipped
from memrank.tenant import Tenant

Floats = NDArray[np.float64]

RANDOM = 500
RESAMPLES = 1000


def interval(
    labels: Floats, flagged: Floats, groups: list[str], measure: Callable[[Floats, Floats], float]
) -> tuple[float, float, float]:
    """A measure and its 95 % percentile interval, groups drawn together."""
    names = list(dict.fromkeys(groups))
    rows = {name: [i for i, group in enumerate(groups) if group == name] for name in names}
    draw = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        picked = [i for k in draw.integers(0, len(names), len(names)) for i in rows[names[k]]]
        drawn.append(measure(labels[picked], flagged[picked]))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return measure(labels, flagged), float(low), float(high)


def precision(labels: Floats, flagged: Floats) -> float:
    """Share of what is flagged that is one; NaN where nothing is."""
    return float(labels[flagged > 0].mean()) if flagged.any() else float("nan")


def recall(labels: Floats, flagged: Floats) -> float:
    """Share of the contradictions that is flagged."""
    return float(flagged[labels > 0].mean()) if labels.any() else float("nan")


def golden(path: Path) -> Iterator[tuple[str, str, int, tuple[float, float, float]]]:
    """(domain, measure, pairs, value with interval), for each domain and for all."""
    pairs = read_pairs([path])
    flagged = (probability(shipped(), pairs.features) >= THRESHOLD).astype(np.float64)
    domains = [str(row["domain"]) for row in pairs.rows]
    groups = [str(row["split_group"]) for row in pairs.rows]
    for domain in (*sorted(set(domains)), "all"):
        own = [i for i, name in enumerate(domains) if domain in (name, "all")]
        for name, measure in (("precision", precision), ("recall", recall)):
            found = interval(pairs.labels[own], flagged[own], [groups[i] for i in own], measure)
            yield domain, name, len(own), found
    kinds = sorted({(bool(row["label"]), str(row["kind"])) for row in pairs.rows}, reverse=True)
    for label, kind in kinds:
        own = [i for i, row in enumerate(pairs.rows) if (bool(row["label"]), row["kind"]) == (label, kind)]
        share = float(flagged[own].mean())
        yield f"{'true' if label else 'false'} {kind}", "flagged", len(own), (share, float("nan"), float("nan"))


def false_alarms(folder: Path) -> tuple[int, int]:
    """Random pairs of a golden set that were judged, and how many are flagged."""
    draw = np.random.default_rng(0)
    tenants = list(set_tenants(folder))
    sizes = np.array([len(tenant.memories) for tenant, _ in tenants], dtype=np.float64)
    judged = flagged = 0
    while judged < RANDOM:
        tenant, apart = tenants[int(draw.choice(len(tenants), p=sizes / sizes.sum()))]
        one, two = draw.integers(0, len(tenant.memories), 2)
        ids = tenant.memories[int(one)].id, tenant.memories[int(two)].id
        if one == two or ids in apart or ids[::-1] in apart:
            continue
        features = Comparer(tenant).features(*in_order(tenant, np.array([one]), np.array([two])))
        flagged += int(probability(shipped(), features)[0] >= THRESHOLD)
        judged += 1
    return judged, flagged


def scanned(count: int) -> tuple[int, float, int]:
    """Memories, seconds of a scan, and contradictions found among synthetic memories."""
    tenant = _synthetic(count)
    started = time.perf_counter()
    found = contradictions(tenant)
    return count, time.perf_counter() - started, len(found)


def _synthetic(count: int) -> Tenant:
    return tenant_of([read_record(record, position=i)[0] for i, record in enumerate(records(count))])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--random", nargs="*", type=Path, default=[])
    parser.add_argument("--scan", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    body: dict[str, object] = {"threshold": THRESHOLD}
    rows = list(golden(arguments.pairs))
    body["golden"] = rows
    for domain, name, count, (value, low, high) in rows:
        spread = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
        sys.stdout.write(f"{domain:28} {name:10} {value:.3f}{spread} of {count} pairs\n")
    for folder in arguments.random:
        judged, flagged = false_alarms(folder)
        body[folder.name] = {"judged": judged, "flagged": flagged}
        sys.stdout.write(f"{folder.name:28} {flagged} of {judged} random pairs flagged ({flagged / judged:.1%})\n")
    if arguments.scan:
        scans = [scanned(count) for count in (arguments.scan // 2, arguments.scan)]
        body["scans"] = scans
        for count, seconds, found in scans:
            sys.stdout.write(f"{count:,} memories: {seconds:.1f} s, {found} contradictions\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
