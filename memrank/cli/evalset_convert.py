"""`memrank evalset import` and `export`: golden sets of others, and labels for the tools of others."""

from pathlib import Path
from typing import Literal

import click

from memrank.cli import collector
from memrank.cli.output import FILE, Notices, deliver, json_text
from memrank.errors import UsageError
from memrank.text.counted import counted


@click.command("import")
@click.argument("source", metavar="SRC", type=FILE)
@click.option("--to", "target", required=True, type=FILE, metavar="DIR", help="The folder that is made.")
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(["auto", "beir", "trec", "locomo", "longmemeval"]),
    default="auto",
    show_default=True,
    help="What SRC is.",
)
@click.option("--force", is_flag=True, help="Replace an evalset that is there already.")
@click.option("--strict", is_flag=True, help="What needs repair stops the import; nothing is written then.")
@click.option("--json", "as_json", is_flag=True, help="Counts as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def import_(source: str, target: str, form: str, force: bool, strict: bool, as_json: bool, quiet: bool) -> None:
    """Make an evalset of SRC, a golden set in a format of others, whole or not at all.

    beir: a folder with corpus.jsonl, queries.jsonl and qrels/. trec: a folder with documents (corpus, docs, documents,
    collection), topics or queries, and qrels, each a file or a folder, of TREC's form or JSON as ranx and ir_measures
    exchange it. locomo: locomo10.json. longmemeval: longmemeval_s.json, _m or _oracle.

    The README of the evalset says what its labels mean and what of them was derived.
    """
    from memrank.evals.convert import read_foreign, write_evalset

    collector.resume()
    notices = Notices(strict=strict, quiet=quiet, verbose=True)
    found = read_foreign(Path(source), form)
    notices.show(found.notes)
    notices.refuse(found.notes)
    write_evalset(Path(target), found, source=Path(source).resolve().name, force=force)
    counts = {
        "format": found.form,
        "memories": len(found.memories),
        "queries": len(found.queries),
        "notes": len(found.notes),
    }
    memories = counted(len(found.memories), "memory", "memories")
    said = f"{target}: {memories}, {counted(len(found.queries), 'query', 'queries')}, read as {found.form}"
    deliver([f"{json_text(counts) if as_json else said}\n"], None)


@click.command()
@click.argument("folder", metavar="DIR", type=FILE)
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(["trec", "ranx"]),
    default="trec",
    show_default=True,
    help="Lines of qrels, or the JSON that ranx and ir_measures read.",
)
@click.option("--to", "out", type=FILE, metavar="FILE", help="Write to this file; stdout where left out.")
@click.option(
    "--part",
    type=click.Choice(["all", "fit", "choose", "report"]),
    default="all",
    show_default=True,
    help="Only the queries of this part.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def export(
    folder: str,
    form: Literal["trec", "ranx"],
    out: str | None,
    part: Literal["all", "fit", "choose", "report"],
    force: bool,
    quiet: bool,
) -> None:
    """Write the labels of the evalset DIR as qrels, for the tools of others.

    What is relevant has its grade; what is stale or must not come back has 0. Queries that nothing answers are left
    out: qrels cannot say so.
    """
    from memrank.evals.evalset import QUERIES, load
    from memrank.evals.interchange import judgements_of, ranx_text, trec_lines
    from memrank.types import Notes

    if out is not None and Path(out).is_file() and not force:
        raise UsageError(f"{out}: there already", hint="another name, or --force to replace")
    found = load(Path(folder))
    notes = Notes(found.notes)
    judgements = judgements_of(found.queries if part == "all" else found.part(part), notes)
    notices = Notices(strict=False, quiet=quiet, verbose=True)
    notices.show(notes.as_tuple())
    pieces = trec_lines(judgements) if form == "trec" else [ranx_text(judgements)]
    deliver(pieces, out, sources=[found.memories, found.folder / QUERIES], option="--to")
