"""`memrank eval --conversations`: what pruning is worth on golden conversations, and whether nothing needed is lost."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.cli.output import Notices, deliver, json_text, refuse_source, tell
from memrank.cli.progress import progress
from memrank.text.counted import counted

if TYPE_CHECKING:
    from memrank.dialogue.prune import Limits
    from memrank.evals.pruningreport import PruningReport
    from memrank.specfile import SpecFile

GATE_FAILED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningOptions:
    """Of the call, the same for every spec."""

    part: str
    seed: int
    resamples: int
    margin: float
    as_json: bool
    html: str | None
    gate: bool
    quiet: bool


def evaluate_conversations(
    folder: str, files: "Sequence[SpecFile]", names: Sequence[str], options: PruningOptions
) -> None:
    """Measure the pruner of each spec (without any, the defaults of `memrank conversation prune`) and answer.

    Exits with 1 where `options.gate` is set and questions become significantly less answerable under any of them.
    """
    from memrank.dialogue.prune import DEFAULTS
    from memrank.evals.conversations import load_conversations
    from memrank.evals.pruning import evaluate_pruning, limits_of
    from memrank.indexing import Analyzer

    ways: list[tuple[str, Limits]] = [(name, limits_of(file.spec)) for file, name in zip(files, names, strict=True)]
    if options.html is not None:
        read: list[str | Path] = [folder, *Path(folder).glob("*.jsonl"), *(file.path for file in files)]
        refuse_source("--html", options.html, read)
    conversations = load_conversations(Path(folder), options.part)
    Notices(strict=False, quiet=options.quiet).show(conversations.notes)
    analyzer = Analyzer()  # what it has read of the conversations serves every spec
    reports = []
    for name, limits in ways or [("defaults", DEFAULTS)]:
        with progress(len(conversations.moments), f"pruning by {name}"[:40], hidden=options.quiet) as done:
            report = evaluate_pruning(
                conversations,
                limits,
                spec=name,
                margin=options.margin,
                seed=options.seed,
                resamples=options.resamples,
                analyzer=analyzer,
                progress=done,
            )
        reports.append(report)
    if options.html is not None:
        from memrank.render.pruningpage import pruning_page

        deliver([pruning_page(reports)], options.html)
    deliver([f"{_text(reports, options)}\n"], None)
    failed = [report.spec for report in reports if not report.gate.passed]
    if options.gate and failed:
        if not options.quiet:
            tell(f"{len(failed)} of {counted(len(reports), 'gate')} failed")
        raise click.exceptions.Exit(GATE_FAILED)


def _text(reports: "Sequence[PruningReport]", options: PruningOptions) -> str:
    from memrank.evals.pruningreport import to_dict, versus

    first, *others = reports
    if options.as_json:
        return json_text(to_dict(reports), indent=2)
    from memrank.render.pruning import pruning_text, versus_text
    from memrank.render.terminal import look

    seen = look(sys.stdout, os.environ)
    parts = [pruning_text(report, width=seen.width, colour=seen.colour) for report in reports]
    parts += [versus_text(first, other, versus(first, other), width=seen.width, colour=seen.colour) for other in others]
    return "\n\n".join(parts)
