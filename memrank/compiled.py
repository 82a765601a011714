"""A spec with what was fitted for it: the values of its artifact, put where a spec has them.

Whatever comes after sees one spec. Reads are recorded with it, and are replayed from the log without the artifact.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memrank.artifact import Artifact, State, fields_sha256, read
from memrank.errors import DataError, SpecError, UsageError
from memrank.fileio import canonical_json
from memrank.parameters import with_values
from memrank.spec import RankerSpec, Spec
from memrank.specfile import SpecFile, spec_sha256
from memrank.version import shipped_model
from memrank.whatif import differing, spec_of

BOUND = ("memrank", "index", "lm", "stages")
"""What of a spec an artifact depends on. Stores, logs, gates and texts for people may change under it."""
STAND_IN = "artifact"
"""The name in that part: the name of a spec may change, too."""

THRESHOLDS = {"relevance_threshold": "number", "top_score_below": "number", "ambiguity_margin": "number"}
PARAMETERS = "parameters"
"""State of what `memrank compile` found: values by their path in the spec (`parameters.with_values`)."""
CALIBRATIONS = (
    {"method": "text", "slope": "number", "intercept": "number"},
    {"method": "text", "x": "numbers", "y": "numbers"},
)


def bound_json(spec: Spec) -> str:
    """The part of a spec that an artifact depends on, as canonical JSON."""
    body = spec.model_dump(mode="json", exclude_unset=True)
    return canonical_json({"name": STAND_IN, **{name: body[name] for name in BOUND if name in body}})


def made_with(spec: Spec) -> dict[str, str]:
    """What else than the spec relevance depends on, by name."""
    from memrank.indexing import Analyzer

    return {"model": shipped_model(), "analyzer": Analyzer(spec.index.language, spec.index.embedder).id}


def applied(spec: Spec, folder: Path) -> Spec:
    """The spec with the values of its artifact, whose path is relative to `folder`; the spec itself without one.

    Raises DataError where the artifact cannot be read, or was made for something else, with what differs.
    """
    if spec.compiled is None:
        return spec
    artifact = read(folder / spec.compiled)
    plain = spec.model_copy(update={"compiled": None})
    try:
        _check(artifact, plain)
        return with_state(plain, artifact.state)
    except ValueError as fault:
        hint = (
            "the command that wrote it (`memrank compile` or `eval --calibrate`) makes it anew; or leave `compiled` out"
        )
        raise DataError(f"{spec.compiled}: {fault}", hint=hint) from fault


def applied_file(file: SpecFile) -> SpecFile:
    """The same with what `applied` makes of the spec. Raises SpecError at the place of `compiled`."""
    if file.spec.compiled is None:
        return file
    try:
        spec = applied(file.spec, file.folder)
    except DataError as fault:
        allowed = "an artifact that was made for this spec"
        raise SpecError([file.fault(("compiled",), f"{fault.message}; allowed: {allowed}")], hint=fault.hint) from fault
    return replace(file, spec=spec, sha256=spec_sha256(spec))


def with_state(spec: Spec, state: Mapping[str, State]) -> Spec:
    """The spec with these values. Raises ValueError for a state that no part of it takes, or values out of range."""
    spec = _with_parameters(spec, state.get("parameters"))
    body: dict[str, Any] = spec.model_dump(mode="json", exclude_unset=True)
    body.pop("compiled", None)
    ranker = next((one for one in body["stages"] if one["kind"] == "ranker.v1"), None)
    if ranker is None:
        raise ValueError("the spec has no ranker, which it is for")
    judge = next(stage.judge for stage in spec.stages if isinstance(stage, RankerSpec))
    parameters: dict[str, Any] = {}
    for name, given in state.items():
        if name == f"calibration.{judge}":
            _known(name, given, *CALIBRATIONS)
            ranker["calibration"] = {key: _plain(value) for key, value in given.values.items()}
        elif name == PARAMETERS:
            parameters = dict(given.values)
        elif name == "thresholds":
            _known(name, given, THRESHOLDS)
            ranker["relevance_threshold"] = given.values["relevance_threshold"]
            review = {key: given.values[key] for key in ("top_score_below", "ambiguity_margin")}
            body["review"] = {**body.get("review", {}), **review}
        elif name == "parameters":
            continue
        else:
            raise ValueError(f"it holds {name[:80]!r}, which this memrank does not know for the judge {judge}")
    try:
        plain = spec_of(json.dumps(body))
        return with_values(plain, parameters) if parameters else plain
    except SpecError as fault:
        raise ValueError(f"its values are wrong: {fault.faults[0]}") from fault
    except UsageError as fault:
        raise ValueError(f"it sets what this spec does not have: {fault.message}") from fault


def _with_parameters(spec: Spec, state: State | None) -> Spec:
    """Raises ValueError for a parameter that the spec does not have, or a value out of range."""
    if state is None:
        return spec
    from memrank.parameters import with_values  # brings numpy, which checking a spec does without

    lists = [name for name, value in state.values.items() if isinstance(value, tuple)]
    if lists:
        raise ValueError(f"its parameter {lists[0][:80]} is a list")
    try:
        return with_values(spec, {name: value for name, value in state.values.items() if not isinstance(value, tuple)})
    except SpecError as fault:
        raise ValueError(f"its values are wrong: {fault.faults[0]}") from fault
    except UsageError as fault:
        raise ValueError(f"its parameters are not those of this spec: {fault.message}") from fault


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _check(artifact: Artifact, spec: Spec) -> None:
    """Raises ValueError where the artifact was made for something else."""
    try:
        then = spec_of(artifact.spec)
    except SpecError as fault:
        raise ValueError(f"it was made for a spec that is none any more: {fault.faults[0]}") from fault
    paths = differing(then, spec_of(bound_json(spec)))
    if paths:
        raise ValueError(f"it was made for another spec, which differs in {', '.join(paths[:5])}")
    for name, now in made_with(spec).items():
        given = artifact.versions.get(name)
        if given != now:
            raise ValueError(f"it was made with the {name} {given or 'of an unknown version'}; this is {now}")


def _known(name: str, state: State, *known: Mapping[str, str]) -> None:
    if state.fields_sha256 in map(fields_sha256, known):
        return
    wanted = " or ".join(_told(fields) for fields in known)
    raise ValueError(f"its {name} has the fields {_told(state.fields)}; this memrank reads {wanted}")


def _told(fields: Mapping[str, str]) -> str:
    return f"({', '.join(f'{name[:40]}: {kind}' for name, kind in fields.items())})"
