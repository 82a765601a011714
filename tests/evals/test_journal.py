"""The journal of an evaluation: outcomes come back as they were, whatever a kill or a bad disk did to the file."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memrank.errors import DataError
from memrank.evals.journal import Journal, from_row, key_of, to_row
from memrank.evals.outcome import LM_FIGURES, Failed, Judged, Outcome, Scored, Unscored
from memrank.fileio import canonical_json

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.dictionaries(st.text(max_size=8), finite, max_size=4)


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    n = draw(st.integers(0, 4))

    def column(elements: st.SearchStrategy[float]) -> np.ndarray:  # type: ignore[type-arg]
        return np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype=np.float64)

    judged = Judged(
        ids=tuple(draw(st.lists(st.text(max_size=5), min_size=n, max_size=n))),
        relevance=column(finite),
        freshness=column(finite),
        score=column(finite),
        age_days=column(st.one_of(finite, st.just(float("nan")))),
        relevant=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=np.bool_),
        returned=draw(st.integers(0, n)),
    )
    return Scored(
        query_id=draw(st.text(max_size=5)),
        values=draw(values),
        judged=judged,
        latency_ms=draw(finite),
        lm_calls=draw(st.integers(0, 9)),
        lm_tokens=draw(st.integers(0, 9)),
        lm_cost_usd=draw(finite),
        lm_figures=draw(st.dictionaries(st.sampled_from(LM_FIGURES), finite)),
        top=tuple(draw(st.lists(st.tuples(st.text(max_size=5), finite, st.text(max_size=5)), max_size=2))),
    )


failed = st.builds(Failed, query_id=st.text(max_size=5), values=values, code=st.text(), message=st.text())
unscored = st.builds(Unscored, query_id=st.text(max_size=5), why=st.text())
outcomes = st.one_of(scored(), failed, unscored)

ONE = Failed(query_id="q1", values={"R@1": 0.0}, code="data", message="cut “here”\n")
TWO = Unscored(query_id="q2", why="nobody said")


def same(a: Outcome, b: Outcome) -> bool:
    """NaN counts as equal to itself."""
    return type(a) is type(b) and canonical_json(to_row(a)) == canonical_json(to_row(b))


@given(st.lists(outcomes, max_size=5, unique_by=lambda one: one.query_id))
def test_outcomes_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, given_: list[Outcome]) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    with Journal(path, "key") as journal:
        for one in given_:
            journal.add(one)
    with Journal(path, "key") as again:
        assert set(again.done) == {one.query_id for one in given_}
        for one in given_:
            assert same(again.done[one.query_id], one)


def kept(path: Path, key: str = "key") -> dict[str, Outcome]:
    with Journal(path, key) as journal:
        return dict(journal.done)


def written(path: Path) -> bytes:
    with Journal(path, "key") as journal:
        journal.add(ONE)
        journal.add(TWO)
    return path.read_bytes()


def test_wherever_it_is_cut_off_whole_lines_stay(tmp_path: Path) -> None:
    path = tmp_path / "j"
    data = written(path)
    lines = data.splitlines(keepends=True)
    ends = [sum(map(len, lines[: k + 1])) for k in range(3)]
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        # A line counts from its last character on: the line end may be missing.
        expected = {name for name, end in (("q1", ends[1]), ("q2", ends[2])) if cut >= end - 1}
        assert set(kept(path)) == (expected if cut >= ends[0] - 1 else set())
        with Journal(path, "key") as journal:
            journal.add(TWO)
        assert same(kept(path)["q2"], TWO)


@given(st.data())
def test_damage_costs_lines_and_nothing_else(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    raw = bytearray(written(path))
    head = raw.index(b"\n") + 1
    for _ in range(data.draw(st.integers(1, 20))):
        raw[data.draw(st.integers(head, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw))
    with Journal(path, "key") as journal:
        assert all(isinstance(one, Scored | Failed | Unscored) for one in journal.done.values())
        journal.add(TWO)
    assert same(kept(path)["q2"], TWO)


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"null",
        b"7",
        b"{}",
        b'{"kind": "unscored", "query_id": "q3"}',
        b'{"kind": "unscored", "query_id": 3, "why": ""}',
        b'{"kind": "other", "query_id": "q3"}',
        b'{"kind": ["failed"], "query_id": "q3"}',
        b'{"kind": "scored", "query_id": "q3", "judged": []}',
        b'{"kind": "failed", "query_id": "q3", "values": [], "code": "", "message": ""}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_line_that_holds_no_outcome_is_passed_over(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(written(path) + line + b"\n")
    assert set(kept(path)) == {"q1", "q2"}


def test_columns_of_another_length_are_refused() -> None:
    judged = Judged(
        ids=("a",),
        **{name: np.ones(1) for name in ("relevance", "freshness", "score", "age_days")},
        relevant=np.ones(1, dtype=np.bool_),
        returned=1,
    )
    row = to_row(Scored(query_id="q", values={}, judged=judged, latency_ms=1.0))
    assert same(from_row(row), Scored(query_id="q", values={}, judged=judged, latency_ms=1.0))
    row["judged"]["relevance"] = []
    with pytest.raises(ValueError, match="another length"):
        from_row(row)


def test_another_key_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    assert kept(path, "other") == {}
    assert kept(path) == {}


def test_what_is_no_journal_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "j"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x00\x01 no journal")
    assert kept(path) == {}
    with Journal(path, "key") as journal:
        journal.add(ONE)
    assert set(kept(path)) == {"q1"}


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    written(tmp_path / "j")
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o600


def test_where_it_cannot_be_kept_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the journal cannot be kept"):
        Journal(tmp_path, "key")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="the journal cannot be kept"):
        Journal(tmp_path / "file" / "j", "key")


def test_keys_differ_with_every_part() -> None:
    assert len({key_of("a", "b"), key_of("ab"), key_of("a", "b", 0), key_of("a", "b", [0]), key_of()}) == 5
