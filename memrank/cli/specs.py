"""`memrank init`, `check` and `schema`: specs without running them. Neither dspy nor a store is touched."""

import os
from pathlib import Path

import click

from memrank.cli.output import FILE, deliver, json_text, tell
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
    # The spec last: whoever finds it finds what it names.
    texts = {target.with_name(f"{target.stem}.memories.jsonl"): starter_memories(), target: starter_spec(target.stem)}
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: there is no such folder", hint="create it first")
    there = [str(path) for path in texts if os.path.lexists(path)]
    if there and not force:
        raise UsageError(f"{' and '.join(there)}: there already", hint="another name, or --force to replace")
    for path, text in texts.items():
        write_atomic(path, text)
    deliver([f"wrote {target} and {target.stem}.memories.jsonl\ntry: memrank run {target}\n"], None)


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...", type=FILE)
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
        deliver([json_text(faults, indent=2) + "\n"], None)
    else:
        for path, found in faults.items():
            for fault in found:
                tell(fault)
            if not found:
                deliver([f"{path}: ok\n"], None)
    if any(faults.values()):
        raise click.exceptions.Exit(SpecError.exit_status)


@click.command()
def schema() -> None:
    """Print the JSON Schema of the spec: save it where an editor's YAML support finds it."""
    from memrank.specfile import spec_schema

    deliver([json_text(spec_schema(), indent=2) + "\n"], None)
