"""Values of a spec that may differ by memory type, as `{default: 14d, price: 1d}`."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, PlainSerializer

from memrank.specbase import Section
from memrank.specvalues import Duration, Share
from memrank.text.dates import format_duration


class _OfType(Section):
    """One number for each memory type, and one for all others."""

    model_config = ConfigDict(extra="allow")

    default: float

    def of(self, memory_type: str | None) -> float:
        """The number for this memory type."""
        extra = self.__pydantic_extra__ or {}
        return extra.get(memory_type, self.default) if memory_type is not None else self.default


class PerType(_OfType):
    """A duration in seconds for each memory type, and one for all others."""

    __pydantic_extra__: dict[str, Duration]

    default: Duration
    """Used for every memory type that is not named, and for memories without a type."""


class ShareOfType(_OfType):
    """A share for each memory type, and one for all others."""

    __pydantic_extra__: dict[str, Share]

    default: Share
    """Used for every memory type that is not named, and for memories without a type."""


def _duration_for_all(value: object) -> object:
    return {"default": value} if isinstance(value, str) else value


def _share_for_all(value: object) -> object:
    return {"default": value} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _dump_durations(value: PerType) -> object:
    named = {key: format_duration(seconds) for key, seconds in (value.__pydantic_extra__ or {}).items()}
    return {"default": format_duration(value.default), **named} if named else format_duration(value.default)


def _dump_shares(value: ShareOfType) -> object:
    named = value.__pydantic_extra__
    return {"default": value.default, **named} if named else value.default


DurationPerType = Annotated[
    PerType,
    BeforeValidator(_duration_for_all, json_schema_input_type=Duration | PerType),
    PlainSerializer(_dump_durations),
]
RatePerType = Annotated[
    ShareOfType,
    BeforeValidator(_share_for_all, json_schema_input_type=Share | ShareOfType),
    PlainSerializer(_dump_shares),
]
