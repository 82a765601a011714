"""`memrank eval`: what specs are worth on a golden set, each figure with its interval, and whether their gates hold."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memrank.cli import collector
from memrank.cli.calibrate import Asked, other_options, run_calibrate, run_drift
from memrank.cli.evalconversations import PruningOptions, evaluate_conversations
from memrank.cli.evaloptions import given, refuse
from memrank.cli.journals import journal_file, journal_folder
from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, Notices, deliver, json_text, refuse_source, tell
from memrank.cli.progress import progress
from memrank.errors import DataError, UsageError
from memrank.text.counted import counted

if TYPE_CHECKING:
    from memrank.evals.evalset import Evalset
    from memrank.evals.labels import Labelled
    from memrank.evals.report import Report
    from memrank.specevaluate import GateSpec
    from memrank.specfile import SpecFile

PARTS = ("all", "fit", "choose", "report")
SEED = 20260320
RESAMPLES = 1_000
GATE_FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How everything is measured, the same for every spec."""

    part: str
    jobs: int
    seed: int
    resamples: int
    resume: bool
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How it is said."""

    as_json: bool
    html: str | None
    by_category: bool
    gate: bool


@click.command()
@click.argument("specs", nargs=-1, type=FILE, metavar="SPEC...")
@click.option(
    "--run", "runs", multiple=True, type=FILE, metavar="FILE", help="What another system returned, too; repeatable."
)
@click.option("--evalset", "folder", type=FILE, metavar="DIR", help="The golden set; that of the spec where left out.")
@click.option(
    "--conversations",
    "talks",
    type=FILE,
    metavar="DIR",
    help="Measure pruning on golden conversations; without SPEC, by the defaults of `memrank conversation prune`.",
)
@click.option(
    "--margin",
    type=Finite(0, 1),
    metavar="SHARE",
    help="With --conversations: how much less answerable questions may become before the gate fails.  [default: 0]",
)
@click.option(
    "--part", type=click.Choice(PARTS), default="all", show_default=True, help="Only these queries of the golden set."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
@click.option("--html", type=FILE, metavar="FILE", help="Write a page with plots to this file too; it stands alone.")
@click.option("--gate", is_flag=True, help="Exit code 1 where a gate of a spec fails.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Queries asked at a time.")
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="Of the resamples.")
@click.option(
    "--resamples", type=click.IntRange(100, 100_000), default=RESAMPLES, show_default=True, help="For each interval."
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Go on where the same evaluation was stopped; or keep nothing to go on with.",
)
@click.option("--by", type=click.Choice(["category"]), help="Show each category too.")
@click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
@other_options
def eval(  # noqa: A001 - the name of the command
    specs: tuple[str, ...],
    runs: tuple[str, ...],
    folder: str | None,
    talks: str | None,
    margin: float | None,
    part: str,
    as_json: bool,
    html: str | None,
    gate: bool,
    jobs: int,
    seed: int,
    resamples: int,
    resume: bool,
    by: str | None,
    quiet: bool,
    **other: Any,
) -> None:
    """Measure SPEC on a golden set; or several specs side by side, each against the first.

    The memories of the golden set are ranked, whatever store a spec names; nothing is logged, and nothing answered
    from a cache. A read that fails gets the worst value of every measure. A query that states no time is asked as of
    the newest memory. The same seed gives the same figures, but for the latencies.

    --run takes what `memrank run --queries FILE --out RUN` writes, a TREC run, or the JSON of ranx: its ids are
    measured and compared like those of a spec.

    --calibrate fits the judge of one SPEC on the part `choose`, writes the artifact that its `compiled` is to name, and
    shows the part `report` before and after. --reads looks into a read log whether calibration still holds.
    An option that would change nothing of what is done is refused.

    With --conversations, it is the pruner that is measured: what later questions need must stay in the context.

    Exit code 1 under --gate where a gate of a spec fails, where calibration does not hold, or where pruning makes
    questions significantly less answerable.
    """
    from memrank.checking import check_file, check_written

    refuse(given(click.get_current_context()), specs)
    measuring: dict[str, Any] = {"jobs": jobs, "seed": seed, "resamples": resamples, "gate": gate}
    asked = Asked(specs=specs, as_json=as_json, html=html, quiet=quiet, **measuring, **other)
    if asked.log is not None:
        run_drift(asked)
    elif talks is not None:
        files = [check_file(spec) for spec in specs]
        collector.resume()
        pruning = PruningOptions(
            part=part,
            seed=seed,
            resamples=resamples,
            margin=margin or 0.0,
            as_json=as_json,
            html=html,
            gate=gate,
            quiet=quiet,
        )
        evaluate_conversations(talks, files, _names(files), pruning)
    elif not specs and (asked.calibrate or not runs):
        raise UsageError("no spec is named", hint="memrank eval SPEC --evalset DIR")
    elif asked.calibrate:
        written = check_written(specs[0])
        collector.resume()
        run_calibrate(asked, written, evalset_of(folder, [written]))
    else:
        settings = Settings(part=part, jobs=jobs, seed=seed, resamples=resamples, resume=resume, quiet=quiet)
        shown = Shown(as_json=as_json, html=html, by_category=by is not None, gate=gate)
        files = [check_file(spec) for spec in specs]
        collector.resume()
        _measure(files, runs, folder, settings, shown)


def _measure(
    files: "Sequence[SpecFile]", runs: Sequence[str], folder: str | None, settings: Settings, shown: Shown
) -> None:
    """Measure specs and foreign runs on one golden set, and say it."""
    if shown.gate and not any(map(_gates, files)):
        raise UsageError("--gate: no spec has a gate", hint='evaluate: {evalset: DIR, gates: {"nDCG@10": {min: 0.6}}}')
    evalset = evalset_of(folder, files)
    Notices(strict=False, quiet=settings.quiet).show(evalset.notes)
    queries = _queries(evalset, settings.part)
    if shown.html is not None:
        sources: list[str | os.PathLike[str]] = [*(file.path for file in files), *runs]
        sources += [evalset.memories, evalset.folder / "queries.jsonl"]
        refuse_source("--html", shown.html, sources)
    # What one gate names is measured of all, so that they can be compared.
    also = tuple(dict.fromkeys(name for file in files for name in _gates(file)))
    foreign = _of_runs(runs, evalset, queries, also, settings)
    done = _measured(files, evalset, queries, also, settings)
    reports = [*(report for report, _ in done), *foreign]
    _say(reports, queries, as_json=shown.as_json, html=shown.html, by_category=shown.by_category)
    for _, journal in done:
        if journal is not None:  # all is said: there is nothing left to go on with
            with suppress(OSError):  # gone already, or (Windows) held by the same evaluation in another process
                journal.unlink()
    _pass_gates(reports, asked=shown.gate, quiet=settings.quiet)


def evalset_of(folder: str | None, files: Sequence["SpecFile"]) -> "Evalset":
    """The one golden set. Raises UsageError where none is named, or the specs name several."""
    from memrank.evals.evalset import load

    if folder is not None:
        return load(Path(folder))
    named = [file.folder / file.spec.evaluate.evalset for file in files if file.spec.evaluate is not None]
    if not named:
        raise UsageError("no golden set is named", hint="--evalset DIR, or `evaluate: {evalset: DIR}` in the spec")
    if len({path.resolve() for path in named}) > 1:
        raise UsageError("the specs name different golden sets", hint="--evalset DIR says on which to compare them")
    return load(named[0])


def _queries(evalset: "Evalset", part: str) -> "tuple[Labelled, ...]":
    from memrank.evals.labels import SPLITS

    found = next((evalset.part(split) for split in SPLITS if split == part), evalset.queries)
    if not evalset.queries:
        raise DataError(f"{evalset.folder}: there is no query in it", hint="memrank evalset check DIR")
    if not found:
        raise UsageError(f"{evalset.folder}: there is no query in part {part}", hint="--part all takes every query")
    return found


def _gates(file: "SpecFile") -> "Mapping[str, GateSpec]":
    return {} if file.spec.evaluate is None else file.spec.evaluate.gates


def _of_runs(
    runs: Sequence[str],
    evalset: "Evalset",
    queries: "Sequence[Labelled]",
    also: Sequence[str],
    settings: Settings,
) -> "list[Report]":
    """The reports on what other systems returned."""
    if not runs:
        return []
    from memrank.evals.foreign import outcomes_of
    from memrank.evals.readers.runs import read_run
    from memrank.evals.report import Subject, report_of
    from memrank.fileio import sha256_hex

    store_version = sha256_hex(evalset.memories.read_bytes())
    found = []
    for path in map(Path, runs):
        outcomes = outcomes_of(read_run(path), evalset, queries, also=also)
        digest = sha256_hex(path.read_bytes())
        subject = Subject(spec=path.name, spec_sha256=digest, store_version=store_version, gates={})
        found.append(
            report_of(
                *(subject, evalset, queries, outcomes),
                part=settings.part,
                seed=settings.seed,
                resamples=settings.resamples,
            )
        )
    return found


def _measured(
    files: Sequence["SpecFile"],
    evalset: "Evalset",
    queries: "Sequence[Labelled]",
    also: Sequence[str],
    settings: Settings,
) -> "list[tuple[Report, Path | None]]":
    """The report on each spec, and the journal that it leaves behind."""
    from memrank.evals.evaluate import evaluate, journal_key
    from memrank.evals.report import Subject, report_of
    from memrank.registry import build

    found = []
    for file, name in zip(files, _names(files), strict=True):
        spec = file.spec.model_copy(update={"reads": None})
        pipeline = build(spec, file.folder, file.sha256, store=evalset.memories)
        key = journal_key(pipeline, evalset, seed=settings.seed, also=also)
        journal = journal_file(journal_folder(os.environ), key) if settings.resume else None
        with progress(len(queries), f"evaluating {name}"[:40], hidden=settings.quiet) as done:
            try:
                outcomes = evaluate(
                    *(pipeline, evalset, queries),
                    jobs=settings.jobs,
                    seed=settings.seed,
                    also=also,
                    journal=journal,
                    progress=done,
                )
            except KeyboardInterrupt:
                if journal is not None and not settings.quiet:
                    tell("the same command goes on from here")
                raise
        subject = Subject(
            spec=name,
            spec_sha256=file.sha256,
            store_version=pipeline.store.store_version() if pipeline.store else "",
            gates=_gates(file),
        )
        report = report_of(
            *(subject, evalset, queries, outcomes),
            part=settings.part,
            seed=settings.seed,
            resamples=settings.resamples,
        )
        found.append((report, journal))
    return found


def _names(files: Sequence["SpecFile"]) -> list[str]:
    """The specs by their names, by their files where two share one."""
    names = [file.spec.name for file in files]
    return names if len(set(names)) == len(names) else [str(file.path) for file in files]


def _say(
    reports: "Sequence[Report]",
    queries: "Sequence[Labelled]",
    *,
    as_json: bool,
    html: str | None,
    by_category: bool,
) -> None:
    """The page first, then stdout: one report as it is, several as a comparison."""
    from memrank.render.terminal import look

    seen = look(sys.stdout, os.environ)
    if len(reports) == 1:
        (report,) = reports
        if html is not None:
            from memrank.render.evalpage import report_page

            deliver([report_page(report, queries)], html)
        if as_json:
            from memrank.evals.report import to_dict

            deliver([f"{json_text(to_dict(report), indent=2)}\n"], None)
            return
        from memrank.render.evaluation import evaluation_text

        text = evaluation_text(report, width=seen.width, colour=seen.colour, by_category=by_category)
        deliver([f"{text}\n"], None)
        return
    from memrank.evals import compare
    from memrank.evals.evalset import groups

    comparison = compare.compare(reports, groups(queries))
    if html is not None:
        from memrank.render.evalpage import comparison_page

        deliver([comparison_page(comparison, queries)], html)
    if as_json:
        from memrank.evals.report import to_dict

        body = compare.to_dict(comparison)
        body["reports"] = [to_dict(replace(report, spec=name)) for name, report in comparison.named]
        deliver([f"{json_text(body, indent=2)}\n"], None)
        return
    from memrank.render.comparison import comparison_text

    text = comparison_text(comparison, width=seen.width, colour=seen.colour, by_category=by_category)
    deliver([f"{text}\n"], None)


def _pass_gates(reports: "Sequence[Report]", *, asked: bool, quiet: bool) -> None:
    """Exits with 1 where it was asked for and a gate fails; says so in any case."""
    gates = [gate for report in reports for gate in report.gates]
    failed = sum(not gate.passed for gate in gates)
    if failed and not quiet:
        tell(f"{failed} of {counted(len(gates), 'gate')} failed")
    if failed and asked:
        raise click.exceptions.Exit(GATE_FAILED)
