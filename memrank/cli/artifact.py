"""`memrank artifact`: what stands in a compiled artifact, and in what two of them differ."""

from pathlib import Path

import click

from memrank.cli.artifact_export import export
from memrank.cli.logfile import seen
from memrank.cli.output import FILE, deliver, json_text


@click.group()
def artifact() -> None:
    """Compiled artifacts: show one, tell two apart, export one as a query of another engine."""


@artifact.command()
@click.argument("path", type=FILE, metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; an older version as the present one.")
def show(path: str, as_json: bool) -> None:
    """Show an artifact: what it was made for and on, its values, and its metrics before and after."""
    from memrank.artifact import read, to_dict
    from memrank.render.artifact import artifact_text

    found = read(Path(path))
    text = json_text(to_dict(found), indent=2) if as_json else artifact_text(found, seen())
    deliver([f"{text}\n"], None)


@artifact.command()
@click.argument("first", type=FILE, metavar="A")
@click.argument("second", type=FILE, metavar="B")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
def diff(first: str, second: str, as_json: bool) -> None:
    """Show A and B side by side, where they differ: parameters, half-lives, examples, instructions, metrics."""
    from memrank.artifact import read
    from memrank.artifactdiff import difference
    from memrank.render.artifact import diff_json, diff_text

    found = difference(read(Path(first)), read(Path(second)))
    text = json_text(diff_json(found), indent=2) if as_json else diff_text(found, seen())
    deliver([f"{text}\n"], None)


artifact.add_command(export)
