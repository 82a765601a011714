"""Numbers on the command line."""

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number within bounds; neither NaN, which lies within any, nor an infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As click does, with a usage error for what is no finite number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
