"""Decay curves by their half-life: what a temporal section says of one, and what it must say for another one.

The half-life is the age at which the unfloored curve is one half. Of a linear curve that is half of its window, of a
power curve scale x (2^(1/p) - 1); of a cliff, which has none, the window itself.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from memrank.pertype import PerType
from memrank.score import temporal
from memrank.score.temporal import half_life_of_rate
from memrank.spec import TemporalSpec
from memrank.text.dates import format_duration
from memrank.types import Floats

KERNELS = ("exponential", "linear", "gaussian", "power", "weibull", "cliff", "none")
SMOOTH = ("exponential", "linear", "gaussian", "power", "weibull")
"""Those that a search chooses among unless it is told which."""
POWER = 1.0
"""p of a power curve where the spec has none."""
BETA = 0.5
"""beta of a Weibull curve where the spec has none: it falls early and levels off."""
_FIELD = {"linear": "window", "cliff": "window", "power": "scale"}


def field_factor(kernel: str, p: float | None) -> float:
    """What a half-life is multiplied by to be the kernel's own parameter."""
    if kernel == "linear":
        return 2.0
    return 1.0 / (2.0 ** (1.0 / (p or POWER)) - 1.0) if kernel == "power" else 1.0


def half_lives(params: TemporalSpec) -> PerType:
    """The half-life by memory type, in seconds, whatever the kernel."""
    if params.rate_per_hour is not None:
        return PerType.model_construct(default=half_life_of_rate(params.rate_per_hour))
    given = getattr(params, _FIELD.get(params.kernel, "half_life"))
    factor = field_factor(params.kernel, params.p)
    named = {name: value / factor for name, value in (given.__pydantic_extra__ or {}).items()}
    made = PerType.model_construct(default=given.default / factor)
    object.__setattr__(made, "__pydantic_extra__", named)
    return made


def named_half_lives(params: TemporalSpec, own: Mapping[str, float | str]) -> dict[str, float]:
    """Seconds by memory type and by `default`, with those that `own` gives as `half_life.TYPE`."""
    lives = half_lives(params)
    plain = {"default": lives.default, **(lives.__pydantic_extra__ or {})}
    prefix = "half_life."
    return {**plain, **{name.removeprefix(prefix): float(v) for name, v in own.items() if name.startswith(prefix)}}


def temporal_fields(params: TemporalSpec, own: Mapping[str, float | str]) -> dict[str, Any]:
    """The fields of the curve in a temporal section, as they are written, with the kernel and half-lives of `own`."""
    kernel = str(own.get("kernel", params.kernel))
    fields: dict[str, Any] = {"kernel": kernel}
    if kernel == "power":
        fields["p"] = params.p or POWER
    if kernel == "weibull":
        fields["beta"] = params.beta or BETA
    if kernel != "none":
        factor = field_factor(kernel, fields.get("p"))
        lives = named_half_lives(params, own)
        fields[_FIELD.get(kernel, "half_life")] = {name: format_duration(v * factor) for name, v in lives.items()}
    return fields


def curve(params: TemporalSpec, age: Floats, of: Callable[[PerType | None], Floats]) -> Floats:
    """Freshness by the section's curve at ages in seconds, offset taken off, shape (n,); in [floor, 1].

    `of` gives each the value of its memory type, shape (n,).
    """
    match params.kernel:
        case "exponential" if params.rate_per_hour is not None:
            k = temporal.exponential(age, temporal.half_life_of_rate(params.rate_per_hour))
        case "exponential":
            k = temporal.exponential(age, of(params.half_life))
        case "linear":
            k = temporal.linear(age, of(params.window))
        case "gaussian":
            k = temporal.gaussian(age, of(params.half_life))
        case "power":
            k = temporal.power(age, of(params.scale), params.p or 1.0)
        case "weibull":
            k = temporal.weibull(age, of(params.half_life), params.beta or 1.0)
        case "cliff":
            k = temporal.cliff(age, of(params.window))
        case "none":
            k = np.ones_like(age)
    return temporal.floored(k, params.floor)
