"""`memrank compile`: tune what a spec has as numbers on a golden set, prove it on held-out queries, write it down."""

import os
from typing import TYPE_CHECKING, Any

import click

from memrank.cli import collector
from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, Notices, deliver, json_text, tell
from memrank.errors import UsageError

if TYPE_CHECKING:  # they bring numpy and dspy, which help and checks do without
    from memrank.spec import Spec
    from memrank.specfile import SpecFile
    from memrank.tune.compiler import Compiled
    from memrank.tune.search import Step


@click.command("compile")
@click.argument("spec", metavar="SPEC", type=FILE)
@click.option("--evalset", "folder", type=FILE, metavar="DIR", help="Golden set; that of the spec if left out.")
@click.option("--optimizer", type=click.Choice(["weights"]), help="What is tuned; that of the spec if left out.")
@click.option("--objective", metavar="METRIC", help="What is raised; that of the spec, else nDCG@10.")
@click.option(
    "--free", multiple=True, metavar="NAME", help="What may change: a group or a path; several. That of the spec."
)
@click.option("--evaluations", type=click.IntRange(min=100, max=1_000_000), metavar="N", help="Settings tried at most.")
@click.option("--seconds", type=Finite(min=0, min_open=True), metavar="S", help="Time of the search at most.")
@click.option("--seed", type=click.IntRange(min=0, max=2**31), metavar="N", help="Seed of search and intervals.")
@click.option("--jobs", type=click.IntRange(min=1, max=64), default=2, show_default=True, help="Threads.")
@click.option("--out", "-o", type=FILE, metavar="FILE", help="The artifact; SPEC.compiled.json if left out.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, and no notes on stderr.")
def compile_(
    spec: str,
    folder: str | None,
    optimizer: str | None,
    objective: str | None,
    free: tuple[str, ...],
    evaluations: int | None,
    seconds: float | None,
    seed: int | None,
    jobs: int,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tune the numbers of SPEC on a golden set: weights, half-lives, thresholds, fusion, coefficients of the judge.

    Settings are searched for on the part `fit` of the set, and one is taken only where it is surely better on the part
    `choose`; the part `report` is read once, and shows what that is worth. Otherwise nothing is changed or written: "no
    improvement found" is an answer, too (exit code 0). The artifact counts where the spec says `compiled: FILE`. Ctrl-C
    ends the search, and goes on with the best that it has. The same seed gives the same artifact for any --jobs, unless
    --seconds or Ctrl-C cuts the search.
    """
    from memrank.checking import check_written
    from memrank.cli.calibrate import artifact_path
    from memrank.cli.eval import golden_set

    file = check_written(spec)
    collector.resume()
    changes: dict[str, Any] = {
        "objective": objective,
        "optimizer": optimizer,
        "free": list(free) or None,
        "evaluations": evaluations,
        "seed": seed,
    }
    plain = _planned(file.spec, {name: value for name, value in changes.items() if value is not None})
    path = artifact_path(file.path, out)
    evalset = golden_set(folder, [file])
    Notices(strict=False, quiet=quiet).show(evalset.notes)
    made = _compiled(file, plain, evalset, jobs, seconds, quiet)
    if made.artifact is not None:
        from memrank.artifact import write

        write(path, made.artifact)
    _say(made, None if made.artifact is None else str(path), as_json)
    if quiet or made.artifact is None:
        return
    tell(f"wrote {path}")
    named = file.spec.compiled
    if named is None or os.path.realpath(file.folder / named) != os.path.realpath(path):
        tell(f"to use it, write into {file.path}: compiled: {os.path.relpath(path.absolute(), file.folder)}")


def _planned(spec: "Spec", changes: dict[str, Any]) -> "Spec":
    """The spec with what the command line says of compiling. Raises UsageError for values that are none."""
    from memrank.speccompile import planned

    given = {} if spec.compile is None else spec.compile.model_dump(exclude_unset=True)
    try:
        return spec.model_copy(update={"compile": planned({**given, **changes})})
    except ValueError as fault:
        raise UsageError(f"--{fault}", hint="memrank compile --help") from None


def _compiled(
    file: "SpecFile", plain: "Spec", evalset: Any, jobs: int, seconds: float | None, quiet: bool
) -> "Compiled":
    import time

    from memrank.cli.progress import progress
    from memrank.registry import build
    from memrank.specfile import spec_sha256
    from memrank.tune.compiler import Options, compile_spec

    def make(spec: "Spec") -> Any:
        silent = spec.model_copy(update={"reads": None, "high_stakes": False})
        return build(silent, file.folder, spec_sha256(silent), store=evalset.memories)

    plan = plain.compile
    total = plan.evaluations if plan is not None else None
    until = None if seconds is None else time.monotonic() + seconds
    with progress(total, "searching", hidden=quiet) as done:
        seen = 0

        def step(one: "Step") -> None:
            nonlocal seen
            done(one.evaluations - seen)
            seen = one.evaluations

        stop = None if until is None else (lambda: time.monotonic() > until)
        return compile_spec(plain, make, evalset, Options(jobs=jobs, progress=step, stop=stop))


def _say(made: "Compiled", path: str | None, as_json: bool) -> None:
    from memrank.cli.logfile import seen
    from memrank.render.compiling import compilation_json, compilation_text

    text = json_text(compilation_json(made, path), indent=2) if as_json else compilation_text(made, seen())
    deliver([f"{text}\n"], None)
