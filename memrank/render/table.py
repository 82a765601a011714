"""The answer as a table for people: aligned columns and no drawn lines, the same on a terminal and in a pipe."""

from collections import Counter
from collections.abc import Callable

from memrank.render.grid import Column, grid_lines, table_width
from memrank.render.heading import heading_lines
from memrank.result import Item, Result
from memrank.score.temporal import DAY, HOUR, MONTH
from memrank.slate import REASONS
from memrank.spec import PrunerSpec, Spec
from memrank.text.inert import clip

CONTENT = 300
LABEL = 40

_AGES = (
    (365 * DAY, 365 * DAY, "y"),
    (2 * MONTH, MONTH, "mo"),
    (DAY, DAY, "d"),
    (HOUR, HOUR, "h"),
    (60.0, 60.0, "min"),
)
"""From this age on, in units of so many seconds, named so."""


def age_text(seconds: float) -> str:
    """Whole units that have passed, in the largest that fits: `40 s`, `5 min`, `3 h`, `2 d`, `7 mo`, `2 y`."""
    for least, size, unit in _AGES:
        if seconds >= least:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def _age(item: Item) -> str:
    if item.age_seconds is None:
        return "no date"
    return "future" if "future_date" in item.flags else age_text(item.age_seconds)


def _flags(item: Item) -> str:
    """Flags that the age does not already tell."""
    own = [flag for flag in item.flags if flag not in ("no_date", "future_date")]
    if item.stale_flag and "stale" not in own:
        own.append("stale_flag")
    return ", ".join(own)


def _part(name: str) -> Callable[[Item], str]:
    return lambda item: f"{item.scores[name]:.3f}"


_COLUMNS: tuple[Column[Item], ...] = (
    Column(title="rank", cell=lambda item: str(item.rank), style="bold"),
    Column(title="score", cell=lambda item: f"{item.score:.3f}", style="cyan"),
    Column(title="relevance", cell=_part("relevance"), from_width=60),
    Column(title="freshness", cell=_part("freshness"), from_width=70),
    Column(title="importance", cell=_part("importance"), from_width=90),
    Column(title="age", cell=_age, from_width=50),
    Column(
        title="type", cell=lambda item: clip(item.memory_type or "-", LABEL), justify="left", from_width=100, widest=14
    ),
    Column(title="action", cell=lambda item: item.action or "-", justify="left", from_width=80),
    Column(title="id", cell=lambda item: clip(item.id, LABEL), justify="left", from_width=120, widest=24),
    Column(title="flags", cell=_flags, justify="left", from_width=80, style="yellow", widest=24),
)
_TEXT: Column[Item] = Column(title="content", cell=lambda item: clip(item.content, CONTENT), justify="left")


def table_text(result: Result, spec: Spec, *, width: int | None = None, colour: bool = False) -> str:
    """What was asked, the results as a table, what was left out and why. No line break at the end.

    `width` is that of the terminal; without one the table has 160 columns, whatever the environment says. Narrow tables
    leave out the less important columns. Text of memories is never read as markup, and nothing of it reaches the
    terminal that could steer it.
    """
    width = table_width(width)
    blocks = [heading_lines(result)]
    if result.results:
        blocks.append(_table(result.results, width, colour))
    blocks.append(_footer(result, spec))
    return "\n\n".join("\n".join(block) for block in blocks)


def _table(items: tuple[Item, ...], width: int, colour: bool) -> list[str]:
    columns = [column for column in _COLUMNS if column.title != "flags" or any(map(_flags, items))]
    return grid_lines(columns, _TEXT, items, width=width, colour=colour)


def _footer(result: Result, spec: Spec) -> list[str]:
    meta = result.meta
    counts = Counter(item.reason for item in result.excluded)
    reasons = ", ".join(f"{counts[reason]} {reason}" for reason in REASONS if counts[reason])
    lines = [
        f"returned {meta.returned_count} of {meta.total_candidates}, excluded {meta.excluded_count}"
        + (f": {reasons}" if reasons else ""),
        f"stale {meta.stale_count}; {_tokens(result, spec)}",
    ]
    if meta.review_reasons:
        lines.append(f"needs review: {', '.join(meta.review_reasons)}")
    return lines


def _tokens(result: Result, spec: Spec) -> str:
    kept = f"tokens {sum(item.tokens for item in result.results)}"
    if not result.pruned:
        return f"{kept}, no budget applied"
    budget = next((stage.max_tokens for stage in spec.stages if isinstance(stage, PrunerSpec)), None)
    return f"{kept} of {budget if result.max_tokens is None else result.max_tokens}"
