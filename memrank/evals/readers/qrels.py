"""Judgements of relevance: qrels of TREC and BEIR, and the JSON that ranx and ir_measures exchange."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from memrank.errors import DataError
from memrank.evals.readers.converted import Grades
from memrank.evals.readers.text import document_of, lines_of, name_at, number_at, object_at, objects_of
from memrank.types import Notes

HINT = "a line of qrels is `query 0 document grade` (TREC) or `query<TAB>document<TAB>grade` (BEIR)"
HEADERS = ("score", "relevance", "rel", "label", "grade")
"""The last column in the first line of BEIR files."""
_Judgement = tuple[str, str, str, float]
"""Place, query, document, grade."""


def read_qrels(paths: Iterable[Path], notes: Notes) -> Grades:
    """The judgements of files, each told apart by suffix and content.

    TREC: `query iteration document grade`. BEIR: three columns and a header. `.jsonl`: objects of `query-id`,
    `corpus-id`, `score`. `.json`: query to document to grade. Raises DataError with file and line for anything else,
    for a pair that is judged twice and differently, and for a file without judgements.
    """
    grades: Grades = {}
    for path in paths:
        empty = True
        for where, query, document, grade in _judgements(path, notes):
            empty = False
            if grades.setdefault(query, {}).setdefault(document, grade) != grade:
                raise DataError(f"{where}: {document!r:.80} has been given another grade for {query!r:.80}")
        if empty:
            raise DataError(f"{path}: holds no judgements", hint=HINT)
    return grades


def _judgements(path: Path, notes: Notes) -> Iterator[_Judgement]:
    suffix = path.suffix.lower()
    read = _document if suffix == ".json" else _objects if suffix in (".jsonl", ".ndjson") else _columns
    return read(path, notes)


def _document(path: Path, notes: Notes) -> Iterator[_Judgement]:
    for query, documents in object_at(document_of(path, notes), str(path)).items():
        place = f"{path}: {query!r:.80}"
        for document, grade in object_at(documents, place).items():
            yield place, query, document, number_at(grade, f"{place}: the grade of {document!r:.80}")


def _objects(path: Path, notes: Notes) -> Iterator[_Judgement]:
    for where, fields in objects_of(path, notes):
        query = name_at(fields, ("query-id", "query_id", "qid"), where)
        document = name_at(fields, ("corpus-id", "corpus_id", "doc_id", "docid"), where)
        yield where, query, document, number_at(fields.get("score", fields.get("relevance")), f"{where}: the grade")


def _columns(path: Path, notes: Notes) -> Iterator[_Judgement]:
    for number, (where, line) in enumerate(lines_of(path, notes)):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) not in (3, 4):  # columns of TREC are set apart by any blanks, ids of BEIR may hold some
            cells = line.split()
        if not all(cells):
            raise DataError(f"{where}: an empty column", hint=HINT)
        if len(cells) not in (3, 4):
            raise DataError(f"{where}: {len(cells)} columns where 3 or 4 are expected", hint=HINT)
        if number == 0 and len(cells) == 3 and cells[-1].lower() in HEADERS:
            continue
        yield where, cells[0], cells[-2], number_at(cells[-1], f"{where}: the grade")
