"""`memrank artifact`: what was fitted for a spec. Its commands stand in files of their own."""

import click

from memrank.cli.artifact_export import export


@click.group()
def artifact() -> None:
    """Artifacts: export what was fitted as a query of another engine."""


artifact.add_command(export)
