"""A golden set that was read, and what there is to say about any of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memrank.evals.agreement import Agreement
from memrank.evals.finding import Finding, fault, remark
from memrank.evals.labels import Split
from memrank.evals.manifest import MANIFEST, NOT_AS_SEALED, README, SEAL, Manifest, differences
from memrank.types import Note

FEWEST = 20
"""Queries of a part (or pairs, or moments) below which its figures say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What one part of a set holds."""

    queries: int
    groups: int
    no_answer: int
    three_or_more: int
    """Queries with at least three relevant memories, which P@3 can be judged by."""
    outdated: int
    """Queries with outdated values that still read like an answer."""
    previous: int
    scored_pairs: int
    sensitivity: Mapping[str, int]
    category: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleShare:
    """How often the first result of a plain rule is relevant, over the queries that have an answer."""

    right: int
    queries: int

    @property
    def share(self) -> float:
        """0 where no query has an answer."""
        return self.right / self.queries if self.queries else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A golden set that was read, and what there is to say about it."""

    folder: Path
    kind: str
    """`queries`, `pairs` or `conversations`."""
    manifest: Manifest | None
    counts: Mapping[str, int]
    findings: Sequence[Finding]
    parts: Mapping[Split, Balance] = field(default_factory=dict)
    """This and what follows is told of queries only."""
    rules: Mapping[str, RuleShare] = field(default_factory=dict)
    agreement: Agreement | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing of it is a fault."""
        return all(finding.level != "fault" for finding in self.findings)


def file_findings(folder: Path, manifest: Manifest | None) -> Iterator[Finding]:
    """What there is to say about the README and the manifest."""
    if not (folder / README).is_file():
        yield remark("no_readme", README, "nothing says how it was made, by whom, under which licence, and its limits")
    if manifest is None:
        yield remark("no_manifest", MANIFEST, f"it has no version and no hashes; {SEAL}")
        return
    for said in differences(folder, manifest):
        yield fault(NOT_AS_SEALED, MANIFEST, said)


def repair_findings(notes: Sequence[Note]) -> Iterator[Finding]:
    """What had to be repaired in reading is a fault: others will repair it otherwise."""
    for note in notes:
        if note.level != "info" and note.code != NOT_AS_SEALED:
            times = f" ({note.count} times)" if note.count > 1 else ""
            yield fault(note.code, note.stage, note.detail + times)
