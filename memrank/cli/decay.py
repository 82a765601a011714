"""`memrank store decay`: what every memory is worth now and why; a durable store keeps the values."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from memrank.cli.output import FILE, Notices, deliver, json_text, tell
from memrank.cli.progress import progress
from memrank.cli.sources import memories_of, of_namespace
from memrank.errors import UsageError
from memrank.text.counted import counted, verb

if TYPE_CHECKING:
    from memrank.spec import ImportanceSpec
    from memrank.stores.sqlite import SqliteStore
    from memrank.types import Memory
    from memrank.worth import Valued

SCHEMA = "memrank.decay/1"
SHOWN = 50
"""Rows of the table where --top says nothing else."""
STEP = 1_000
"""Memories between two movements of the progress bar; with fewer there is none."""

ORDERS = ("worth", "stated", "age", "uses", "id")

Thing = TypeVar("Thing")


@click.command()
@click.argument("store", type=FILE)
@click.option("--as-of", metavar="TIME", help="What now means, ISO 8601; the clock where left out.")
@click.option("--dry-run", is_flag=True, help="Show the values, and keep none of them in the store.")
@click.option("--spec", type=FILE, metavar="SPEC", help="Take `importance` of this spec's ranker; else the defaults.")
@click.option("--namespace", metavar="NAME", help="Only this tenant's memories.")
@click.option("--type", "memory_type", metavar="TYPE", help="Only memories of this type.")
@click.option(
    "--sort",
    type=click.Choice(ORDERS),
    default="worth",
    metavar="ORDER",
    show_default=True,
    help="worth: lowest first; stated, age, uses: highest first; id.",
)
@click.option("--top", type=click.IntRange(min=1), help=f"At most so many rows: {SHOWN} in a table, all in JSON.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; its numbers are whole.")
@click.option("--plot/--no-plot", default=None, help="The decay curves with the memories as dots; beside a table only.")
@click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
def decay(
    store: str,
    as_of: str | None,
    dry_run: bool,
    spec: str | None,
    namespace: str | None,
    memory_type: str | None,
    sort: str,
    top: int | None,
    as_json: bool,
    plot: bool | None,
    quiet: bool,
) -> None:
    """Show what the memories of STORE (an SQLite store, or any file that can be read) are worth, and why.

    Importance falls with age and rises with use; what is superseded is worth the floor. An SQLite store keeps the
    values in the metadata of its memories, as `current_importance` and `current_importance_as_of`; a memory whose value
    is as it was is not written. The stated importance stays as it is, and so does everything that is ranked by it:
    the values follow from what the memories state and from the time, so keeping them is no change of the store. Its
    version stays, caches go on, and replays of earlier reads find every memory as it was. A file is never written.
    """
    if as_json and plot:
        raise UsageError("--json and --plot exclude each other")
    from memrank.asking import moment
    from memrank.registry import store_kind
    from memrank.worth import value

    params, tolerance, scale = _rules(spec)
    now = moment(as_of, named="--as-of")
    durable = store_kind(Path(store)) == "sqlite.v1"
    memories = _memories(store, scale, namespace, durable=durable, quiet=quiet)
    valued = value(memories, params, now, tolerance)
    rows = _rows(valued, memory_type, sort)
    written = _keep(store, valued, rows, quiet=quiet) if durable and not dry_run else None
    if not durable and not dry_run and not quiet:
        tell(f"{store}: files are not written; `memrank store import` makes a store that keeps the values")
    if as_json:
        text = json_text(_answer(store, valued, rows, top, written), indent=2)
    else:
        text = _page(valued, rows, SHOWN if top is None else top, written, plot=plot is not False)
    deliver([f"{text}\n"], None)


def _rules(spec: str | None) -> tuple["ImportanceSpec", float, float]:
    """How importance decays, how many seconds after as_of a memory is known, and what a file divides importance by."""
    from memrank.checking import check_file
    from memrank.registry import SCALES
    from memrank.spec import ImportanceSpec, PrefilterSpec, RankerSpec

    found = None if spec is None else check_file(spec).spec
    stages = found.stages if found else ()
    prefilter = PrefilterSpec(kind="prefilter.hybrid.v1")
    ranker = next((stage for stage in stages if isinstance(stage, RankerSpec)), None)
    known = next((stage for stage in stages if isinstance(stage, PrefilterSpec)), prefilter).future_tolerance
    scale = SCALES[found.store.importance_scale] if found and found.store else 1.0
    return (ranker.importance if ranker else ImportanceSpec()), known, scale


def _memories(store: str, scale: float, namespace: str | None, *, durable: bool, quiet: bool) -> list["Memory"]:
    found, notes = memories_of(Path(store), scale)
    Notices(strict=False, quiet=quiet).show(notes)
    if durable:
        with _opened(store) as kept:
            total = kept.count()
        with progress(total, "reading", hidden=quiet or total < STEP) as done:
            found = list(_told(found, done))
    return list(found if namespace is None else of_namespace(found, namespace))


def _rows(valued: "Valued", memory_type: str | None, sort: str) -> list[int]:
    """The memories that are asked for, in order; equal ones by id."""
    memories, worth = valued.memories, valued.worth
    columns = {"worth": worth.points, "stated": -worth.stated, "age": -valued.months, "uses": -valued.uses}
    first = columns[sort].tolist() if sort in columns else [0.0] * len(memories)
    rows = [k for k, memory in enumerate(memories) if memory_type is None or memory.memory_type == memory_type]
    return sorted(rows, key=lambda k: (first[k], memories[k].id, memories[k].namespace or ""))


def _keep(store: str, valued: "Valued", rows: list[int], *, quiet: bool) -> int:
    """Write the values that have changed, in one transaction; how many."""
    from memrank.records import CURRENT, CURRENT_AS_OF
    from memrank.result import utc_text

    now, worth = utc_text(valued.as_of), valued.importance().tolist()
    memories = valued.memories
    changed = [k for k in rows if memories[k].metadata.get(CURRENT) != worth[k]]
    if not changed:
        return 0
    hidden = quiet or len(changed) < STEP
    with _opened(store) as kept, progress(len(changed), "writing", hidden=hidden) as done:
        values = ((memories[k].namespace, memories[k].id, {CURRENT: worth[k], CURRENT_AS_OF: now}) for k in changed)
        return kept.set_metadata(_told(values, done))


def _opened(store: str) -> "SqliteStore":
    from memrank.indexing import Analyzer
    from memrank.stores.sqlite import SqliteStore

    return SqliteStore(Path(store), Analyzer())


def _told(things: Iterable[Thing], done: Callable[[int], None]) -> Iterator[Thing]:
    """The same things, and the bar moves on."""
    for number, thing in enumerate(things, start=1):
        yield thing
        if number % STEP == 0:
            done(STEP)


def _answer(store: str, valued: "Valued", rows: list[int], top: int | None, written: int | None) -> dict[str, object]:
    from memrank.render.worth import worth_row
    from memrank.result import utc_text

    return {
        "schema": SCHEMA,
        "store": store,
        "as_of": utc_text(valued.as_of),
        "importance": valued.params.model_dump(mode="json"),
        "total": len(rows),
        "not_known_yet": valued.later,
        "written": written,
        "memories": [worth_row(valued, k) for k in rows[:top]],
    }


def _page(valued: "Valued", rows: list[int], top: int, written: int | None, *, plot: bool) -> str:
    from memrank.render.terminal import look
    from memrank.render.worth import worth_plot, worth_table

    seen = look(sys.stdout, os.environ)
    parts = [worth_table(valued, rows[:top], width=seen.width, colour=seen.colour)]
    if plot and rows:
        parts.append(worth_plot(valued, rows, width=seen.width))
    count = counted(len(rows), "memory", "memories")
    if len(rows) > top:
        count = f"{top} of {count} {verb(top)} shown (--top)"
    later = f"; {valued.later} recorded after as_of {verb(valued.later)} left out" if valued.later else ""
    kept = "nothing was written"
    if written is not None:
        kept = f"{counted(written, 'value')} {verb(written, 'was', 'were')} written"
    return "\n\n".join([*parts, f"{count}{later}; {kept}"])
