"""A spec file checked as a whole: its text, its values, whether its stages fit together, and whether its
artifact is its own. Nothing is built."""

import os

from memrank.chain import gaps
from memrank.compiled import applied_file
from memrank.errors import SpecError
from memrank.specfile import SpecFile, load_spec


def check_file(path: str | os.PathLike[str]) -> SpecFile:
    """The checked spec of a file with what was compiled for it, or SpecError with every fault at its place."""
    return applied_file(check_written(path))


def check_written(path: str | os.PathLike[str]) -> SpecFile:
    """As `check_file`, of the spec as it stands in the file: no artifact is looked at."""
    file = load_spec(path)
    faults = [
        file.fault(("stages",) if gap.index is None else ("stages", gap.index), f"{gap.what}; {gap.allowed}")
        for gap in gaps(file.spec.stages)
    ]
    if faults:
        raise SpecError(faults)
    return file
