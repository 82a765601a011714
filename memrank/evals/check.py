"""Whether a golden set is fit to measure with: labels, leaks, balance, plain rules, and how well two people agree."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memrank.evals.agreement import SECOND, Agreement, agreement, second_labels
from memrank.evals.checked import FEWEST, Balance, Checked, RuleShare, file_findings, repair_findings
from memrank.evals.evalset import Evalset, load, split_of
from memrank.evals.finding import Finding, fault, remark
from memrank.evals.labelfaults import label_findings, listed
from memrank.evals.labels import SPLITS, Labelled, Split
from memrank.evals.leaks import leak_findings
from memrank.evals.manifest import Manifest, read_manifest, seal
from memrank.evals.rules import SOLVED, rankings, right_first
from memrank.stores.readers import read_memories
from memrank.types import Memory

AGREED = 0.6
"""Cohen's kappa below which two people do not mean the same by a label (Landis and Koch 1977: "substantial" above)."""


def check(folder: Path) -> Checked:
    """Check a golden set of queries over memories. Raises DataError for one that cannot be read."""
    evalset = load(folder)
    loaded = read_memories(evalset.memories)
    memories = {(memory.namespace, memory.id): memory for memory in loaded.memories}
    second = second_labels(folder)
    manifest = read_manifest(folder)
    parts = {part: balance(evalset.part(part)) for part in SPLITS}
    ranked = rankings(evalset)
    rules = {name: RuleShare(**_share(evalset.queries, found)) for name, found in ranked.items()}
    agreed = agreement(evalset.queries, second)
    findings = [
        *file_findings(folder, manifest),
        *repair_findings((*evalset.notes, *loaded.notes)),
        *label_findings(evalset.queries, memories),
        *leak_findings(evalset.queries, memories),
        *_second(evalset.queries, second, {name for _, name in memories}, agreed),
        *_balance(parts),
        *(_solved(name, rule) for name, rule in rules.items() if rule.share > SOLVED),
    ]
    return Checked(
        folder=folder,
        kind="queries",
        manifest=manifest,
        counts=_counts(evalset, loaded.memories, second),
        parts=parts,
        rules=rules,
        agreement=agreed,
        findings=findings,
    )


def seal_evalset(folder: Path, *, version: str | None = None, licence: str | None = None) -> Manifest:
    """Write the manifest of a golden set as it is now; what is None stays as it was. Raises as `seal`."""
    evalset = load(folder)
    loaded = read_memories(evalset.memories)
    return seal(folder, _counts(evalset, loaded.memories, second_labels(folder)), version=version, licence=licence)


def balance(queries: Sequence[Labelled]) -> Balance:
    """Counts over some queries."""
    return Balance(
        queries=len(queries),
        groups=len({query.split_group or query.id for query in queries}),
        no_answer=sum(not query.relevant for query in queries),
        three_or_more=sum(len(query.relevant) >= 3 for query in queries),
        outdated=sum(bool(query.stale) for query in queries),
        previous=sum(query.asks_previous for query in queries),
        scored_pairs=sum(len(query.scores) for query in queries),
        sensitivity=_counted(query.sensitivity for query in queries),
        category=_counted(query.category for query in queries),
    )


def _counted(values: Iterator[str | None]) -> dict[str, int]:
    return dict(Counter(str(value) for value in values if value is not None).most_common())


def _counts(evalset: Evalset, memories: Sequence[Memory], second: Sequence[Labelled]) -> dict[str, int]:
    parts = Counter(split_of(query) for query in evalset.queries)
    return {
        "memories": len(memories),
        "namespaces": len({memory.namespace for memory in memories}),
        "queries": len(evalset.queries),
        **{part: parts[part] for part in SPLITS},
        "scored_pairs": sum(len(query.scores) for query in evalset.queries),
        "labelled_twice": len(second),
    }


def _share(queries: Sequence[Labelled], ranked: Sequence[Sequence[str]]) -> dict[str, int]:
    right, asked = right_first(queries, ranked)
    return {"right": right, "queries": asked}


def _second(
    queries: Sequence[Labelled], second: Sequence[Labelled], known: set[str], agreed: Agreement | None
) -> Iterator[Finding]:
    asked = {query.id for query in queries}
    strange = [other.id for other in second if other.id not in asked]
    if strange:
        yield fault("unknown_query", SECOND, f"no such query: {listed(strange)}")
    for other in second:
        missing = sorted({*other.relevant, *other.scores} - known)
        if missing:
            yield fault("unknown_id", f"{SECOND}: {other.id}", f"no such memory: {listed(missing)}")
    if agreed is not None and agreed.kappa.mean < AGREED:
        yield remark("low_agreement", SECOND, f"kappa of relevance is {agreed.kappa.mean:.2f}, below {AGREED}")


def _balance(parts: Mapping[Split, Balance]) -> Iterator[Finding]:
    kinds = {
        "without an answer": [part.no_answer for part in parts.values()],
        "with three relevant memories": [part.three_or_more for part in parts.values()],
        "with outdated values": [part.outdated for part in parts.values()],
        "that ask for the earlier value": [part.previous for part in parts.values()],
    }
    for name, part in parts.items():
        if part.queries < FEWEST:
            yield remark("small_part", name, f"it has {part.queries} queries; figures over it say little")
    for kind, counts in kinds.items():
        for name, count in zip(parts, counts, strict=True):
            if count == 0 and any(counts):
                yield remark("unbalanced", name, f"it has no queries {kind}, and another part has")


def _solved(name: str, rule: RuleShare) -> Finding:
    return fault(
        "trivial_rule", name, f"its first result is relevant for {rule.share:.0%} of the queries: it solves the set"
    )
