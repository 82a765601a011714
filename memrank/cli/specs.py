"""`memrank init`, `check` and `schema`: specs without running them. Neither dspy nor a store is touched."""

import json
from pathlib import Path

import click

from memrank.errors import SpecError, UsageError


@click.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def init(name: str, force: bool) -> None:
    """Write NAME.yaml, a first spec, commented and ready to run, with example memories beside it.

    NAME is lower-case letters, digits, - and _; a folder may stand before it.
    """
    from memrank.fileio import write_atomic
    from memrank.starter import starter_memories, starter_spec

    target = Path(f"{name.removesuffix('.yaml')}.yaml")
    texts = {target: starter_spec(target.stem), target.with_name(f"{target.stem}.memories.jsonl"): starter_memories()}
    there = [str(path) for path in texts if path.exists()]
    if there and not force:
        raise UsageError(f"{' and '.join(there)}: there already", hint="another name, or --force to replace")
    for path, text in texts.items():
        write_atomic(path, text)
    click.echo(f"wrote {' and '.join(map(str, texts))}\ntry: memrank run {target}")


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: file to its faults.")
def check(specs: tuple[str, ...], as_json: bool) -> None:
    """Check each SPEC and report every fault as FILE:LINE:COLUMN: PATH: what is wrong; what is allowed."""
    from memrank.checking import check_file

    faults: dict[str, list[str]] = {}
    for path in specs:
        try:
            check_file(path)
            faults[path] = []
        except SpecError as error:
            faults[path] = list(error.faults)
    if as_json:
        click.echo(json.dumps(faults, ensure_ascii=False, indent=2))
    else:
        for path, found in faults.items():
            for fault in found:
                click.echo(fault, err=True)
            if not found:
                click.echo(f"{path}: ok")
    if any(faults.values()):
        raise click.exceptions.Exit(SpecError.exit_status)


@click.command()
def schema() -> None:
    """Print the JSON Schema of the spec: save it where an editor's YAML support finds it."""
    from memrank.specfile import spec_schema

    click.echo(json.dumps(spec_schema(), ensure_ascii=False, indent=2))
