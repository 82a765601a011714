"""What of a spec may be tuned: numbers (and the kernel's name) by their path, within bounds; and a spec with others.

A path is that of the spec with the stage kinds shortened: `ranker.weights.freshness`, `temporal.half_life.note`.
Half-lives are in seconds, and mean the age at which freshness is one half under every kernel, also under those whose
own parameter is a window or a scale.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from memrank.coefficients import model_of
from memrank.errors import UsageError
from memrank.halflives import KERNELS, SMOOTH, half_lives, temporal_fields
from memrank.score.relevance import LEVEL, ORDER
from memrank.score.temporal import DAY, HOUR
from memrank.spec import ImportanceSpec, RankerSpec, Spec, StageSpec, TemporalSpec, Weights
from memrank.text.dates import format_duration, parse_duration
from memrank.whatif import spec_of

Number = float | str
"""A value: a number, or the name of a choice."""
Stage = TypeVar("Stage", bound=StageSpec)

GROUPS = ("composite", "half_life", "kernel", "thresholds", "fusion", "importance", "pruner", "judge")
DEFAULT_FREE = ("composite", "half_life", "thresholds", "fusion")
YEAR = 365 * DAY
FALLING = frozenset({"other_numbers", "log_rank", "log_pool", "weak_few", "unnamed"})
"""Coefficients that can only count against a candidate; all others can only count for it."""
STRONGEST = 10.0
DIGITS = 4
"""Significant digits of a value that was found: more would say nothing, and could not be read."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One free value of a spec."""

    path: str
    low: float = 0.0
    high: float = 1.0
    scale: Literal["linear", "log"] = "linear"
    """How steps are measured: a half-life is doubled, a weight is raised."""
    choices: tuple[str, ...] = ()
    """The texts that it may be; empty for a number."""


_BOUNDS: dict[str, Parameter] = {
    parameter.path: parameter
    for parameter in (
        Parameter("ranker.weights.relevance", 0.2, 1.0),
        *(Parameter(f"ranker.weights.{name}", 0.0, 0.6) for name in ("freshness", "importance", "authority")),
        *(Parameter(f"ranker.alphas.{name}", 0.0, 1.0) for name in ("freshness", "importance", "authority")),
        Parameter("temporal.half_life", HOUR, 10 * YEAR, "log"),
        Parameter("temporal.kernel", choices=SMOOTH),
        Parameter("ranker.relevance_threshold", 0.0, 0.5),
        Parameter("ranker.min_score", 0.0, 0.5),
        Parameter("ranker.stale_after", DAY, 10 * YEAR, "log"),
        Parameter("ranker.supersession.threshold", 0.05, 0.95),
        Parameter("prefilter.dense_weight", 0.0, 1.0),
        Parameter("prefilter.neighbour_weight", 0.0, 1.0),
        Parameter("prefilter.k1", 0.3, 3.0),
        Parameter("prefilter.b", 0.0, 1.0),
        Parameter("ranker.importance.rate_per_month", 0.0, 0.5),
        Parameter("ranker.importance.boost_per_use", 0.0, 2.0),
        Parameter("ranker.importance.boost_cap", 0.0, 6.0),
        Parameter("pruner.keep_below", 0.05, 0.6),
        Parameter("pruner.decay_threshold", 0.3, 0.99),
        Parameter("pruner.drop_threshold", 0.5, 0.999),
        *(
            Parameter(
                f"ranker.coefficients.{part}.{name}", *((-STRONGEST, 0.0) if name in FALLING else (0.0, STRONGEST))
            )
            for part, names in (("order", ORDER), ("level", LEVEL))
            for name in names
        ),
        Parameter("ranker.coefficients.intercept", -STRONGEST, STRONGEST),
    )
}
_BY_TYPE = ("temporal.half_life", "ranker.importance.rate_per_month")
"""Paths that end in a memory type, or in `default`."""
FUSION = tuple(path for path in _BOUNDS if path.startswith("prefilter."))


def parameters(
    spec: Spec,
    free: Sequence[str] | Mapping[str, Sequence[Number] | None] = DEFAULT_FREE,
    *,
    types: Sequence[str] = (),
) -> tuple[Parameter, ...]:
    """What is free: the names of groups or paths, with bounds of their own where a mapping gives them.

    `types` are memory types beside those that the spec names, which may have a half-life and an importance rate of
    their own. Bounds always hold the value that the spec has. Raises UsageError for what the spec does not have.
    """
    given = free if isinstance(free, Mapping) else dict.fromkeys(free)
    found: dict[str, Parameter] = {}
    for name, bounds in given.items():
        paths = _paths(spec, name, types) if name in GROUPS else [name]
        for path in paths:
            if path in found and bounds is None:
                continue
            found[path] = _bounded(_known(spec, path), bounds)
    return tuple(_widened(parameter, _value(spec, parameter.path)) for parameter in found.values())


def with_values(spec: Spec, values: Mapping[str, Number]) -> Spec:
    """The spec with these values, validated. Raises SpecError for values out of range, UsageError for unknown paths.

    Of the weights, relevance takes what the others leave of 1, unless it is given too; then all are divided by their
    sum. Thresholds of the pruner that cross are pulled to the next lower one.
    """
    for path in values:
        _known(spec, path)
    body: dict[str, Any] = spec.model_dump(mode="json", exclude_unset=True)
    for stage, section in zip(spec.stages, body["stages"], strict=True):
        kind = _kind(stage)
        own = {path.partition(".")[2]: value for path, value in values.items() if path.startswith(f"{kind}.")}
        if own:
            _put(stage, section, own)
    return spec_of(json.dumps(body))


def values_of(spec: Spec, free: Sequence[Parameter]) -> dict[str, Number]:
    """The values that the spec has."""
    return {parameter.path: _value(spec, parameter.path) for parameter in free}


def weights_of(weights: Weights, values: Mapping[str, Number]) -> dict[str, float]:
    """The weights of the parts, which sum to 1, with `values` by path; see `with_values`."""
    plain = dict(weights)
    given = {name: float(values[path]) for name in plain if (path := f"ranker.weights.{name}") in values}
    if not given:
        return plain
    parts = {**plain, **given}
    if "relevance" not in given:
        parts["relevance"] = max(0.0, 1.0 - sum(value for name, value in parts.items() if name != "relevance"))
    total = sum(parts.values())
    return {name: value / total for name, value in parts.items()} if total > 0 else plain


def rounded(value: Number) -> Number:
    """A value as it is written down: a text, or DIGITS significant digits."""
    return value if isinstance(value, str) else float(f"{value:.{DIGITS}g}")


def stage_of(spec: Spec, kind: type[Stage]) -> Stage | None:
    """The stage of this kind, None where the spec has none."""
    return next((stage for stage in spec.stages if isinstance(stage, kind)), None)


def _kind(stage: StageSpec) -> str:
    return stage.kind.partition(".")[0]


def _paths(spec: Spec, group: str, types: Sequence[str]) -> list[str]:
    """The paths of a group that this spec has."""
    ranker, temporal = stage_of(spec, RankerSpec), stage_of(spec, TemporalSpec)
    kinds = {_kind(stage) for stage in spec.stages}
    match group:
        case "composite" if ranker is not None and ranker.combine == "bounded":
            return [path for path in _BOUNDS if path.startswith("ranker.alphas.")]
        case "composite" if ranker is not None:
            return [path for path in _BOUNDS if path.startswith("ranker.weights.") and "relevance" not in path]
        case "half_life" if temporal is not None:
            named = (half_lives(temporal).__pydantic_extra__ or {}).keys()
            return [f"temporal.half_life.{name}" for name in dict.fromkeys(("default", *named, *types))]
        case "kernel" if temporal is not None:
            return ["temporal.kernel"]
        case "thresholds" if ranker is not None:
            inferred = ["ranker.supersession.threshold"] if ranker.supersession.infer else []
            return ["ranker.relevance_threshold", *inferred]
        case "fusion" if "prefilter" in kinds:
            vectors = spec.index.embedder != "none"
            return [path for path in FUSION if vectors or path != "prefilter.dense_weight"]
        case "importance" if ranker is not None:
            rates = ranker.importance.rate_per_month
            named = (rates.__pydantic_extra__ or {}).keys()
            by_type = [
                f"ranker.importance.rate_per_month.{name}" for name in dict.fromkeys(("default", *named, *types))
            ]
            boosts = ["ranker.importance.boost_per_use", "ranker.importance.boost_cap"]
            return by_type + (boosts if ranker.importance.boost else [])
        case "pruner" if "pruner" in kinds:
            return [path for path in _BOUNDS if path.startswith("pruner.")]
        case "judge" if ranker is not None:
            return [path for path in _BOUNDS if path.startswith("ranker.coefficients.")]
    return []


def _known(spec: Spec, path: str) -> Parameter:
    """The parameter of a path, with the bounds it has by itself."""
    base = next((one for one in _BY_TYPE if path.startswith(f"{one}.") and path != f"{one}."), path)
    known = _BOUNDS.get(base)
    if known is None or (base in _BY_TYPE and base == path):
        raise UsageError(
            f"there is no free parameter {path[:80]!r}",
            hint=f"one of the groups {', '.join(GROUPS)}, or a path such as ranker.weights.freshness",
        )
    ranker = stage_of(spec, RankerSpec)
    bounded = ranker is not None and ranker.combine == "bounded"
    combined = path.startswith("ranker.alphas.") != bounded and path.startswith(("ranker.alphas.", "ranker.weights."))
    if path.partition(".")[0] not in {_kind(stage) for stage in spec.stages} or combined:
        raise UsageError(f"the spec {spec.name} has no {path[:80]}", hint="free only what the spec has")
    return replace(known, path=path)


def _bounded(known: Parameter, bounds: Sequence[Number] | None) -> Parameter:
    """The parameter with the bounds that were given. Raises UsageError for bounds that are none."""
    if bounds is None:
        return known
    if known.choices:
        if not bounds or any(name not in KERNELS for name in bounds):
            raise UsageError(f"{known.path} is one of {', '.join(KERNELS)}", hint="list the ones to choose from")
        return replace(known, choices=tuple(map(str, bounds)))
    try:
        low, high = (parse_duration(one) if isinstance(one, str) else float(one) for one in bounds)
    except ValueError:
        raise UsageError(f"the bounds of {known.path[:80]} are no two numbers", hint="such as [0, 0.5]") from None
    if not low <= high or (known.scale == "log" and low <= 0):
        raise UsageError(f"the bounds of {known.path[:80]} do not rise", hint="the lower one first, such as [0, 0.5]")
    return replace(known, low=low, high=high)


def _widened(parameter: Parameter, value: Number) -> Parameter:
    """The parameter with bounds that hold what the spec has."""
    if isinstance(value, str):
        return replace(parameter, choices=tuple(dict.fromkeys((*parameter.choices, value))))
    return replace(parameter, low=min(parameter.low, value), high=max(parameter.high, value))


def _value(spec: Spec, path: str) -> Number:
    kind, _, rest = path.partition(".")
    stage: Any = next(stage for stage in spec.stages if _kind(stage) == kind)
    name, _, last = rest.partition(".")
    if name == "half_life":
        return half_lives(stage).of(last)
    if name == "coefficients":
        return _coefficient(stage, last)
    if name == "importance" and last.startswith("rate_per_month."):
        return float(stage.importance.rate_per_month.of(last.partition(".")[2]))
    if name == "stale_after":
        return float(stage.stale_after if stage.stale_after is not None else 10 * YEAR)
    found = getattr(getattr(stage, name), last) if last else getattr(stage, name)
    return found if isinstance(found, str) else float(found)


def _coefficient(ranker: RankerSpec, path: str) -> float:
    model = model_of(ranker.coefficients)
    part, _, name = path.partition(".")
    if part == "intercept":
        return model.intercept
    return float((model.order if part == "order" else model.level).get(name, 0.0))


def _put(stage: StageSpec, section: dict[str, Any], own: Mapping[str, Number]) -> None:
    """Write values, by the rest of their path, into a stage's section."""
    left = dict(own)
    if isinstance(stage, TemporalSpec):
        for name in ("kernel", "half_life", "rate_per_hour", "window", "scale", "p", "beta"):
            section.pop(name, None)
        section.update(temporal_fields(stage, left))
        left = {}
    if isinstance(stage, RankerSpec):
        by_path = {f"ranker.{name}": value for name, value in own.items()}
        if any(name.startswith("weights.") for name in own):
            section["weights"] = weights_of(stage.weights, by_path)
            left = {name: value for name, value in left.items() if not name.startswith("weights.")}
        rates = {name: value for name, value in left.items() if name.startswith("importance.rate_per_month.")}
        if rates:
            section.setdefault("importance", {})["rate_per_month"] = _rates(stage.importance, rates)
            left = {name: value for name, value in left.items() if name not in rates}
    for name, value in left.items():
        *parents, last = name.split(".")
        place = section
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    if _kind(stage) == "pruner":
        _rise(stage, section)
    if "stale_after" in own:
        section["stale_after"] = format_duration(float(own["stale_after"]))


def _rates(importance: ImportanceSpec, given: Mapping[str, Number]) -> dict[str, float]:
    rates = importance.rate_per_month
    plain = {"default": rates.default, **(rates.__pydantic_extra__ or {})}
    return {**plain, **{name.removeprefix("importance.rate_per_month."): float(v) for name, v in given.items()}}


def _rise(stage: StageSpec, section: dict[str, Any]) -> None:
    read: Callable[[str], float] = partial(_threshold, stage, section)
    section["keep_below"] = read("keep_below")
    section["decay_threshold"] = max(section["keep_below"], read("decay_threshold"))
    section["drop_threshold"] = max(section["decay_threshold"], read("drop_threshold"))


def _threshold(stage: StageSpec, section: Mapping[str, Any], name: str) -> float:
    return float(section.get(name, getattr(stage, name)))
