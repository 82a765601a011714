"""What memories are worth, for people: a table that says why, and the decay curves with the memories as dots."""

from collections.abc import Callable, Sequence

import numpy as np

from memrank.pertype import ShareOfType
from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.plot import Series, plot
from memrank.render.table import age_text
from memrank.result import utc_text
from memrank.score.importance import SCALE, decay_factor
from memrank.score.temporal import MONTH
from memrank.spec import ImportanceSpec
from memrank.text.counted import counted
from memrank.text.inert import clip
from memrank.worth import Valued

LABEL = 40
PLOT_WIDTH = 80
"""Columns of a plot that goes to no terminal, and of the widest one that goes to one."""
STEPS = 120
"""Straight pieces that a curve is drawn of."""
MARKS = "*+x#o%"
"""One a curve: those of the most common memory types are drawn."""
NAMED = 3
"""Memory types that are named beside a curve."""


def worth_table(valued: Valued, rows: Sequence[int], *, width: int | None, colour: bool) -> str:
    """The memories of these rows in this order, under the rules that were applied. No line break at the end."""
    heading = [f"as of {utc_text(valued.as_of)}", rules_text(valued.params)]
    if not len(rows):
        return "\n".join(heading)
    several = len({memory.namespace for memory in valued.memories}) > 1
    columns = [column for column in _columns(valued) if several or column.title != "namespace"]
    why: Column[int] = Column(title="why", cell=valued.why, justify="left")
    return "\n".join([*heading, "", *grid_lines(columns, why, rows, width=table_width(width), colour=colour)])


def _columns(valued: Valued) -> list[Column[int]]:
    worth, memories = valued.worth, valued.memories

    def cell(text: Callable[[int], str | None]) -> Callable[[int], str]:
        return lambda k: clip(text(k) or "-", LABEL)

    def age(k: int) -> str:
        return "no date" if memories[k].created_at is None else age_text(float(valued.months[k]) * MONTH)

    return [
        Column(title="id", cell=cell(lambda k: memories[k].id), justify="left", widest=24),
        Column(
            title="namespace", cell=cell(lambda k: memories[k].namespace), justify="left", from_width=120, widest=16
        ),
        Column(title="type", cell=cell(lambda k: memories[k].memory_type), justify="left", from_width=90, widest=14),
        Column(title="stated", cell=lambda k: f"{worth.stated[k]:.1f}", from_width=60),
        Column(title="age", cell=age, from_width=60),
        Column(title="decay", cell=lambda k: f"{worth.factor[k]:.3f}", from_width=100),
        Column(title="uses", cell=lambda k: f"{valued.uses[k]:.0f}", from_width=100),
        Column(title="boost", cell=lambda k: f"{worth.boost[k]:.1f}", from_width=100),
        Column(title="worth", cell=lambda k: f"{worth.points[k]:.2f}", style="cyan"),
        Column(title="0-1", cell=lambda k: f"{worth.points[k] / SCALE:.3f}", from_width=100),
    ]


def rules_text(params: ImportanceSpec) -> str:
    """As `exponential decay, 2 % a month (preference 0.5 %); 0.5 a use, 3 at most; from 1 to 10`."""
    decay = "no decay" if params.decay == "none" else f"{params.decay} decay, {_rates(params.rate_per_month)}"
    boost = f"{params.boost_per_use:g} a use, {params.boost_cap:g} at most" if params.boost else "uses do not count"
    return f"{decay}; {boost}; from {params.floor:g} to {params.ceiling:g}"


def _rates(rates: ShareOfType) -> str:
    named = [f"{clip(name, LABEL)} {_percent(rate)}" for name, rate in (rates.__pydantic_extra__ or {}).items()]
    return f"{_percent(rates.default)} a month" + (f" ({', '.join(named)})" if named else "")


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def worth_plot(valued: Valued, rows: list[int], *, width: int | None) -> str:
    """Worth against age: a curve for each memory type, from what is stated (the median) on, without boosts.

    Types whose curves are one share it. The memories of these rows are dots. Empty where there are none. No line break
    at the end.
    """
    if not len(rows):
        return ""
    of_type: dict[str | None, list[int]] = {}
    for k in rows:
        of_type.setdefault(valued.memories[k].memory_type, []).append(k)
    shared: dict[tuple[float, float], list[str]] = {}
    for name in sorted(of_type, key=lambda name: (-len(of_type[name]), name or "")):
        stated = float(np.median(valued.worth.stated[of_type[name]]))
        rate = valued.params.rate_per_month.of(name)
        shared.setdefault((round(stated, 2), rate), []).append(clip(name or "no type", LABEL))
    oldest = max(1.0, float(valued.months[rows].max()))
    curves = [
        _curve(valued, *of, names, oldest, mark) for (of, names), mark in zip(shared.items(), MARKS, strict=False)
    ]
    more = len(shared) - len(curves)
    left_out = f", {counted(more, 'more curve')} left out" if more else ""
    dots = list(zip(valued.months[rows].tolist(), valued.worth.points[rows].tolist(), strict=True))
    return plot(
        [
            Series(label=f"{counted(len(dots), 'memory', 'memories')}{left_out}", points=dots, mark="·", line=False),
            *curves,
        ],
        width=PLOT_WIDTH if width is None else min(width, PLOT_WIDTH),
        x_label="age in months",
        y_label="worth, of 10",
        x_range=(0.0, oldest),
        y_range=(0.0, SCALE),
    )


def _curve(valued: Valued, stated: float, rate: float, types: list[str], oldest: float, mark: str) -> Series:
    params = valued.params
    months = np.linspace(0.0, oldest, STEPS + 1)
    points = np.clip(stated * decay_factor(months * MONTH, params.decay, rate), params.floor, params.ceiling)
    falls = "no decay" if params.decay == "none" else f"{_percent(rate)} a month"
    more = [f"{len(types) - NAMED} more"] if len(types) > NAMED else []
    return Series(
        label=f"{stated:g}, {falls}: {', '.join([*types[:NAMED], *more])}",
        points=list(zip(months.tolist(), points.tolist(), strict=True)),
        mark=mark,
    )


def worth_row(valued: Valued, k: int) -> dict[str, object]:
    """A memory and what it is worth, for programs; floats are whole."""
    memory, worth = valued.memories[k], valued.worth
    undated = memory.created_at is None
    return {
        "id": memory.id,
        "namespace": memory.namespace,
        "memory_type": memory.memory_type,
        "importance": memory.importance,
        "stated": float(worth.stated[k]),
        "age_months": None if undated else float(valued.months[k]),
        "rate_per_month": float(valued.rates[k]),
        "decay_factor": float(worth.factor[k]),
        "uses": int(valued.uses[k]),
        "boost": float(worth.boost[k]),
        "superseded_by": memory.superseded_by if valued.superseded[k] else None,
        "worth": float(worth.points[k]),
        "current_importance": float(worth.points[k] / SCALE),
        "why": valued.why(k),
    }
