"""A tenant as arrays: rows, times, neighbours, successors and filters, as the records say."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import record
from strategies import AS_OF

from memrank.indexing import Analyzer
from memrank.stores.given import Given
from memrank.tenant import Tenant, Vectors, WordTable, count_tokens, scored_text

GIVEN = Given(Analyzer("english", "none"))


def tenant(*memories: Mapping[str, object]) -> Tenant:
    return GIVEN.store(memories).snapshot(None, AS_OF, {}, 0.0).tenant


def linked(of: Tenant) -> dict[str, tuple[str | None, str | None]]:
    """Id to the ids of its neighbours."""

    def name(row: int) -> str | None:
        return of.memories[row].id if row >= 0 else None

    return {memory.id: (name(int(of.previous[i])), name(int(of.following[i]))) for i, memory in enumerate(of.memories)}


@given(st.text(max_size=50))
def test_a_token_is_four_bytes_rounded_up(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert 4 * count_tokens(text) >= size > 4 * (count_tokens(text) - 1)
    assert (count_tokens(text) == 0) == (text == "")


def test_threads_fill_one_word_table() -> None:
    """Two that made the first table at once would lose what the other one had read."""
    inside: list[int] = []
    most: list[int] = []

    def read(terms: Sequence[str]) -> Vectors:
        inside.append(1)
        time.sleep(0.01)
        most.append(len(inside))
        inside.pop()
        return np.array([[float(term)] for term in terms], dtype=np.float32)

    table = WordTable(tuple(map(str, range(40))))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda ids: table.vectors(ids, read), np.array_split(np.arange(40, dtype=np.int32), 4)))
    assert most == [1, 1, 1, 1]
    assert table.vectors(np.arange(40, dtype=np.int32), read)[:, 0].tolist() == list(range(40))
    assert len(most) == 4


def test_arrays_say_what_the_records_say() -> None:
    of = tenant(
        record("a", days=2, importance=0.9, authority=0.7, access_count=3, pinned=True, memory_type="note", turn=1),
        record("b", "", days=None, source_kind="primary", role="user"),
        {"id": "c", "content": "rate", "created_at": "2026-03", "expires_at": "2026-04", "valid_at": "2025"},
    )
    a, b, c = (next(i for i, memory in enumerate(of.memories) if memory.id == name) for name in "abc")
    assert of.importance[a] == 0.9
    assert np.isnan(of.importance[[b, c]]).all()
    assert of.authority[[a, b, c]].tolist() == [0.7, 0.5, 0.5]
    assert of.access_count[[a, b, c]].tolist() == [3, 0, 0]
    assert of.pinned[[a, b, c]].tolist() == [True, False, False]
    assert of.primary[[a, b, c]].tolist() == [False, True, False]
    assert of.turn[[a, b, c]].tolist() == [True, True, False]
    assert of.tokens[[a, b, c]].tolist() == [8, 0, 1]
    assert np.isnan(of.times.created[b])
    march, april, may, year = (1772323200.0, 1775001600.0, 1777593600.0, 1735689600.0)
    assert (of.times.created_start[c], of.times.created[c]) == (march, april)
    assert of.times.expires[c] == may
    assert of.times.valid[c] == year
    assert [of.types[int(of.type_code[i])] for i in (a, b, c)] == ["note", None, None]


def test_turns_are_neighbours_by_number_within_their_session() -> None:
    of = tenant(
        record("s1", session_id="s", turn=1),
        record("t0", session_id="t", turn=0),
        record("s0", session_id="s", turn=0),
        record("alone"),
        record("s2", session_id="s", turn=2),
    )
    assert linked(of) == {
        "s0": (None, "s1"),
        "s1": ("s0", "s2"),
        "s2": ("s1", None),
        "t0": (None, None),
        "alone": (None, None),
    }


def test_turns_without_numbers_are_neighbours_by_place() -> None:
    of = tenant(record("x", session_id="s"), record("other"), record("y", session_id="s", turn=0))
    assert linked(of)["x"] == (None, "y")
    assert linked(of)["y"] == ("x", None)


def test_successors_are_rows_of_the_same_tenant() -> None:
    of = tenant(record("a", superseded_by="b"), record("b", superseded_by="gone"), record("c", superseded_by="c"))
    successor = {m.id: int(of.successor[i]) for i, m in enumerate(of.memories)}
    assert of.memories[successor["a"]].id == "b"
    assert successor["b"] == successor["c"] == -1


def test_the_order_of_ids() -> None:
    of = tenant(record("b"), record("é"), record("a"), record("B"))
    assert [of.memories[i].id for i in np.argsort(of.id_order)] == ["B", "a", "b", "é"]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("memory_type", ["note"], {"a"}),
        ("tags", ["x", "y"], {"a", "b"}),
        ("tags", ["z"], set()),
        ("metadata.n", ["1"], {"a"}),
        ("metadata.n", ["true"], {"b"}),
        ("metadata.list", ["p"], {"a"}),
        ("metadata.missing", ["None"], set()),
        ("role", ["None"], set()),
    ],
)
def test_matching(name: str, values: list[str], found: set[str]) -> None:
    of = tenant(
        record("a", memory_type="note", tags=["x"], n=1, list=["p", "q"]), record("b", tags=["y"], n=True, role="user")
    )
    for _ in range(2):  # the second time from what was kept
        assert {of.memories[i].id for i in np.flatnonzero(of.matching(name, values))} == found


def test_scored_text_is_speaker_content_and_other_names() -> None:
    (memory,) = tenant(record("a", "likes tea", speaker="Bo", aliases=["Robert"], note="not scored")).memories
    assert scored_text(memory) == "Bo\nlikes tea\nRobert"


def test_an_empty_tenant() -> None:
    of = tenant()
    assert len(of.memories) == 0
    assert of.vectors is None
    assert of.matching("tags", ["x"]).tolist() == []
