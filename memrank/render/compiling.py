"""What compiling found, as text and as JSON; and what two artifacts, or two versions of one, differ in."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from memrank.artifact import Artifact, to_dict
from memrank.evals.measure import lower_is_better
from memrank.evals.report import Figure, Report
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.score.intervals import Difference
from memrank.text.counted import counted
from memrank.text.dates import format_duration
from memrank.text.inert import clip
from memrank.tune.compiler import Compiled

SCHEMA = "memrank.compilation/1"
DIFF_SCHEMA = "memrank.artifact-diff/1"
SHOWN = ("nDCG@10", "R@10", "P@3", "MRR@10", "current_first", "stale@1", "MAE", "ECE", "empty_ok", "must_not@10")
"""Rows of the table beside those of the objective and the constraints; JSON holds all."""
LONG = ("half_life", "stale_after")
"""What is a duration, in seconds."""
ABSENT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    cells: tuple[str, ...]


def compilation_json(made: Compiled, path: str | None) -> dict[str, Any]:
    """One JSON object; `path` is where the artifact was written, None where none was. What cannot be told is null."""
    found = made.found
    return {
        "schema": SCHEMA,
        "spec": made.spec.name,
        "evalset": made.evalset,
        "accepted": made.accepted,
        "why": made.why,
        "objective": dict(made.objective),
        "parts": {
            **{name: len(getattr(made.parts, name)) for name in ("fit", "choose", "report")},
            "drawn": made.parts.drawn,
        },
        "changes": {name: {"before": then, "after": now} for name, (then, now) in made.changes.items()},
        "search": {
            "evaluations": found.evaluations,
            "stopped": found.stopped,
            "seconds": found.seconds,
            "history": [
                {"evaluations": one.evaluations, "what": one.what, "objective": one.objective, "missed": one.violation}
                for one in found.history
                if math.isfinite(one.objective)
            ],
        },
        "trials": [
            {"objective": one.objective, "gain": _difference(one.gain), "missed": dict(one.missed)}
            for one in made.trials
        ],
        "report": {
            "before": _figures(made.before),
            "after": _figures(made.after),
            "gain": _difference(made.gain),
        },
        "suspicious": list(made.suspicious),
        "out": path,
        "artifact": None if made.artifact is None else to_dict(made.artifact),
    }


def compilation_text(made: Compiled, look: Look) -> str:
    """What was searched and decided, what changes, and the held-out part before and after."""
    parts, found = made.parts, made.found
    sizes = ", ".join(f"{name} {len(getattr(parts, name))}" for name in ("fit", "choose", "report"))
    lines = [
        f"{made.evalset}: {' and '.join(made.objective)} raised by {counted(found.evaluations, 'setting')} "
        f"in {found.seconds:.1f} s{', stopped early' if found.stopped else ''}",
        f"queries by part: {sizes}{'; drawn by group, since the set names no parts' if parts.drawn else ''}",
        made.why,
    ]
    if made.suspicious:
        lines.append(f"suspicious: {', '.join(made.suspicious)} tell what is relevant without fail; is this a test?")
    if made.changes:
        rows = [
            _Row(name=name, cells=(value_text(name, then), value_text(name, now)))
            for name, (then, now) in made.changes.items()
        ]
        lines += ["", *_table("setting", ("before", "after"), rows, look)]
    wanted = dict.fromkeys((*made.objective, *SHOWN))
    names = [name for name in wanted if name in made.before.figures]
    rows = [
        _Row(name=f"{name}{' ↓' if lower_is_better(name) else ''}", cells=_before_after(made, name)) for name in names
    ]
    lines += ["", f"held-out part ({counted(len(parts.report), 'query', 'queries')}), read once:", ""]
    lines += _table("metric", ("before", "after") if made.changes else ("as it is",), rows, look)
    if made.changes:
        lines += ["", f"gain of the objective there: {_told(made.gain)}"]
    return "\n".join(lines)


def artifact_text(artifact: Artifact) -> str:
    """What an artifact holds, a line a value."""
    lines = [f"{artifact.name}: seed {artifact.seed}"]
    lines += [f"made with {name} {version}" for name, version in artifact.versions.items()]
    lines += [f"{name}: {clip(value, 200)}" for name, value in artifact.data.items()]
    for name, value in _flat(artifact).items():
        lines.append(f"{clip(name, 100)} = {value_text(name, value)}")
    return "\n".join(lines)


def artifact_differences(one: Artifact, other: Artifact) -> dict[str, tuple[str | None, str | None]]:
    """Name of each thing that differs to both sides, as text; None where a side lacks it. Metrics last."""
    sides = [
        {
            "spec": artifact.spec,
            "seed": str(artifact.seed),
            **{f"versions.{name}": value for name, value in artifact.versions.items()},
            **{f"data.{name}": value for name, value in artifact.data.items()},
            **{name: value_text(name, value) for name, value in _flat(artifact).items()},
            **{
                f"metrics.{part}.{name}": f"{value:.4f}"
                for part, values in artifact.metrics.items()
                if part in ("before", "after")
                for name, value in values.items()
            },
        }
        for artifact in (one, other)
    ]
    names = dict.fromkeys((*sides[0], *sides[1]))
    found = {name: (sides[0].get(name), sides[1].get(name)) for name in names}
    return {name: pair for name, pair in found.items() if pair[0] != pair[1]}


def difference_text(found: Mapping[str, tuple[str | None, str | None]], names: tuple[str, str], look: Look) -> str:
    """A line a difference, both sides beside each other."""
    if not found:
        return "the same"
    rows = [
        _Row(name=clip(name, 60), cells=tuple(ABSENT if side is None else clip(side, 60) for side in pair))
        for name, pair in found.items()
    ]
    return "\n".join(_table("what", names, rows, look))


def value_text(path: str, value: object) -> str:
    """A value as people write it: durations with their unit."""
    if isinstance(value, float) and any(name in path for name in LONG):
        return format_duration(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return ", ".join(f"{one:.4g}" for one in value[:8]) + (", ..." if len(value) > 8 else "")
    return clip(str(value), 120)


def _flat(artifact: Artifact) -> dict[str, object]:
    return {
        (field if name == "parameters" else f"{name}.{field}"): value
        for name, state in artifact.state.items()
        for field, value in state.values.items()
    }


def _table(first: str, titles: tuple[str, ...], rows: list[_Row], look: Look) -> list[str]:
    columns: list[Column[_Row]] = [Column(title=first, cell=lambda row: row.name, justify="left")]
    columns += [
        Column(title=clip(title, 40), cell=partial(_cell, k), justify="left", style="bold" if k else "")
        for k, title in enumerate(titles)
    ]
    return grid_lines(columns[:-1], columns[-1], rows, width=table_width(look.width), colour=look.colour)


def _cell(place: int, row: _Row) -> str:
    return row.cells[place]


def _before_after(made: Compiled, name: str) -> tuple[str, ...]:
    before, after = made.before.figures[name], made.after.figures.get(name)
    if not made.changes:
        return (_figure(before),)
    return _figure(before), ABSENT if after is None else _figure(after)


def _figure(one: Figure) -> str:
    if math.isnan(one.low):
        return f"{one.value:.3f}"
    return f"{one.value:.3f} [{one.low:.2f}, {one.high:.2f}]"


def _told(one: Difference) -> str:
    return f"{one.mean:+.4f}" if math.isnan(one.low) else f"{one.mean:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"


def _difference(one: Difference) -> dict[str, float | int | None]:
    told = {"mean": one.mean, "low": one.low, "high": one.high}
    return {**{name: None if math.isnan(value) else value for name, value in told.items()}, "n": one.n}


def _figures(report: Report) -> dict[str, dict[str, float | int | None]]:
    def plain(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        name: {"value": plain(one.value), "low": plain(one.low), "high": plain(one.high), "n": one.n}
        for name, one in report.figures.items()
    }
