"""`memrank store forget`: delete a memory for privacy, wherever it is kept, and prove it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.cli import collector
from memrank.cli.output import FILE, deliver, json_text
from memrank.errors import DataError, UsageError
from memrank.text.counted import counted, verb

if TYPE_CHECKING:
    from memrank.stores.forgetting import Place

LEFT = 1


@click.command()
@click.argument("store", type=FILE)
@click.argument("identity", metavar="ID")
@click.option("--namespace", metavar="NAME", help="Its tenant; needed where several hold a memory of this id.")
@click.option("--log", "logs", multiple=True, type=FILE, metavar="FILE", help="A read log to clear, too; repeatable.")
@click.option(
    "--conversation",
    "talks",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A kept conversation to clear; repeatable.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="What was done and found, as one JSON object.")
def forget(
    store: str,
    identity: str,
    namespace: str | None,
    logs: tuple[str, ...],
    talks: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """Delete the memory ID from STORE, read logs and conversations, for good, and look for its text in their bytes.

    Logs keep the numbers of their reads; the text is then unavailable to a replay. Exit code 1 where something of the
    text is still found, or nothing could be looked for because it is too short.
    """
    from memrank.plain import plain_text
    from memrank.registry import store_kind
    from memrank.stores.conversation_forget import ConversationPlace
    from memrank.stores.forgetting import Gone, prove, texts_of
    from memrank.stores.readlog_forget import LogPlace
    from memrank.stores.sqlite_forget import StorePlace

    collector.resume()
    identity, namespace = plain_text(identity), namespace and plain_text(namespace)
    path = Path(store)
    if path.is_file() and store_kind(path) != "sqlite.v1":
        raise UsageError(f"{store}: memrank never writes such a file", hint="delete the record from it yourself")
    kept = StorePlace(path)
    if namespace is None:
        namespace = _only(kept.namespaces(identity), identity)
    places: list[Place] = [kept, *(LogPlace(Path(log)) for log in logs)]
    places += (ConversationPlace(Path(talk)) for talk in talks)
    held = [memory for place in places for memory in place.held(namespace, identity)]
    if not held:
        raise DataError(f"{store}: nothing holds a memory {identity[:80]!r}", hint="ids are matched exactly")
    gone = Gone(namespace=namespace, id=identity, texts=texts_of(held))
    _confirm(identity, places, yes)
    changed = {str(place.path): place.forget(gone) for place in places}
    proof = prove(places, gone.texts)
    body = {
        "id": identity,
        "namespace": namespace,
        "changed": changed,
        "files": list(proof.files),
        "bytes_scanned": proof.bytes_scanned,
        "pieces": proof.pieces,
        "shared": proof.shared,
        "found": list(proof.found),
    }
    deliver([(json_text(body, indent=2) if as_json else _told(body)) + "\n"], None)
    if proof.found or not proof.pieces:
        raise click.exceptions.Exit(LEFT)


def _only(namespaces: Sequence[str | None], identity: str) -> str | None:
    """The one namespace that holds the memory; None where none does, for logs may still."""
    if len(namespaces) > 1:
        raise DataError(f"{len(namespaces)} namespaces hold a memory {identity[:80]!r}", hint="--namespace NAME")
    return namespaces[0] if namespaces else None


def _confirm(identity: str, places: Sequence["Place"], yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("what is forgotten cannot be brought back", hint="--yes")
    where = ", ".join(str(place.path) for place in places)
    if not click.confirm(f"Delete {identity[:80]!r} from {where} for good?", err=True):
        raise UsageError("nothing was deleted")


def _told(body: Mapping[str, object]) -> str:
    changed = body["changed"]
    lines = [f"{path}: {count} deleted" for path, count in changed.items()] if isinstance(changed, dict) else []
    scanned = f"{body['bytes_scanned']:,} bytes scanned for {counted(int(str(body['pieces'])), 'piece')} of its text"
    shared = int(str(body["shared"]))
    also = f" ({shared} of them {verb(shared)} said by something else, too)" if shared else ""
    found = body["found"]
    if not body["pieces"]:
        return "\n".join([*lines, "its text is too short to be looked for"])
    if not isinstance(found, list) or not found:
        return "\n".join([*lines, f"{scanned}{also}: 0 found"])
    reading = "a process that still reads them keeps it: it goes when that process ends"
    return "\n".join([*lines, f"{scanned}{also}: STILL FOUND in {', '.join(found)}", reading])
