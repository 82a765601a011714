"""Golden conversations: reading them, moment by moment."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memrank.dialogue.elements import Element, read_elements


@dataclass(frozen=True)
class At:
    """A conversation at one of its moments, with what an annotator said of it."""

    conversation: str
    domain: str
    elements: tuple[Element, ...]
    """Those that have been said by then."""
    message: str
    classes: dict[str, int]
    protected: dict[str, str]
    corrected: dict[str, str]
    later: list[dict[str, Any]]
    """Questions that come up after this moment, each with the ids of its evidence."""

    @property
    def needed(self) -> set[str]:
        """Ids that some later question needs."""
        return {identity for question in self.later for identity in question["evidence"]}


def conversations(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def moments(rows: Sequence[dict[str, Any]]) -> Iterator[At]:
    """Every moment of some conversations."""
    for row in rows:
        elements, _ = read_elements(row["elements"])
        place = {element.id: i for i, element in enumerate(elements)}
        for moment in row["moments"]:
            yield At(
                conversation=row["id"],
                domain=row["domain"],
                elements=elements[: place[moment["after"]] + 1],
                message=moment["message"],
                classes=moment["classes"],
                protected=moment["protected"],
                corrected=moment["corrected"],
                later=moment["later"],
            )
