"""Short texts and rows: notes and errors for stderr, one row a query for a batch."""

from collections.abc import Iterable
from dataclasses import asdict

from memrank.errors import MemrankError, SpecError
from memrank.result import Result
from memrank.text.inert import inert
from memrank.types import Note


def notes_lines(notes: Iterable[Note]) -> list[str]:
    """One line a note, gravest level first: `repair: store: line 3 is no JSON (4 times) [bad_line]`."""
    gravity = {"failure": 0, "repair": 1, "info": 2}
    return [_note(note) for note in sorted(notes, key=lambda note: gravity[note.level])]


def _note(note: Note) -> str:
    times = f" ({note.count} times)" if note.count > 1 else ""
    return inert(f"{note.level}: {note.stage}: {note.detail}{times} [{note.code}]")


def error_text(error: MemrankError) -> str:
    """An error for people. The faults of a spec stand one a line, each at the start of its line for editors to find."""
    message = list(error.faults) if isinstance(error, SpecError) else f"error: {error.message}".split("\n")
    hint = [f"  hint: {inert(error.hint)}"] if error.hint else []
    return "\n".join([*map(inert, message), *hint])


def run_row(result: Result) -> dict[str, object]:
    """The row of one query in a batch: `query_id`, `results` of `id` and `score` in order, `notes`."""
    return {
        "query_id": result.query.id,
        "results": [{"id": item.id, "score": item.score} for item in result.results],
        "notes": [asdict(note) for note in result.notes],
    }
