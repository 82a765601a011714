"""Many queries in one run: a line each, in input order; one that fails says so and the rest goes on."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import click

from memrank.errors import DataError, MemrankError
from memrank.fileio import write_atomic
from memrank.pipeline import Pipeline, Ranking
from memrank.render.lines import run_row

STDIN = "-"


class Speaker(Protocol):
    """What a batch needs of the one who speaks to the user."""

    strict: bool
    quiet: bool


def run_batch(
    pipeline: Pipeline,
    queries: str,
    out: str | None,
    options: dict[str, Any],
    *,
    as_of: str | None,
    now: str,
    whole: bool,
    speak: Speaker,
) -> None:
    """Rank for every line of `queries` and write a line for each, to `out` (whole or not at all) or to stdout as they come.

    `as_of` overrides the time of every row, `now` stands in where a row has none. Under --strict the first repair or
    failure ends the run with a DataError.
    """
    rows = _rows(queries, strict=speak.strict)
    lines = _answers(pipeline, rows, options, as_of=as_of, now=now, whole=whole, speak=speak)
    if out is not None:
        write_atomic(Path(out), lines)
        return
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()


def _answers(
    pipeline: Pipeline,
    rows: list[dict[str, Any]],
    options: dict[str, Any],
    *,
    as_of: str | None,
    now: str,
    whole: bool,
    speak: Speaker,
) -> Iterator[str]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    hidden = speak.quiet or not console.is_terminal
    failed, said = 0, set()
    for row in track(rows, description="ranking", console=console, disable=hidden, transient=True):
        try:
            ranking = pipeline(**_arguments(row, options, as_of=as_of, now=now))
        except MemrankError as fault:
            if speak.strict:
                raise DataError(f"query {row['id']!r}: {fault.message}", hint=fault.hint) from None
            failed += 1
            yield _line(_failure(row, fault))
            continue
        grave = [note for note in ranking.notes if note.level != "info"]
        for note in grave:
            if speak.strict:
                raise DataError(f"--strict: query {row['id']!r}: {note.detail}")
            if note.detail not in said and not speak.quiet:
                said.add(note.detail)
                click.echo(f"{note.level}: {note.detail}", err=True)
        yield _line(ranking.to_dict() if whole else run_row(ranking.result))
    if failed and not speak.quiet:
        click.echo(f"{failed} of {len(rows)} queries failed; their rows say why", err=True)


def _arguments(row: dict[str, Any], options: dict[str, Any], *, as_of: str | None, now: str) -> dict[str, Any]:
    filters = row.get("filters")
    if filters is not None and not isinstance(filters, dict):
        raise DataError("filters is not an object")
    named = {str(name): value if isinstance(value, list) else [str(value)] for name, value in (filters or {}).items()}
    group = row.get("group", row.get("namespace"))
    return {
        **options,
        "query": row.get("query") if isinstance(row.get("query"), str) else None,
        "query_id": row["id"],
        "as_of": as_of or row.get("query_time") or now,
        "namespace": options["namespace"] or (None if group is None else str(group)),
        "filters": {**{name: [str(v) for v in values] for name, values in named.items()}, **options["filters"]},
    }


def _failure(row: dict[str, Any], fault: MemrankError) -> dict[str, object]:
    note = {"level": "failure", "stage": "read", "code": fault.code, "detail": fault.message, "count": 1}
    return {"query_id": row["id"], "results": [], "notes": [note]}


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(path: str, *, strict: bool) -> list[dict[str, Any]]:
    """The rows of a query file, each with a text `id`. A line that is no JSON object is reported and left out."""
    rows = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line holds one JSON object")
        except (ValueError, RecursionError) as fault:
            message = f"{path}:{number}: {fault}"
            if strict:
                raise DataError(message) from None
            click.echo(f"repair: {message}; the line was left out", err=True)
            continue
        row["id"] = str(row["id"]) if row.get("id") is not None else f"line-{number}"
        rows.append(row)
    return rows


def _text(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as fault:
        raise DataError(f"{path}: {fault.strerror or fault}", hint="--queries takes a JSON Lines file, or - for stdin") from None
    return data.decode("utf-8-sig", "replace")


__all__ = ["Ranking", "run_batch"]
