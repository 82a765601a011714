"""What every export says in its own words: how a spec scores one memory, without anything of the engine that does.

One formula is for queries of one temporal sensitivity: relevance comes from the engine, the rest from the fields of
the memory. What memrank does beyond a formula over one memory is told in `remarks`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from memrank.errors import UsageError
from memrank.pertype import PerType, ShareOfType
from memrank.score.temporal import half_life_of_rate
from memrank.spec import PrefilterSpec, RankerSpec, Spec, TemporalSpec

Shape = Literal["exponential", "linear", "gaussian", "power", "weibull", "cliff", "none"]
Exported = Literal["recent", "real-time", "time-agnostic"]
EXPORTED: tuple[Exported, ...] = ("recent", "real-time", "time-agnostic")
"""The sensitivities whose freshness depends on the memory and on `as_of` alone."""

NEUTRAL = 0.5
POOL = 100
"""Candidates that an engine hands over where the spec does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByType:
    """A number for each memory type that is named, and one for all others and for memories without a type."""

    default: float
    named: Mapping[str, float]

    def of(self, memory_type: str | None) -> float:
        """The number for this memory type."""
        return self.default if memory_type is None else self.named.get(memory_type, self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Freshness by age: floor + (1 - floor) k(max(0, age - offset)), as `score.temporal` defines each k."""

    shape: Shape
    size: ByType
    """Seconds: half-life, window or scale, by the shape; unused for `none`."""
    power: float
    """p of `power`, beta of `weibull`; 1 for the others."""
    offset: float
    """Seconds of grace."""
    floor: float
    cutoff: float | None
    """Seconds of age beyond which freshness is exactly 0; None: there is no such age."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """Importance from 0 to 1, as `score.importance` defines it."""

    decay: Literal["exponential", "linear", "none"]
    rate: ByType
    """Share lost in a month of 30 days."""
    boost_per_use: float
    """Points of 10."""
    boost_cap: float
    floor: float
    ceiling: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """How a memory is scored, and when it is left out."""

    name: str
    sensitivity: Exported
    curve: Curve
    undated: float
    """Freshness of a memory without a date."""
    combine: Literal["weighted", "bounded"]
    factors: Mapping[str, float]
    """Weights of the parts, or alphas of those beside relevance; none that is 0."""
    worth: Worth | None
    """None: importance does not count."""
    relevance_threshold: float
    stale_after: float | None
    """Seconds of age; None: nothing is stale."""
    min_score: float
    top_k: int | None
    pool: int
    remarks: tuple[str, ...]
    """What memrank does and this does not, one line each."""

    @property
    def capped(self) -> bool:
        """Whether the composite can exceed 1, where it is cut off."""
        if self.combine == "weighted":
            return sum(self.factors.values()) > 1.0
        return bool(self.factors)


def formula_of(spec: Spec, sensitivity: str | None = None) -> Formula:
    """The formula of a spec, its artifact applied, for queries of one sensitivity.

    Left out, it is the spec's, and `recent` for `auto`. Raises UsageError for what no such formula can say.
    """
    temporal = next((stage for stage in spec.stages if isinstance(stage, TemporalSpec)), None)
    ranker = next((stage for stage in spec.stages if isinstance(stage, RankerSpec)), None)
    if temporal is None or ranker is None:
        raise UsageError(f"{spec.name}: there is nothing to export", hint="a spec with temporal.v1 and ranker.v1")
    asked = sensitivity or (str(temporal.sensitivity) if temporal.sensitivity != "auto" else "recent")
    exported = next((one for one in EXPORTED if one == asked), None)
    if exported is None:
        raise UsageError(
            f"freshness of a query that is {asked} depends on the period that it names, which no formula knows",
            hint=f"--sensitivity {' or '.join(EXPORTED)}",
        )
    factors = ranker.alphas if ranker.combine == "bounded" and ranker.alphas is not None else ranker.weights
    counted = {name: float(value) for name, value in factors if value}
    stale = ranker.stale_after if exported != "time-agnostic" else None
    prefilter = next((stage for stage in spec.stages if isinstance(stage, PrefilterSpec)), None)
    ageless = exported == "time-agnostic"
    return Formula(
        name=spec.name,
        sensitivity=exported,
        curve=_curve(temporal, exported),
        undated=1.0 if ageless else NEUTRAL if temporal.undated == "neutral" else 0.0,
        combine=ranker.combine,
        factors=counted,
        worth=_worth(ranker) if "importance" in counted else None,
        relevance_threshold=ranker.relevance_threshold,
        stale_after=stale,
        min_score=ranker.min_score,
        top_k=ranker.top_k,
        pool=POOL if prefilter is None else prefilter.top_k,
        remarks=tuple(_remarks(spec, temporal, ranker, exported, sensitivity)),
    )


def _curve(params: TemporalSpec, sensitivity: Exported) -> Curve:
    nothing = ByType(default=1.0, named={})
    if sensitivity == "time-agnostic":
        return Curve(shape="none", size=nothing, power=1.0, offset=0.0, floor=0.0, cutoff=None)
    if sensitivity == "real-time":
        half_life = ByType(default=params.real_time_half_life or params.real_time_window / 4, named={})
        window = params.real_time_window
        return Curve(shape="exponential", size=half_life, power=1.0, offset=0.0, floor=0.0, cutoff=window)
    shape: Shape = params.kernel
    size, power = nothing, 1.0
    match params.kernel:
        case "exponential" if params.rate_per_hour is not None:
            size = ByType(default=half_life_of_rate(params.rate_per_hour), named={})
        case "exponential" | "gaussian":
            size = _sizes(params.half_life)
        case "weibull":
            size, power = _sizes(params.half_life), params.beta or 1.0
            # The curves that engines have of their own are special cases of it.
            shape = "exponential" if power == 1.0 else "gaussian" if power == 2.0 else "weibull"
        case "power":
            size, power = _sizes(params.scale), params.p or 1.0
        case "linear" | "cliff":
            size = _sizes(params.window)
        case "none":
            size = nothing
    return Curve(shape=shape, size=size, power=power, offset=params.offset, floor=params.floor, cutoff=None)


def _sizes(values: PerType | ShareOfType | None) -> ByType:
    if values is None:
        return ByType(default=1.0, named={})
    named = values.__pydantic_extra__ or {}
    return ByType(default=float(values.default), named={name: float(value) for name, value in sorted(named.items())})


def _worth(ranker: RankerSpec) -> Worth:
    params = ranker.importance
    return Worth(
        decay=params.decay,
        rate=_sizes(params.rate_per_month),
        boost_per_use=params.boost_per_use if params.boost else 0.0,
        boost_cap=params.boost_cap,
        floor=params.floor,
        ceiling=params.ceiling,
    )


def _remarks(
    spec: Spec, temporal: TemporalSpec, ranker: RankerSpec, exported: Exported, given: str | None
) -> Iterable[str]:
    yield "relevance is the engine's own score from 0 to 1: the judge of memrank cannot run there"
    if ranker.calibration is not None:
        yield "the calibration is of memrank's judge, and is left out"
    if temporal.sensitivity == "auto":
        chosen = "" if given is not None else " (--sensitivity chooses)"
        yield f"for queries that are {exported}{chosen}: memrank reads from each query how much age matters"
    if temporal.judge == "lm":
        yield "freshness is as computed: the model of temporal.v1 cannot be asked"
    if exported != "time-agnostic":
        yield "where no candidate at all has a date, memrank lets age not count"
    if ranker.relevance_threshold > 0:
        yield f"relevance_threshold {ranker.relevance_threshold:g} was set for the relevance of memrank's judge"
    yield "left out: namespaces, expires_at, valid_at, invalid_at, what is recorded after as_of: filter by them there"
    yield "left out: supersession: an outdated value scores as any other"
    if any(stage.kind == "pruner.v1" for stage in spec.stages):
        yield "left out: the pruner, with its thresholds and its token budget"
