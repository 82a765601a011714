"""`memrank artifact`: look into what was fitted for a spec, and what two such files differ in."""

from pathlib import Path

import click

from memrank.cli import collector
from memrank.cli.artifact_export import export
from memrank.cli.output import FILE, deliver, json_text

DIFFERENT = 1


@click.group()
def artifact() -> None:
    """Compiled artifacts: show one, compare two, export one as a query of another engine."""


@artifact.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="The artifact as one JSON object, checked.")
def show(file: str, as_json: bool) -> None:
    """Check the artifact FILE and say what is in it: what it was fitted on and for, and every value."""
    from memrank.artifact import read, to_dict
    from memrank.render.compiling import artifact_text

    collector.resume()
    found = read(Path(file))
    deliver([f"{json_text(to_dict(found), indent=2) if as_json else artifact_text(found)}\n"], None)


@artifact.command()
@click.argument("one", metavar="A", type=FILE)
@click.argument("other", metavar="B", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def diff(one: str, other: str, as_json: bool) -> None:
    """What the artifacts A and B differ in: the spec, versions, data, every value, and the metrics on held-out queries.

    Exit code 1 where they differ.
    """
    from memrank.artifact import read
    from memrank.cli.logfile import seen
    from memrank.render.compiling import DIFF_SCHEMA, artifact_differences, difference_text

    collector.resume()
    found = artifact_differences(read(Path(one)), read(Path(other)))
    if as_json:
        body = {
            "schema": DIFF_SCHEMA,
            "differences": {name: {"a": first, "b": second} for name, (first, second) in found.items()},
        }
        deliver([f"{json_text(body, indent=2)}\n"], None)
    else:
        deliver([f"{difference_text(found, (one, other), seen())}\n"], None)
    if found:
        raise click.exceptions.Exit(DIFFERENT)


artifact.add_command(export)
