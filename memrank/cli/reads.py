"""`memrank reads`: what the read log holds, exact replay, feedback, statistics. Review: `reads_review`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.cli.logfile import log_options, opened, seen, since_seconds
from memrank.cli.numbers import Finite
from memrank.cli.output import FILE, deliver, json_text, tell
from memrank.cli.reads_review import review
from memrank.errors import DataError

if TYPE_CHECKING:
    from memrank.specfile import SpecFile
    from memrank.stores.base import Store

NOT_REPRODUCED = 1


@click.group()
def reads() -> None:
    """Look into a read log: what was read, why it came out so, and what a person says about it."""


@reads.command("log")
@log_options
@click.option("--since", metavar="TIME", help="Only from this time on: ISO 8601, or how long ago (7d).")
@click.option("--query", metavar="TEXT", help="Only queries that hold this text, whatever the case.")
@click.option("--needs-review", is_flag=True, help="Only reads that asked for a person.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list.")
def log_(
    log: str | None,
    spec: str | None,
    since: str | None,
    query: str | None,
    needs_review: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List reads, newest first."""
    from memrank.render.reads import list_json, list_text
    from memrank.stores.readlog_list import lines

    found = lines(opened(log, spec)[0], since=since_seconds(since), text=query, needs_review=needs_review, limit=limit)
    deliver([(json_text(list_json(found), indent=2) if as_json else list_text(found, seen())) + "\n"], None)


@reads.command()
@click.argument("read_id")
@log_options
@click.option("--json", "as_json", is_flag=True, help="Everything that was recorded, as one JSON object.")
def show(read_id: str, log: str | None, spec: str | None, as_json: bool) -> None:
    """Show a read as it was recorded. READ_ID may be cut to 8 characters or more."""
    from memrank.asrecorded import recorded_result, recorded_spec
    from memrank.render.reads import read_json, read_lines
    from memrank.render.table import table_text
    from memrank.stores.readlog_list import uses

    where, _ = opened(log, spec)
    kept = where.load(where.find(read_id))
    result, missing = recorded_result(kept)
    said = uses(where, kept.read_id)
    if as_json:
        deliver([json_text(read_json(kept, result, missing, said), indent=2) + "\n"], None)
        return
    look = seen()
    table = table_text(result, recorded_spec(kept), width=look.width, colour=look.colour)
    deliver(["\n".join([*read_lines(kept, missing, said), "", table]) + "\n"], None)


@reads.command()
@click.argument("read_id")
@log_options
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="What if: temporal.half_life=3d; repeatable."
)
@click.option("--store", type=FILE, metavar="FILE", help="The store that was read; that of --spec where left out.")
@click.option(
    "--query", metavar="TEXT", help="The text of the query, where the log lacks it; else it must be the same."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def replay(
    read_id: str,
    log: str | None,
    spec: str | None,
    settings: tuple[str, ...],
    store: str | None,
    query: str | None,
    as_json: bool,
) -> None:
    """Judge a recorded read again, and say what has changed since. READ_ID may be cut to 8 characters or more.

    Exit code 1 where another answer comes out, and where that cannot be told because memories are unavailable. With
    --set the question is what would have come out: exit code 0, or 3 where a judged memory is unavailable.
    """
    from memrank import replay as replays
    from memrank.render.reads import replay_json, replay_text

    where, file = opened(log, spec)
    sources = replays.Sources(query=query, spec=file, store=None if store is None else Path(store))
    found = replays.replay(where, where.load(where.find(read_id)), settings, sources)
    deliver([(json_text(replay_json(found), indent=2) if as_json else replay_text(found, seen())) + "\n"], None)
    if not settings and not found.reproduced:
        raise click.exceptions.Exit(NOT_REPRODUCED)


@reads.command()
@click.argument("read_id")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@log_options
@click.option("--store", type=FILE, metavar="FILE", help="The store to count in; that of --spec where left out.")
@click.option("--session", metavar="NAME", help="The session in which they were of use.")
@click.option("--at", metavar="TIME", help="When, ISO 8601; now where left out.")
@click.option("--json", "as_json", is_flag=True, help="Counts as one JSON object.")
def used(
    read_id: str,
    ids: tuple[str, ...],
    log: str | None,
    spec: str | None,
    store: str | None,
    session: str | None,
    at: str | None,
    as_json: bool,
) -> None:
    """Say which memories of a read were of use; a store that can be written counts it."""
    from memrank.asking import moment
    from memrank.feedback import record_used
    from memrank.text.counted import counted

    where, file = opened(log, spec)
    found = record_used(where, _store(store, file), read_id, ids, session=session, at=moment(at, named="--at"))
    counts = {
        "recorded": len(dict.fromkeys(ids)),
        "counted": len(found.counted) if found else 0,
        "limited": len(found.limited) if found else 0,
        "unknown": list(found.unknown) if found else [],
    }
    recorded = f"{counted(len(dict.fromkeys(ids)), 'use')} recorded"
    said = f"{recorded}, {counts['counted']} counted in the store"
    if found is None and not as_json:
        said = f"{recorded}; no store that can be written is named"
    deliver([f"{json_text(counts) if as_json else said}\n"], None)


def _store(store: str | None, file: "SpecFile | None") -> "Store | None":
    from memrank.indexing import Analyzer
    from memrank.registry import open_store, store_kind

    if store is not None:
        path = Path(store)
        if not path.exists():
            raise DataError(f"{store}: there is no such store", hint="memrank store import FILE --to STORE makes one")
        return open_store(store_kind(path), path, Analyzer())
    if file is None or file.spec.store is None:
        return None
    return open_store(file.spec.store.kind, file.folder / file.spec.store.path, Analyzer(), of_spec=True)


@reads.command()
@log_options
@click.option("--since", metavar="TIME", help="Only from this time on: ISO 8601, or how long ago (30d).")
@click.option(
    "--drift-threshold",
    type=Finite(min=0),
    default=0.2,
    show_default=True,
    help="Stability index against the first week from which a week counts as drifted.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def stats(log: str | None, spec: str | None, since: str | None, drift_threshold: float, as_json: bool) -> None:
    """Latency, cache, failures, reviews, decay and the drift of scores."""
    from memrank.render.reads import stats_json, stats_text
    from memrank.stores import readlog_stats

    found = readlog_stats.stats(opened(log, spec)[0], since=since_seconds(since), drift_threshold=drift_threshold)
    deliver([(json_text(stats_json(found), indent=2) if as_json else stats_text(found, seen())) + "\n"], None)
    drifted = [week.week for week in found.weeks if week.drifted]
    if drifted:
        tell(f"scores have drifted in {', '.join(drifted)}")


reads.add_command(review)
