"""The labels of an evalset as qrels, for other tools: lines of TREC, and the JSON that ranx and ir_measures read."""

import json
from collections.abc import Iterable, Iterator, Mapping

from memrank.errors import DataError
from memrank.evals.labels import Labelled
from memrank.types import Notes

Judgements = dict[str, dict[str, int]]
"""Query id to memory id to grade: 1 and more is relevant, 0 is not."""


def judgements_of(queries: Iterable[Labelled], notes: Notes) -> Judgements:
    """What is labelled as judgements: grades of what is relevant, and 0 for what is stale or must not come back.

    Queries that nothing answers are left out with a note: judgements cannot say so, and tools would count them as 0.
    Raises DataError for a grade that is no whole number, which qrels cannot hold.
    """
    found: Judgements = {}
    for query in queries:
        if not query.relevant:
            what = "qrels cannot say that nothing answers a query; such queries were left out"
            notes.add("info", "export", "nothing_relevant", what)
            continue
        found[query.id] = {name: _whole(query.id, name, grade) for name, grade in query.relevant.items()}
        for name in sorted((query.stale | query.must_not) - query.relevant.keys()):
            found[query.id][name] = 0
    return found


def _whole(query: str, name: str, grade: float) -> int:
    if grade != int(grade):
        raise DataError(f"{query:.80}: {name:.80} has the grade {grade}", hint="grades of qrels are whole numbers")
    return int(grade)


def trec_lines(judgements: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Lines of qrels, `query 0 memory grade`. Raises DataError for an id that holds a blank, which ends a column."""
    for query, grades in judgements.items():
        for name, grade in grades.items():
            for text in (query, name):
                if text.split() != [text]:
                    raise DataError(f"the id {text!r:.80} holds a blank", hint="--format ranx keeps such ids")
            yield f"{query} 0 {name} {grade}\n"


def ranx_text(judgements: Mapping[str, Mapping[str, int]]) -> str:
    """The JSON of query to memory to grade, which `ranx.Qrels.from_file` reads."""
    return json.dumps(judgements, ensure_ascii=False, indent=1) + "\n"
