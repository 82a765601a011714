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
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import quality
from fit_contradiction import set_tenants
from pairsets import read_pairs, tenant_of
from synthetic import records

from memrank.claimpairs import Comparer, in_order
from memrank.contradictions import THRESHOLD, contradictions
from memrank.records import read_record
from memrank.render.evalset import interval_text
from memrank.score.contradiction import probability, shipped
from memrank.score.intervals import Bootstrap, Estimate, ratio
from memrank.tenant import Tenant

RANDOM = 500
RESAMPLES, SEED = 1000, 0


def golden(path: Path) -> Iterator[tuple[str, str, Estimate]]:
    """(domain, measure, estimate over its pairs), for each domain and for all; then the share of each kind."""
    pairs = read_pairs([path])
    flagged = (probability(shipped(), pairs.features) >= THRESHOLD).astype(np.float64)
    hit = np.column_stack([flagged * pairs.labels, flagged])
    found = np.column_stack([flagged * pairs.labels, pairs.labels])
    domains = [pair.domain for pair in pairs.rows]
    for domain in (*sorted(set(domains)), "all"):
        own = [i for i, name in enumerate(domains) if domain in (name, "all")]
        bootstrap = Bootstrap([pairs.rows[i].group for i in own], seed=SEED, resamples=RESAMPLES)
        yield domain, "precision", bootstrap.of_sums(hit[own], ratio)
        yield domain, "recall", bootstrap.of_sums(found[own], ratio)
    for label, kind in sorted({(pair.label, pair.kind) for pair in pairs.rows}, reverse=True):
        own = [i for i, pair in enumerate(pairs.rows) if (pair.label, pair.kind) == (label, kind)]
        bootstrap = Bootstrap([pairs.rows[i].group for i in own], seed=SEED, resamples=RESAMPLES)
        yield f"{'true' if label else 'false'} {kind}", "flagged", bootstrap.estimate(flagged[own])


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
    body["golden"] = [{"domain": domain, "measure": name, **quality.plain(found)} for domain, name, found in rows]
    for domain, name, found in rows:
        sys.stdout.write(f"{domain:28} {name:10} {interval_text(found)} of {found.n} pairs\n")
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
