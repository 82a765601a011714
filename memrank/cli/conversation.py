"""`memrank conversation`: prune a conversation, keep it in a file as it grows, and see what became of its elements."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memrank.cli import collector
from memrank.cli.output import FILE, Notices, deliver, json_text
from memrank.errors import DataError, UsageError
from memrank.text.counted import counted

if TYPE_CHECKING:
    from memrank.counters import Counter
    from memrank.dialogue.prune import Pruned, Scorer
    from memrank.dialogue.rewriting import Summarizer

FORMATS = ("table", "json", "elements", "element-list", "context", "messages")


@click.group()
def conversation() -> None:
    """Prune a conversation to what its context needs; nothing that is promised, asked or pending is dropped."""


@conversation.command()
@click.argument("file", type=FILE)
@click.option("--message", required=True, metavar="TEXT", help="The user's message that has just arrived.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=2000, show_default=True, help="Tokens of what stays.")
@click.option(
    "--keep-last-turns", type=click.IntRange(min=0), default=3, show_default=True, help="Turns that always stay."
)
@click.option(
    "--tokens",
    default="estimate",
    show_default=True,
    metavar="COUNTER",
    help="How tokens are counted: estimate, estimate:MARGIN, tiktoken:ENCODING or tokenizers:FILE.",
)
@click.option("--phase", metavar="TEXT", help="The phase of the task, where it has any.")
@click.option("--judge", type=FILE, metavar="SPEC", help="Let the language model of this spec judge, within 800 ms.")
@click.option(
    "--summaries",
    type=click.Choice(["extract", "lm"]),
    default="extract",
    show_default=True,
    help="Sentences of the elements, or written by the model of --judge.",
)
@click.option("--at", metavar="TIME", help="A time that is kept with the pruning.")
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    metavar="FORM",
    help=f"One of {', '.join(FORMATS)}.",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--strict", is_flag=True, help="Repairs are errors: exit 3, and 4 for a model.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def prune(
    file: str,
    message: str,
    max_tokens: int,
    keep_last_turns: int,
    tokens: str,
    phase: str | None,
    judge: str | None,
    summaries: str,
    at: str | None,
    form: str,
    as_json: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Decide what of the conversation in FILE stays in the context, given the message that has just arrived.

    FILE is a conversation that memrank keeps (the pruning is then kept too), a chat export, or JSON Lines, one element
    each: `id`, `role`, `content`, `turn`, `created_at`, `memory_type` (tool_call, tool_output, document), `call_id`,
    `pinned`.

    With --judge the language model of a spec's `lm` section says what each element is worth; what rules protect stays
    whatever it says. Where it is late (800 ms), away or wrong, the conservative policy holds: what is protected, the
    last turns and the newest documents stay. With --summaries lm it also writes the summaries, within the same time;
    one that is too long, holds a number, a date or a name that its element lacks, or drops what the element promises
    or asks, is not taken.
    """
    if as_json and form not in ("table", "json"):
        raise UsageError("--json and --format exclude each other")
    if summaries == "lm" and judge is None:
        raise UsageError("--summaries lm without a model", hint="--judge SPEC names one")
    collector.resume()
    from memrank.counters import token_counter
    from memrank.dialogue.prune import Limits
    from memrank.dialogue.prune import prune as pruning

    counter = token_counter(tokens)
    scorer, summarizer = (None, None) if judge is None else _asking(judge, max_tokens, summaries)
    limits = Limits(max_tokens=max_tokens, keep_last_turns=keep_last_turns)
    notices = Notices(strict=strict, quiet=quiet, verbose=True)

    def vet(pruned: "Pruned") -> None:
        notices.show(pruned.notes)
        notices.refuse(pruned.notes)

    if _is_kept(file):
        from memrank.dialogue.conversation import Conversation

        with Conversation(file, limits=limits, counter=counter) as kept:
            pruned = kept.prune(message, phase=phase, at=at, scorer=scorer, summarizer=summarizer, vet=vet)
    else:
        records = _records(file, notices)
        pruned = pruning(
            records,
            message,
            limits=limits,
            phase=phase,
            counter=counter,
            scorer=scorer,
            summarizer=summarizer,
        )
        vet(pruned)
    deliver([f"{_text(pruned, 'json' if as_json else form, max_tokens, counter)}\n"], None)


def _asking(spec: str, max_tokens: int, summaries: str) -> "tuple[Scorer, Summarizer | None]":
    """What asks the model of a spec; both share the time of the pruning."""
    from memrank.checking import check_file
    from memrank.dialogue.modelled import LmScorer, LmSummarizer, shared
    from memrank.registry import open_model

    remote = open_model(check_file(spec).spec)
    opens = shared(remote)
    summarizer = LmSummarizer(remote, opens=opens) if summaries == "lm" else None
    return LmScorer(remote, max_tokens=max_tokens, opens=opens), summarizer


@conversation.command()
@click.argument("state", type=FILE)
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Counts as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def add(state: str, file: str, as_json: bool, quiet: bool) -> None:
    """Append the elements of FILE (JSON Lines, a chat export) to the conversation STATE, made where there is none."""
    collector.resume()
    from memrank.dialogue.conversation import Conversation

    notices = Notices(strict=False, quiet=quiet)
    records = _records(file, notices)
    with Conversation(state) as kept:
        before = len(kept)
        notes = kept.add(records)
        total = len(kept)
    notices.show(notes)
    counts = {"new": total - before, "total": total}
    said = f"{state}: {counted(total - before, 'new element')}, {total} in all"
    deliver([f"{json_text(counts) if as_json else said}\n"], None)


@conversation.command()
@click.argument("state", type=FILE)
@click.option("--element", "elements", multiple=True, metavar="ID", help="Draw this one; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON object.")
def show(state: str, elements: tuple[str, ...], as_json: bool) -> None:
    """Show how the conversation STATE was pruned from time to time, and how the worth of its elements went."""
    collector.resume()
    from memrank.dialogue.conversation import Conversation
    from memrank.render.conversation import history_table, trajectories_plot
    from memrank.render.terminal import look

    if not _is_kept(state):
        raise DataError(f"{state}: no conversation is kept here", hint=f"memrank conversation add {state} FILE")
    with Conversation(state) as kept:
        history, courses, jumps, count = kept.history(), kept.trajectories(), kept.jumps(), len(kept)
    unknown = [name for name in elements if name not in courses]
    if unknown:
        raise UsageError(f"the conversation holds no element {unknown[0][:80]!r}")
    if as_json:
        body = {
            "schema": "memrank.conversation-state/1",
            "elements": count,
            "prunings": [asdict(row) for row in history],
            "trajectories": {name: [asdict(point) for point in points] for name, points in courses.items()},
            "jumps": [asdict(jump) for jump in jumps],
        }
        deliver([f"{json_text(body, indent=2)}\n"], None)
        return
    seen = look(sys.stdout, os.environ)
    amounts = (count, "element"), (len(history), "pruning"), (len(jumps), "jump")
    parts = [f"{state}: {', '.join(counted(*amount) for amount in amounts)}"]
    if history:
        parts.append(history_table(history, width=seen.width, colour=seen.colour))
    drawing = trajectories_plot(courses, elements, width=seen.width)
    deliver([f"{text}\n" for text in ("\n\n".join([*parts, *([drawing] if drawing else [])]),)], None)


def _text(pruned: "Pruned", form: str, max_tokens: int, counter: "Counter") -> str:
    match form:
        case "json":
            return json_text(pruned.to_dict(), indent=2)
        case "elements":
            keys = ("element_id", "decay_score", "rationale", "recommended_action", "decay", "recommended_retention")
            return json_text({"scored_elements": [_only(row, keys) for row in pruned.rows()]}, indent=2)
        case "element-list":
            rows = [
                {
                    "context_id": row["element_id"],
                    "decay_score": row["decay"],
                    "recommended_retention": row["recommended_retention"],
                    "rationale": row["rationale"],
                }
                for row in pruned.rows()
            ]
            return json_text({"decay_scores": rows}, indent=2)
        case "context":
            from memrank.dialogue.text import conversation_block

            return conversation_block(pruned, max_tokens=max_tokens, counter=counter)
        case "messages":
            from memrank.dialogue.text import messages

            return json_text(messages(pruned), indent=2)
    from memrank.render.conversation import pruned_table
    from memrank.render.terminal import look

    seen = look(sys.stdout, os.environ)
    return pruned_table(pruned, width=seen.width, colour=seen.colour)


def _only(row: Mapping[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    return {key: row[key] for key in keys}


def _is_kept(file: str) -> bool:
    from memrank.registry import store_kind

    return store_kind(Path(file)) == "sqlite.v1"


def _records(file: str, notices: Notices) -> list[Mapping[str, object]]:
    """The elements of a file, and what is said of those that cannot be used."""
    from memrank.stores.readers import read_elements_of

    records, notes = read_elements_of(file)
    notices.show(notes)
    notices.refuse(notes)
    return records
