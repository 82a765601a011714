"""The shipped specs: valid by both validators, ready to run, and with the line that editors read."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import memrank
from memrank.nodes import plain
from memrank.pipeline import UNQUEUED
from memrank.specfile import load_spec, spec_schema
from memrank.yamltext import read_yaml

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"
SPECS = sorted(PIPELINES.glob("*.yaml"))
SCHEMA = PIPELINES / "memrank.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA.name}"


def _stem(path: Path) -> str:
    return path.stem


def _values(path: Path) -> Any:
    root = read_yaml(path.read_text(encoding="utf-8")).root
    assert root is not None
    return plain(root)


def test_the_promised_specs_are_shipped() -> None:
    assert {path.stem for path in SPECS} >= {"agent-memory", "chat-context", "clinical", "finance", "news"}


def test_the_schema_beside_them_is_the_one_that_memrank_prints() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == spec_schema()


@pytest.mark.parametrize("path", SPECS, ids=_stem)
def test_its_first_line_names_the_schema(path: Path) -> None:
    assert path.read_text(encoding="utf-8").splitlines()[0] == SCHEMA_LINE


@pytest.mark.parametrize("path", SPECS, ids=_stem)
def test_it_is_valid(path: Path) -> None:
    spec = load_spec(path).spec
    assert spec.name == path.stem
    assert spec.description
    jsonschema.Draft202012Validator(spec_schema()).validate(_values(path))


@pytest.mark.parametrize("path", SPECS, ids=_stem)
def test_what_it_points_to_is_there(path: Path) -> None:
    file = load_spec(path)
    spec = file.spec
    assert spec.store is not None
    assert (file.folder / spec.store.path).is_file()
    assert spec.evaluate is not None
    evalset = file.folder / spec.evaluate.evalset
    assert (evalset / "queries.jsonl").is_file()
    assert evalset / "memories.jsonl" == file.folder / spec.store.path


@pytest.mark.parametrize("path", SPECS, ids=_stem)
def test_its_example_runs(path: Path) -> None:
    """Something is returned, in order and within the budget, and no note says that something went wrong."""
    pipeline = memrank.load(path)
    example = pipeline.spec.example
    assert example is not None
    assert example.as_of is not None, "an example without a moment gives another answer every day"
    ranking = pipeline(example.query, as_of=example.as_of, filters=example.filters)
    assert ranking.results
    budget = next(stage.max_tokens for stage in pipeline.spec.stages if stage.kind == "pruner.v1")
    assert sum(item.tokens for item in ranking.results if "protected" not in item.flags) <= budget
    scores = [item.score for item in ranking.results]
    assert scores == sorted(scores, reverse=True)
    assert (UNQUEUED in ranking.notes) == pipeline.spec.high_stakes
    assert {note.level for note in ranking.notes if note != UNQUEUED} <= {"info"}
    assert ranking.context()
