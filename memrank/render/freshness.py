"""How a freshness came about, in words and numbers that can be recomputed: the kernel, its parameters, the age."""

from memrank.pertype import PerType
from memrank.result import Item, Result
from memrank.score.temporal import DAY, HOUR
from memrank.spec import TemporalSpec
from memrank.types import Period, Sensitivity

_UNITS = ((DAY, "d"), (HOUR, "h"), (60.0, "min"))


def freshness_text(item: Item, result: Result, temporal: TemporalSpec) -> str:
    """As `exponential 2^(-age / half-life), half-life 14 d, age 2.1 d -> 0.9013`."""
    return f"{_way(item, result, temporal)} -> {number(item.scores['freshness'])}"


def number(value: float) -> str:
    """To 4 places."""
    return f"{value:.4f}"


def setting(value: float) -> str:
    """A number of the spec, as short as it was written there (6 digits at the most)."""
    return f"{value:.6g}"


def span(seconds: float) -> str:
    """Seconds in the largest unit that they hold twice, to 4 places: `14 d`, `2.1 d`, `36 h`."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{_trimmed(seconds / size)} {unit}"
    return f"{_trimmed(seconds)} s"


def _trimmed(value: float) -> str:
    return number(value).rstrip("0").rstrip(".")


def _way(item: Item, result: Result, temporal: TemporalSpec) -> str:
    period = result.period
    if result.sensitivity is Sensitivity.TIME_AGNOSTIC:
        return "none: age does not count for this query"
    if result.sensitivity is Sensitivity.HISTORICAL and (period is None or period.start is period.end is None):
        return "historical-preference: no period is named, age is no fault"
    if item.date_used is None or item.age_seconds is None:
        return f"no date: {temporal.undated}"
    if result.sensitivity is Sensitivity.HISTORICAL and period is not None:
        away = span(_distance(item, period))
        half_life = span(temporal.historical_half_life)
        return f"historical-preference 2^(-distance / half-life), half-life {half_life}, {away} away from the period"
    age = f"age {span(item.age_seconds)}"
    if result.sensitivity is Sensitivity.REAL_TIME:
        half_life = span(temporal.real_time_half_life or temporal.real_time_window / 4)
        window = span(temporal.real_time_window)
        return f"real-time-cutoff 2^(-age / half-life), 0 beyond {window}, half-life {half_life}, {age}"
    return ", ".join([*_kernel(temporal, item.memory_type), *_shape(temporal), age])


def _distance(item: Item, period: Period) -> float:
    """Seconds between the memory's date and the period, 0 where they touch; as `score.temporal.distance`."""
    date = item.date_used
    if date is None:
        return 0.0
    before = (period.start - date.end).total_seconds() if period.start else 0.0
    after = (date.start - period.end).total_seconds() if period.end else 0.0
    return max(0.0, before, after)


def _kernel(temporal: TemporalSpec, memory_type: str | None) -> list[str]:
    def of(values: PerType | None) -> str:
        return span(values.of(memory_type)) if values else "none"

    half_life = f"half-life {of(temporal.half_life)}"
    match temporal.kernel:
        case "exponential" if temporal.rate_per_hour is not None:
            return ["exponential exp(-rate * age in hours)", f"rate {setting(temporal.rate_per_hour)} an hour"]
        case "exponential":
            return ["exponential 2^(-age / half-life)", half_life]
        case "linear":
            return ["linear max(0, 1 - age / window)", f"window {of(temporal.window)}"]
        case "gaussian":
            return ["gaussian 2^(-(age / half-life)^2)", half_life]
        case "power":
            return ["power (1 + age / scale)^-p", f"scale {of(temporal.scale)}", f"p {setting(temporal.p or 1.0)}"]
        case "weibull":
            return ["weibull 2^(-(age / half-life)^beta)", half_life, f"beta {setting(temporal.beta or 1.0)}"]
        case "cliff":
            return ["cliff: 1 up to the window, else 0", f"window {of(temporal.window)}"]
        case "none":
            return ["none: 1 for every age"]


def _shape(temporal: TemporalSpec) -> list[str]:
    """What bends every kernel: the grace taken off the age, and the floor k is lifted to."""
    offset = [f"age less a grace of {span(temporal.offset)}"] if temporal.offset else []
    floor = [f"then {setting(temporal.floor)} + {setting(1 - temporal.floor)} k"] if temporal.floor else []
    return offset + floor
