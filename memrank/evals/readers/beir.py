"""A BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`."""

from pathlib import Path

from memrank.errors import DataError
from memrank.evals.labels import Split
from memrank.evals.readers.converted import DATED, Converted, Grades, Pool, judged
from memrank.evals.readers.documents import read_documents
from memrank.evals.readers.qrels import read_qrels
from memrank.evals.readers.topics import read_topics
from memrank.types import Notes

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
HINT = f"a BEIR folder holds {CORPUS}, {QUERIES} and {QRELS}/test.tsv"
SPLITS: dict[str, Split] = {"train": "fit", "dev": "choose", "test": "report"}


def is_beir(folder: Path) -> bool:
    """Whether a folder is laid out as BEIR's are."""
    return (folder / CORPUS).is_file() and (folder / QUERIES).is_file() and (folder / QRELS).is_dir()


def read_beir(folder: Path) -> Converted:
    """The set of a BEIR folder, all its judgement files together. Raises DataError with file and line."""
    notes = Notes()
    files = sorted(path for path in _qrels(folder) if path.suffix in (".tsv", ".jsonl"))
    if not files:
        raise DataError(f"{folder / QRELS}: no judgements there", hint=HINT)
    pool = Pool(notes)
    read_documents(folder / CORPUS, pool, notes)
    questions = read_topics([folder / QUERIES], notes)
    grades: Grades = {}
    for path in files:
        split = SPLITS.get(path.stem) if len(files) > 1 else None
        for name, found in read_qrels([path], notes).items():
            if name in grades:
                raise DataError(f"{path}: the query {name!r:.80} is judged in another file of the folder too")
            grades[name] = found
            if split is not None and name in questions:
                questions[name]["split"] = split
    return Converted(
        form="beir",
        memories=pool.rows(),
        queries=judged(questions, grades, pool, str(folder / QRELS), notes),
        notes=notes.as_tuple(),
        labels=(
            "`relevant`: documents with a grade above 0; the grade is kept where they differ. Only part of the "
            "documents was judged.",
            "Queries without a relevant document were left out, for judgements cannot say that nothing answers.",
            "`split`: `train` is fit, `dev` is choose, `test` is report, where there are several files of judgements; "
            "else none is stated.",
            DATED,
        ),
    )


def _qrels(folder: Path) -> list[Path]:
    try:
        return list((folder / QRELS).iterdir())
    except OSError as fault:
        raise DataError(f"{folder / QRELS}: cannot be read: {fault.strerror or fault}", hint=HINT) from None
