"""`memrank store contradictions`: which memories contradict each other; a durable store can keep the links."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, Notices, deliver, json_text, tell
from memrank.cli.progress import progress
from memrank.cli.sources import memories_of, of_namespace
from memrank.errors import UsageError
from memrank.text.counted import counted, verb

if TYPE_CHECKING:
    from memrank.contradictions import Contradiction
    from memrank.types import Memory

SCHEMA = "memrank.contradictions/1"
STEP = 1_000
"""Memories from which there is a progress bar."""
SHOWN = 50
"""Rows of the table where --top says nothing else."""


@click.command()
@click.argument("store", type=FILE)
@click.option("--namespace", metavar="NAME", help="Only this tenant's memories.")
@click.option("--threshold", type=Finite(0, 1), help="Least probability that is reported; 0.5 where left out.")
@click.option("--top", type=click.IntRange(min=1), help=f"At most so many pairs: {SHOWN} in a table, all in JSON.")
@click.option("--language", type=click.Choice(["english", "none"]), default="english", show_default=True)
@click.option("--judge", type=FILE, metavar="SPEC", help="Ask the language model of this spec about each pair, too.")
@click.option("--strict", is_flag=True, help="A model that does not answer is an error: exit 4.")
@click.option("--apply", is_flag=True, help="Link each older memory to the newer one; an SQLite store only.")
@click.option("--undo", is_flag=True, help="Take back every link that --apply has set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
@click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
def contradictions(
    store: str,
    namespace: str | None,
    threshold: float | None,
    top: int | None,
    language: str,
    judge: str | None,
    strict: bool,
    apply: bool,
    undo: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find memories of STORE (an SQLite store, or any file that can be read) that contradict each other.

    Memories are compared within one tenant, and within one memory type where both have one. Of two that contradict each
    other, the newer one counts. Nothing is ever deleted: --apply gives the older one `superseded_by`, so that it ranks
    below the newer one and its importance is the floor; --undo takes back what --apply has set.

    With --judge the language model of a spec's `lm` section has the last word on what the rules find, and on what they
    find less likely; the texts of those pairs then leave this machine, where the model is not on it.
    """
    if apply and undo:
        raise UsageError("--apply and --undo exclude each other")
    from memrank.registry import store_kind

    durable = store_kind(Path(store)) == "sqlite.v1"
    if (apply or undo) and not durable:
        raise UsageError(
            f"{store}: files are not written", hint=f"`memrank store import {store} --to STORE` makes a store that is"
        )
    found, notes = memories_of(Path(store), 1.0)
    Notices(strict=False, quiet=quiet).show(notes)
    memories = list(found if namespace is None else of_namespace(found, namespace))
    if undo:
        _say(store, _undo(store, memories), as_json=as_json)
        return
    notices = Notices(strict=strict, quiet=quiet)
    pairs = _judged(memories, language, threshold, judge, notices)
    linked = _link(store, pairs) if apply else None
    shown = pairs[: (top if as_json else top or SHOWN)]
    if as_json:
        body = {
            "schema": SCHEMA,
            "store": store,
            "memories": len(memories),
            "found": len(pairs),
            "linked": linked,
            "contradictions": [_row(pair) for pair in shown],
        }
        deliver([f"{json_text(body, indent=2)}\n"], None)
        return
    deliver([f"{_page(len(memories), pairs, shown, linked)}\n"], None)


def _judged(
    memories: Sequence["Memory"], language: str, threshold: float | None, judge: str | None, notices: Notices
) -> list["Contradiction"]:
    if judge is None:
        return _scan(memories, language, threshold, quiet=notices.quiet)
    from memrank.checking import check_file
    from memrank.contradictions import THRESHOLD
    from memrank.registry import open_model
    from memrank.secondlook import OPEN_FROM, confirmed

    remote = open_model(check_file(judge).spec)
    least = THRESHOLD if threshold is None else threshold
    pairs, notes = confirmed(_scan(memories, language, min(least, OPEN_FROM), quiet=notices.quiet), remote, least)
    notices.show(notes)
    notices.refuse(notes)
    return sorted(pairs, key=_order)


def _order(pair: "Contradiction") -> tuple[float, str, str, str]:
    """Likeliest first; ties by tenant and ids."""
    return -pair.probability, pair.newer.namespace or "", pair.newer.id, pair.older.id


def _scan(
    memories: Sequence["Memory"], language: str, threshold: float | None, *, quiet: bool
) -> list["Contradiction"]:
    from memrank.contradictions import THRESHOLD, contradictions
    from memrank.indexing import Analyzer, Vocabulary, index
    from memrank.tenant import Tenant

    analyzer = Analyzer("none" if language == "none" else "english")
    groups: dict[str | None, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.namespace, []).append(memory)
    pairs: list[Contradiction] = []
    least = THRESHOLD if threshold is None else threshold
    with progress(len(memories), "comparing", hidden=quiet or len(memories) < STEP) as done:
        for name, own in groups.items():
            vocabulary = Vocabulary()
            tenant = Tenant.build(name, index(own, analyzer, vocabulary), vocabulary, analyzer.language)
            bar = _Bar(done, len(own))
            pairs += contradictions(tenant, threshold=least, progress=bar.told)
    return sorted(pairs, key=_order)


class _Bar:
    """Pairs compared as a share of the memories that they belong to."""

    def __init__(self, done: Callable[[int], None], memories: int) -> None:
        self._done = done
        self._memories = memories
        self._moved = 0

    def told(self, compared: int, pairs: int) -> None:
        now = self._memories * compared // pairs if pairs else self._memories
        self._done(now - self._moved)
        self._moved = now


def _link(store: str, pairs: Sequence["Contradiction"]) -> int:
    """Link what is not linked, each older memory to the likeliest newer one, in one transaction; how many."""
    from memrank.asking import moment
    from memrank.indexing import Analyzer
    from memrank.result import utc_text
    from memrank.stores.sqlite import SqliteStore
    from memrank.superseding import linking

    at = utc_text(moment(None))
    first = {
        (pair.older.namespace, pair.older.id): pair
        for pair in reversed(pairs)
        if not {"stated", "linked"} & set(pair.evidence)
    }
    with SqliteStore(Path(store), Analyzer()) as kept:
        return kept.edit((space, identity, linking(pair, at)) for (space, identity), pair in first.items())


def _undo(store: str, memories: Sequence["Memory"]) -> int:
    from memrank.indexing import Analyzer
    from memrank.stores.sqlite import SqliteStore
    from memrank.superseding import is_linked, unlinking

    with SqliteStore(Path(store), Analyzer()) as kept:
        return kept.edit((memory.namespace, memory.id, unlinking) for memory in memories if is_linked(memory))


def _say(store: str, count: int, *, as_json: bool) -> None:
    said = f"{store}: {counted(count, 'link')} taken back"
    body = {"schema": SCHEMA, "store": store, "unlinked": count}
    deliver([f"{json_text(body, indent=2) if as_json else said}\n"], None)


def _page(memories: int, pairs: Sequence["Contradiction"], shown: Sequence["Contradiction"], linked: int | None) -> str:
    from memrank.render.contradictions import contradictions_table
    from memrank.render.terminal import look

    seen = look(sys.stdout, os.environ)
    head = f"{counted(memories, 'memory', 'memories')}, {counted(len(pairs), 'contradiction')}"
    head += "" if linked is None else f", {counted(linked, 'link')} set"
    if len(shown) < len(pairs):
        tell(f"{len(shown)} of {len(pairs)} {verb(len(shown))} shown; --top shows more")
    if not shown:
        return head
    return f"{head}\n\n{contradictions_table(shown, width=seen.width, colour=seen.colour)}"


def _row(pair: "Contradiction") -> dict[str, object]:
    return {
        "namespace": pair.newer.namespace,
        "newer": pair.newer.id,
        "older": pair.older.id,
        "probability": pair.probability,
        "evidence": list(pair.evidence),
        "sentence": pair.sentence,
        "newer_content": pair.newer.content,
        "older_content": pair.older.content,
    }
