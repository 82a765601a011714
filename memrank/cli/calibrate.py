"""What `memrank eval --calibrate` and `--reads` do: fit and write an artifact; see whether it still holds."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memrank.cli.logfile import seen
from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, deliver, json_text, tell
from memrank.errors import DataError, UsageError

if TYPE_CHECKING:  # they bring numpy and dspy, which help and checks do without
    from memrank.evals.calibrate import Calibrated, Options
    from memrank.evals.evalset import Evalset
    from memrank.pipeline import Pipeline
    from memrank.spec import Spec

Command = TypeVar("Command", bound=Callable[..., Any])


def calibrate_options(command: Command) -> Command:
    """--calibrate and what goes with it: `do_calibrate, method, target_precision, review_rate, out`."""
    for option in (
        click.option("--out", "-o", type=FILE, metavar="FILE", help="The artifact; SPEC.compiled.json if left out."),
        click.option(
            "--review-rate", type=Finite(min=0, max=1), metavar="R", help="Share of reads that may ask for a person."
        ),
        click.option(
            "--target-precision", type=Finite(min=0, max=1), metavar="P", help="Pick relevance_threshold for it."
        ),
        click.option(
            "--method",
            type=click.Choice(["auto", "isotonic", "platt"]),
            default="auto",
            show_default=True,
            help="isotonic where there are enough labels, else platt.",
        ),
        click.option(
            "--calibrate", "do_calibrate", is_flag=True, help="Fit the judge's relevance on the part `choose`."
        ),
    ):
        command = option(command)
    return command


def calibrate(
    pipeline: "Pipeline", spec: "Spec", spec_path: str | os.PathLike[str], evalset: "Evalset", options: "Options"
) -> "Calibrated":
    """Fit the judge of a spec file, as it is without any artifact, on an evalset.

    `pipeline` is that of `spec` over the memories of the evalset; where something was compiled for it, or it keeps
    reads, another one is built. Raises what `memrank.evals.calibrate.calibrate` does.
    """
    from memrank.evals.calibrate import calibrate as fitted
    from memrank.registry import build
    from memrank.specfile import load_spec, spec_sha256

    file = load_spec(spec_path)
    written = file.spec
    plain = written.model_copy(update={"compiled": None})
    usable = written.compiled is None and plain == spec and spec.reads is None

    def make(wanted: "Spec") -> "Pipeline":
        if usable and wanted is plain:
            return pipeline
        silent = wanted.model_copy(update={"reads": None})
        return build(silent, file.folder, spec_sha256(silent), store=evalset.memories)

    return fitted(plain, make, evalset, options)


def artifact_path(spec_path: str | os.PathLike[str], out: str | None) -> Path:
    """Where an artifact is written: `out`, else beside its spec. Raises UsageError for a file that is none."""
    from memrank.artifact import read

    spec = Path(spec_path)
    path = spec.with_name(f"{spec.stem}.compiled.json") if out is None else Path(out)
    if path.exists():
        try:
            read(path)
        except DataError as fault:
            raise UsageError(f"{path}: it is there already and no artifact", hint="--out FILE: another file") from fault
    return path


def run_calibrate(
    pipeline: "Pipeline",
    spec_path: str,
    evalset: "Evalset",
    options: "Options",
    *,
    out: str | None,
    as_json: bool,
    quiet: bool = False,
) -> None:
    """Calibrate, write the artifact, and print what became of the held-out part."""
    from memrank.artifact import write
    from memrank.cli.progress import progress
    from memrank.evals.calibrate import FITTED_ON, HELD_OUT
    from memrank.render.calibration import calibration_json, calibration_text
    from memrank.specfile import load_spec

    path = artifact_path(spec_path, out)
    asked = len(evalset.part(FITTED_ON)) + 2 * len(evalset.part(HELD_OUT))
    with progress(asked, "calibrating", hidden=quiet) as done:
        found = calibrate(pipeline, pipeline.spec, spec_path, evalset, replace(options, progress=done))
    write(path, found.artifact)
    text = json_text(calibration_json(found, str(path)), indent=2) if as_json else calibration_text(found, seen())
    deliver([f"{text}\n"], None)
    if quiet:
        return
    tell(f"wrote {path}")
    file = load_spec(spec_path)
    if file.spec.compiled is None or not _same(file.folder / file.spec.compiled, path):
        named = Path(os.path.relpath(path.absolute(), file.folder)).as_posix()
        tell(f"to use it: compiled: {named} in {spec_path}")


def _same(a: Path, b: Path) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)


GATE_FAILED = 1


def run_drift(
    log: str,
    spec: str | None,
    since: str | None,
    *,
    max_ece: float,
    seed: int,
    resamples: int,
    gate: bool,
    as_json: bool,
) -> None:
    """`memrank eval [SPEC] --reads LOG --since T`: whether calibration still holds, by the reviews since then.

    With `gate`, exit code 1 where it is broken, and where there are too few labels to tell.
    """
    from memrank.cli.logfile import opened, since_seconds
    from memrank.evals.drift import drift
    from memrank.render.drift import drift_json, drift_text

    where, file = opened(log, spec)
    wanted = None if file is None else file.spec
    found = drift(where, since_seconds(since), wanted, max_ece=max_ece, seed=seed, resamples=resamples)
    deliver([(json_text(drift_json(found), indent=2) if as_json else drift_text(found, seen())) + "\n"], None)
    if gate and found.verdict != "holds":
        raise click.exceptions.Exit(GATE_FAILED)
