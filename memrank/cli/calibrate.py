"""What `memrank eval --calibrate` and `--reads` do: fit and write an artifact; see whether it still holds."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memrank.cli.logfile import seen
from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, Notices, deliver, json_text, refuse_source, tell
from memrank.errors import DataError, UsageError

if TYPE_CHECKING:  # they bring numpy and dspy, which help and checks do without
    from memrank.evals.evalset import Evalset
    from memrank.pipeline import Pipeline
    from memrank.spec import Spec
    from memrank.specfile import SpecFile

Command = TypeVar("Command", bound=Callable[..., Any])

GATE_FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `memrank eval` was asked for besides measuring."""

    specs: tuple[str, ...]
    jobs: int
    seed: int
    resamples: int
    gate: bool
    as_json: bool
    html: str | None
    quiet: bool
    calibrate: bool
    method: str
    target_precision: float | None
    review_rate: float | None
    out: str | None
    log: str | None
    since: str | None
    max_ece: float | None


def other_options(command: Command) -> Command:
    """--calibrate and --reads with what goes with them: the last fields of `Asked`."""
    share = Finite(min=0, max=1)
    for option in (
        click.option("--max-ece", type=share, metavar="E", help="With --reads: calibration error allowed; 0.05."),
        click.option(
            "--since", metavar="TIME", help="With --reads: only what was decided since: ISO 8601, or how long ago (7d)."
        ),
        click.option("--reads", "log", type=FILE, metavar="LOG", help="Does calibration hold, by the reviews of LOG?"),
        click.option("--out", "-o", type=FILE, metavar="FILE", help="The artifact; SPEC.compiled.json if left out."),
        click.option(
            "--review-rate", type=share, metavar="R", help="With --calibrate: share of reads that may ask for a person."
        ),
        click.option(
            "--target-precision", type=share, metavar="P", help="With --calibrate: pick relevance_threshold for it."
        ),
        click.option(
            "--method",
            type=click.Choice(["auto", "isotonic", "platt"]),
            default="auto",
            show_default=True,
            help="With --calibrate; auto: isotonic where there are enough labels, else platt.",
        ),
        click.option("--calibrate", is_flag=True, help="Fit the judge's relevance on the part `choose`."),
    ):
        command = option(command)
    return command


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


def run_calibrate(asked: Asked, file: "SpecFile", evalset: "Evalset") -> None:
    """Calibrate a spec as it stands in its file, write the artifact, and print what became of the held-out part."""
    from memrank.artifact import write
    from memrank.cli.progress import progress
    from memrank.evals.calibrate import FITTED_ON, HELD_OUT, Options, calibrate
    from memrank.evals.evalset import QUERIES
    from memrank.registry import build
    from memrank.render.calibration import calibration_json, calibration_text
    from memrank.specfile import spec_sha256

    path = artifact_path(file.path, asked.out)
    if asked.html is not None:
        refuse_source("--html", asked.html, [file.path, evalset.memories, evalset.folder / QUERIES, path])
        if same_file(Path(asked.html), path):
            raise UsageError(f"--html {asked.html} is where the artifact goes", hint="name another file")
    Notices(strict=False, quiet=asked.quiet).show(evalset.notes)

    def make(spec: "Spec") -> "Pipeline":
        silent = spec.model_copy(update={"reads": None})
        return build(silent, file.folder, spec_sha256(silent), store=evalset.memories)

    plain = file.spec.model_copy(update={"compiled": None})
    queries = len(evalset.part(FITTED_ON)) + 2 * len(evalset.part(HELD_OUT))
    with progress(queries, "calibrating", hidden=asked.quiet) as done:
        options = Options(
            method=asked.method,  # type: ignore[arg-type]  # one of its choices
            target_precision=asked.target_precision,
            review_rate=asked.review_rate,
            seed=asked.seed,
            resamples=asked.resamples,
            jobs=asked.jobs,
            progress=done,
        )
        found = calibrate(plain, make, evalset, options)
    if asked.html is not None:
        from memrank.render.calibrationpage import calibration_page

        deliver([calibration_page(found)], asked.html)
    write(path, found.artifact)
    json_form = json_text(calibration_json(found, str(path)), indent=2) if asked.as_json else None
    deliver([f"{calibration_text(found, seen()) if json_form is None else json_form}\n"], None)
    if asked.quiet:
        return
    tell(f"wrote {path}")
    named = file.spec.compiled
    if named is None or not same_file(file.folder / named, path):
        tell(f"to use it, write into {file.path}: compiled: {relative(path, file.folder)}")


def relative(path: Path, folder: Path) -> str:
    """A path as a spec in `folder` names it."""
    try:
        return Path(os.path.relpath(path.absolute(), folder)).as_posix()
    except ValueError:  # on another drive
        return path.absolute().as_posix()


def same_file(a: Path, b: Path) -> bool:
    """Whether two paths are one file, or would be."""
    return os.path.realpath(a) == os.path.realpath(b)


def run_drift(asked: Asked) -> None:
    """Whether calibration still holds, by the reviews of a read log.

    Under --gate exit code 1 where it is broken, and where there are too few labels to tell.
    """
    from memrank.cli.logfile import opened, since_seconds
    from memrank.evals.drift import MAX_ECE, drift
    from memrank.render.drift import drift_json, drift_text

    where, file = opened(asked.log, asked.specs[0] if asked.specs else None)
    if asked.html is not None:
        refuse_source("--html", asked.html, [where.path, *asked.specs])
    found = drift(
        where,
        since_seconds(asked.since),
        None if file is None else file.spec,
        max_ece=MAX_ECE if asked.max_ece is None else asked.max_ece,
        seed=asked.seed,
        resamples=asked.resamples,
    )
    if asked.html is not None:
        from memrank.render.driftpage import drift_page

        deliver([drift_page(found)], asked.html)
    text = json_text(drift_json(found), indent=2) if asked.as_json else drift_text(found, seen())
    deliver([f"{text}\n"], None)
    if asked.gate and found.verdict != "holds":
        raise click.exceptions.Exit(GATE_FAILED)
