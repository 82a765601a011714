"""The garbage collector of a process that starts, works and ends: it rests while modules are imported."""

import gc


def rest() -> None:
    """Importing makes a million objects that all stay: scanning them for garbage meanwhile costs a tenth of a start."""
    gc.disable()


def resume() -> None:
    """Collect again, from what comes now; for every command whose work grows with its input."""
    gc.freeze()
    gc.enable()
