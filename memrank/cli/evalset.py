"""`memrank evalset`: golden sets. Is one fit to measure with, is it what it was? Those of others: `evalset_convert`."""

import os
import sys
from pathlib import Path

import click

from memrank.cli import collector
from memrank.cli.evalset_convert import export, import_
from memrank.cli.output import FILE, deliver, json_text
from memrank.text.counted import counted

UNFIT = 1
VERSION = 40
"""Characters of a version that are shown."""


@click.group()
def evalset() -> None:
    """Golden sets: check that one is fit to measure with, seal it, import those of others, export labels."""


@evalset.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
def check(folders: tuple[str, ...], as_json: bool) -> None:
    """Check each golden set DIR: its manifest, labels, leaks between its parts, balance, and what plain rules score.

    Exits with 1 where there is a fault: an id that no memory has, labels that exclude each other, an answer from the
    future or of another tenant, a group, a question or answers on two sides of the split, a query that stands in its
    answer, a plain rule that is right first for more than .9 of the queries.

    Sets of pairs of memories and of conversations are told by their files and checked for what applies to them: ids,
    groups and texts on two sides of the split, labels, and whether they are as sealed.
    """
    from memrank.evals.kinds import check as check_one
    from memrank.render.evalset import checked_json, checked_text
    from memrank.render.terminal import look

    collector.resume()
    found = [check_one(Path(folder)) for folder in folders]
    if as_json:
        deliver([json_text(checked_json(found), indent=2) + "\n"], None)
    else:
        seen = look(sys.stdout, os.environ)
        deliver(["\n\n\n".join(checked_text(one, seen) for one in found) + "\n"], None)
    if not all(one.passed for one in found):
        raise click.exceptions.Exit(UNFIT)


@evalset.command()
@click.argument("folder", metavar="DIR", type=FILE)
@click.option("--version", metavar="TEXT", help="Version of the set; as it was where left out, 1 at first.")
@click.option("--licence", metavar="TEXT", help="Licence of the data; as it was where left out.")
@click.option("--json", "as_json", is_flag=True, help="The manifest as one JSON object.")
def seal(folder: str, version: str | None, licence: str | None, as_json: bool) -> None:
    """Write DIR/manifest.json: name, version, licence, counts, and the SHA-256 of each file.

    Whoever reads the set is told where it is no longer as sealed. Data that have changed need another --version.
    """
    from dataclasses import asdict

    from memrank.evals.kinds import seal_set
    from memrank.text.inert import clip

    sealed = seal_set(Path(folder), version=version, licence=licence)
    said = f"{folder}: version {clip(sealed.version, VERSION)} sealed, {counted(len(sealed.files), 'file')}"
    deliver([f"{json_text(asdict(sealed), indent=2) if as_json else said}\n"], None)


evalset.add_command(import_)
evalset.add_command(export)
