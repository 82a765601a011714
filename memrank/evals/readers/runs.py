"""Runs: what a system, memrank or another, has returned for each query."""

import json
from collections.abc import Iterator
from pathlib import Path

from memrank.errors import DataError
from memrank.evals.readers.text import (
    document_of,
    lines_of,
    list_at,
    name_at,
    number_at,
    object_at,
    objects_of,
    text_of,
)
from memrank.plain import plain_text
from memrank.types import Notes

HINT = (
    "a run is what `memrank run SPEC --queries FILE --out RUN.jsonl` writes, a TREC run (`query Q0 document rank score "
    "tag`), or JSON of query to document to score, as ranx writes it"
)


def read_run(path: Path) -> dict[str, list[str]]:
    """The ids that a run returned for each query, best first. A query without results has an empty list.

    The order of memrank's results is kept. In a TREC run and in JSON the score decides, not the rank or the order, and
    of equal scores the id that sorts last comes first: as trec_eval and ir_measures do it, so that figures agree with
    theirs. Raises DataError with file and line for what is no run, and where a query or a document is repeated.
    """
    notes = Notes()
    head = text_of(path, notes).lstrip()[:1]
    if not head:
        raise DataError(f"{path}: holds no run", hint=HINT)
    if head != "{":
        return _ranked(_columns(path, notes))
    return _results(path, notes) if _is_lines(path, notes) else _ranked(_scores(path, notes))


_Scored = Iterator[tuple[str, str, str, float]]
"""Place, query, document, score."""


def _is_lines(path: Path, notes: Notes) -> bool:
    """Whether a file that begins with an object holds rows of memrank, not one document."""
    _, first = next(lines_of(path, notes))
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return path.suffix.lower() in (".jsonl", ".ndjson")
    return isinstance(value, dict) and isinstance(value.get("query_id"), (str, int))


def _results(path: Path, notes: Notes) -> dict[str, list[str]]:
    run: dict[str, list[str]] = {}
    for where, fields in objects_of(path, notes):
        query = name_at(fields, ("query_id",), where)
        if query in run:
            raise DataError(f"{where}: the query {query!r:.80} is repeated", hint="each query has one line")
        run[query] = []
        for at, result in enumerate(list_at(fields.get("results"), f"{where}: results")):
            place = f"{where}: results[{at}]"
            run[query].append(name_at(object_at(result, place), ("id",), place))
        if len(set(run[query])) < len(run[query]):
            raise DataError(f"{where}: a document is repeated for {query!r:.80}")
    return run


def _columns(path: Path, notes: Notes) -> _Scored:
    for where, line in lines_of(path, notes):
        cells = line.split()
        if len(cells) not in (5, 6):  # the tag is left out by some
            raise DataError(f"{where}: {len(cells)} columns where 6 are expected", hint=HINT)
        yield where, cells[0], cells[2], number_at(cells[4], f"{where}: the score")


def _scores(path: Path, notes: Notes) -> _Scored:
    for query, documents in object_at(document_of(path, notes), str(path)).items():
        place = f"{path}: {query!r:.80}"
        found = object_at(documents, place)
        if not found:
            yield place, plain_text(query), "", 0.0
        for document, score in found.items():
            yield place, plain_text(query), plain_text(document), number_at(score, f"{place}: {document!r:.80}")


def _ranked(rows: _Scored) -> dict[str, list[str]]:
    scores: dict[str, dict[str, float]] = {}
    for where, query, document, score in rows:
        found = scores.setdefault(query, {})
        if document in found:
            raise DataError(f"{where}: {document!r:.80} is repeated for the query {query!r:.80}")
        if document:
            found[document] = score
    return {query: sorted(found, key=lambda name: (found[name], name), reverse=True) for query, found in scores.items()}
