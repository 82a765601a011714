"""Which options of `memrank eval` go together: none is ever passed over in silence."""

from collections.abc import Mapping, Sequence

import click
from click.core import ParameterSource

from memrank.errors import UsageError

NEEDS: Mapping[str, str] = {
    "--method": "--calibrate",
    "--target-precision": "--calibrate",
    "--review-rate": "--calibrate",
    "--out": "--calibrate",
    "--since": "--reads",
    "--max-ece": "--reads",
    "--margin": "--conversations",
}
"""Option to the one that it says more about."""
MODES: Mapping[str, Sequence[str]] = {
    "--calibrate": ("--reads", "--conversations", "--run", "--part", "--by", "--resume", "--no-resume", "--gate"),
    "--reads": ("--conversations", "--run", "--evalset", "--part", "--by", "--jobs", "--resume", "--no-resume"),
    "--conversations": ("--evalset", "--run", "--by", "--jobs", "--resume", "--no-resume"),
}
"""What is done instead of measuring, and the options that would change nothing of it."""
WHY: Mapping[str, str] = {
    "--reads with --calibrate": "one after the other",
    "--gate with --calibrate": "evaluate the spec with its artifact",
    "--jobs with --conversations": "pruning asks nothing that could be waited for: leave --jobs out",
    "--by with --conversations": "the domains are shown without it: leave --by out",
}
"""A hint where "leave it out" does not say enough."""
ASKING = ("--jobs", "--resume", "--no-resume")
"""Of how queries are asked."""


def given(context: click.Context) -> list[str]:
    """The options of a call that somebody has written, defaults or not, by the names that they are declared by."""
    found = []
    for option in context.command.params:
        source = context.get_parameter_source(option.name) if option.name else None
        if isinstance(option, click.Option) and source not in (None, ParameterSource.DEFAULT):
            off = option.secondary_opts and context.params[str(option.name)] is False
            names = option.secondary_opts if off else option.opts
            found.append(next(name for name in names if name.startswith("--")))
    return found


def refuse(options: Sequence[str], specs: Sequence[str]) -> None:
    """Raises UsageError for options that do not go together, or that would say nothing here."""
    mode = next((name for name in MODES if name in options), None)
    for name in options:
        if mode is not None and name in MODES[mode]:
            hint = WHY.get(f"{name} with {mode}", f"leave {name} out")
            raise UsageError(f"{name} does not go with {mode}", hint=hint)
        if NEEDS.get(name, mode) != mode:
            raise UsageError(f"{name} stands without {NEEDS[name]}", hint=f"add {NEEDS[name]}, or leave {name} out")
        if mode is None and not specs and "--run" in options and name in ASKING:
            raise UsageError(f"{name} stands without SPEC", hint=f"runs are read, nothing is asked: leave {name} out")
    if mode in ("--calibrate", "--reads") and len(specs) > 1:
        raise UsageError(f"{mode} takes one spec", hint="one after the other")
