"""A folder with a TREC collection: documents, topics and qrels, or the JSON that ranx and ir_measures exchange."""

from pathlib import Path

from memrank.errors import DataError
from memrank.evals.readers.converted import DATED, Converted, Pool, judged
from memrank.evals.readers.documents import read_documents
from memrank.evals.readers.qrels import read_qrels
from memrank.evals.readers.topics import read_topics
from memrank.types import Notes

PARTS = {
    "documents": ("corpus", "docs", "documents", "collection", "memories"),
    "topics": ("topics", "queries"),
    "qrels": ("qrels",),
}
"""How the names of the files and folders of each part begin."""
HINT = (
    "it holds files or folders named corpus, docs, documents or collection; topics or queries; and qrels, "
    "such as corpus.jsonl, topics.txt, qrels.txt"
)


def is_trec(folder: Path) -> bool:
    """Whether a folder has a file or folder for every part."""
    return all(_files(folder, part) for part in PARTS)


def read_trec(folder: Path) -> Converted:
    """The set of a folder; several files of one part are read together. Raises DataError with file and line."""
    notes = Notes()
    found = {part: _files(folder, part) for part in PARTS}
    missing = [part for part, files in found.items() if not files]
    if missing:
        raise DataError(f"{folder}: no {' and no '.join(missing)} there", hint=HINT)
    pool = Pool(notes)
    for path in found["documents"]:
        read_documents(path, pool, notes)
    questions = read_topics(found["topics"], notes)
    grades = read_qrels(found["qrels"], notes)
    return Converted(
        form="trec",
        memories=pool.rows(),
        queries=judged(questions, grades, pool, str(folder), notes),
        notes=notes.as_tuple(),
        labels=(
            "`relevant`: documents with a grade above 0; the grade is kept where they differ. Only part of the "
            "documents was judged.",
            "`query` is the title of a topic; its description and narrative are kept in `metadata`.",
            "Queries without a relevant document were left out, for judgements cannot say that nothing answers.",
            "No split is stated.",
            DATED,
        ),
    )


def _files(folder: Path, part: str) -> list[Path]:
    """The files of a part: those whose names begin so, and those in folders whose names begin so."""
    named = [path for path in _inside(folder) if path.name.lower().startswith(PARTS[part])]
    files = [inner for path in named for inner in (_inside(path) if path.is_dir() else [path])]
    return [path for path in files if path.is_file() and not path.name.startswith(".")]


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as fault:
        raise DataError(f"{folder}: cannot be read: {fault.strerror or fault}", hint=HINT) from None
