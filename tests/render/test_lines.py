"""Notes, errors and batch rows as text."""

import json

from factories import item, memory, result

from memrank.errors import SpecError, UsageError
from memrank.render.lines import error_text, notes_lines, run_row
from memrank.types import Note


def note(level: str, code: str, detail: str = "what happened", count: int = 1) -> Note:
    return Note(level=level, stage="store", code=code, detail=detail, count=count)  # type: ignore[arg-type]


def test_notes_stand_gravest_first_and_count() -> None:
    notes = [note("info", "a"), note("failure", "b"), note("repair", "c", count=3), note("info", "d")]
    assert notes_lines(notes) == [
        "failure: store: what happened [b]",
        "repair: store: what happened (3 times) [c]",
        "info: store: what happened [a]",
        "info: store: what happened [d]",
    ]


def test_a_note_is_one_harmless_line() -> None:
    assert notes_lines([note("info", "a", "x\n\x1b[1mfailure: forged\u202e")]) == [
        "info: store: x �[1mfailure: forged [a]"
    ]


def test_errors_name_the_way_out() -> None:
    assert (
        error_text(UsageError("the query is empty", hint="ask something"))
        == "error: the query is empty\n  hint: ask something"
    )
    assert error_text(UsageError("bad \x1b[31m id\u2028x")) == "error: bad �[31m id x"


def test_faults_of_a_spec_stand_at_the_start_of_their_lines() -> None:
    faults = ["a.yaml:1:2: name: wrong; allowed: right", "a.yaml:9:1: stages: empty"]
    assert error_text(SpecError(faults)).split("\n") == faults


def test_run_row() -> None:
    returned = [item(memory("a")), item(memory("b"), scores={"relevance": 0.1})]
    row = run_row(result(returned, [item(memory("c"), reason="stale")], notes=[note("info", "a")]))
    assert json.loads(json.dumps(row)) == {
        "query_id": "q1",
        "results": [{"id": "a", "score": returned[0].score}, {"id": "b", "score": returned[1].score}],
        "notes": [{"level": "info", "stage": "store", "code": "a", "detail": "what happened", "count": 1}],
    }
    assert run_row(result()) == {"query_id": "q1", "results": [], "notes": []}
