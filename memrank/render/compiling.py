"""Compilations as text and as JSON: what was found, whether it was taken, and what it is worth."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memrank.artifact import to_dict
from memrank.evals.report import Figure, Report, rank_of
from memrank.parameters import Number
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.terminal import Look
from memrank.text.counted import counted
from memrank.text.dates import format_duration
from memrank.text.inert import clip
from memrank.tune.compilation import Candidate, Compiled
from memrank.tune.trial import Gain

SCHEMA = "memrank.compile/1"
NAME, SHORT = 80, 4
SHOWN = ("nDCG@10", "MRR@10", "R@10", "P@3", "current_first", "stale@1", "must_not@10", "empty_ok", "MAE", "ECE")
"""Rows of the table beside the objective and the constraints; JSON holds all."""
DURATIONS = ("temporal.half_life.", "ranker.stale_after")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    before: str
    after: str
    more: str


def compile_json(found: Compiled, written: str | None) -> dict[str, Any]:
    """One JSON object, `memrank.compile/1`; `written` is the artifact's path. What cannot be told (NaN) is null."""
    before, after = found.shown
    return {
        "schema": SCHEMA,
        "spec": found.spec.name,
        "evalset": found.evalset,
        "accepted": found.accepted,
        "result": "improved" if found.accepted else "no improvement found",
        "why": found.why,
        "objective": dict(found.section.weights),
        "constraints": {name: one.model_dump() for name, one in found.section.constraints.items()},
        "optimizer": found.section.optimizer,
        "seed": found.section.seed,
        "parts": {
            "how": found.parts.how,
            "folds": len(found.parts.folds),
            **{name: len(getattr(found.parts, name)) for name in ("fit", "choose", "report")},
        },
        "parameters": {
            path: {"before": found.before[path], "after": found.after[path]} for path in sorted(found.before)
        },
        "old": _candidate(found.start),
        "candidates": [_candidate(one) for one in found.candidates],
        "search": {
            "evaluations": found.found.evaluations,
            "stopped": found.found.stopped,
            "history": [asdict(step) for step in found.found.history],
        },
        "sensitivity": [_told(asdict(one)) for one in found.sensitivity],
        "learning": [_told(asdict(one)) for one in found.learning],
        "leaks": [str(one) for one in found.leaks],
        "notes": list(found.notes),
        "measured_on": before.part,
        "before": _figures(before),
        "after": _figures(after),
        "gain": None if found.gain is None else _told(asdict(found.gain)),
        "report_reads": found.report_reads,
        "out": written,
        "artifact": None if found.artifact is None else to_dict(found.artifact),
    }


def compile_text(found: Compiled, look: Look) -> str:
    """The answer first, then what was changed, then the metrics before and after."""
    lines = [*heading(found), ""]
    values = changed(found)
    if values:
        importance = {one.path: f"{one.importance:+.4f}" for one in found.sensitivity}
        rows = [
            _Row(name=path, before=value_text(path, was), after=value_text(path, now), more=importance.get(path, ""))
            for path, (was, now) in values.items()
        ]
        what = "parameter" if found.accepted else "found, not taken"
        lines += [*_grid(rows, look, (what, "before", "after", "worth")), ""]
    before, after = found.shown
    pairs = {name: (before.figures[name], after.figures[name]) for name in shown(found)}
    metrics = [
        _Row(name=name, before=_figure(was), after=_figure(now), more=f"n {now.n}")
        for name, (was, now) in pairs.items()
    ]
    return "\n".join([*lines, *_grid(metrics, look, (f"on {before.part}", "before", "after", ""))])


def heading(found: Compiled) -> list[str]:
    """What came of it, on what: a sentence a line."""
    parts = found.parts
    sizes = f"{len(parts.fit)} fit, {len(parts.choose)} choose, {len(parts.report)} report"
    chosen = f"; chosen by in {len(parts.folds)} nested folds of fit and choose" if parts.folds else ""
    answer = "improved" if found.accepted else "no improvement found; the old settings stay"
    head = [
        f"{found.spec.name} on {clip(found.evalset, NAME)}: {answer}",
        found.why,
        f"queries: {sizes}{chosen} ({parts.how})",
        f"search: {counted(found.found.evaluations, 'setting')} tried"
        f"{', stopped early' if found.found.stopped else ''}; {_fitted(found)}",
    ]
    if found.gain is not None:
        head.append(f"on the report part, {_read(found.report_reads)}: {gain_text(found.gain)}")
    else:
        head.append("the report part was not read; figures are of what was chosen by")
    return head


def shown(found: Compiled) -> list[str]:
    """The metrics that people are shown, of those that there are."""
    first = dict.fromkeys((*found.section.weights, *found.section.constraints))
    rest = sorted((name for name in SHOWN if name not in first), key=rank_of)
    both = [one.figures for one in found.shown]
    return [name for name in (*first, *rest) if all(name in figures for figures in both)]


def changed(found: Compiled) -> dict[str, tuple[Number, Number]]:
    """Path to its value before and after, of what differs."""
    return {path: (was, found.after[path]) for path, was in found.before.items() if found.after[path] != was}


def value_text(path: str, value: Number) -> str:
    """A value as people read it: durations with their unit."""
    if isinstance(value, str):
        return clip(value, NAME)
    return duration_text(value) if path.startswith(DURATIONS) else f"{value:.4g}"


def duration_text(seconds: float) -> str:
    """In the unit that suits it: exact where that is short, else with three digits."""
    exact = format_duration(seconds)
    if len(exact) <= SHORT:
        return exact
    size, unit = next((pair for pair in ((86400.0, "d"), (3600.0, "h"), (60.0, "m")) if seconds >= pair[0]), (1.0, "s"))
    return f"{seconds / size:.3g}{unit}"


def gain_text(gain: Gain) -> str:
    """A difference with its interval."""
    if math.isnan(gain.low):
        return f"{gain.difference:+.4f} (no interval: one group)"
    return f"{gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}] over {gain.n} queries in {gain.groups} groups"


def _fitted(found: Compiled) -> str:
    first, best = found.found.history[0], found.found.best
    return f"objective on what was searched {first.objective:.4f} becomes {best.objective:.4f}"


def _read(times: int) -> str:
    return "read once" if times == 1 else f"read {times} times by now"


def _figure(figure: Figure) -> str:
    if math.isnan(figure.low):
        return f"{figure.value:.4f}"
    return f"{figure.value:.4f} [{figure.low:.4f}, {figure.high:.4f}]"


def _grid(rows: list[_Row], look: Look, titles: tuple[str, str, str, str]) -> list[str]:
    columns: list[Column[_Row]] = [
        Column(title=titles[0], cell=lambda row: row.name, justify="left"),
        Column(title=titles[1], cell=lambda row: row.before),
        Column(title=titles[2], cell=lambda row: row.after, style="bold"),
    ]
    text: Column[_Row] = Column(title=titles[3], cell=lambda row: row.more, justify="left")
    return grid_lines(columns, text, rows, width=table_width(look.width), colour=look.colour)


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "values": dict(sorted(one.values.items())),
        "objective": None if math.isnan(one.objective) else one.objective,
        "gain": None if one.gain is None else _told(asdict(one.gain)),
        "missed": [_told({**asdict(miss), "by": miss.by}) for miss in one.missed],
    }


def _figures(report: Report) -> dict[str, dict[str, Any]]:
    return {name: _told(asdict(figure)) for name, figure in report.figures.items()}


def _told(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(one, float) and not math.isfinite(one) else one for key, one in values.items()}
