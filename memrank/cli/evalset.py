"""`memrank evalset`: golden sets. Import and export: `evalset_convert`."""

import click

from memrank.cli.evalset_convert import export, import_


@click.group()
def evalset() -> None:
    """Golden sets: read those of others, hand on labels."""


evalset.add_command(import_)
evalset.add_command(export)
