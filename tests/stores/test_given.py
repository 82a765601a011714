"""What is remembered of given records never shows: a call answers as a fresh process would."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memrank.indexing import Analyzer
from memrank.stores import given as module
from memrank.stores.given import Given, GivenStore
from memrank.types import Memory

AS_OF = datetime(2026, 3, 20, tzinfo=UTC)
ANNA = {"id": "a", "content": "The fee is 4%.", "created_at": "2026-03-01", "importance": 1}
BO = {"id": "b", "content": "Bo prefers mornings.", "session_id": "s", "metadata": {"seen": [1, 2]}}


def seen(store: GivenStore) -> tuple[tuple[Memory, ...], str, object]:
    snapshot = store.snapshot(None, AS_OF, {}, 0.0)
    return snapshot.tenant.memories, snapshot.version, snapshot.notes


def fresh(records: list[Mapping[str, object]]) -> tuple[tuple[Memory, ...], str, object]:
    return seen(Given(Analyzer(embedder="none")).store(records))


def shown(memories: tuple[Memory, ...]) -> list[str]:
    """All that the memories say. The list places them, so their own positions say nothing."""
    return [repr(replace(memory, position=0)).partition("<function")[0] for memory in memories]


@pytest.mark.parametrize(
    "second",
    [
        [ANNA, BO],
        [BO, ANNA],
        [ANNA, ANNA, BO],
        [ANNA],
        [{**ANNA, "importance": True}, BO],
        [{**ANNA, "importance": 1.0}, BO],
        [ANNA, {**BO, "metadata": {"seen": [1, True]}}],
        [ANNA, {**BO, "metadata": {"seen": [1, 2], "made": lambda: 0}}],
        [{**ANNA, "created_at": "2026-03-01 10:00"}, BO],
    ],
)
def test_a_second_list_is_read_as_if_it_were_the_first(second: list[Mapping[str, object]]) -> None:
    given = Given(Analyzer(embedder="none"))
    seen(given.store([ANNA, BO]))
    memories, version, notes = seen(given.store(second))
    expected, expected_version, expected_notes = fresh(second)
    assert shown(memories) == shown(expected)
    assert notes == expected_notes
    if "made" not in str(second):
        assert version == expected_version


def test_a_record_that_was_changed_in_place_is_read_anew() -> None:
    given = Given(Analyzer(embedder="none"))
    record = {**BO, "metadata": {"seen": [1]}}
    seen(given.store([record]))
    record["metadata"]["seen"].append(2)  # type: ignore[index]
    assert seen(given.store([record])) == fresh([record])


def test_the_same_list_is_indexed_once() -> None:
    given = Given(Analyzer(embedder="none"))
    first = given.store([dict(ANNA), dict(BO)]).snapshot(None, AS_OF, {}, 0.0)
    second = given.store([dict(ANNA), dict(BO)]).snapshot(None, AS_OF, {}, 0.0)
    assert second.tenant is first.tenant


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LIST", 1)
    given = Given(Analyzer(embedder="none"))
    first = given.store([ANNA, BO]).snapshot(None, AS_OF, {}, 0.0)
    second = given.store([ANNA, BO]).snapshot(None, AS_OF, {}, 0.0)
    assert second.tenant is not first.tenant
    assert second.version == first.version
