"""`memrank store`: keep memories in a durable store, and move them between formats."""

import json
import sys
from pathlib import Path

import click

from memrank.errors import DataError


@click.group()
def store() -> None:
    """Keep memories: import them into a durable store, and get them out again."""


@store.command("import")
@click.argument("file")
@click.option("--to", "target", required=True, metavar="STORE", help="The SQLite store; made where it does not exist.")
@click.option("--namespace", metavar="NAME", help="Tenant of the records that name none.")
@click.option("--importance-scale", type=click.Choice(["0-1", "1-10"]), default="0-1", show_default=True)
@click.option("--language", type=click.Choice(["english", "none"]), default="english", show_default=True)
@click.option("--embedder", type=click.Choice(["wordllama", "none"]), default="wordllama", show_default=True)
@click.option("--strict", is_flag=True, help="A record that needs repair stops the import; nothing is written then.")
@click.option("--json", "as_json", is_flag=True, help="Counts as one JSON object.")
def import_(
    file: str,
    target: str,
    namespace: str | None,
    importance_scale: str,
    language: str,
    embedder: str,
    strict: bool,
    as_json: bool,
) -> None:
    """Read FILE (JSONL, JSON, CSV, or an export of another memory system) into STORE, whole or not at all.

    A memory that is there already (same namespace and id) is replaced. --language and --embedder are chosen once, when
    the store is made, and must be those of the specs that read it.
    """
    from dataclasses import replace

    from memrank.indexing import Analyzer
    from memrank.registry import SCALES
    from memrank.render.lines import notes_lines
    from memrank.stores.readers import read_memories
    from memrank.stores.sqlite import SqliteStore

    loaded = read_memories(Path(file), importance_scale=SCALES[importance_scale])
    grave = [note for note in loaded.notes if note.level != "info"]
    for line in notes_lines(loaded.notes):
        click.echo(line, err=True)
    if strict and grave:
        raise DataError(f"--strict: {grave[0].detail}; nothing was written")
    memories = loaded.memories
    if namespace is not None:
        memories = tuple(m if m.namespace is not None else replace(m, namespace=namespace) for m in memories)
    with SqliteStore.create(Path(target), Analyzer(language, embedder)) as kept:  # type: ignore[arg-type]
        written = kept.append(memories)
        total = kept.count()
    if as_json:
        click.echo(json.dumps({"written": written, "total": total, "notes": len(loaded.notes)}))
    else:
        click.echo(f"{target}: {written} memories written, {total} in all")


@store.command("export")
@click.argument("source", metavar="STORE")
@click.option("--namespace", metavar="NAME", help="Only this tenant's memories.")
@click.option("--out", "-o", metavar="FILE", help="Write to this file, whole or not at all; stdout where left out.")
def export(source: str, namespace: str | None, out: str | None) -> None:
    """Write the memories of STORE (an SQLite store, or any file that can be read) as JSON Lines, nothing lost."""
    from memrank.fileio import write_atomic
    from memrank.indexing import Analyzer
    from memrank.registry import store_kind
    from memrank.stores.readers import dump_jsonl, read_memories
    from memrank.stores.sqlite import SqliteStore

    path = Path(source)
    if store_kind(path) == "sqlite.v1":
        memories = SqliteStore(path, Analyzer()).export()
    else:
        memories = iter(read_memories(path).memories)
    lines = dump_jsonl(m for m in memories if namespace is None or m.namespace == namespace)
    if out is not None:
        write_atomic(Path(out), lines)
        return
    for line in lines:
        sys.stdout.write(line)
