"""`memrank compile`: tune a spec on a golden set, and prove the gain on queries that it was not tuned on."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memrank.cli import collector
from memrank.cli.calibrate import artifact_path, relative, same_file
from memrank.cli.compiling import watching
from memrank.cli.logfile import seen
from memrank.cli.output import FILE, Notices, deliver, json_text, refuse_source, tell
from memrank.errors import DataError, SpecError, UsageError

if TYPE_CHECKING:  # they bring numpy and dspy, which help and checks do without
    from memrank.pipeline import Pipeline
    from memrank.spec import Spec
    from memrank.speccompile import CompileSpec
    from memrank.specfile import SpecFile
    from memrank.tune.compilation import Compiled

OPTIMIZERS = ("weights", "labeled", "bootstrap", "random-search", "mipro", "gepa", "joint")
CONSTRAINTS_MISSED = 1


@click.command()
@click.argument("path", type=FILE, metavar="SPEC")
@click.option("--evalset", "folder", type=FILE, metavar="DIR", help="The golden set; that of the spec where left out.")
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), help="What is tuned; weights where nobody says.")
@click.option(
    "--objective",
    metavar="METRIC",
    help="What is raised: nDCG@10, or with weights: nDCG@10=.7,current_first=.3",
)
@click.option("--free", metavar="NAMES", help="Groups or paths of parameters, with commas: composite,half_life.")
@click.option("--evaluations", type=click.IntRange(10, 1_000_000), help="Settings that are tried at the most.")
@click.option("--max-calls", type=click.IntRange(min=1), help="Calls of a model at the most; weights asks none.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed gives the same artifact.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Threads.")
@click.option(
    "--resamples", type=click.IntRange(100, 100_000), default=1_000, show_default=True, help="For each interval."
)
@click.option("--curve/--no-curve", default=True, show_default=True, help="Tell what more labels would bring.")
@click.option("--out", "-o", type=FILE, metavar="FILE", help="The artifact; SPEC.compiled.json if left out.")
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with plots to this file too; it stands alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
@click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
def compile(  # noqa: A001 - the name of the command
    path: str,
    folder: str | None,
    jobs: int,
    resamples: int,
    curve: bool,
    out: str | None,
    html: str | None,
    as_json: bool,
    quiet: bool,
    **other: Any,
) -> None:
    """Tune SPEC on a golden set, and write the artifact that its `compiled` is to name.

    Searched is on the part `fit`, chosen by the part `choose`, on which the whole pipeline runs; a set without parts is
    split by group. Settings that keep the constraints come first. What was found is taken only where it is better by
    more than chance; then the part `report` is read once, and the artifact is written. Otherwise the old settings stay,
    no artifact is written, one that is there is left alone, and the answer is "no improvement found" (exit code 0).
    How often each report part was read is counted in report-reads.json beside the artifact.

    Ctrl-C ends the search and goes on with the best so far; once more, and all ends.

    Exit code 1 where no setting, the old one included, keeps the constraints.
    """
    from memrank.checking import check_written
    from memrank.cli.eval import evalset_of
    from memrank.evals.evalset import QUERIES
    from memrank.tune.ledger import ledger_of

    file = check_written(path)
    section = _section(file, {name: value for name, value in other.items() if value is not None})
    artifact = artifact_path(file.path, out)
    _refuse_another(artifact, file)
    collector.resume()
    evalset = evalset_of(folder, [file])
    if html is not None:
        counts = ledger_of(artifact)
        refuse_source("--html", html, [file.path, evalset.memories, evalset.folder / QUERIES, artifact, counts])
    _refuse_readonly([artifact, *([] if html is None else [Path(html)])])
    Notices(strict=False, quiet=quiet).show(evalset.notes)
    found = _compiled(file, evalset, section, artifact, jobs=jobs, resamples=resamples, curve=curve, quiet=quiet)
    if html is not None:
        from memrank.render.compilepage import compile_page

        deliver([compile_page(found)], html)
    if found.artifact is not None:
        from memrank.artifact import write

        write(artifact, found.artifact)
    written = None if found.artifact is None else str(artifact)
    if as_json:
        from memrank.render.compiling import compile_json

        deliver([json_text(compile_json(found, written), indent=2) + "\n"], None)
    else:
        from memrank.render.compiling import compile_text

        deliver([f"{compile_text(found, seen())}\n"], None)
    if not quiet:
        _say(found, file, artifact)
    if found.unreachable:
        raise click.exceptions.Exit(CONSTRAINTS_MISSED)


def _section(file: "SpecFile", given: dict[str, Any]) -> "CompileSpec":
    """What the spec says of compiling, with what the command line says. Raises UsageError for what is not allowed."""
    from memrank.speccompile import CompileSpec
    from memrank.whatif import spec_of

    own = {} if file.spec.compile is None else file.spec.compile.model_dump(mode="json", exclude_unset=True)
    if "objective" in given:
        given["objective"] = _objective(given["objective"])
    if "free" in given:
        given["free"] = _free(given["free"])
    body = file.spec.model_dump(mode="json", exclude_unset=True)
    try:
        found = spec_of(json.dumps({**body, "compile": {**own, **given}})).compile
    except SpecError as fault:
        raise UsageError(fault.faults[0].partition(": ")[2], hint="as `compile` of the spec has it") from fault
    return found or CompileSpec()


def _objective(text: str) -> str | dict[str, float]:
    """`nDCG@10`, or `nDCG@10=.7,current_first=.3`."""
    if "=" not in text and "," not in text:
        return text
    weights = {}
    for one in text.split(","):
        name, _, weight = one.strip().partition("=")
        try:
            weights[name] = float(weight or 1)
        except ValueError:
            raise UsageError(f"--objective: {weight[:40]!r} is no number", hint="nDCG@10=.7,current_first=.3") from None
    return weights


def _free(text: str) -> list[str] | dict[str, list[str] | None]:
    """`composite,half_life`, or with bounds: `composite,temporal.half_life.note=1d..90d`."""
    names = [one.strip() for one in text.split(",") if one.strip()]
    if not any("=" in name for name in names):
        return names
    return {name: bounds.split("..") if bounds else None for name, _, bounds in (one.partition("=") for one in names)}


def _refuse_another(path: Path, file: "SpecFile") -> None:
    """Raises UsageError for the artifact of another spec: it would be lost."""
    from memrank.artifact import read

    if path.exists() and (name := read(path).name) != file.spec.name:
        raise UsageError(
            f"{path}: it is the artifact of the spec {name[:80]}, not of {file.spec.name}",
            hint="--out FILE: another file",
        )


def _compiled(
    file: "SpecFile",
    evalset: Any,
    section: "CompileSpec",
    artifact: Path,
    *,
    jobs: int,
    resamples: int,
    curve: bool,
    quiet: bool,
) -> "Compiled":
    from memrank.registry import build
    from memrank.specfile import spec_sha256
    from memrank.tune.compilation import Options
    from memrank.tune.compiler import compile_spec
    from memrank.tune.ledger import count, ledger_of, times_read

    counts = ledger_of(artifact)
    times_read(counts, "")  # a file that is none is told of before hours of search

    def make(spec: "Spec") -> "Pipeline":
        silent = spec.model_copy(update={"reads": None})
        return build(silent, file.folder, spec_sha256(silent), store=evalset.memories)

    plain = file.spec.model_copy(update={"compiled": None})
    with watching(hidden=quiet) as progress:
        options = Options(
            jobs=jobs,
            resamples=resamples,
            curve=curve,
            progress=progress,
            reading=lambda key: count(counts, key),
        )
        return compile_spec(plain, make, evalset, section, options)


def _say(found: "Compiled", file: "SpecFile", artifact: Path) -> None:
    for note in found.notes:
        tell(note)
    if found.report_reads > 1:
        tell(f"the report part was read {found.report_reads} times by now: what is chosen by it is no longer held out")
    if found.artifact is None:
        tell(f"nothing was written{': ' + str(artifact) + ' stays as it was' if artifact.exists() else ''}")
        return
    tell(f"wrote {artifact}")
    named = file.spec.compiled
    if named is None or not same_file(file.folder / named, artifact):
        tell(f"to use it, write into {file.path}: compiled: {relative(artifact, file.folder)}")


def _refuse_readonly(paths: Sequence[Path]) -> None:
    """Raises DataError, before anything is searched, for a file that could not be written in the end."""
    for path in paths:
        folder = path.absolute().parent
        if not folder.is_dir():
            raise DataError(f"{path}: cannot be written: there is no folder {folder}", hint="create it first")
        if not os.access(folder, os.W_OK):
            raise DataError(f"{path}: cannot be written: the folder is read-only", hint="--out FILE: another place")
