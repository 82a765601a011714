"""Runs of memrank and of others, ranked as the tools of others rank them."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.readers.runs import read_run


def put(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_of_memrank_keeps_its_order(tmp_path: Path) -> None:
    rows = [
        {"query_id": "q1", "results": [{"id": "b", "score": 0.1}, {"id": "a", "score": 0.9}], "notes": []},
        {"query_id": 2, "results": [], "notes": [{"level": "failure"}]},
    ]
    path = put(tmp_path, "run.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_run(path) == {"q1": ["b", "a"], "2": []}


def test_in_a_trec_run_the_score_decides_and_then_the_id(tmp_path: Path) -> None:
    text = "q1 Q0 a 1 0.5 tag\nq1\tQ0\tb\t2\t2e0\ttag\r\nq2 Q0 x 1 -1 tag\n\nq1 Q0 c 3 0.5 tag\n"
    assert read_run(put(tmp_path, "run.trec", text)) == {"q1": ["b", "c", "a"], "q2": ["x"]}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["run.json", "run"])
def test_json_of_ranx(name: str, indent: int | None, tmp_path: Path) -> None:
    run = {"q1": {"a": 1, "b": 2.5, "c": 1}, "q2": {}, "q3": {"é f": -1}}
    text = json.dumps(run, indent=indent)
    assert read_run(put(tmp_path, name, text)) == {"q1": ["b", "c", "a"], "q2": [], "q3": ["é f"]}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run", " \n", "run: holds no run"),
        ("run", "q1 Q0 a 1 0.5 tag\nq1 Q0 b\n", r"run:2: 3 columns where 6 are expected"),
        ("run", "q1 Q0 a 1 high tag\n", r"run:1: the score: not a finite number"),
        ("run", "q1 Q0 a 1 inf tag\n", r"run:1: the score: not a finite number"),
        ("run", "q1 Q0 a 1 1 t\nq1 Q0 a 2 .5 t\n", r"run:2: 'a' is repeated for the query 'q1'"),
        ("run.json", '{"q1": {"a": 1},\n"q2"}', r"run\.json:2: not valid JSON"),
        ("run.json", '{"q1": ["a"]}', r"run\.json: 'q1': not a JSON object"),
        ("run.json", '{"q1": {"a": null}}', r"run\.json: 'q1': 'a': not a finite number"),
        ("run.jsonl", '{"query_id": "q1", "results": []}\n{"query_id"\n', r"run\.jsonl:2: not valid JSON"),
        ("run.jsonl", '{"query_id"\n', r"run\.jsonl:1: not valid JSON"),
        ("run.jsonl", '{"query_id": "q1"}\n', r"run\.jsonl:1: results: not a list"),
        ("run.jsonl", '{"query_id": "q1", "results": [{}]}\n', r"run\.jsonl:1: results\[0\]: no id"),
        ("run.jsonl", '{"query_id": "q1", "results": [5]}\n', r"run\.jsonl:1: results\[0\]: not a JSON object"),
        ("run.jsonl", '{"query_id": 1, "results": [{"id": 1}, {"id": "1"}]}', r"run\.jsonl:1: a document is repeated"),
        ("run.jsonl", '{"query_id": 1, "results": []}\n{"query_id": "1"}', r"run\.jsonl:2: the query '1' is repeated"),
        ("run.jsonl", '{"query_id": 1, "results": []}\n{"a": 1}', r"run\.jsonl:2: no id"),
    ],
)
def test_what_is_no_run_is_named_with_file_and_line(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_run(put(tmp_path, name, text))


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_run(tmp_path / "run.trec")
    with pytest.raises(DataError, match="is a folder"):
        read_run(tmp_path)


RUNS = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.dictionaries(st.text("xyzé", min_size=1, max_size=3), st.integers(-2, 2), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


@given(run=RUNS)
@settings(max_examples=100, deadline=None)
def test_both_forms_of_others_are_ranked_as_ir_measures_ranks_them(
    run: dict[str, dict[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each document in turn is the only relevant one: its reciprocal rank is where the tool puts it."""
    ir_measures = pytest.importorskip("ir_measures")
    folder = tmp_path_factory.mktemp("runs")
    rows = [f"{query} Q0 {name} 7 {score} tag\n" for query, found in run.items() for name, score in found.items()]
    ranked = read_run(put(folder, "run.trec", "".join(rows)))
    assert ranked == read_run(put(folder, "run.json", json.dumps(run)))
    read = list(ir_measures.read_trec_run(str(folder / "run.trec")))
    for query, names in ranked.items():
        for rank, name in enumerate(names, start=1):
            found = ir_measures.calc_aggregate([ir_measures.RR], [ir_measures.Qrel(query, name, 1)], read)
            assert found[ir_measures.RR] == pytest.approx(1 / rank)
