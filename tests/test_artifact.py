"""Artifacts: the same bytes each time, and an exact reason for everything that is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.artifact import Artifact, Measured, State, read, to_dict, write
from memrank.errors import DataError

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(min_size=1, max_size=8)
VALUES = st.one_of(st.text(max_size=8), FINITE, st.lists(FINITE, max_size=4).map(tuple))


def artifact(**changes: Any) -> Artifact:
    whole: dict[str, Any] = {
        "name": "desk",
        "spec": '{"memrank":1}',
        "versions": {"model": "m"},
        "seed": 3,
        "data": {"evalset": "e"},
        "state": {"thresholds": State(values={"relevance_threshold": 0.25})},
        "metrics": {
            "before": {"ECE": Measured(value=0.5, low=0.25, high=0.75, n=9)},
            "after": {"ECE": Measured(value=0.25)},
        },
        "search": {"optimizer": "weights", "evaluations": 40.0, "history": (0.25, 0.5)},
    }
    return Artifact(**whole | changes)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3).map(lambda v: State(values=v)), max_size=3))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, state: dict[str, State]) -> None:
    path = tmp_path_factory.mktemp("a") / "a.json"
    made = artifact(state=state)
    write(path, made)
    first = path.read_bytes()
    found = read(path)
    assert found == made
    write(path, found)
    assert path.read_bytes() == first


def test_fields_are_told_apart_by_name_and_type() -> None:
    values: list[Any] = [{"a": 1.0}, {"b": 1.0}, {"a": "1"}, {"a": (1.0,)}, {"a": 1.0, "b": 1.0}]
    assert len({State(values=one).fields_sha256 for one in values}) == len(values)
    assert State(values={"b": 1.0, "a": 2.0}).fields_sha256 == State(values={"a": 3.0, "b": 4.0}).fields_sha256


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("schema",), "memrank.artifact/3", "its schema is 'memrank.artifact/3', not memrank.artifact/2 or memrank"),
        (("schema",), None, "its schema is missing"),
        (("spec", "body", "memrank"), 2, "spec.sha256 is not the hash of spec.body"),
        (("spec", "body"), [], r"spec.body is \[\], not an object"),
        (("seed",), True, "seed is True, not a whole number"),
        (("name",), 7, "name is 7, not a text"),
        (("versions", "model"), 7, "versions.model is 7, not a text"),
        (("data",), None, "data is missing, not an object"),
        (("metrics", "after", "ECE"), "low", "metrics.after.ECE is 'low', not a number"),
        (("metrics", "before", "ECE", "value"), None, "metrics.before.ECE.value is missing, not a number"),
        (("metrics", "before", "ECE", "low"), "x", "metrics.before.ECE.low is 'x', not a number"),
        (("search",), None, "search is missing, not an object"),
        (("search", "history"), [True], r"search.history is \[True\], not a text"),
        (("state", "thresholds", "values", "relevance_threshold"), "x", "are not of the fields that it names"),
        (("state", "thresholds", "values", "relevance_threshold"), True, "relevance_threshold is True, not a text"),
        (("state", "thresholds", "values", "relevance_threshold"), 10**400, "not a text, a number"),
        (("state", "thresholds", "values", "other"), 1.0, "are not of the fields that it names"),
        (("state", "thresholds", "fields_sha256"), "0", "fields_sha256 is not the hash of its fields"),
        (("state", "thresholds"), None, "state.thresholds is missing"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    path: tuple[str, ...], value: object, reason: str, tmp_path: Path
) -> None:
    body: Any = to_dict(artifact())
    inner = body
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    file = tmp_path / "a.json"
    file.write_text(json.dumps(body))
    with pytest.raises(DataError, match=reason):
        read(file)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{", b'{"seed": NaN}', b"[" * 100_000])
def test_what_is_no_json_object_is_refused(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(data)
    with pytest.raises(DataError, match=r"cannot be read: it is no JSON|the file is \[\]"):
        read(file)


def test_a_missing_one_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read(tmp_path / "a.json")
    with pytest.raises(DataError, match="this is no file"):
        read(tmp_path)


def test_nothing_is_left_of_one_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write(path, artifact())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        write(path, artifact(metrics={"after": {"ECE": Measured(value=float("nan"))}}))
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["a.json"]


def test_version_1_is_read_as_ever(tmp_path: Path) -> None:
    body = to_dict(artifact())
    del body["search"]
    body |= {"schema": "memrank.artifact/1", "metrics": {"before": {"ECE": 0.5}, "after": {}}}
    (tmp_path / "a.json").write_text(json.dumps(body))
    found = read(tmp_path / "a.json")
    assert found.metrics == {"before": {"ECE": Measured(value=0.5)}, "after": {}}
    assert (found.search, found.state) == ({}, artifact().state)
