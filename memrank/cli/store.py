"""`memrank store`: keep memories in a durable store, move them between formats, see what they are worth."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from memrank.cli import collector
from memrank.cli.contradictions import contradictions
from memrank.cli.decay import decay
from memrank.cli.forget import forget
from memrank.cli.output import FILE, Notices, deliver, json_text
from memrank.cli.sources import logs_of, memories_of, of_namespace
from memrank.errors import UsageError
from memrank.text.counted import counted


@click.group()
def store() -> None:
    """Keep memories: import, export, forget; see what they are worth, and which contradict each other."""


@store.command("import")
@click.argument("file", type=FILE)
@click.option(
    "--to", "target", required=True, type=FILE, metavar="STORE", help="The SQLite store; made where it does not exist."
)
@click.option("--namespace", metavar="NAME", help="Tenant of the records that name none.")
@click.option("--importance-scale", type=click.Choice(["0-1", "1-10"]), default="0-1", show_default=True)
@click.option("--language", type=click.Choice(["english", "none"]), default="english", show_default=True)
@click.option("--embedder", type=click.Choice(["wordllama", "none"]), default="wordllama", show_default=True)
@click.option("--strict", is_flag=True, help="A record that needs repair stops the import; nothing is written then.")
@click.option("--json", "as_json", is_flag=True, help="Counts as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def import_(
    file: str,
    target: str,
    namespace: str | None,
    importance_scale: str,
    language: Literal["english", "none"],
    embedder: Literal["wordllama", "none"],
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read FILE (JSONL, JSON, CSV, an export of another memory system, or a store) into STORE, whole or not at all.

    A memory that is there already (same namespace and id) is replaced. --language and --embedder are chosen once, when
    the store is made, and must be those of the specs that read it.
    """
    from memrank.indexing import Analyzer
    from memrank.registry import SCALES
    from memrank.stores.sqlite import SqliteStore

    collector.resume()
    with suppress(OSError):
        if Path(target).samefile(file):
            raise UsageError(f"{file}: the store cannot be imported into itself")
    notices = Notices(strict=strict, quiet=quiet, verbose=True)
    found, notes = memories_of(Path(file), SCALES[importance_scale])
    memories = [m if namespace is None or m.namespace is not None else replace(m, namespace=namespace) for m in found]
    notices.show(notes)
    notices.refuse(notes)
    with SqliteStore.create(Path(target), Analyzer(language, embedder)) as kept:
        before = kept.count()
        written = kept.append(memories)
        total = kept.count()
    counts = {"written": written, "new": total - before, "total": total, "notes": len(notes)}
    said = f"{target}: {counted(written, 'memory', 'memories')} written, {total - before} of them new, {total} in all"
    deliver([f"{json_text(counts) if as_json else said}\n"], None)


@store.command("export")
@click.argument("source", metavar="STORE", type=FILE)
@click.option("--namespace", metavar="NAME", help="Only this tenant's memories.")
@click.option(
    "--out", "-o", type=FILE, metavar="FILE", help="Write to this file, whole or not at all; stdout where left out."
)
@click.option("--strict", is_flag=True, help="A record that needs repair stops the export; nothing is written then.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def export(source: str, namespace: str | None, out: str | None, strict: bool, quiet: bool) -> None:
    """Write the memories of STORE (an SQLite store, or any file that can be read) as JSON Lines, nothing lost."""
    from memrank.stores.readers import dump_jsonl

    found, notes = memories_of(Path(source), 1.0)
    notices = Notices(strict=strict, quiet=quiet, verbose=True)
    notices.show(notes)
    notices.refuse(notes)
    deliver(
        dump_jsonl(found if namespace is None else of_namespace(found, namespace)),
        out,
        sources=[source, *logs_of(source)],
    )


store.add_command(decay)
store.add_command(contradictions)
store.add_command(forget)
