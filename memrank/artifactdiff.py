"""In what two artifacts differ: every value of one beside that of the other, by its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memrank.artifact import Artifact, Measured, Value

Section = Literal["about", "state", "metrics", "search"]
AGREE = {"about": 0, "state": 1, "metrics": 2, "search": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value; None on a side that does not have it."""

    section: Section
    name: str
    first: Value | Measured | None
    second: Value | Measured | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDiff:
    """What differs, in the order of the sections and then by name."""

    first: str
    second: str
    """Names of the specs."""
    entries: tuple[Entry, ...]


def difference(first: Artifact, second: Artifact) -> ArtifactDiff:
    """All that differs; no entry for artifacts that are the same."""
    sides = [_flat(one) for one in (first, second)]
    found = []
    for key in sorted({*sides[0], *sides[1]}, key=lambda one: (AGREE[one[0]], one[1])):
        values = [side.get(key) for side in sides]
        if values[0] != values[1]:
            found.append(Entry(section=key[0], name=key[1], first=values[0], second=values[1]))
    return ArtifactDiff(first=first.name, second=second.name, entries=tuple(found))


def _flat(artifact: Artifact) -> Mapping[tuple[Section, str], Value | Measured]:
    found: dict[tuple[Section, str], Value | Measured] = {
        ("about", "name"): artifact.name,
        ("about", "spec"): artifact.spec,
        ("about", "seed"): str(artifact.seed),
    }
    found |= {("about", f"versions.{name}"): value for name, value in artifact.versions.items()}
    found |= {("about", f"data.{name}"): value for name, value in artifact.data.items()}
    for name, state in artifact.state.items():
        prefix = "" if name == "parameters" else f"{name}."
        found |= {("state", f"{prefix}{key}"): value for key, value in state.values.items()}
    for side, metrics in artifact.metrics.items():
        found |= {("metrics", f"{key} {side}"): one for key, one in metrics.items()}
    return found | {("search", name): value for name, value in artifact.search.items()}
