"""A spec file checked as a whole: its text, its values, and whether its stages fit together. Nothing is built."""

import os

from memrank.chain import gaps
from memrank.errors import SpecError
from memrank.specfile import SpecFile, load_spec


def check_file(path: str | os.PathLike[str]) -> SpecFile:
    """The checked spec of a file, or SpecError with every fault at its place."""
    file = load_spec(path)
    faults = [
        file.fault(("stages",) if gap.index is None else ("stages", gap.index), f"{gap.what}; {gap.allowed}")
        for gap in gaps(file.spec.stages)
    ]
    if faults:
        raise SpecError(faults)
    return file
