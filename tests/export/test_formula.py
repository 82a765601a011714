"""What is exported of a spec, under which names, and what is refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from goldenset import desk

from memrank.artifact import Artifact, State, write
from memrank.checking import check_written
from memrank.compiled import bound_json, made_with
from memrank.errors import DataError, SpecError, UsageError
from memrank.export.elasticsearch import elasticsearch_of
from memrank.export.fields import Fields, moment_text
from memrank.export.formula import ByType, formula_of
from memrank.export.qdrant import qdrant_of
from memrank.export.source import exported
from memrank.export.sql import sql_of
from memrank.specfile import parse_spec

HEAD = "memrank: 1\nname: sample\nstages:\n"


def spec(temporal: str = "", ranker: str = "") -> Any:
    return parse_spec(f"{HEAD}  - {{kind: temporal.v1{temporal}}}\n  - {{kind: ranker.v1{ranker}}}\n")


def test_values_by_type_fall_back_to_the_default() -> None:
    values = ByType(default=1.0, named={"price": 2.0})
    assert [values.of(name) for name in ("price", "note", None)] == [2.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "asked", "found"),
    [("", None, "recent"), ("", "real-time", "real-time"), (", sensitivity: time-agnostic", None, "time-agnostic")],
)
def test_a_formula_is_for_one_sensitivity(given: str, asked: str | None, found: str) -> None:
    assert formula_of(spec(given), asked).sensitivity == found


@pytest.mark.parametrize("asked", ["historical", "soon"])
def test_other_sensitivities_are_refused(asked: str) -> None:
    with pytest.raises(UsageError, match=asked):
        formula_of(spec(), asked)


def test_a_spec_without_a_ranker_has_nothing_to_export() -> None:
    with pytest.raises(UsageError, match="nothing to export"):
        formula_of(parse_spec(f"{HEAD}  - {{kind: temporal.v1}}\n"))


def test_weibull_of_shape_one_and_two_is_what_engines_have() -> None:
    shapes = [formula_of(spec(f", kernel: weibull, half_life: 1d, beta: {beta}")).curve.shape for beta in (1, 2, 3)]
    assert shapes == ["exponential", "gaussian", "weibull"]


def test_what_is_left_out_is_told() -> None:
    remarks = "\n".join(formula_of(spec(ranker=", relevance_threshold: 0.3")).remarks)
    for what in (
        "relevance is the engine's",
        "relevance_threshold 0.3",
        "supersession",
        "expires_at",
        "queries that are",
    ):
        assert what in remarks


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("half_life: 1d", "exp"),
        ("kernel: gaussian, half_life: 1d", "gauss"),
        ("kernel: linear, window: 1d", "linear"),
        ("kernel: power, scale: 1d, p: 1", "script_score"),
        ("kernel: weibull, half_life: 1d, beta: 0.7", "script_score"),
    ],
)
def test_elasticsearch_uses_a_decay_function_where_it_has_one(kernel: str, name: str) -> None:
    body = elasticsearch_of(formula_of(spec(f", {kernel}, offset: 2h")))
    (function,) = [one for one in body["query"]["function_score"]["functions"] if name in one]
    if name == "script_score":
        assert function[name]["script"]["params"]["offset"] == 7200
    else:
        decay = {"exp": 0.5, "gauss": 0.5, "linear": 0.5}[name]
        scale = 43_200_000 if name == "linear" else 86_400_000
        expected = {"origin": "{{as_of}}", "offset": "7200000ms", "scale": f"{scale}ms", "decay": decay}
        assert function[name] == {"effective_at": expected}


def test_a_moment_stands_in_the_query_where_it_is_given() -> None:
    as_of = datetime(2026, 3, 20, 9, tzinfo=UTC)
    formula = formula_of(spec(ranker=", stale_after: 1d"))
    found = json.dumps([elasticsearch_of(formula, None, as_of), qdrant_of(formula, None, as_of)])
    assert "as_of}}" not in found
    assert "2026-03-19T09:00:00.000Z" in found
    assert "{{as_of}}||-86400s" in json.dumps(elasticsearch_of(formula))
    with pytest.raises(UsageError, match="finer than a millisecond"):
        moment_text(as_of.replace(microsecond=1))


def test_sql_asks_for_no_column_that_it_does_not_need() -> None:
    plain = sql_of(formula_of(spec()))
    for column in ("importance", "access_count", "authority", "created_at", "memory_type"):
        assert f'"{column}"' not in plain
    whole = sql_of(formula_of(spec(ranker=", combine: bounded, alphas: {importance: 0.2, authority: 0.1}, top_k: 7")))
    for column in ("importance", "access_count", "authority", "created_at"):
        assert f'"{column}"' in whole
    assert whole.endswith("LIMIT 7;\n")


def test_a_type_is_a_quoted_text_in_sql() -> None:
    assert "WHEN 'o''brien' THEN" in sql_of(formula_of(spec(""", half_life: {default: 1d, "o'brien": 2d}""")))


def test_fields_are_renamed() -> None:
    fields = Fields().named(["memory_type=meta.kind", "table=kept"])
    assert (fields.memory_type, fields.table, fields.id) == ("meta.kind", "kept", "id")
    formula = formula_of(spec(", half_life: {default: 1d, price: 2d}"))
    assert '"meta.kind"' in json.dumps(qdrant_of(formula, fields))
    with pytest.raises(UsageError, match="no dot"):
        sql_of(formula, fields)


@pytest.mark.parametrize("wrong", ["", "id", "nothing=x", "score_at_1=2", "id=", 'id=a"b', "id=1a", "id=a.", "id=a b"])
def test_other_names_are_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="names no field"):
        Fields().named([wrong])


def test_two_fields_share_no_name_but_the_two_times() -> None:
    assert Fields().named(["effective_at=created_at"]).effective_at == "created_at"
    with pytest.raises(UsageError, match="effective_at and authority are both when"):
        Fields().named(["effective_at=when", "authority=when"])
    with pytest.raises(UsageError, match="are both id"):
        Fields().named(["authority=ID"])
    with pytest.raises(UsageError, match="are both importance"):
        Fields().named(["authority=importance"])


@pytest.mark.parametrize("table", ["memrank_given", "SQLITE_master"])
def test_a_table_that_the_query_would_hide_is_refused(table: str) -> None:
    with pytest.raises(UsageError, match="hides behind"):
        sql_of(formula_of(spec()), Fields(table=table))


def artifact_of(folder: Path, **changes: Any) -> Path:
    plain = check_written(desk(folder)).spec
    thresholds = {"relevance_threshold": 0.3, "top_score_below": 0.1, "ambiguity_margin": 0.01}
    made = Artifact(
        name="desk",
        spec=bound_json(plain),
        versions=made_with(plain),
        seed=0,
        data={},
        state={"thresholds": State(values=thresholds)},
        metrics={},
    )
    path = folder / "desk.compiled.json"
    write(path, replace(made, **changes))
    return path


def test_an_artifact_and_a_spec_that_names_it_export_the_same(tmp_path: Path) -> None:
    path = artifact_of(tmp_path)
    own = formula_of(exported(path))
    desk(tmp_path, "compiled: desk.compiled.json\n")
    assert own == formula_of(exported(tmp_path / "desk.yaml"))
    assert (own.name, own.relevance_threshold) == ("desk", 0.3)


def test_a_name_in_an_artifact_ends_no_comment(tmp_path: Path) -> None:
    text = sql_of(formula_of(exported(artifact_of(tmp_path, name="x\nDROP TABLE memories; --"))))
    assert "DROP" not in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": {"unknown": State(values={"a": 1.0})}}, "unknown"),
        ({"spec": '{"memrank":1,"name":"artifact","stages":[{"kind":"no.v1"}]}'}, "none any more"),
    ],
)
def test_an_artifact_that_cannot_be_applied_is_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        exported(artifact_of(tmp_path, **changes))


def test_files_that_are_neither_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(DataError, match="schema"):
        exported(tmp_path / "x.json")
    with pytest.raises(SpecError):
        exported(tmp_path / "missing.yaml")
