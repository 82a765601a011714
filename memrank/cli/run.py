"""`memrank run`: rank for the spec's example, for one query, or for a file of them."""

import gc
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memrank.errors import DataError, MemrankError, UsageError

if TYPE_CHECKING:
    from memrank.pipeline import Pipeline, Ranking

FORMATS = (
    "table",
    "json",
    "context",
    "memory-read",
    "memory-list",
    "passages",
    "passage-list",
    "elements",
    "element-list",
)


@click.command()
@click.argument("spec")
@click.option("--query", "-q", help="What to look for; the spec's example where left out.")
@click.option("--queries", metavar="FILE", help="Many queries, one JSON object a line; - is stdin.")
@click.option("--as-of", metavar="TIME", help="What now means, ISO 8601; the clock where left out.")
@click.option("--store", metavar="FILE", help="Rank the memories of this file instead of the spec's store.")
@click.option("--namespace", metavar="NAME", help="The tenant that asks.")
@click.option("--filter", "filters", multiple=True, metavar="K=V", help="Only memories whose field K is V; repeatable.")
@click.option("--top-k", type=click.IntRange(min=1), help="At most this many results.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of what is kept, at the most.")
@click.option("--rank-only", is_flag=True, help="Rank, and leave the pruner out.")
@click.option("--format", "-f", "form", type=click.Choice(FORMATS), help="Form of the answer; table where left out.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--include-excluded", is_flag=True, help="memory-read: show the excluded entries too.")
@click.option("--explain", is_flag=True, help="Show how every score came about.")
@click.option("--out", "-o", metavar="FILE", help="Write the answer to this file, whole or not at all.")
@click.option("--strict", is_flag=True, help="Repairs and fallbacks are errors: exit 3 for data, 4 for a model.")
@click.option("--no-lm", is_flag=True, help="Call no language model, whatever the spec says.")
@click.option("--quiet", is_flag=True, help="No notes and no progress on stderr.")
@click.option("--verbose", "-v", is_flag=True, help="Informational notes on stderr too.")
def run(
    spec: str,
    query: str | None,
    queries: str | None,
    as_of: str | None,
    store: str | None,
    namespace: str | None,
    filters: tuple[str, ...],
    top_k: int | None,
    max_tokens: int | None,
    rank_only: bool,
    form: str | None,
    as_json: bool,
    include_excluded: bool,
    explain: bool,
    out: str | None,
    strict: bool,
    no_lm: bool,  # noqa: ARG001 - this version has no model to call, so the promise is kept by doing nothing
    quiet: bool,
    verbose: bool,
) -> None:
    """Rank the memories of SPEC's store: for the spec's example, for --query, or for each line of --queries.

    A line of --queries holds `id`, `query` and, where wanted, `query_time`, `group` and `filters`; nothing else of it is
    read. The answer then is one line a query, in the same order.
    """
    if as_json and form not in (None, "json"):
        raise UsageError("--json and --format say different things")
    form = "json" if as_json else form
    if query is not None and queries is not None:
        raise UsageError("--query and --queries exclude each other")
    if explain and (form is not None or queries is not None):
        raise UsageError("--explain is a form of its own: it goes with neither --format nor --queries")
    if queries is not None and form not in (None, "json"):
        raise UsageError(f"--queries writes one line a query: --format {form} is for a single one")
    if include_excluded and form != "memory-read":
        raise UsageError("--include-excluded goes with --format memory-read")
    from memrank.api import load

    pipeline = load(spec, store=store)
    gc.freeze()
    gc.enable()
    options: dict[str, Any] = {
        "namespace": namespace,
        "filters": _filters(filters),
        "top_k": top_k,
        "max_tokens": max_tokens,
        "rank_only": rank_only,
    }
    speak = _Speaker(strict=strict, quiet=quiet, verbose=verbose)
    if queries is not None:
        from memrank.cli.batch import run_batch

        now = as_of or datetime.now(UTC).isoformat()
        run_batch(pipeline, queries, out, options, as_of=as_of, now=now, whole=form == "json", speak=speak)
        return
    ranking = pipeline(**_question(pipeline, query, as_of, options))
    speak.notes(ranking)
    write = _writer(form or "table", pipeline, explain, include_excluded, max_tokens, to_file=out is not None)
    _emit(write(ranking), out)


class _Speaker:
    """What goes to stderr, and what --strict makes of it."""

    def __init__(self, *, strict: bool, quiet: bool, verbose: bool) -> None:
        self.strict = strict
        self.quiet = quiet
        self.verbose = verbose

    def notes(self, ranking: "Ranking") -> None:
        """Show the notes of a read; under --strict, repairs and failures are errors."""
        from memrank.render.lines import notes_lines

        grave = [note for note in ranking.notes if note.level != "info"]
        shown = ranking.notes if self.verbose else grave
        if not self.quiet:
            for line in notes_lines(shown):
                click.echo(line, err=True)
        if self.strict and grave:
            raise DataError(f"--strict: {grave[0].detail}", hint="correct the data, or leave out --strict")


def _question(pipeline: "Pipeline", query: str | None, as_of: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the one read: --query, else the spec's example with its own as_of and filters."""
    if query is not None:
        return {**options, "query": query, "as_of": as_of}
    example = pipeline.spec.example
    if example is None:
        raise UsageError("nothing to rank for: the spec has no example", hint="--query TEXT, or --queries FILE")
    filters = options["filters"] or example.filters
    return {**options, "query": example.query, "as_of": as_of or example.as_of, "filters": filters}


def _filters(given: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--filter {text[:80]!r} is not K=V")
        found.setdefault(name, []).append(value)
    return found


def _writer(
    form: str, pipeline: "Pipeline", explain: bool, include_excluded: bool, max_tokens: int | None, *, to_file: bool
) -> Callable[["Ranking"], str]:
    """The function that turns an answer into the text that is asked for."""
    spec = pipeline.spec
    if explain:
        from memrank.render.explain import explain_text

        return lambda ranking: explain_text(ranking.result, spec)
    if form == "table":
        return lambda ranking: _table(ranking, max_tokens, to_file=to_file)
    if form == "context":
        from memrank.context import context_block

        return lambda ranking: context_block(ranking.result, spec, max_tokens=max_tokens)
    if form == "json":
        return lambda ranking: _pretty(ranking.to_dict())
    from memrank.render.views import VIEWS, memory_read

    if form == "memory-read":
        return lambda ranking: _pretty(memory_read(ranking.result, include_excluded=include_excluded))
    return lambda ranking: _pretty(VIEWS[form](ranking.result, spec))


def _table(ranking: "Ranking", max_tokens: int | None, *, to_file: bool) -> str:
    import os
    import shutil

    from memrank.render.table import table_text

    terminal = sys.stdout.isatty() and not to_file
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size().columns if terminal else None
    return table_text(ranking.result, ranking.spec, width=width, colour=colour, max_tokens=max_tokens)


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def _emit(text: str, out: str | None) -> None:
    if out is None:
        if text:
            click.echo(text)
        return
    from memrank.fileio import write_atomic

    write_atomic(Path(out), text + "\n" if text else "")


__all__ = ["MemrankError", "run"]
