"""`memrank reads review`: the queue of reads that wait for a person."""

from datetime import UTC, datetime
from typing import Any

import click

from memrank.cli.logfile import log_options, opened, seen
from memrank.cli.output import FILE, deliver, json_text, tell
from memrank.text.counted import counted, verb

UNDECIDED = 1


@click.group()
def review() -> None:
    """Decide what asks for a person. ITEM is a number of the queue, or 8 or more characters of a read's id."""


@review.command("list")
@log_options
@click.option("--all", "everything", is_flag=True, help="Decided ones, too.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Draw N reads at random into the queue first.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw: the same seed draws the same reads.")
@click.option("--limit", type=click.IntRange(min=1), help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list.")
def list_(
    log: str | None,
    spec: str | None,
    everything: bool,
    sample: int | None,
    seed: int,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the queue, oldest first.

    What rules have picked says little about the reads that they passed: --sample adds some at random, of which the
    first three results are to be judged.
    """
    from memrank.render.reads import item_json, queue_text
    from memrank.stores import readlog_review

    where, _ = opened(log, spec)
    if sample is not None:
        drawn = readlog_review.sample(where, sample, seed, at=datetime.now(UTC))
        tell(f"{counted(drawn, 'read')} drawn into the queue")
    found = readlog_review.items(where, undecided=not everything, limit=limit)
    text = json_text(list(map(item_json, found)), indent=2) if as_json else queue_text(found, seen())
    deliver([f"{text}\n"], None)


@review.command()
@click.argument("item")
@log_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object: the items and the read.")
def show(item: str, log: str | None, spec: str | None, as_json: bool) -> None:
    """Show an item with all that is needed to decide: the read as it was answered, and how every score came about."""
    from memrank.asrecorded import recorded_result, recorded_spec
    from memrank.render.explain import explain_text
    from memrank.render.reads import item_json, queue_text, read_json, read_lines
    from memrank.stores import readlog_review
    from memrank.stores.readlog_list import uses

    where, _ = opened(log, spec)
    found = readlog_review.find(where, item)
    kept = where.load(found[0].read_id)
    result, missing = recorded_result(kept)
    said = uses(where, kept.read_id)
    if as_json:
        body = {"items": list(map(item_json, found)), "read": read_json(kept, result, missing, said)}
        deliver([json_text(body, indent=2) + "\n"], None)
        return
    head = [queue_text(found, seen()), "", *read_lines(kept, missing, said), ""]
    deliver(["\n".join([*head, explain_text(result, recorded_spec(kept))]) + "\n"], None)


def _decision(command: Any) -> Any:
    """What every decision takes."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="The decided items as a JSON list."),
        click.option("--comment", metavar="TEXT", help="Why."),
        click.option("--who", metavar="NAME", help="Who decides."),
        log_options,
        click.argument("item"),
    ):
        command = option(command)
    return command


@review.command()
@_decision
def accept(item: str, log: str | None, spec: str | None, who: str | None, comment: str | None, as_json: bool) -> None:
    """The answer is right: its first three results are relevant. Of a check: the memory still holds.

    Of a memory that was left out: rightly so.
    """
    _decide(item, log, spec, "accepted", who, comment, as_json, None)


@review.command()
@_decision
def reject(item: str, log: str | None, spec: str | None, who: str | None, comment: str | None, as_json: bool) -> None:
    """The answer is not to be acted on. Of a check: the memory no longer holds.

    Of a memory that was left out: it should not have been.
    """
    _decide(item, log, spec, "rejected", who, comment, as_json, None)


@review.command()
@_decision
@click.option("--relevant", multiple=True, metavar="ID", help="A memory that helps to answer; repeatable.")
@click.option("--stale", multiple=True, metavar="ID", help="An earlier value that still reads like an answer.")
@click.option("--must-not", multiple=True, metavar="ID", help="A memory that must not come back.")
def edit(
    item: str,
    log: str | None,
    spec: str | None,
    who: str | None,
    comment: str | None,
    as_json: bool,
    relevant: tuple[str, ...],
    stale: tuple[str, ...],
    must_not: tuple[str, ...],
) -> None:
    """The answer is put right: say which of its memories are relevant, stale, or must not come back."""
    from memrank.stores.readlog_review import Labels

    labels = Labels(relevant=relevant, stale=stale, must_not=must_not)
    _decide(item, log, spec, "edited", who, comment, as_json, labels)


def _decide(
    item: str,
    log: str | None,
    spec: str | None,
    decision: Any,
    who: str | None,
    comment: str | None,
    as_json: bool,
    labels: Any,
) -> None:
    from memrank.render.reads import item_json
    from memrank.stores import readlog_review

    where, _ = opened(log, spec)
    found = readlog_review.find(where, item)
    at = datetime.now(UTC)
    readlog_review.decide(where, found, decision, at=at, who=who, comment=comment, labels=labels)
    after = readlog_review.find(where, item)
    said = f"{', '.join(str(one.number) for one in found)}: {decision}"
    deliver([(json_text(list(map(item_json, after)), indent=2) if as_json else said) + "\n"], None)


@review.command()
@click.argument("read_id")
@log_options
def decided(read_id: str, log: str | None, spec: str | None) -> None:
    """Print what was decided about a read: accepted, rejected, edited, undecided, or not_queued.

    Exit code 1 while it is undecided and where it was rejected, so that a script can hold an agent back.
    """
    from memrank.stores import readlog_review

    where, _ = opened(log, spec)
    found = readlog_review.decided(where, where.find(read_id))
    deliver([f"{found}\n"], None)
    if found in ("undecided", "rejected"):
        raise click.exceptions.Exit(UNDECIDED)


@review.command()
@log_options
@click.option("--out", "-o", type=FILE, metavar="FILE", help="Write to this file, whole or not at all.")
def export(log: str | None, spec: str | None, out: str | None) -> None:
    """Write what was decided as rows of a golden set's `queries.jsonl`."""
    from memrank.stores import readlog_review

    where, _ = opened(log, spec)
    rows = list(readlog_review.labelled(where))
    left_out = sum(row is None for row in rows)
    deliver((json_text(row) + "\n" for row in rows if row is not None), out, sources=[where.path])
    if left_out:
        reads = f"{counted(left_out, 'decided read')} {verb(left_out)}"
        tell(f"{reads} left out: the log does not hold the text of {verb(left_out, 'its query', 'their queries')}")
