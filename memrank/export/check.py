"""Whether an export says what memrank computes: both evaluated over sample points."""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

import numpy as np

from memrank.export.engines import elasticsearch, qdrant
from memrank.export.engines.point import Held, Point, double, single
from memrank.export.fields import AS_OF, Fields, moment_text
from memrank.export.formula import Formula
from memrank.halflives import curve
from memrank.score import fuse, importance, temporal
from memrank.spec import RankerSpec, Spec, TemporalSpec
from memrank.types import Bools, Floats

Format = Literal["elasticsearch", "qdrant", "sql"]
SAMPLE_AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
"""What now means where a query leaves it open."""
TOLERANCE = 1e-9
"""Scores that lie closer are the same."""
CENTURY = 36525 * temporal.DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far an export is from memrank."""

    points: int
    excluded: int
    """Points that both leave out."""
    difference: float
    """The largest between two scores, by the formula."""
    disagreed: int
    """Points that only one of the two leaves out."""
    single: float | None
    """The largest difference as the engine holds numbers, in single precision; None: it holds doubles."""
    at_the_edge: int
    """Points that rounding to single precision carries over a threshold."""

    @property
    def agreed(self) -> bool:
        """Whether the formula is that of memrank."""
        return self.disagreed == 0 and self.difference <= TOLERANCE


def ours(spec: Spec, formula: Formula, points: Sequence[Point], as_of: datetime) -> tuple[Floats, Bools]:
    """The raw score of each point by the kernels of memrank and the settings of the spec; whether it is left out."""
    params = next(stage for stage in spec.stages if isinstance(stage, TemporalSpec))
    ranker = next(stage for stage in spec.stages if isinstance(stage, RankerSpec))
    now = as_of.timestamp()
    when = _column([point.effective_at for point in points])
    dated = ~np.isnan(when)
    age = np.where(dated, np.maximum(0.0, now - when), 0.0)
    relevance = _column([point.relevance for point in points])
    parts = {"relevance": relevance, "importance": _importance(ranker, points, now)}
    parts["authority"] = _column([0.5 if point.authority is None else point.authority for point in points])
    if formula.sensitivity == "time-agnostic":
        parts["freshness"] = np.ones_like(age)
    else:
        undated = 0.5 if params.undated == "neutral" else 0.0
        if formula.sensitivity == "real-time":
            half_life = params.real_time_half_life or params.real_time_window / 4
            fresh = temporal.real_time(age, half_life, params.real_time_window)
        else:
            fresh = _kernel(params, points, temporal.graced(age, params.offset))
        parts["freshness"] = np.where(dated, fresh, undated)
    if ranker.combine == "bounded" and ranker.alphas is not None:
        raw = fuse.bounded(relevance, parts, {name: alpha for name, alpha in ranker.alphas if alpha})
    else:
        raw = fuse.weighted(parts, {name: weight for name, weight in ranker.weights if weight})
    out = (relevance < ranker.relevance_threshold) | (raw < ranker.min_score)
    if ranker.stale_after is not None and formula.sensitivity != "time-agnostic":
        out |= dated & (age > ranker.stale_after)
    return raw, out


def _kernel(params: TemporalSpec, points: Sequence[Point], age: Floats) -> Floats:
    def of(values: Any) -> Floats:
        return np.array([values.of(point.memory_type) if values else np.nan for point in points], dtype=np.float64)

    return curve(params, age, of)


def _importance(ranker: RankerSpec, points: Sequence[Point], now: float) -> Floats:
    params = ranker.importance
    created = _column([point.created_at for point in points])
    return (
        importance.worth(
            _column([point.importance for point in points]),
            np.where(np.isnan(created), 0.0, np.maximum(0.0, now - created)),
            np.array([point.uses or 0 for point in points], dtype=np.float64),
            np.zeros(len(points), dtype=np.bool_),
            decay=params.decay,
            rate_per_month=np.array([params.rate_per_month.of(point.memory_type) for point in points]),
            boost_per_use=params.boost_per_use if params.boost else 0.0,
            boost_cap=params.boost_cap,
            floor=params.floor,
            ceiling=params.ceiling,
        ).points
        / importance.SCALE
    )


def _column(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def sample(formula: Formula, as_of: datetime) -> list[Point]:
    """Points at, beside and far from every place where the formula bends, of each memory type, and undated ones."""
    curve, now = formula.curve, as_of.timestamp()
    types = sorted({*curve.size.named, *(formula.worth.rate.named if formula.worth else ())})
    sizes = {curve.size.default, *curve.size.named.values()}
    bends = {0.0, curve.offset, *(curve.offset + size * share for size in sizes for share in (0.5, 1.0, 2.0, 10.0))}
    bends |= {bend for bend in (curve.cutoff, formula.stale_after) if bend is not None}
    bends |= {-temporal.DAY, CENTURY, 10 * CENTURY}
    seconds = {whole + step for bend in bends for whole in [math.floor(bend)] for step in (-1, 0, 1)}
    ages = sorted(age for age in seconds if -temporal.DAY <= age <= 10 * CENTURY)
    times: list[float | None] = [None, *(now - age for age in ages)]
    threshold = formula.relevance_threshold
    relevances = sorted({0.0, threshold / 2, threshold, (1 + threshold) / 2, 0.3, 1.0})
    kinds: list[str | None] = [None, "memrank-other", *types]
    # Beside age, type and relevance the other fields take turns, in cycles of lengths that have no factor in common.
    created = itertools.cycle([None, *(now - month * temporal.MONTH for month in (-1, 0, 0.5, 6, 60, 600, 3))])
    stated = itertools.cycle([None, 0.0, 0.1, 0.5, 1.0])
    uses = itertools.cycle([None, 0, 1, 3, 5, 7, 1000, 2, 4, 6, 10])
    authority = itertools.cycle([None, 0.0, 0.5, 0.25, 0.75, 0.9, 1.0])
    return [
        Point(
            relevance=relevance,
            effective_at=when,
            memory_type=kind,
            created_at=next(created),
            importance=next(stated),
            uses=next(uses),
            authority=next(authority),
        )
        for when, kind, relevance in itertools.product(times, kinds, relevances)
    ]


def evaluated(
    to: Format, text: str, points: Sequence[Point], fields: Fields, as_of: datetime, held: Held = double
) -> list[float | None]:
    """The score of each point by an exported text, None where it is left out."""
    if to == "sql":
        return _by_sql(text, points, fields, as_of)
    body = json.loads(text.replace(AS_OF, moment_text(as_of)))
    run = elasticsearch.searched if to == "elasticsearch" else qdrant.queried
    return [run(body, point, fields, held) for point in points]


def _by_sql(text: str, points: Sequence[Point], fields: Fields, as_of: datetime) -> list[float | None]:
    from memrank.stores.scratch import one_by_one

    names = (fields.id, fields.relevance, fields.effective_at, fields.created_at, fields.memory_type)
    columns = tuple(dict.fromkeys((*names, fields.importance, fields.uses, fields.authority)))
    rows = [_row(k, point, fields) for k, point in enumerate(points)]
    cells = [[row[column] for column in columns] for row in rows]
    found = one_by_one(text, fields.table, columns, cells, {"as_of": as_of.timestamp()})
    return [cast("float", answer[0][1]) if answer else None for answer in found]


def _row(k: int, point: Point, fields: Fields) -> dict[str, str | int | float | None]:
    return {
        fields.id: k,
        fields.relevance: point.relevance,
        fields.created_at: point.created_at,
        fields.effective_at: point.effective_at,
        fields.memory_type: point.memory_type,
        fields.importance: point.importance,
        fields.uses: point.uses,
        fields.authority: point.authority,
    }


def agreement(spec: Spec, formula: Formula, to: Format, text: str, fields: Fields, as_of: datetime | None) -> Agreement:
    """How far an exported text is from memrank, over `sample` points."""
    now = as_of or SAMPLE_AS_OF
    points = sample(formula, now)
    if fields.created_at == fields.effective_at:
        points = [replace(point, created_at=point.effective_at) for point in points]
    raw, out = ours(spec, formula, points, now)
    theirs = evaluated(to, text, points, fields, now)
    single_precision, at_the_edge = None, 0
    if to != "sql":
        rounded = evaluated(to, text, points, fields, now, single)
        single_precision, at_the_edge = _apart(raw, out, rounded)
    difference, disagreed = _apart(raw, out, theirs)
    both = sum(score is None and gone for score, gone in zip(theirs, out.tolist(), strict=True))
    return Agreement(
        points=len(points),
        excluded=both,
        difference=difference,
        disagreed=disagreed,
        single=single_precision,
        at_the_edge=at_the_edge,
    )


def _apart(raw: Floats, out: Bools, theirs: Sequence[float | None]) -> tuple[float, int]:
    """The largest difference where both score, and how many points only one of the two leaves out."""
    largest, disagreed = 0.0, 0
    for own, gone, other in zip(raw.tolist(), out.tolist(), theirs, strict=True):
        if other is None or gone:
            disagreed += (other is None) != gone
        else:
            largest = max(largest, abs(own - other))
    return largest, disagreed
