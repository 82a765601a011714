"""Labels as qrels: what they say, and that other tools read them."""

import json
from pathlib import Path
from typing import Any

import pytest

from memrank.errors import DataError
from memrank.evals.interchange import judgements_of, ranx_text, trec_lines
from memrank.evals.labels import Labelled, read_labels
from memrank.evals.readers.qrels import read_qrels
from memrank.queryrows import Row
from memrank.types import Notes


def labelled(name: str, **fields: Any) -> Labelled:
    return read_labels(Row(id=name, fields={"id": name, "query": "?", **fields}, notes=()), name)


QUERIES = [
    labelled("q1", relevant={"a": 2, "b": 1}, metadata={"stale": ["c", "b"], "must_not": ["d"]}),
    labelled("q2", relevant=["a"]),
    labelled("q3", relevant=[], metadata={"must_not": ["d"]}),
]


def test_what_is_relevant_has_its_grade_and_what_must_not_come_back_has_0() -> None:
    notes = Notes()
    assert judgements_of(QUERIES, notes) == {"q1": {"a": 2, "b": 1, "c": 0, "d": 0}, "q2": {"a": 1}}
    assert [(note.code, note.count) for note in notes.as_tuple()] == [("nothing_relevant", 1)]


def test_both_forms_are_read_back(tmp_path: Path) -> None:
    judgements = judgements_of(QUERIES, Notes())
    trec, ranx = tmp_path / "qrels.txt", tmp_path / "qrels.json"
    trec.write_text("".join(trec_lines(judgements)), encoding="utf-8")
    ranx.write_text(ranx_text(judgements), encoding="utf-8")
    assert trec.read_text().splitlines()[:2] == ["q1 0 a 2", "q1 0 b 1"]
    assert json.loads(ranx.read_text()) == judgements
    assert read_qrels([trec], Notes()) == read_qrels([ranx], Notes()) == judgements


def test_ir_measures_reads_the_lines(tmp_path: Path) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    path = tmp_path / "qrels.txt"
    path.write_text("".join(trec_lines(judgements_of(QUERIES, Notes()))), encoding="utf-8")
    run = [ir_measures.ScoredDoc("q1", "c", 3.0), ir_measures.ScoredDoc("q1", "a", 2.0)]
    found = ir_measures.calc_aggregate([ir_measures.RR], list(ir_measures.read_trec_qrels(str(path))), run)
    assert found[ir_measures.RR] == pytest.approx(0.25)  # second for q1, and nothing for q2


def test_what_the_forms_cannot_hold_is_refused() -> None:
    with pytest.raises(DataError, match=r"q: a has the grade 0\.5"):
        judgements_of([labelled("q", relevant={"a": 0.5})], Notes())
    judgements = judgements_of([labelled("q", relevant=["a b"])], Notes())
    with pytest.raises(DataError, match="'a b' holds a blank"):
        list(trec_lines(judgements))
    assert json.loads(ranx_text(judgements)) == {"q": {"a b": 1}}
