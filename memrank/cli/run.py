"""`memrank run`: rank for the spec's example, for one query, or for a file of them."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memrank.cli import collector
from memrank.cli.output import FILE, Notices, deliver, json_text
from memrank.errors import UsageError

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

SHOWING_REVIEW = ("table", "json")
"""Forms that show by themselves that a review is needed; with others stderr says so."""


@click.command()
@click.argument("spec", type=FILE)
@click.option("--query", metavar="TEXT", help="What to look for; the spec's example where left out.")
@click.option("--queries", type=FILE, metavar="FILE", help="Many queries, one JSON object a line; - is stdin.")
@click.option("--as-of", metavar="TIME", help="What now means, ISO 8601; see below where left out.")
@click.option("--store", type=FILE, metavar="FILE", help="Rank the memories of this file instead of the spec's store.")
@click.option("--namespace", metavar="NAME", help="The tenant that asks.")
@click.option("--filter", "filters", multiple=True, metavar="K=V", help="Only memories whose field K is V; repeatable.")
@click.option("--top-k", type=click.IntRange(min=1), help="At most this many results.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of what is kept, at the most.")
@click.option("--rank-only", is_flag=True, help="Rank, and leave the pruner out.")
@click.option(
    "--format", "-f", "form", type=click.Choice(FORMATS), metavar="FORM", help=f"One of {', '.join(FORMATS)}."
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--include-excluded", is_flag=True, help="memory-read: show the excluded entries too.")
@click.option("--explain", is_flag=True, help="Show how every score came about.")
@click.option("--out", "-o", type=FILE, metavar="FILE", help="Write the answer to this file, whole or not at all.")
@click.option("--strict", is_flag=True, help="Repairs and fallbacks are errors: exit 3 for data, 4 for a model.")
@click.option("--no-lm", is_flag=True, help="Call no language model, whatever the spec says.")
@click.option("--no-cache", is_flag=True, help="Keep no answer of a language model from one query to the next.")
@click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
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
    no_lm: bool,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Rank the memories of SPEC's store: for the spec's example, for --query, or for each line of --queries.

    A line of --queries holds `id`, `query` and, where wanted, `query_time`, `group` (the namespace) and `filters`;
    nothing else of it is read. The answer then is one line a query, in the same order: `query_id`, `results` (`id`,
    `score`) and `notes`, or the whole answer with --json. A query that fails has no results and a note that says why.

    The time that "now" means is that of --as-of, else the line's `query_time`, else the example's (only with the
    example's query), else the clock's.
    """
    form = _form(form, as_json=as_json, include_excluded=include_excluded, explain=explain, many=queries is not None)
    if query is not None and queries is not None:
        raise UsageError("--query and --queries exclude each other")
    if quiet and verbose:
        raise UsageError("--quiet and --verbose exclude each other")
    options: dict[str, Any] = {
        "namespace": namespace,
        "filters": _filters(filters),
        "top_k": top_k,
        "max_tokens": max_tokens,
        "rank_only": rank_only,
    }
    from memrank.api import load

    pipeline = load(spec, store=store, lm=not no_lm, lm_cache=not no_cache)
    collector.resume()
    notices = Notices(strict=strict, quiet=quiet, verbose=verbose)
    sources: list[str | os.PathLike[str]] = [spec, *_store_file(pipeline, spec, store), *_log_file(pipeline, spec)]
    if queries is not None:
        from memrank.asking import moment
        from memrank.cli.batch import Batch

        time = None if as_of is None else moment(as_of, named="--as-of")
        now = time or datetime.now(UTC)
        batch = Batch(pipeline=pipeline, options=options, as_of=time, now=now, whole=form == "json", notices=notices)
        batch.run(queries, out, [*sources, queries])
        return
    ranking = pipeline(**_question(pipeline, query, as_of, options))
    unwritten = pipeline.flush()
    notes = ranking.notes if unwritten is None or unwritten in ranking.notes else (*ranking.notes, unwritten)
    notices.show(notes)
    notices.refuse(notes)
    if form not in SHOWING_REVIEW:
        notices.review(ranking.meta)
    text = _writer(form, include_excluded, to_file=out is not None)(ranking)
    deliver([f"{text}\n"] if text else [""], out, sources=sources)


def _form(form: str | None, *, as_json: bool, include_excluded: bool, explain: bool, many: bool) -> str:
    """The one form that is asked for, or UsageError for options that exclude each other."""
    if as_json and form not in (None, "json"):
        raise UsageError("--json and --format say different things")
    form = "json" if as_json else form
    if explain and (form is not None or many):
        raise UsageError("--explain is a form of its own: it goes with neither --format nor --queries")
    if many and form not in (None, "json"):
        raise UsageError(f"--queries writes one line a query: --format {form} is for a single one")
    if include_excluded and form != "memory-read":
        raise UsageError("--include-excluded goes with --format memory-read")
    return "explain" if explain else form or "table"


def _store_file(pipeline: "Pipeline", spec: str, store: str | None) -> list[str | os.PathLike[str]]:
    """The file that memories are read from, where there is one."""
    if store is not None:
        return [store]
    where = pipeline.spec.store
    return [] if where is None else [Path(spec).absolute().parent / where.path]


def _log_file(pipeline: "Pipeline", spec: str) -> list[str | os.PathLike[str]]:
    """The read log, where there is one."""
    reads = pipeline.spec.reads
    return [] if reads is None or reads.log is None else [Path(spec).absolute().parent / reads.log]


def _question(pipeline: "Pipeline", query: str | None, as_of: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the one read: --query, else the spec's example with its own as_of and filters."""
    from memrank.asking import moment

    if query is not None:
        return {**options, "query": query, "as_of": None if as_of is None else moment(as_of, named="--as-of")}
    example = pipeline.spec.example
    if example is None:
        raise UsageError("nothing to rank for: the spec has no example", hint="--query TEXT, or --queries FILE")
    filters = options["filters"] or example.filters
    time = example.as_of if as_of is None else moment(as_of, named="--as-of")
    return {**options, "query": example.query, "as_of": time, "filters": filters}


def _filters(given: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--filter {text[:80]!r} is not K=V")
        found.setdefault(name, []).append(value)
    return found


def _writer(form: str, include_excluded: bool, *, to_file: bool) -> Callable[["Ranking"], str]:
    """The function that turns an answer into the text that is asked for."""
    if form == "explain":
        from memrank.render.explain import explain_text

        return lambda ranking: explain_text(ranking.result, ranking.spec)
    if form == "table":
        return lambda ranking: _table(ranking, to_file=to_file)
    if form == "context":
        from memrank.context import context_block

        return lambda ranking: context_block(ranking.result, ranking.spec)
    if form == "json":
        return lambda ranking: json_text(ranking.to_dict(), indent=2)
    from memrank.views import VIEWS, memory_read

    if form == "memory-read":
        return lambda ranking: json_text(memory_read(ranking.result, include_excluded=include_excluded), indent=2)
    return lambda ranking: json_text(VIEWS[form](ranking.result, ranking.spec), indent=2)


def _table(ranking: "Ranking", *, to_file: bool) -> str:
    from memrank.render.table import table_text
    from memrank.render.terminal import Look, look

    seen = Look(width=None, colour=False) if to_file else look(sys.stdout, os.environ)
    return table_text(ranking.result, ranking.spec, width=seen.width, colour=seen.colour)
