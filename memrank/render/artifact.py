"""Artifacts as text and as JSON, alone and side by side. What a model was told is untrusted text, and made inert."""

import difflib
from dataclasses import asdict, dataclass
from typing import Any

from memrank.artifact import Artifact, Measured, Value
from memrank.artifactdiff import ArtifactDiff, Entry
from memrank.render.compiling import value_text
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.text.inert import clip

SCHEMA = "memrank.artifactdiff/1"
CELL, NAME, LINE = 44, 60, 400
LONG = 40
"""Characters from which texts are told apart line by line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    first: str
    second: str


def artifact_text(artifact: Artifact, look: Look) -> str:
    """What it was made for and on, its values, its metrics."""
    data = artifact.data
    lines = [
        f"{clip(artifact.name, NAME)}: seed {artifact.seed}",
        *(f"{clip(name, NAME)}: {clip(value, LINE)}" for name, value in (*data.items(), *artifact.versions.items())),
    ]
    for name, state in artifact.state.items():
        rows = [
            _Row(name=clip(key, NAME), first=value_cell(key, value), second="") for key, value in state.values.items()
        ]
        lines += ["", clip(name, NAME), *_grid(rows, look, ("name", "value", ""))]
    before, after = (artifact.metrics.get(side, {}) for side in ("before", "after"))
    metrics = [
        _Row(name=clip(key, NAME), first=_cell(key, before.get(key)), second=_cell(key, after.get(key)))
        for key in dict.fromkeys((*before, *after))
    ]
    return "\n".join([*lines, "", *_grid(metrics, look, ("metric", "before", "after"))])


def diff_json(found: ArtifactDiff) -> dict[str, Any]:
    """One JSON object, `memrank.artifactdiff/1`."""
    return {
        "schema": SCHEMA,
        "first": found.first,
        "second": found.second,
        "differ": bool(found.entries),
        "entries": [
            {"section": one.section, "name": one.name, "first": _plain(one.first), "second": _plain(one.second)}
            for one in found.entries
        ],
    }


def diff_text(found: ArtifactDiff, look: Look) -> str:
    """A table a section; long texts line by line, as `diff` shows them."""
    if not found.entries:
        return "the artifacts are the same"
    lines: list[str] = []
    for section in dict.fromkeys(one.section for one in found.entries):
        mine = [one for one in found.entries if one.section == section]
        short = [one for one in mine if not _is_long(one)]
        rows = [
            _Row(name=clip(one.name, NAME), first=_cell(one.name, one.first), second=_cell(one.name, one.second))
            for one in short
        ]
        lines += [*([""] if lines else []), section]
        lines += _grid(rows, look, ("name", "A", "B")) if rows else []
        for one in mine:
            if _is_long(one):
                lines += [f"{clip(one.name, NAME)}:", *_lines(one)]
    return "\n".join(lines)


def value_cell(name: str, value: Value) -> str:
    """A value in a cell: lists by their length and ends."""
    if isinstance(value, tuple):
        return "none" if not value else f"{len(value)} numbers, {value[0]:.4g} to {value[-1]:.4g}"
    return clip(value, CELL) if isinstance(value, str) else value_text(name, value)


def _is_long(one: Entry) -> bool:
    return any(isinstance(side, str) and (len(side) > LONG or "\n" in side) for side in (one.first, one.second))


def _lines(one: Entry) -> list[str]:
    a, b = (side.split("\n") if isinstance(side, str) else [] for side in (one.first, one.second))
    told = list(difflib.unified_diff(a, b, lineterm="", n=1))[2:]
    return [f"  {clip(line, LINE)}" for line in told if not line.startswith("@@")]


def _cell(name: str, value: Value | Measured | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, Measured):
        told = "" if value.low is None or value.high is None else f" [{value.low:.4f}, {value.high:.4f}]"
        return f"{value.value:.4f}{told}"
    return value_cell(name, value)


def _plain(value: Value | Measured | None) -> Any:
    if isinstance(value, Measured):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value


def _grid(rows: list[_Row], look: Look, titles: tuple[str, str, str]) -> list[str]:
    columns: list[Column[_Row]] = [
        Column(title=titles[0], cell=lambda row: row.name, justify="left"),
        Column(title=titles[1], cell=lambda row: row.first),
    ]
    last: Column[_Row] = Column(title=titles[2], cell=lambda row: row.second, justify="left")
    return grid_lines(columns, last, rows, width=table_width(look.width), colour=look.colour)
