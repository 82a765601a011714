"""What is exported: the spec of a file with what was fitted for it, or the one that an artifact holds."""

import os
import re
from pathlib import Path

from memrank import artifact
from memrank.checking import check_file
from memrank.compiled import with_state
from memrank.errors import DataError, SpecError
from memrank.spec import NAME_PATTERN, Spec
from memrank.whatif import spec_of

SUFFIX = ".json"


def exported(path: str | os.PathLike[str]) -> Spec:
    """The spec of a file, with the values of its artifact; of an artifact, a `.json` file, the one it was made for.

    Raises SpecError or DataError with what is wrong.
    """
    if Path(path).suffix.lower() == SUFFIX:
        return _of_artifact(Path(path))
    return check_file(path).spec


def _of_artifact(path: Path) -> Spec:
    found = artifact.read(path)
    try:
        spec = with_state(spec_of(found.spec), found.state)
    except SpecError as fault:
        raise DataError(f"{path}: it was made for a spec that is none any more: {fault.faults[0]}") from fault
    except ValueError as fault:
        raise DataError(f"{path}: {fault}", hint="`memrank eval SPEC --calibrate` makes it anew") from fault
    return spec.model_copy(update={"name": found.name}) if re.fullmatch(NAME_PATTERN, found.name) else spec
